"""The two problems: SPEAR on software verification (a surrogate, virtual clock) and clasp on quasigroups (real runs)."""

from __future__ import annotations

import importlib.util
import json
import shutil
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks.machine import shared_or_exit
from benchmarks.peers.referee import Rules
from benchmarks.spear import whole_space
from capra.engines.local import LocalEngine
from capra.formats.instances import Features
from capra.runs import Configuration, Outcome, RunRequest
from capra.scenario import Scenario
from capra.space import Space
from capra.space.files import read_space
from capra.space.irace import irace3_forbidden, irace_names, write_irace3
from capra.space.json import write_json
from capra.space.pcs import write_pcs

WORK = Path(__file__).resolve().parents[2] / "runs" / "peers"
"""Instances, logs and stores; nothing in it is part of the project."""


@dataclass(frozen=True)
class Problem:
    """What a tool is told: a space, instances with features or without, a cutoff, a budget."""

    name: str
    space: Space
    train: list[str]
    test: list[str]
    cutoff: float
    features: dict[str, list[float]]
    deterministic: bool
    rules: Rules

    def describe(self, folder: Path) -> Path:
        """The problem as files for a peer: the space in every format that is needed, the rest as JSON."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "space.json").write_text(write_json(self.space))
        (folder / "space.pcs").write_text(write_pcs(self.space))
        (folder / "parameters.txt").write_text(write_irace3(self.space))
        (folder / "forbidden.txt").write_text(irace3_forbidden(self.space))
        default = [str(self.space.default.get(name, "NA")) for name in self.space.names]
        (folder / "default.txt").write_text(" ".join(irace_names(self.space).values()) + "\n" + " ".join(default) + "\n")
        (folder / "instances.txt").write_text("\n".join(self.train) + "\n")
        told = {
            "instances": self.train,
            "features": self.features,
            "cutoff": self.cutoff,
            "deterministic": self.deterministic,
            "target": self.rules.target,
            "wall": self.rules.wall,
        }
        (folder / "problem.json").write_text(json.dumps(told))
        return folder


# --- SPEAR-SWV ---

surrogate = cache(whole_space)
HALVES = 2026
"""Of the random numbers that part training from test instances."""


class Spear:
    """Half of the instances for training; what is found is judged by the surrogate on the other half.

    Every seed has halves of its own, the same for all tools. With one pair of halves for all seeds a single test instance
    decides: one that times out makes 9.9 s of PAR10, where a good configuration has 2 in all.
    """

    def __init__(self, name: str, seed: int) -> None:
        self.surrogate = surrogate()
        names = list(self.surrogate.instances)
        train, test = halves(names, seed)
        columns = self.surrogate.features
        filled = np.where(np.isnan(columns), np.nanmean(columns, axis=0), columns)
        budget = 3600.0 * hours(name)
        self.problem = Problem(
            name=name,
            space=self.surrogate.space,
            train=train,
            test=test,
            cutoff=self.surrogate.cutoff,
            features={name: filled[names.index(name)].tolist() for name in train},
            deterministic=True,
            rules=Rules(target=budget, total=budget, wall=max(600.0, budget)),
        )

    def run(self, request: RunRequest) -> Outcome:
        return self.surrogate.run(request)

    def judged(self, config: Configuration) -> dict[str, float]:
        """PAR10 and mean time (a timeout counts once) on the test instances, and PAR10 on all training instances."""
        asked = {"cost": (self.problem.test, 10.0), "mean": (self.problem.test, 1.0), "train": (self.problem.train, 10.0)}
        return {name: float(self.surrogate.costs(config, *given).mean()) for name, given in asked.items()}


def halves(names: list[str], seed: int) -> tuple[list[str], list[str]]:
    """Training and test instances of one seed."""
    order = [names[j] for j in np.random.default_rng([HALVES, seed]).permutation(len(names))]
    return order[: len(order) // 2], order[len(order) // 2 :]


def hours(name: str) -> float:
    """The budget in the name of a problem of SPEAR's."""
    return float(name.removeprefix("spear-").removesuffix("h"))


def told_scenario(folder: Path, target: Any) -> Scenario:
    """A described problem for Capra, which asks the referee as everybody does."""
    told = json.loads((folder / "problem.json").read_text())
    columns = range(len(next(iter(told["features"].values()))))
    features = Features(tuple(f"f{i}" for i in columns), {name: tuple(row) for name, row in told["features"].items()})
    return Scenario(
        target=target,
        space=read_space(folder / "space.json"),
        instances=told["instances"],
        features=features,
        cutoff=told["cutoff"],
        deterministic=told["deterministic"],
        objective="par10",
        budget={"cpu": told["target"]},
    )


# --- clasp on quasigroups with holes ---

ORDER, HOLES = 30, 378
CUTOFF, TARGET, TOTAL, WALL = 5.0, 180.0, 300.0, 1800.0
TRAIN, TEST = range(100, 130), range(200, 220)
OPTIONS = ("--configuration=trendy", "-q", "--outf=0", "--seed={seed}", "{instance}", "{params}")


def switch(name: str) -> dict[str, str]:
    return {"yes": f"--{name}", "no": f"--no-{name}"}


ARGUMENTS: dict[str, Any] = {
    "sat_prepro": {"no": "--sat-prepro=no"}
    | {n: f"--sat-prepro={n},iter={{sp_iter}},occ={{sp_occ}},time=240" for n in "123"},
    "heuristic": {
        "Vsids": "--heuristic=Vsids,{vsids_decay}",
        "Vmtf": "--heuristic=Vmtf,{vmtf_n}",
        "Berkmin": "--heuristic=Berkmin,{berk_n}",
    },
    "vsids_acids": switch("vsids-acids"),
    "berk_huang": switch("berk-huang"),
    "init_moms": switch("init-moms"),
    "sign_fix": switch("sign-fix"),
    "nant": switch("nant"),
    "update_act": {"yes": "--update-act", "no": ""},
    "contraction": {"yes": "--contraction={contr_n},{contr_rep}", "no": "--contraction=no"},
    "strengthen": {"no": "--strengthen=no"}
    | {k: f"--strengthen={k},{{str_type}},{{str_bump}}" for k in ("local", "recursive")},
    "restarts": {
        "no": "--restarts=no",
        "D": "--restarts=D,{r_n},{r_D_f}",
        "F": "--restarts=F,{r_n}",
        "L": "--restarts=L,{r_n}",
        "x": "--restarts=x,{r_n},{r_x_f}",
        "+": "--restarts=+,{r_n},{r_add}",
    },
    "local_restarts": switch("local-restarts"),
    "counter_restarts": {"yes": "--counter-restarts={cr_rate},{cr_bump}", "no": "--counter-restarts=no"},
    "del_algo": "--deletion={value},{del_pct},{del_score}",
    "del_grow": {"yes": "--del-grow={dg_f},{dg_lim},x,100,1.5", "no": "--del-grow=no"},
    "del_cfl": {"yes": "--del-cfl=+,{dc_n},{dc_m}", "no": "--del-cfl=no"},
    "del_init_f": "--del-init={value},{del_init_n},19500",
}
"""Options that clasp packs several parameters into, and switches."""
PARTS = "sp_iter sp_occ vsids_decay vmtf_n berk_n contr_n contr_rep str_type str_bump r_n r_D_f r_x_f r_add cr_rate cr_bump del_pct del_score dg_f dg_lim dc_n dc_m del_init_n".split()
"""Parameters that are rendered by another's template."""


def clasp_arguments(space: Space) -> dict[str, Any]:
    plain = {name: f"--{name.replace('_', '-')}={{value}}" for name in space.names if name not in ARGUMENTS}
    return plain | ARGUMENTS | dict.fromkeys(PARTS, "")


def generator() -> ModuleType:
    """The generator that the recorded figures were made with."""
    spec = importlib.util.spec_from_file_location("qwh", shared_or_exit("solvers/qwh.py"))
    if spec is None or spec.loader is None:
        raise FileNotFoundError("solvers/qwh.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def instances(seeds: range) -> list[str]:
    """Paths of the generated instances, made where they are not there yet."""
    folder = WORK / "instances"
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"qwh-{ORDER}-{seed}.cnf" for seed in seeds]
    if not all(path.exists() for path in paths):
        qwh = generator()
        for seed, path in zip(seeds, paths, strict=True):
            qwh.write_cnf(path, *qwh.latin_to_cnf(qwh.qwh(ORDER, HOLES, seed)))
    return [str(path) for path in paths]


class Clasp:
    """Real runs of clasp, one at a time, by the same supervisor for every tool."""

    def __init__(self) -> None:
        space = read_space(shared_or_exit("solvers/clasp-trendy.pcs"))
        rules = Rules(target=TARGET, total=TOTAL, wall=WALL)
        self.problem = Problem("clasp", space, instances(TRAIN), instances(TEST), CUTOFF, {}, False, rules)

    @cached_property
    def _engine(self) -> LocalEngine:
        return LocalEngine(self.scenario())

    def run(self, request: RunRequest) -> Outcome:
        self._engine.submit(request)
        while not (found := self._engine.wait()):
            pass
        return found[0][1]

    def scenario(self, budget: float = TARGET) -> Scenario:
        """As Capra tunes it, and as the referee runs it for the others."""
        problem = self.problem
        clasp = shutil.which("clasp")
        if clasp is None:
            raise FileNotFoundError("clasp: apt-get install clasp")
        return Scenario(
            target=[clasp, *OPTIONS],
            space=problem.space,
            instances=problem.train,
            test_instances=problem.test,
            arguments=clasp_arguments(problem.space),
            cutoff=CUTOFF,
            objective="par10",
            memory="2GB",
            output={"codes": [10, 20, 30], "solved": "^s (UN)?SATISFIABLE$"},
            budget={"cpu": budget},
        )


clasp = cache(Clasp)
"""One for all seeds: its engine takes a core for itself."""


def make(name: str, seed: int) -> Spear | Clasp:
    """A problem by its name (clasp, spear-1h, spear-3h …), as it is for one seed of the tools."""
    return clasp() if name == "clasp" else Spear(name, seed)
