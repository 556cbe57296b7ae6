"""Do cutoffs chosen for information pay? ``python -m benchmarks.information``

``smac`` with a forest on SPEAR-SWV, whole space, virtual clock, as in ``benchmarks.models``: adaptive capping with slack 1.3 against
``capping="information"`` with the same slack. PAR10 of the final incumbent on held-out instances; our own CPU time counts against the
budget. With ``--light`` there are fewer fits and candidates, which takes a tenth of the time. Finished seeds are kept in
benchmarks/results/information.json and skipped the next time.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from typing import Any

import numpy as np

from benchmarks.machine import RESULTS, machine, write_results
from benchmarks.spear import load, whole_space
from capra.analysis.statistics import paired_permutation_test
from capra.runs import Status
from capra.targets import SurrogateTarget
from capra.tune import Result, tune

SETTINGS: dict[str, dict[str, Any]] = {"slack 1.3": {"capping": True}, "information": {"capping": "information"}}
LIGHT: dict[str, Any] = {"candidates": 1000, "refit": 8}
NAME = "information"
COUNTED = ("runs", "configurations", "capped", "again", "own")


def one_tuning(target: SurrogateTarget, train: list[str], test: list[str], row: dict[str, Any]) -> dict[str, Any]:
    """What a tuning found, how many runs and configurations it had time for, and how its runs were cut."""
    scenario = target.scenario(train=train, budget={"cpu": f"{row['hours']}h"})
    options = SETTINGS[row["setting"]] | (LIGHT if row["light"] else {})
    result = tune(scenario, "smac", engine="simulated", seed=row["seed"], **options)
    return {
        **row,
        "cost": round(float(target.costs(result.incumbent, test).mean()), 3),
        "runs": len(result.history),
        "configurations": len(list(result.history.configurations)),
        "capped": round(result.history.statuses[Status.CAPPED] / len(result.history), 3),
        "again": again(result),
        "own": round(result.spent - result.history.spent, 1),
    }


def again(result: Result) -> int:
    """Runs of a cell that had been run before, with a smaller cutoff."""
    cells = [run.request.cell for run in result.history]
    return len(cells) - len(set(cells))


def earlier() -> list[dict[str, Any]]:
    path = RESULTS / f"{NAME}.json"
    return list(json.loads(path.read_text())["tunings"]) if path.exists() else []


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Per budget and setting: quartiles of the cost and medians of the rest; the test over the seeds that both have."""
    found = []
    for light, hours in sorted({(row["light"], row["hours"]) for row in rows}):
        these = [row for row in rows if (row["light"], row["hours"]) == (light, hours)]
        by_seed = [{row["setting"]: row for row in these if row["seed"] == seed} for seed in {row["seed"] for row in these}]
        both = [pair for pair in by_seed if len(pair) == len(SETTINGS)]
        if both:
            found += [{"light": light, "hours": hours, **line} for line in _compared(both)]
    return found


def _compared(both: list[dict[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    costs = {name: np.array([pair[name]["cost"] for pair in both]) for name in SETTINGS}
    p = paired_permutation_test(np.log(costs["information"]), np.log(costs["slack 1.3"]), np.random.default_rng(0))
    lines = []
    for name in SETTINGS:
        medians = {key: float(np.median([pair[name][key] for pair in both])) for key in COUNTED}
        quartiles = np.quantile(costs[name], [0.25, 0.5, 0.75]).round(2).tolist()
        mean = round(float(np.exp(np.log(costs[name]).mean())), 2)
        lines.append(
            {"setting": name, "seeds": len(both), "quartiles": quartiles, "geometric_mean": mean, "p": p, **medians}
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--hours", type=float, nargs="+", default=[1, 3])
    parser.add_argument("--minutes", type=float, default=8, help="start no further tuning after so many")
    parser.add_argument("--light", action="store_true")
    given = parser.parse_args()
    began, rows = time.monotonic(), earlier()
    done = {(row["light"], row["hours"], row["seed"], row["setting"]) for row in rows}
    target, spear = whole_space(), load()
    test = [target.instances[j] for j in spear.test]
    for hours, seed, name in itertools.product(given.hours, range(given.seeds), SETTINGS):
        if (given.light, hours, seed, name) in done or time.monotonic() - began > 60.0 * given.minutes:
            continue
        asked = {"light": given.light, "hours": hours, "seed": seed, "setting": name}
        rows.append(one_tuning(target, spear.train, test, asked))
        print(rows[-1], flush=True)
        write_results(NAME, {"machine": machine("capra", "numpy"), "summary": summary(rows), "tunings": rows})
    for row in summary(rows):
        print(row)


if __name__ == "__main__":
    main()
