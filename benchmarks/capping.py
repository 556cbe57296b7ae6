"""Does capping pay? Racing on SPEAR-SWV with slack 1, 1.3, 2 and without capping (Hutter et al. 2011, Table 1, without a model).

``python -m benchmarks.capping``: budgets of 1, 3 and 10 CPU hours, 20 seeds, simulated with one worker; PAR10 of the final incumbent
on held-out instances. An exhausted pool races again.
"""

from __future__ import annotations

import argparse
import itertools

import numpy as np

from benchmarks.machine import machine, write_results
from benchmarks.spear import Spear, load
from capra.analysis.statistics import paired_permutation_test
from capra.tune import tune

SETTINGS = {
    "slack 1": {"slack": 1.0},
    "slack 1.3": {"slack": 1.3},
    "slack 2": {"slack": 2.0},
    "no capping": {"capping": False},
}
HOURS = (1, 3, 10)


def final_cost(spear: Spear, hours: float, seed: int, options: dict[str, object]) -> tuple[float, int, int]:
    """Test PAR10 of the incumbent, number of runs and of configurations tried."""
    result = tune(
        spear.scenario(seed, {"cpu": f"{hours}h"}), "roar", engine="simulated", seed=seed, overhead="ignore", **options
    )
    return spear.test_cost(result.incumbent), len(result.history), len(list(result.history.configurations))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    seeds = range(parser.parse_args().seeds)
    spear = load()
    rows = []
    for hours, (name, options) in itertools.product(HOURS, SETTINGS.items()):
        found = [final_cost(spear, hours, seed, options) for seed in seeds]
        costs, runs, tried = (np.array(column, dtype=float) for column in zip(*found, strict=True))
        rows.append(
            {
                "hours": hours,
                "setting": name,
                "test_par10": [round(c, 3) for c in costs],
                "runs": float(np.median(runs)),
                "configurations": float(np.median(tried)),
            }
        )
        low, middle, high = np.quantile(costs, [0.25, 0.5, 0.75])
        print(
            f"{hours:3d} h  {name:11s} median {middle:8.1f}  quartiles {low:8.1f} {high:8.1f}  runs {np.median(runs):7.0f}  configurations {np.median(tried):5.0f}",
            flush=True,
        )
        rows[-1]["quartiles"] = [round(float(value), 3) for value in (low, middle, high)]
        if name == "no capping":
            for row in rows[-len(SETTINGS) : -1]:
                row["p_against_no_capping"] = paired_permutation_test(
                    np.log(row["test_par10"]), np.log(costs), np.random.default_rng(0)
                )
                print(
                    f"       {row['setting']} against no capping: p = {row['p_against_no_capping']:.2g} (paired permutation test on log PAR10)"
                )
    best = float(spear.costs[:, spear.test].mean(axis=1).min())
    print(f"best configuration of the pool: {best:.2f}")
    write_results("capping", {"machine": machine("capra", "numpy"), "seeds": len(seeds), "best_of_pool": best, "rows": rows})


if __name__ == "__main__":
    main()
