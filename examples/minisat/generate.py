"""Writes the instances: random 3-SAT formulas where satisfiable and unsatisfiable ones are equally frequent.

python3 generate.py FOLDER [VARIABLES [HOW-MANY]]
"""

import random
import sys
from pathlib import Path

RATIO = 4.26
"""Clauses per variable: the phase transition, where formulas are hardest for their size."""


def formula(variables: int, seed: int) -> str:
    rng = random.Random(seed)  # noqa: S311
    clauses = [
        [variable * rng.choice((-1, 1)) for variable in rng.sample(range(1, variables + 1), 3)]
        for _ in range(round(RATIO * variables))
    ]
    lines = [f"p cnf {variables} {len(clauses)}", *(" ".join(map(str, [*clause, 0])) for clause in clauses)]
    return "\n".join(lines) + "\n"


def main(folder: str, variables: str = "230", number: str = "5") -> None:
    Path(folder).mkdir(parents=True, exist_ok=True)
    for seed in range(1, int(number) + 1):
        (Path(folder) / f"random-{variables}-{seed}.cnf").write_text(formula(int(variables), seed))


if __name__ == "__main__":
    main(*sys.argv[1:])
