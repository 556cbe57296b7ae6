"""Models of a configurator's capped runs of a real solver: ``python -m benchmarks.capped_models``.

Figure 5 of Eggensperger et al. 2021 and Figure 1 of its appendix, on SPEAR-SWV (26 parameters, 7 components of the instances'
features): all models learn log10 time from the first runs of racing random configurations with adaptive capping. They are asked
about configurations that were not raced, on instances that were:

- ``bias``: how much too high predictions of single runs are on average.
- ``rmse``: of the configurations' means; the truth is a normal distribution fitted to a configuration's runs (Tobit likelihood).
- ``rmse_without_timeouts``: of single runs that end within the cutoff of 300 s.
- ``median_l2``: root of the mean squared distance between predicted and empirical medians of the configurations.
- ``rank_correlation``: Spearman's, of the configurations' means.
- ``log_likelihood``, ``crps``, ``off_diagonal``, ``off_tenth``: of single runs with the full cutoff (``benchmarks.contenders``).
- the same with ``capped_``: of the runs of another race, among configurations that were not in the first. Only such runs can be
  had in practice.

Predictions and truth above the cutoff count as the cutoff, as in the paper, in all but the last two kinds. The Gaussian process
takes part up to 1,000 runs; a constant shows what can be had without any model. Medians and quartiles over ``--seeds`` races (5:
about four minutes of CPU time) go to benchmarks/results/capped_models.json and, with matplotlib, capped_models.png.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import spearmanr
from threadpoolctl import threadpool_limits

from benchmarks.contenders import METHODS, Predicts, fitted, quartiles, scores_of_runs, tobit_moments
from benchmarks.machine import RESULTS, machine, write_results
from benchmarks.spear import CUTOFF, Spear, encoded, load
from capra.models.scores import rmse
from capra.runs import Status
from capra.tune import tune

BOUND = float(np.log10(CUTOFF))
UPPER = BOUND + 1.0  # PAR10: no cost is above ten cutoffs
SIZES = (100, 300, 1_000, 3_000)
LARGEST_PROCESS = 1_000
RACED, ASKED, INSTANCES = 700, 100, 40
CONTENDERS = [(family, method) for family, methods in METHODS.items() for method in methods if family != "process"]
CONTENDERS += [("process", "T"), ("constant", "T")]
TITLES = {
    "rmse": "error of configurations' means (RMSE)",
    "rank_correlation": "rank correlation",
    "median_l2": "error of configurations' medians (L2)",
    "rmse_without_timeouts": "error of runs without timeouts (RMSE)",
    "log_likelihood": "log-likelihood of runs",
    "crps": "CRPS of runs",
}
SHOWN = ("bias", "rmse", "rmse_without_timeouts", "median_l2", "rank_correlation", "log_likelihood", "crps", "off_diagonal")


Race = list[tuple[tuple[int, int], float, bool, float]]
"""Per run: configuration and instance, time, whether it was stopped, cutoff."""


@dataclass(frozen=True)
class Runs:
    """One row per (configuration, instance): inputs, log10 of the time, whether it was stopped, log10 of its cutoff."""

    X: np.ndarray
    y: np.ndarray
    censored: np.ndarray
    cutoff: np.ndarray


class Study:
    """The recorded data, and what one seed makes of it."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.spear: Spear = load()
        self.types, self.codes, self.features = encoded()
        order = np.random.default_rng(seed).permutation(len(self.codes))
        self.raced, self.others = order[:RACED], order[RACED:]
        columns = {name: j for j, name in enumerate(self.spear.table.instances)}
        train = np.array([columns[name] for name in self.spear.train])
        self.columns, self.asked = columns, (self.others[:ASKED], train[:INSTANCES])

    def race(self, rows: np.ndarray, runs: int, **options: Any) -> Race:
        """Every run of racing these configurations, in order."""
        scenario = self.spear.scenario(self.seed, {"runs": runs}, rows)
        history = tune(scenario, "roar", engine="simulated", seed=self.seed, overhead="ignore", **options).history
        return [
            (
                (int(str(run.request.config["row"])), self.columns[str(run.request.instance)]),
                run.outcome.time,
                run.outcome.status is not Status.SUCCESS,
                run.outcome.cutoff,
            )
            for run in history.runs
        ]

    def known(self, race: Race) -> Runs:
        """What is known after these runs: of a cell that was run again, the last run, which went on for longer."""
        cells = {cell: known for cell, *known in race}
        times, censored, cutoffs = (np.array(column) for column in zip(*cells.values(), strict=True))
        return Runs(self._inputs(*np.array(list(cells)).T), np.log10(times), censored, np.log10(cutoffs))

    def complete(self) -> Runs:
        """The asked configurations on the asked instances, with the full cutoff; instances run fastest."""
        rows, columns = (grid.ravel() for grid in np.meshgrid(*self.asked, indexing="ij"))
        table = self.spear.table
        y = np.minimum(np.log10(table.times[rows, columns]), BOUND)
        return Runs(self._inputs(rows, columns), y, ~table.solved[rows, columns], np.full(len(y), BOUND))

    def _inputs(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        return np.hstack([self.codes[rows], self.features[columns]])


def tobit_mean(y: np.ndarray, censored: np.ndarray) -> float:
    """Mean of the normal distribution that fits best, at most the cutoff."""
    return BOUND if censored.all() else min(tobit_moments(y, censored)[0], BOUND)


def scored(model: Predicts, complete: Runs, capped: Runs, means: np.ndarray) -> dict[str, float]:
    mean, std = model.predict_runs(complete.X)
    cut, solved = np.minimum(mean, BOUND), ~complete.censored
    predicted, truth = cut.reshape(ASKED, INSTANCES), complete.y.reshape(ASKED, INSTANCES)
    averages = predicted.mean(axis=1)
    again = scores_of_runs(capped.y, capped.censored, *model.predict_runs(capped.X), capped.cutoff)
    return {
        "bias": float(np.mean(cut - complete.y)),
        "rmse": rmse(means, averages),
        "rmse_without_timeouts": rmse(complete.y[solved], cut[solved]),
        "median_l2": rmse(np.median(truth, axis=1), np.median(predicted, axis=1)),
        "rank_correlation": float(spearmanr(means, averages).statistic) if np.ptp(averages) else 0.0,
        **scores_of_runs(complete.y, complete.censored, mean, std, complete.cutoff),
        **{f"capped_{key}": value for key, value in again.items()},
    }


def one_seed(seed: int) -> dict[int, dict[str, dict[str, float]]]:
    """Size → contender → scores."""
    study = Study(seed)
    race, complete = study.race(study.raced, SIZES[-1]), study.complete()
    capped = study.known(study.race(study.others, 1_000))
    tables = complete.y.reshape(ASKED, INSTANCES), complete.censored.reshape(ASKED, INSTANCES)
    means = np.array([tobit_mean(*pair) for pair in zip(*tables, strict=True)])
    found: dict[int, dict[str, dict[str, float]]] = {}
    for size in SIZES:
        seen = study.known(race[:size])
        contenders = [pair for pair in CONTENDERS if pair[0] != "process" or size <= LARGEST_PROCESS]
        for contender in contenders:
            model, cpu = fitted(contender, seen.X, seen.y, seen.censored, study.types, UPPER, seed)
            row = {"cells": len(seen.y), "censored": float(seen.censored.mean()), "fit_cpu_s": cpu}
            found.setdefault(size, {})[" ".join(contender)] = row | scored(model, complete, capped, means)
    return found


def show(size: int, rows: dict[str, dict[str, list[float]]]) -> None:
    """Medians."""
    first = next(iter(rows.values()))
    print(f"\n{size} runs, {first['cells'][1]:.0f} cells, {first['censored'][1]:.0%} censored")
    print(" " * 14 + "".join(f"{key.replace('_', ' '):>22}" for key in SHOWN))
    for contender, row in rows.items():
        print(f"{contender:14}" + "".join(f"{row[key][1]:22.2f}" for key in SHOWN), flush=True)


def plot(results: dict[int, dict[str, dict[str, list[float]]]]) -> None:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        print("no matplotlib: the plot is left out")
        return
    colours = {"I": "tab:red", "D": "tab:orange", "S&H": "tab:green", "sample": "tab:blue", "T": "tab:purple"}
    lines = {"forest": "-", "network": "--", "process": ":", "constant": "-."}
    figure, axes = plt.subplots(2, 3, figsize=(11, 6.2), sharex=True)
    for key, axis in zip(TITLES, axes.flat, strict=True):
        for contender in map(" ".join, CONTENDERS):
            family, method = contender.split()
            sizes = [size for size in results if contender in results[size]]
            low, middle, high = np.transpose([results[size][contender][key] for size in sizes])
            axis.plot(
                sizes,
                middle,
                lines[family],
                color="0.6" if family == "constant" else colours[method],
                label=contender,
                linewidth=1.6,
            )
            axis.fill_between(sizes, low, high, color=colours[method], alpha=0.08, linewidth=0)
        axis.set(xscale="log", title=TITLES[key])
    axes[1, 1].set_ylim(-6.0, 0.0)  # ignoring and small networks go to minus hundreds
    for axis in axes[1]:
        axis.set_xlabel("runs of the race")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="lower center", ncol=5, frameon=False)
    figure.tight_layout(rect=(0, 0.09, 1, 1))
    figure.savefig(RESULTS / "capped_models.png", dpi=80)


def main() -> None:
    parser = argparse.ArgumentParser(description="models of capped runs of SPEAR")
    parser.add_argument("--seeds", type=int, default=5)
    seeds = parser.parse_args().seeds
    with threadpool_limits(1):
        found = [one_seed(seed) for seed in range(seeds)]
    results = {
        size: {name: quartiles([one[size][name] for one in found]) for name in rows} for size, rows in found[0].items()
    }
    for size, rows in results.items():
        show(size, rows)
    document: dict[str, Any] = {"machine": machine("numpy", "scipy"), "seeds": seeds, "quartiles": results}
    write_results("capped_models", document)
    plot(results)


if __name__ == "__main__":
    main()
