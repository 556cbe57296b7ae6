"""Does the model pay? Racing with random and with model-proposed challengers on SPEAR-SWV, whole space, virtual clock.

``python -m benchmarks.models``: a forest fitted to the recorded runs answers for any configuration (SurrogateTarget); half of the
instances for training, PAR10 of the final incumbent on the other half. Our own CPU time counts against the budget.
Seeds that stand in benchmarks/results/models.json are not run again.
"""

from __future__ import annotations

import argparse
import itertools
from typing import Any

import numpy as np

from benchmarks.kept import Kept
from benchmarks.spear import load, whole_space
from capra.analysis.statistics import paired_permutation_test
from capra.targets import SurrogateTarget
from capra.tune import tune

SETTINGS: dict[str, dict[str, object]] = {
    "roar": {"strategy": "roar"},
    "forest": {"strategy": "smac", "model": "forest"},
    "forest-mean": {"strategy": "smac", "model": "forest-mean"},
    "ensemble": {"strategy": "smac", "model": "ensemble"},
    "network": {"strategy": "smac", "model": "network"},
}


def final_cost(
    target: SurrogateTarget, train: list[str], test: list[str], hours: float, seed: int, options: dict[str, object]
) -> dict[str, float]:
    scenario = target.scenario(train=train, budget={"cpu": f"{hours}h"})
    result = tune(scenario, engine="simulated", seed=seed, **options)
    own = result.spent - result.history.spent
    cost = float(target.costs(result.incumbent, test).mean())
    return {
        "cost": cost,
        "runs": len(result.history),
        "configurations": len(list(result.history.configurations)),
        "own": own,
    }


def told(row: dict[str, Any], base: dict[str, Any]) -> str:
    """One line, with a test against the first setting over the seeds that both have."""
    logs = np.log([[one["cost"], other["cost"]] for one, other in zip(row["found"], base["found"], strict=False)]).T
    p = paired_permutation_test(*logs, np.random.default_rng(0))
    medians = [f"{key} {np.median([one[key] for one in row['found']]):.0f}" for key in ("runs", "configurations", "own")]
    start = f"{row['hours']:4} h  {row['setting']:12s} quartiles {row['quartiles']}"
    return "  ".join([start, f"p against {base['setting']} {p:.3g}", *medians])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--hours", type=float, nargs="+", default=[1.0, 3.0, 10.0])
    parser.add_argument("--settings", nargs="+", default=list(SETTINGS), choices=list(SETTINGS))
    given = parser.parse_args()
    target, spear = whole_space(), load()
    names = list(target.instances)
    test = [names[j] for j in spear.test]
    kept = Kept("models", {}, "capra", "numpy")
    for hours, name in itertools.product(given.hours, given.settings):
        row = kept.row(hours=hours, setting=name)
        for seed in range(len(row["found"]), given.seeds):
            row["found"].append(final_cost(target, spear.train, test, hours, seed, SETTINGS[name]))
            row["quartiles"] = np.quantile([one["cost"] for one in row["found"]], [0.25, 0.5, 0.75]).round(3).tolist()
            kept.write()
        print(told(row, kept.row(hours=hours, setting=given.settings[0])), flush=True)


if __name__ == "__main__":
    main()
