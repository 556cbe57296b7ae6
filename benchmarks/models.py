"""Does the model pay? Racing with random and with model-proposed challengers on SPEAR-SWV, whole space, virtual clock.

``python -m benchmarks.models``: a forest fitted to the recorded runs answers for any configuration (SurrogateTarget); half of the
instances for training, PAR10 of the final incumbent on the other half. Our own CPU time counts against the budget.
"""

from __future__ import annotations

import argparse
import itertools

import numpy as np

from benchmarks.machine import machine, write_results
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--hours", type=float, nargs="+", default=[1, 3, 10])
    parser.add_argument("--settings", nargs="+", default=list(SETTINGS))
    given = parser.parse_args()
    target, spear = whole_space(), load()
    names = list(target.instances)
    test = [names[j] for j in spear.test]
    rows = []
    for hours, name in itertools.product(given.hours, given.settings):
        found = [final_cost(target, spear.train, test, hours, seed, SETTINGS[name]) for seed in range(given.seeds)]
        costs = np.array([row["cost"] for row in found])
        row = {
            "hours": hours,
            "setting": name,
            "quartiles": np.quantile(costs, [0.25, 0.5, 0.75]).round(3).tolist(),
            "found": found,
        }
        rows.append(row)
        base = next(other for other in rows if other["hours"] == hours)
        p = paired_permutation_test(np.log(costs), np.log([r["cost"] for r in base["found"]]), np.random.default_rng(0))
        print(
            f"{hours:4} h  {name:12s} quartiles {row['quartiles']}  p against {base['setting']} {p:.3g}  "
            + "  ".join(f"{key} {np.median([r[key] for r in found]):.0f}" for key in ("runs", "configurations", "own")),
            flush=True,
        )
    write_results("models", {"machine": machine("capra", "numpy"), "seeds": given.seeds, "rows": rows})


if __name__ == "__main__":
    main()
