"""Table 1 of Eggensperger et al. 2021 (error of censored regression) beside ours: ``python -m benchmarks.table1``.

Four functions, four thresholds of censoring; ensembles of five networks that ignore censoring (I), drop censored values (D),
impute them by Schmee & Hahn (S&H) or take them into the loss (T), and forests, which know the first three and sampling instead
of T. Root mean squared error of the mean against the function itself, and log-likelihood of the function under what the model
believes of it (without the noise of single runs, which ``benchmarks.calibration`` scores); 5-fold cross-validation over
locations.

The quick size trains with the default recipe; ``--full`` follows the paper's (10,000 epochs: about a day). Every fold is stored
in benchmarks/results/table1.json as soon as it is there, so ``--minutes N`` does the work in pieces: call it again to go on.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.censored import FUNCTIONS, Problem, problem
from benchmarks.figures.published import TABLE_1
from benchmarks.machine import RESULTS, machine, write_results
from capra.models import FAST, PAPER, CensoredForest, Recipe, TobitEnsemble
from capra.models.base import Surrogate
from capra.models.numerics import log_density

FOLDS = 5
PERCENTILES = (10, 20, 40, 80)

Maker = Callable[[Recipe, int], Surrogate]
# family of models → method → a model for a seed. The published numbers are those of networks.
FAMILIES: dict[str, dict[str, Maker]] = {
    "forest": {
        "I": lambda _, seed: CensoredForest(censoring="ignore", seed=seed),
        "D": lambda _, seed: CensoredForest(censoring="drop", seed=seed),
        "S&H": lambda _, seed: CensoredForest(censoring="mean", seed=seed),
        "sample": lambda _, seed: CensoredForest(censoring="sample", seed=seed),
    },
    "network": {
        "I": lambda recipe, seed: TobitEnsemble(5, "ignore", seed, recipe=recipe, threads=2),
        "D": lambda recipe, seed: TobitEnsemble(5, "drop", seed, recipe=recipe, threads=2),
        "S&H": lambda recipe, seed: TobitEnsemble(5, "mean", seed, recipe=recipe, threads=2),
        "T": lambda recipe, seed: TobitEnsemble(5, "tobit", seed, recipe=recipe, threads=2),
    },
}


def split(data: Problem, fold: int) -> tuple[np.ndarray, np.ndarray]:
    """Which rows are held out (a mask), and one row of each location among them."""
    order = np.random.default_rng(0).permutation(data.location.max() + 1)
    held = np.isin(data.location, order[fold::FOLDS])
    return held, np.flatnonzero(held)[np.unique(data.location[held], return_index=True)[1]]


def evaluate(model: Surrogate, data: Problem, fold: int) -> dict[str, float]:
    """Error, mean log-likelihood of the true values, and CPU seconds of the fit."""
    held, first = split(data, fold)
    started = time.process_time()
    model.fit(data.X[~held], data.y[~held], data.censored[~held])
    cpu = time.process_time() - started
    mean, std = model.predict(data.X[first])
    error = mean - data.truth[first]
    likelihood = np.mean(log_density(error / std) - np.log(std))
    return {"rmse": float(np.sqrt(np.mean(error**2))), "log_likelihood": float(likelihood), "cpu_seconds": cpu}


def folds() -> Iterator[tuple[str, str, int, str, int]]:
    """All of the work: what the paper proposes first, imputation, which takes most of the time, last."""
    for family, methods in FAMILIES.items():
        for method in sorted(methods, key=lambda method: (method == "S&H", method != "T")):
            for name in FUNCTIONS:
                for percentile, fold in itertools.product(PERCENTILES, range(FOLDS)):
                    yield family, name, percentile, method, fold


def key(family: str, name: str, percentile: int, method: str, fold: int) -> str:
    return f"{family} {name} {percentile} {method} {fold}"


def work(document: dict[str, Any], size: str, minutes: float) -> bool:
    """Do what is missing, as long as there is time; whether nothing is missing any more."""
    recipe, done = {"quick": FAST, "full": PAPER}[size], document.setdefault(size, {})
    end = time.monotonic() + 60.0 * minutes
    for family, name, percentile, method, fold in folds():
        entry = key(family, name, percentile, method, fold)
        if entry in done:
            continue
        if time.monotonic() > end:
            return False
        done[entry] = evaluate(FAMILIES[family][method](recipe, fold), problem(name, percentile, seed=0), fold)
        write_results("table1", document)
    return True


def average(done: dict[str, Any], what: str, family: str, name: str, percentile: int, method: str) -> float:
    entries = [done.get(key(family, name, percentile, method, fold)) for fold in range(FOLDS)]
    return float("nan") if None in entries else float(np.mean([entry[what] for entry in entries if entry]))


def show(done: dict[str, Any], what: str, places: int) -> None:
    for family, methods in FAMILIES.items():
        beside_paper = what == "rmse" and family == "network"
        print(f"\n{family}: {what}" + (", ours / published" if beside_paper else ""))
        print(" " * 10 + "".join(f"{f'{percentile}th {method}':>15}" for percentile in PERCENTILES for method in methods))
        for name in FUNCTIONS:
            cells = []
            for percentile in PERCENTILES:
                for method, published in zip(methods, TABLE_1[name][percentile], strict=True):
                    beside = f" /{published:5.1f}" if beside_paper else ""
                    found = average(done, what, family, name, percentile, method)
                    cells.append((f"{found:.{places}f}" if found > -1e4 else f"{found:.0e}") + beside)
            print(f"{name:10}" + "".join(f"{cell:>15}" for cell in cells))


def main() -> None:
    parser = argparse.ArgumentParser(description="Table 1 of Eggensperger et al. 2021")
    parser.add_argument("--full", action="store_true", help="the paper's recipe: 10,000 epochs")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="start no fold after that many minutes")
    arguments = parser.parse_args()
    stored = RESULTS / "table1.json"
    document: dict[str, Any] = json.loads(stored.read_text()) if stored.exists() else {}
    document["machine"] = machine("numpy", "scipy")
    size = "full" if arguments.full else "quick"
    complete = work(document, size, arguments.minutes)
    show(document[size], "rmse", 2)
    show(document[size], "log_likelihood", 1)
    print("" if complete else "\nnot complete: call again to go on")


if __name__ == "__main__":
    main()
