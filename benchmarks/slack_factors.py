"""How much slack should capping leave? Table 1 of Hutter et al. 2013 on SPEAR-SWV: ``python -m benchmarks.slack_factors``.

The model-based strategy with slack factors 1 to 2, without capping, and with cutoffs chosen for information, simulated: a forest
fitted to the recorded runs answers for any configuration; half of the instances for training. Costs of the incumbents after ``--hours``
(our own CPU time counts) on the other half, medians and quartiles over ``--seeds`` (20; a tuning of 1 h takes about 15 s, one of
3 h about 45 s), tests against "none" and against the default of 1.3. What stands in benchmarks/results/slack_factors.json is not run again.

``--real``: the same question on a real solver, clasp on generated quasigroups (as in ``benchmarks.peers``), 60 s of its time, 3 seeds; about
1½ minutes each, one core that nobody else uses. Results: benchmarks/results/slack_real.json.
"""

from __future__ import annotations

import argparse
import itertools
import math
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import mannwhitneyu

from benchmarks.kept import Kept
from benchmarks.peers.judge import FRESH
from benchmarks.peers.problems import Clasp
from benchmarks.spear import load, whole_space
from capra.analysis.statistics import paired_permutation_test
from capra.runs import Status
from capra.tune import Result, tune
from capra.validate import validate

SLACKS: dict[str, dict[str, Any]] = {
    **{str(slack): {"slack": slack} for slack in (1.0, 1.1, 1.3, 1.5, 2.0)},
    "none": {"capping": False},
    "information": {"capping": "information"},
}
TESTED = ("none", "1.3")
"""What all others are compared with."""
COUNTED = ("runs", "configurations", "censored", "own")
REAL_SECONDS = 60
JUDGED = 5
"""Seeds on each of the 20 test instances."""
Once = Callable[[float, int, dict[str, Any]], dict[str, Any]]
"""Hours, seed and options to what one tuning found."""


def counts(result: Result) -> dict[str, Any]:
    censored = sum(run.outcome.status in (Status.CAPPED, Status.TIMEOUT) for run in result.history)
    return {
        "runs": len(result.history),
        "configurations": len(list(result.history.configurations)),
        "censored": round(censored / len(result.history), 3),
        "own": round(result.spent - result.history.spent, 2),
    }


def simulated() -> Once:
    target, spear = whole_space(), load()
    test = [target.instances[j] for j in spear.test]

    def once(hours: float, seed: int, options: dict[str, Any]) -> dict[str, Any]:
        scenario = target.scenario(train=spear.train, budget={"cpu": f"{hours}h"})
        result = tune(scenario, engine="simulated", strategy="smac", seed=seed, **options)
        par10, mean = (float(target.costs(result.incumbent, test, k).mean()) for k in (10.0, 1.0))
        return {"par10": round(par10, 4), "mean": round(mean, 4), **counts(result)}

    return once


def real() -> Once:
    clasp = Clasp()

    def once(hours: float, seed: int, options: dict[str, Any]) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            result = tune(clasp.scenario(3600.0 * hours), strategy="smac", seed=seed, out=folder, **options)
            found = validate(clasp.scenario(), [result.incumbent], seeds=JUDGED, seed=FRESH, out=folder)
        return {"par10": round(found[0].cost, 5), **counts(result)}

    return once


def measure(kept: Kept, once: Once, hours: float, seeds: int, until: float) -> None:
    """Seed by seed, so that all factors have as many whenever it is stopped."""
    for seed, (name, options) in itertools.product(range(seeds), SLACKS.items()):
        row = kept.row(hours=hours, slack=name)
        if len(row["found"]) <= seed and time.monotonic() < until:
            row["found"].append(once(hours, seed, options))
            kept.write()
            print(f"{hours:g} h  seed {seed}  slack {name:5}", row["found"][-1], flush=True)


def judge(kept: Kept, hours: float) -> None:
    """Quartiles for each factor, and tests against no capping and against the default, over the seeds that all have."""
    rows = {row["slack"]: row for row in kept.rows if row["hours"] == hours}
    seeds = min(len(row["found"]) for row in rows.values())
    if not seeds:
        return
    costs = {name: np.array([one["par10"] for one in row["found"][:seeds]]) for name, row in rows.items()}
    for name, row in rows.items():
        row["seeds"] = seeds
        row["quartiles"] = np.quantile(costs[name], [0.25, 0.5, 0.75]).round(4).tolist()
        row["medians"] = {key: float(np.median([one[key] for one in row["found"][:seeds]])) for key in COUNTED}
        row["mann_whitney"] = {other: float(mannwhitneyu(costs[name], costs[other]).pvalue) for other in TESTED}
        row["permutation"] = {
            other: paired_permutation_test(np.log(costs[name]), np.log(costs[other]), np.random.default_rng(0))
            for other in TESTED
        }
        shown = ("seeds", "quartiles", "medians", "mann_whitney", "permutation")
        print(f"{hours:.3g} h  slack {name:5}", {key: row[key] for key in shown})
    kept.write()


def main() -> None:
    parser = argparse.ArgumentParser(description="slack factors of capping")
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--hours", type=float, nargs="+", default=[1.0, 3.0])
    parser.add_argument("--minutes", type=float, default=math.inf, help="start no tuning after so many")
    parser.add_argument("--real", action="store_true")
    given = parser.parse_args()
    until = time.monotonic() + 60.0 * given.minutes
    if given.real:
        kept, once = Kept("slack_real", {}, "capra", "numpy"), real()
        given.hours, given.seeds = [REAL_SECONDS / 3600], given.seeds or 3
    else:
        kept, once = Kept("slack_factors", {}, "capra", "numpy"), simulated()
    for hours in given.hours:
        measure(kept, once, hours, given.seeds or 20, until)
        judge(kept, hours)


if __name__ == "__main__":
    main()
