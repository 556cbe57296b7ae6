"""How right the probabilities of all models are under censoring: ``python -m benchmarks.calibration``.

The functions of ``benchmarks.censored`` (Eggensperger et al. 2021, "Problem Setup"), 100 noisy values per dimension, one at each
place, so that a Gaussian process can take part; censored by place as in the paper, and by value as a configurator's runs are. Scored
at 1,000 fresh places: error of the mean against the function; and against
new noisy values, which are not censored, likelihood, CRPS and the distances from calibration of the prediction of single runs.
The error and CRPS are given in deviations of the noise, so that functions can be averaged. Medians and quartiles over functions and
data sets. ``benchmarks.capped_models`` does the same with runs of a solver. Results: benchmarks/results/calibration.json.

``--seeds`` sets the number of data sets of each function (5: about six minutes of CPU time).
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.censored import FUNCTIONS, NOISE, Problem, capped_problem, problem
from benchmarks.contenders import METHODS, fitted, quartiles, scores_of_runs
from benchmarks.machine import machine, write_results
from capra.models.scores import rmse

SETTINGS: dict[str, Callable[[str, int], Problem]] = {
    "runs with bounds of their own": capped_problem,
    **{
        f"places above the {p}th percentile": partial(lambda p, name, seed: problem(name, p, seed, copies=1), p)
        for p in (20, 40, 80)
    },
}
FRESH = 1_000
SHOWN = ("rmse", "log_likelihood", "crps", "off_diagonal", "off_tenth")


def study(setting: str, name: str, seed: int, contender: tuple[str, str]) -> dict[str, float]:
    """All values are divided by the noise's deviation: a likelihood depends on the unit."""
    data = SETTINGS[setting](name, seed)
    noise = NOISE * np.ptp(data.truth)
    model, cpu = fitted(contender, data.X, data.y / noise, data.censored, seed=seed)
    function, dimensions = FUNCTIONS[name]
    rng = np.random.default_rng(1_000 + seed)
    places = rng.random((FRESH, dimensions))
    truth = function(places) / noise
    mean, std = model.predict_runs(places)
    runs, none = truth + rng.normal(size=FRESH), np.zeros(FRESH, dtype=np.bool_)
    return {"rmse": rmse(truth, mean), **scores_of_runs(runs, none, mean, std), "fit_cpu_s": cpu}


def show(title: str, rows: dict[str, dict[str, list[float]]]) -> None:
    """Medians; quartiles are in the file."""
    print(f"\n{title}\n{'':18}" + "".join(f"{key:>16}" for key in SHOWN))
    for contender, row in rows.items():
        print(f"{contender:18}" + "".join(f"{row[key][1]:16.2f}" for key in SHOWN), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="calibration of all models under censoring")
    parser.add_argument("--seeds", type=int, default=5, help="data sets of each function")
    seeds = parser.parse_args().seeds
    document: dict[str, Any] = {"machine": machine("numpy", "scipy"), "seeds": seeds, "censored": {}}
    contenders = [(family, method) for family, methods in METHODS.items() for method in methods]
    with threadpool_limits(1):
        for setting in SETTINGS:
            found = {
                " ".join(contender): quartiles(
                    [study(setting, name, seed, contender) for name, seed in itertools.product(FUNCTIONS, range(seeds))]
                )
                for contender in contenders
            }
            document["censored"][setting] = found
            show(f"censored: {setting}", found)
            write_results("calibration", document)


if __name__ == "__main__":
    main()
