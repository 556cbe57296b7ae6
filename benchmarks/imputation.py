"""Error after each turn of imputing, Figure 4 of Eggensperger et al. 2021: ``python -m benchmarks.imputation``.

Hartmann's function of six parameters, censored by place as in the paper, much and little, and by value, as a configurator's runs
are. Ensembles of networks and forests that impute the mean (Schmee & Hahn), forests that impute samples, and ensembles with the
Tobit loss, which take no turns. Turn 0 is the fit to the uncensored values alone. Error of the mean against the function, mean
and deviation over 5 folds. The paper's mild censoring is that above the 80th percentile (19.5 % of the values); by our reading of
its censoring nothing is censored there, so ours begins at the 60th (23 %).

Results: benchmarks/results/imputation.json and, with matplotlib, imputation.png. About five minutes of CPU time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.censored import Problem, capped_problem, problem
from benchmarks.machine import RESULTS, machine, write_results
from benchmarks.table1 import FOLDS, split
from capra._kernels import Forest
from capra.models import CensoredForest, TobitEnsemble
from capra.models.base import Floats, Mask
from capra.models.imputation import Belief
from capra.models.network import _Fitted
from capra.models.scores import rmse

SETTINGS: dict[str, Callable[[], Problem]] = {
    "places, much": lambda: problem("hart6", 20, seed=0),
    "places, little": lambda: problem("hart6", 60, seed=0),
    "runs with bounds of their own": lambda: capped_problem("hart6", seed=0),
}
TURNS = 5


class WatchedEnsemble(TobitEnsemble):
    """Notes its error after every training."""

    def watch(self, places: np.ndarray, truth: np.ndarray) -> None:
        self.places, self.truth, self.errors = places, truth, list[float]()

    def _train(self, rows: Floats, values: Floats, censored: Mask, before: _Fitted | None) -> _Fitted:
        self._fitted = super()._train(rows, values, censored, before)
        self.errors.append(rmse(self.truth, self.predict(self.places)[0]))
        return self._fitted


class WatchedForest(CensoredForest):
    """Notes its error whenever it is asked about the censored points, which is after every fit; makes all turns."""

    limit, tolerance = TURNS, -1.0

    def watch(self, places: np.ndarray, truth: np.ndarray) -> None:
        self.places, self.truth, self.errors = places, truth, list[float]()

    def _observed(self, forest: Forest, points: Floats) -> Belief:
        self.errors.append(rmse(self.truth, self.predict(self.places)[0]))
        return super()._observed(forest, points)


def errors(data: Problem, fold: int) -> dict[str, list[float]]:
    held, first = split(data, fold)
    models: dict[str, WatchedEnsemble | WatchedForest] = {
        "network S&H": WatchedEnsemble(5, "mean", fold, iterations=TURNS),
        "network T": WatchedEnsemble(5, "tobit", fold),
        "forest S&H": WatchedForest(censoring="mean", seed=fold),
        "forest sample": WatchedForest(censoring="sample", seed=fold),
    }
    for model in models.values():
        model.watch(data.X[first], data.truth[first])
        model.fit(data.X[~held], data.y[~held], data.censored[~held])
    return {name: model.errors for name, model in models.items()}


def plot(results: dict[str, Any]) -> None:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        print("no matplotlib: the plot is left out")
        return
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.8))
    for axis, (name, found) in zip(axes, results.items(), strict=True):
        for colour, (model, row) in zip(
            ("tab:blue", "tab:purple", "tab:green", "tab:orange"), found["models"].items(), strict=True
        ):
            mean, std = (np.array(row[key]) for key in ("mean", "std"))
            turns = np.arange(TURNS + 1)
            mean, std = np.broadcast_to(mean, len(turns)), np.broadcast_to(std, len(turns))
            axis.plot(turns, mean, "-o" if len(row["mean"]) > 1 else "--", color=colour, markersize=3, label=model)
            axis.fill_between(turns, mean - std, mean + std, color=colour, alpha=0.08, linewidth=0)
        axis.set(title=f"{name} ({found['censored']:.0%})", xlabel="turn of imputing")
    axes[0].set_ylabel("RMSE")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="lower center", ncol=4, frameon=False)
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    figure.savefig(RESULTS / "imputation.png", dpi=80)


def main() -> None:
    results: dict[str, Any] = {}
    for name, make in SETTINGS.items():
        data = make()
        found = [errors(data, fold) for fold in range(FOLDS)]
        rows = {model: np.array([one[model] for one in found]) for model in found[0]}
        table = {model: {"mean": row.mean(axis=0).tolist(), "std": row.std(axis=0).tolist()} for model, row in rows.items()}
        results[name] = {"censored": float(data.censored.mean()), "models": table}
        print(f"{name}: {data.censored.mean():.0%} censored")
        for model, row in table.items():
            print(f"  {model:14}" + "".join(f"{value:8.3f}" for value in row["mean"]), flush=True)
    write_results("imputation", {"machine": machine("numpy", "scipy"), "hart6": results})
    plot(results)


if __name__ == "__main__":
    main()
