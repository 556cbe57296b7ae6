"""Three quasigroups of rising hardness, as Eggensperger et al. 2021 have them: quantiles of a population, for the default."""

from __future__ import annotations

import json
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from benchmarks.machine import kept_input, machine, write_results
from benchmarks.saps.instances import population, population_member
from benchmarks.saps.solver import Parameters, Saps

CUTOFF = 10_000
QUANTILES = {"med": 0.5, "q075": 0.75, "q095": 0.95}
SIZE, RUNS = 208, 10
NEAREST, AGAIN = 8, 100
FRESH = 2**40
"""Seeds from here on are for judging: tuning has smaller ones."""


class Problem(NamedTuple):
    """One instance to tune SAPS on."""

    name: str
    seed: int
    saps: Saps

    def mean_steps(self, parameters: Parameters, runs: int, first_seed: int = FRESH) -> float:
        """Over runs with fresh seeds; a run without a solution counts as the cutoff."""
        return float(self.saps.run(parameters, np.arange(first_seed, first_seed + runs), CUTOFF).steps.mean())


def choose() -> dict[str, Any]:
    """Measure the default on the population, and take the instances nearest to the quantiles of its mean steps."""
    rows = []
    for seed, order, clauses in islice(population(), SIZE):
        saps = Saps(clauses)
        steps = Problem("", seed, saps).mean_steps(Parameters(), RUNS)
        rows.append({"seed": seed, "order": order, "variables": saps.variables, "steps": steps})
    wanted = {name: float(np.quantile([row["steps"] for row in rows], q)) for name, q in QUANTILES.items()}
    return {"quantiles": wanted, "chosen": {name: _nearest(rows, w) for name, w in wanted.items()}, "population": rows}


def _nearest(rows: list[dict[str, Any]], wanted: float) -> dict[str, Any]:
    """Few runs say little about one instance: those that seem nearest are measured again."""
    near = sorted(rows, key=lambda row: abs(row["steps"] - wanted))[:NEAREST]
    for row in near:
        saps = Saps(population_member(row["seed"])[1])
        row["steps_again"] = Problem("", row["seed"], saps).mean_steps(Parameters(), AGAIN, FRESH + RUNS)
    return min(near, key=lambda row: abs(row["steps_again"] - wanted))


def problems() -> list[Problem]:
    """The three instances, chosen once and then remembered in saps_instances.json among the results."""
    if not kept_input("saps_instances.json").exists():
        write_results("saps_instances", {"machine": machine("numpy"), "cutoff": CUTOFF, "runs": RUNS, **choose()})
    chosen = json.loads(kept_input("saps_instances.json").read_text())["chosen"]
    return [Problem(name, row["seed"], Saps(population_member(row["seed"])[1])) for name, row in chosen.items()]
