"""How much slack should capping leave? Table 1 of Hutter et al. 2013 on SPEAR-SWV: ``python -m benchmarks.slack_factors``.

The model-based strategy with slack factors 1 to 2 and without capping, simulated: a forest fitted to the recorded runs answers for any
configuration; half of the instances for training. Costs of the incumbents after 1 h and 3 h (our own CPU time counts) on the other half,
medians and quartiles over ``--seeds`` (20: 15 s each for one factor), tests against "none". What stands in
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
HOURS = [1.0, 3.0]
REAL_SECONDS = 60
Once = Callable[[int, dict[str, Any]], dict[str, Any]]
"""Seed and options to what one tuning found; its ``par10`` is a list, one for each time that is looked at."""


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

    def once(seed: int, options: dict[str, Any]) -> dict[str, Any]:
        scenario = target.scenario(train=spear.train, budget={"cpu": f"{HOURS[-1]}h"})
        result = tune(scenario, engine="simulated", strategy="smac", seed=seed, **options)
        # a tuning does not look at what is left of its budget: after 1 h of 3 it stands where 1 h alone would have ended
        then = [[m for m in result.trajectory if m.spent <= 3600.0 * hours][-1].config for hours in HOURS]
        costs = {
            name: [float(target.costs(config, test, k).mean()) for config in then]
            for name, k in (("par10", 10.0), ("mean", 1.0))
        }
        return {**{name: np.round(values, 4).tolist() for name, values in costs.items()}, **counts(result)}

    return once


def real(folder: Path) -> Once:
    draft = read_options(prepare(folder))
    scenario = Scenario(base=draft.bases, **(draft.options | {"budget": {"cpu": f"{REAL_SECONDS}s"}}))

    def once(seed: int, options: dict[str, Any]) -> dict[str, Any]:
        run = folder / f"{seed}-{options}"
        result = tune(scenario, strategy="smac", seed=seed, workers=1, out=run, **options)
        default, incumbent = (row["cost"] for row in validate_run(run, seeds=1, workers=1))
        return {"par10": [incumbent], "default": default, **counts(result)}

    return once


def measure(kept: Kept, once: Once, seeds: int) -> None:
    """Seed by seed, so that all factors have as many whenever it is stopped."""
    for seed in range(seeds):
        for name, options in SLACKS.items():
            row = kept.row(slack=name)
            if len(row["found"]) <= seed:
                row["found"].append(once(seed, options))
                kept.write()
                print(f"seed {seed}  slack {name:5}", row["found"][-1], flush=True)


def judge(kept: Kept, times: list[str]) -> None:
    """Quartiles of each row and its tests against no capping, over the seeds that all have."""
    seeds = min(len(row["found"]) for row in kept.rows)
    costs = {row["slack"]: np.array([one["par10"] for one in row["found"][:seeds]]).T for row in kept.rows}
    for row in kept.rows:
        row["quartiles"], row["mann_whitney"], row["permutation"] = [], [], []
        for i, time in enumerate(times):
            mine, none = costs[row["slack"]][i], costs["none"][i]
            rank = float(mannwhitneyu(mine, none).pvalue)
            paired = paired_permutation_test(np.log(mine), np.log(none), np.random.default_rng(0))
            row["quartiles"].append(np.quantile(mine, [0.25, 0.5, 0.75]).round(3).tolist())
            row["mann_whitney"].append(rank)
            row["permutation"].append(paired)
            print(
                f"{time:>5}  slack {row['slack']:5} {row['quartiles'][-1]}  against none: U test {rank:.2g}, paired {paired:.2g}"
            )
    kept.write()


def main() -> None:
    parser = argparse.ArgumentParser(description="slack factors of capping")
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--real", action="store_true")
    given = parser.parse_args()
    if given.real:
        kept = Kept("slack_real", {"seconds": REAL_SECONDS}, "capra", "clingo", "numpy")
        with tempfile.TemporaryDirectory() as folder:
            measure(kept, real(Path(folder)), given.seeds or 3)
        judge(kept, [f"{REAL_SECONDS} s"])
    else:
        kept = Kept("slack_factors", {"hours": HOURS}, "capra", "numpy")
        measure(kept, simulated(), given.seeds or 20)
        judge(kept, [f"{hours:g} h" for hours in HOURS])


if __name__ == "__main__":
    main()
