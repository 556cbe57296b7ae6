"""How much slack should capping leave? Table 1 of Hutter et al. 2013 on SPEAR-SWV: ``python -m benchmarks.slack_factors``.

The model-based strategy with slack factors 1 to 2 and without capping, simulated: a forest fitted to the recorded runs answers for any
configuration; half of the instances for training. Costs of the incumbents after ``--hours`` (our own CPU time counts) on the other half,
medians and quartiles over ``--seeds`` (20; a tuning of 3 h takes about 20 s), tests against "none". What stands in
benchmarks/results/slack_factors.json is not run again.

``--real``: the same question on a real solver, clasp on generated quasigroups (``capra demo``), 60 s of its time, 3 seeds; about
1½ minutes each, one core that nobody else uses. Results: benchmarks/results/slack_real.json.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import mannwhitneyu

from benchmarks.kept import Kept
from benchmarks.spear import load, whole_space
from capra.analysis.statistics import paired_permutation_test
from capra.demo import prepare
from capra.formats.scenarios import read_options
from capra.overview import validate_run
from capra.runs import Status
from capra.scenario import Scenario
from capra.tune import Result, tune

SLACKS: dict[str, dict[str, Any]] = {
    **{str(slack): {"slack": slack} for slack in (1.0, 1.1, 1.3, 1.5, 2.0)},
    "none": {"capping": False},
}
REAL_SECONDS = 60
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


def real(folder: Path) -> Once:
    draft = read_options(prepare(folder))

    def once(hours: float, seed: int, options: dict[str, Any]) -> dict[str, Any]:
        scenario = Scenario(base=draft.bases, **(draft.options | {"budget": {"cpu": f"{hours}h"}}))
        run = folder / f"{seed}-{options}"
        result = tune(scenario, strategy="smac", seed=seed, workers=1, out=run, **options)
        default, incumbent = (row["cost"] for row in validate_run(run, seeds=1, workers=1))
        return {"par10": incumbent, "default": default, **counts(result)}

    return once


def measure(kept: Kept, once: Once, hours: float, seeds: int) -> None:
    """Seed by seed, so that all factors have as many whenever it is stopped."""
    for seed in range(seeds):
        for name, options in SLACKS.items():
            row = kept.row(hours=hours, slack=name)
            if len(row["found"]) <= seed:
                row["found"].append(once(hours, seed, options))
                kept.write()
                print(f"{hours:g} h  seed {seed}  slack {name:5}", row["found"][-1], flush=True)


def judge(kept: Kept, hours: float) -> None:
    """Quartiles for each factor and tests against no capping, over the seeds that all have."""
    rows = {row["slack"]: row for row in kept.rows if row["hours"] == hours}
    seeds = min(len(row["found"]) for row in rows.values())
    costs = {name: np.array([one["par10"] for one in row["found"][:seeds]]) for name, row in rows.items()}
    for name, row in rows.items():
        row["quartiles"] = np.quantile(costs[name], [0.25, 0.5, 0.75]).round(3).tolist()
        row["mann_whitney"] = float(mannwhitneyu(costs[name], costs["none"]).pvalue)
        logs = np.log(costs[name]), np.log(costs["none"])
        row["permutation"] = paired_permutation_test(*logs, np.random.default_rng(0))
        print(f"{hours:.3g} h  slack {name:5}", {key: row[key] for key in ("quartiles", "mann_whitney", "permutation")})
    kept.write()


def main() -> None:
    parser = argparse.ArgumentParser(description="slack factors of capping")
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--hours", type=float, nargs="+", default=[1.0, 3.0])
    parser.add_argument("--real", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if given.real:
            kept, once = Kept("slack_real", {}, "capra", "clingo", "numpy"), real(Path(folder))
            given.hours, given.seeds = [REAL_SECONDS / 3600], given.seeds or 3
        else:
            kept, once = Kept("slack_factors", {}, "capra", "numpy"), simulated()
        for hours in given.hours:
            measure(kept, once, hours, given.seeds or 20)
            judge(kept, hours)


if __name__ == "__main__":
    main()
