"""Does capping pay? Racing on SPEAR-SWV with slack 1, 1.3, 2 and without capping (Hutter et al. 2011, Table 1, without a model).

``python -m benchmarks.capping``: budgets of 1, 3 and 10 CPU hours, 20 seeds, simulated with one worker; PAR10 of the final incumbent
on held-out instances. An exhausted pool races again. Seeds that stand in benchmarks/results/capping.json are not run again.
"""

from __future__ import annotations

import argparse
import itertools
from typing import Any

import numpy as np

from benchmarks.kept import Kept
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


def final_cost(spear: Spear, hours: float, seed: int, options: dict[str, object]) -> dict[str, float]:
    """Test PAR10 of the incumbent, number of runs and of configurations tried."""
    result = tune(
        spear.scenario(seed, {"cpu": f"{hours}h"}), "roar", engine="simulated", seed=seed, overhead="ignore", **options
    )
    tried = len(list(result.history.configurations))
    return {
        "par10": round(spear.test_cost(result.incumbent), 3),
        "runs": len(result.history),
        "configurations": tried,
    }


def column(row: dict[str, Any], key: str) -> np.ndarray:
    return np.array([one[key] for one in row["found"]], dtype=float)


def summary(row: dict[str, Any]) -> dict[str, Any]:
    low, middle, high = np.quantile(column(row, "par10"), [0.25, 0.5, 0.75]).round(3).tolist()
    return {
        "quartiles": [low, middle, high],
        "runs": float(np.median(column(row, "runs"))),
        "configurations": float(np.median(column(row, "configurations"))),
    }


def compare(rows: list[dict[str, Any]]) -> None:
    """One budget's settings with the last of them, no capping, over the seeds that both have."""
    *capped, bare = rows
    for row in capped:
        both = zip(row["found"], bare["found"], strict=False)
        logs = np.log([[one["par10"], other["par10"]] for one, other in both]).T
        row["p_against_no_capping"] = p = paired_permutation_test(*logs, np.random.default_rng(0))
        print(
            f"{row['hours']:3d} h  {row['setting']} against no capping: p = {p:.2g} (paired permutation test on log PAR10)"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    seeds = parser.parse_args().seeds
    spear = load()
    best = float(spear.costs[:, spear.test].mean(axis=1).min())
    kept = Kept("capping", {"best_of_pool": best}, "capra", "numpy")
    for hours, (name, options) in itertools.product(HOURS, SETTINGS.items()):
        row = kept.row(hours=hours, setting=name)
        for seed in range(len(row["found"]), seeds):
            row["found"].append(final_cost(spear, hours, seed, options))
            row.update(summary(row))
            kept.write()
        print(f"{hours:3d} h  {name:11s}", {key: row[key] for key in ("quartiles", "runs", "configurations")}, flush=True)
    for hours in HOURS:
        compare([kept.row(hours=hours, setting=name) for name in SETTINGS])
    kept.write()
    print(f"best configuration of the pool: {best:.2f}")


if __name__ == "__main__":
    main()
