"""Does what ``tune`` says hold for other repetitions, when a step takes time and our own time counts as well?

``smac`` chooses its model by itself because of ``tune``; so it is asked once more, on seeds that nobody has looked at, beside
random search and its forest.
"""

from __future__ import annotations

import time
from itertools import product
from typing import Any

import numpy as np

from benchmarks.kept import Kept
from benchmarks.saps.problems import CUTOFF, FRESH, Problem, problems
from benchmarks.saps.solver import Parameters, saps_space
from benchmarks.saps.tuning import JUDGED, PERMUTATIONS, STEPS, answer
from capra.analysis.statistics import paired_permutation_test
from capra.scenario import Scenario
from capra.tune import tune

STEP = 1e-4
"""Seconds on the virtual clock: 0.3 s for a run of a good configuration."""
FIRST = 2_000
"""The first seed."""
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "roar": ("roar", {}),
    "smac, forest": ("smac", {"model": "forest"}),
    "smac": ("smac", {}),
}


def scenario(problem: Problem) -> Scenario:
    def target(config: dict[str, Any], instance: str | None, seed: int, cutoff: float) -> dict[str, Any]:
        found = answer(problem, config, seed, int(cutoff / STEP))  # rounded down: never beyond the bound
        return found | {"time": STEP * found["time"]}

    return Scenario(target=target, space=saps_space(), cutoff=STEP * CUTOFF, objective="mean", budget={"cpu": STEP * STEPS})


def final_steps(problem: Problem, method: str, repetition: int) -> dict[str, float]:
    """What the answer of one tuning takes on average with fresh seeds, and the share of the budget that was CPU time of this
    process: our own, and the half second that the solver's steps really take."""
    strategy, options = METHODS[method]
    result = tune(scenario(problem), strategy, engine="simulated", seed=FIRST + repetition, **options)
    steps = problem.mean_steps(Parameters(**result.incumbent), JUDGED, FRESH + JUDGED * (FIRST + repetition))
    return {"steps": steps, "own": 1.0 - result.history.spent / result.spent}


def confirm(repetitions: int, minutes: float) -> None:
    kept = Kept("saps_confirm", {"step": STEP, "budget": STEP * STEPS}, "numpy", "scipy")
    end = time.monotonic() + 60.0 * minutes
    for repetition, problem, method in product(range(repetitions), problems(), METHODS):
        found = kept.row(problem=problem.name, method=method)["found"]
        if len(found) <= repetition and time.monotonic() < end:
            found.append(final_steps(problem, method, repetition))
            kept.write()
    report(kept)


def report(kept: Kept) -> None:
    """The table of docs/studies/saps.md; tests are paired by repetition, of logarithms."""
    print(
        "\n| instance | method | repetitions | median [quartiles] | own time | p (roar) | p (forest) |\n" + "|---" * 7 + "|"
    )
    logs = {(row["problem"], row["method"]): np.log([one["steps"] for one in row["found"]]) for row in kept.rows}
    for row in (row for row in kept.rows if row["found"]):
        name, method = row["problem"], row["method"]
        row["quartiles"] = np.exp(np.quantile(logs[name, method], [0.25, 0.5, 0.75])).tolist()
        row["p"] = {other: p_value(logs[name, method], logs[name, other]) for other in METHODS if other != method}
        low, middle, high = row["quartiles"]
        own = np.median([one["own"] for one in row["found"]])
        cells = [f"{row['p'][other]:.2g}" if other in row["p"] else "–" for other in ("roar", "smac, forest")]
        spread = f"{middle:.0f} [{low:.0f}; {high:.0f}]"
        print(f"| {name} | {method} | {len(row['found'])} | {spread} | {own:.1%} | {' | '.join(cells)} |")
    kept.write()


def p_value(one: np.ndarray, other: np.ndarray) -> float:
    both = min(len(one), len(other))
    return paired_permutation_test(one[:both], other[:both], np.random.default_rng(0), permutations=PERMUTATIONS)
