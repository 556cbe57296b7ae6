"""Three families of formulas: quasigroups with holes, random 3-SAT, and graph colouring.

``python families.py FOLDER`` writes FOLDER/train and FOLDER/test, and a scenario for clasp that a portfolio is built for.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterable, Sequence
from importlib import resources
from itertools import product
from pathlib import Path

from capra.demo.quasigroup import quasigroup_cnf, with_holes

ROLES = {"train": range(100, 112), "test": range(200, 207)}
"""Generator seeds; so many instances of each family."""
QUASIGROUP = 30, 378
"""Order, and cells that are emptied."""
RANDOM = 250, 4.26
"""Variables, and clauses per variable: at this ratio half of the formulas are satisfiable, and all are hard."""
COLOURING = 130, 2.15, 4
"""Vertices, mean degree per colour, and colours."""


def dimacs(variables: int, clauses: Sequence[Iterable[int]]) -> str:
    lines = [" ".join(map(str, (*clause, 0))) for clause in clauses]
    return "\n".join([f"p cnf {variables} {len(clauses)}", *lines]) + "\n"


def random_3sat(variables: int, ratio: float, seed: int) -> str:
    """Clauses of three different variables, each negated or not by chance."""
    rng = random.Random(f"3sat {variables} {ratio} {seed}")  # noqa: S311
    chosen = [rng.sample(range(1, variables + 1), 3) for _ in range(round(ratio * variables))]
    return dimacs(variables, [[v if rng.random() < 0.5 else -v for v in clause] for clause in chosen])


def colouring(vertices: int, density: float, colours: int, seed: int) -> str:
    """Can a random graph be coloured? Every vertex gets a colour, and no edge joins two of one."""
    rng = random.Random(f"colouring {vertices} {density} {colours} {seed}")  # noqa: S311
    edges: set[tuple[int, int]] = set()
    while len(edges) < round(density * colours * vertices / 2):
        one, two = sorted(rng.sample(range(vertices), 2))
        edges.add((one, two))
    clauses: list[list[int]] = [[v * colours + c + 1 for c in range(colours)] for v in range(vertices)]
    clauses += [[-(a * colours + c + 1), -(b * colours + c + 1)] for a, b in sorted(edges) for c in range(colours)]
    return dimacs(vertices * colours, clauses)


def formula(family: str, seed: int) -> str:
    if family == "quasigroup":
        return quasigroup_cnf(with_holes(*QUASIGROUP, seed))
    return random_3sat(*RANDOM, seed) if family == "random" else colouring(*COLOURING, seed)


FAMILIES = ("quasigroup", "random", "colouring")


def main(folder: Path, budget: str = "300s") -> None:
    data = resources.files("capra.demo")
    for role, seeds in ROLES.items():
        (folder / role).mkdir(parents=True, exist_ok=True)
        for family, seed in product(FAMILIES, seeds):
            (folder / role / f"{family}-{seed}.cnf").write_text(formula(family, seed))
    clasp = Path(str(data.joinpath("clasp.py")))
    (folder / "clasp.pcs").write_text(data.joinpath("clasp.pcs").read_text())
    text = data.joinpath("scenario.toml").read_text().replace("clasp-quasigroup", "clasp-mix")
    for word, value in (("{python}", sys.executable), ("{clasp}", str(clasp))):
        text = text.replace(f'"{word}"', json.dumps(value))
    text = text.replace('cpu = "200s"\nwall = "120s"', f'cpu = "{budget}"')
    command = [sys.executable, "-I", str(Path(__file__).with_name("sizes.py").resolve()), "{instance}"]
    patterns = ", ".join(f'{family} = ["train/{family}-*"]' for family in FAMILIES)
    (folder / "scenario.toml").write_text(f"features = {json.dumps(command)}\ngroups = {{ {patterns} }}\n{text}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:3])
