"""What importance costs: ``python -m benchmarks.importance`` (``--runs``, ``--again``).

Runs of random configurations with 50 XX CPU seconds of one process on one core: fitting the forest of 32 trees, the shares of single
parameters, then those of all pairs of the ten that matter most. Beside the fit the peer: scikit-learn's forest of as many trees on
as many rows and columns. Finished cases are kept in results/importance.json and not measured again without ``--again``.
"""

from __future__ import annotations

import argparse
import json
import os
from typing import Any

import numpy as np

from benchmarks.machine import RESULTS, machine, write_results
from benchmarks.scale import timed
from capra.analysis.importance import TREES, Importance
from capra.formats.instances import Features
from capra.runs import History, Outcome, Run, RunRequest, Status
from capra.scenario import Scenario
from capra.space import Categorical, Real, Space

CUTOFF = 100.0
INSTANCES = 100
REPEATS = 4
"""Instances that each configuration is run on, where there are any."""


def scenario(instances: int, features: int) -> Scenario:
    numbers = [Real(f"x{j:02d}", 0.0, 1.0, 0.5) for j in range(40)]
    choices = [Categorical(f"mode{j}", ("slow", "middle", "fast"), "slow") for j in range(10)]
    names = [f"i{k}" for k in range(instances)]
    given: dict[str, Any] = {"instances": names} if names else {}
    if features:
        rng = np.random.default_rng(2)
        rows = {name: (float(k), *rng.normal(size=features - 1).tolist()) for k, name in enumerate(names)}
        given["features"] = Features(tuple(f"f{j}" for j in range(features)), rows)
    space = Space([*numbers, *choices])
    return Scenario(target="some:function", space=space, cutoff=CUTOFF, unit="steps", budget={"runs": 1_000_000}, **given)


def history_of(given: Scenario, runs: int) -> History:
    """The first number explains most of the time, then two choices; half of the runs are stopped somewhere before their end."""
    rng, history = np.random.default_rng(1), History(given.objective, CUTOFF)
    names = [instance.name for instance in given.instances]
    each = REPEATS if names else 1
    configs = given.space.decode(given.space.sample(-(-runs // each), rng))
    for k in range(runs):
        config = configs[k // each]
        slow = 4.0 * abs(float(config["x00"]) - 0.3) + (config["mode0"] == "slow") + 0.5 * (config["mode1"] == "slow")
        place = int(rng.integers(len(names))) if names else 0
        time = min(float(np.exp(slow - 1.0 + place / 50 + rng.normal(0.0, 0.5))), 0.99 * CUTOFF)
        stopped = rng.random() < 0.5
        bound = time * float(rng.uniform(0.1, 1.0)) if stopped else CUTOFF
        outcome = Outcome(Status.CAPPED, bound, bound) if stopped else Outcome(Status.SUCCESS, time, CUTOFF)
        history.add(Run(RunRequest(config, names[place] if names else None, k, bound), outcome))
    return history


def peer(rows: int, columns: int) -> float:
    from sklearn.ensemble import RandomForestRegressor

    rng = np.random.default_rng(0)
    X, y = rng.random((rows, columns)), rng.normal(size=rows)
    forest = RandomForestRegressor(TREES, max_features=5 / 6, min_samples_leaf=3, n_jobs=1, random_state=0)
    return timed(lambda: forest.fit(X, y))[0]["cpu_s"]


def measured(runs: int, instances: int, features: int) -> dict[str, Any]:
    given = scenario(instances, features)
    history = history_of(given, runs)
    fit, importance = timed(lambda: Importance(given, history))
    shares, ranked = timed(importance.parameters)
    pairs, _ = timed(importance.pairs)
    rows = sum(1 for _ in history.cells())
    return {
        "runs": runs,
        "instances": instances,
        "features": features,
        "rows": rows,
        "load": os.getloadavg()[0],
        "fit_cpu_s": fit["cpu_s"],
        "shares_cpu_s": shares["cpu_s"],
        "pairs_cpu_s": pairs["cpu_s"],
        "peer_fit_cpu_s": peer(rows, len(given.space) + (features or bool(instances))),
        "first": {one.name: one.share for one in ranked[:3]},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--again", action="store_true")
    given = parser.parse_args()
    file = RESULTS / "importance.json"
    cases = json.loads(file.read_text())["cases"] if file.exists() else {}
    for runs in given.runs:
        for instances, features in ((0, 0), (INSTANCES, 0), (INSTANCES, 10)):
            key = f"{runs:,} runs, {instances or 'no'} instances" + (f" with {features} features" if features else "")
            if key not in cases or given.again:
                cases[key] = measured(runs, instances, features)
                write_results("importance", {"machine": machine("capra", "numpy", "scikit-learn"), "cases": cases})
            found = cases[key]
            ratio = found["fit_cpu_s"] / found["peer_fit_cpu_s"]
            print(
                f"{key}: fit {found['fit_cpu_s']:.1f} s ({ratio:.2f} times scikit-learn's), shares {found['shares_cpu_s']:.1f} s, "
                f"pairs {found['pairs_cpu_s']:.1f} s of CPU",
                flush=True,
            )


if __name__ == "__main__":
    main()
