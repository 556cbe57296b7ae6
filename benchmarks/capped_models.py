"""Models of capped runs of a real solver: ``python -m benchmarks.capped_models``.

SPEAR-SWV: 26 parameters, most of them numeric or with many values, some inactive; five principal components of the instances'
features. n runs of random configurations on random instances are capped at bounds drawn log-uniformly between 0.03 and 300 s.
2,000 runs of other configurations, with the full cutoff of 300 s, tell how good the predictions of log10 time are: error on the
solved ones; log-likelihood, CRPS up to the cutoff and share of the most frequent of ten equally likely ranges, on all. Means
over seeds. Results go to benchmarks/results/capped_models.json.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.machine import machine, shared_or_exit, write_results
from capra.models import CensoredGP
from capra.models.scores import crps, d_calibration, log_likelihood, rmse
from capra.space.pcs import parse_pcs

CUTOFF = np.log10(300.0)
COMPONENTS = 5
SIZES = (100, 300, 600)
SEEDS = 3


@dataclass(frozen=True)
class Recorded:
    """Codes of the configurations, components of the instances, log10 times and whether they were solved."""

    types: np.ndarray
    configurations: np.ndarray
    instances: np.ndarray
    times: np.ndarray
    solved: np.ndarray

    def runs(self, among: np.ndarray, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Inputs and log times of n random runs, and whether they ended by themselves."""
        a, b = rng.choice(among, n), rng.integers(0, len(self.instances), n)
        return np.hstack([self.configurations[a], self.instances[b]]), self.times[a, b], self.solved[a, b]


def load() -> Recorded:
    data = np.load(shared_or_exit() / "configs" / "SPEAR-SWV.npz", allow_pickle=False)
    space = parse_pcs(str(data["pcs"]))
    names = [str(name) for name in data["param_names"]]
    given = [
        {name: space[name].coerce(str(value)) for name, value in zip(names, row, strict=True)}
        for row in data["param_values"]
    ]
    codes = space._activate(space.encode(given))  # the record has values for inactive parameters too
    times = np.log10(np.maximum(data["runtime"].astype(float), 1e-3))
    types = np.append(space.types, np.zeros(COMPONENTS)).astype(np.int64)
    return Recorded(types, codes, components(data["features"].astype(float)), times, data["solved"])


def components(features: np.ndarray) -> np.ndarray:
    """The first principal components of the features' logarithms, scaled to [0, 1]; −512 stands for a missing one."""
    known = np.where(features == -512, np.nan, features)
    filled = np.where(np.isnan(known), np.nanmedian(known, axis=0), known)
    logs = np.sign(filled) * np.log1p(np.abs(filled))
    logs = logs[:, logs.std(axis=0) > 0]
    u, s, _ = np.linalg.svd((logs - logs.mean(axis=0)) / logs.std(axis=0), full_matrices=False)
    first = u[:, :COMPONENTS] * s[:COMPONENTS]
    return np.asarray((first - first.min(axis=0)) / np.ptp(first, axis=0))


def study(recorded: Recorded, n: int, seed: int) -> dict[str, dict[str, float]]:
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(recorded.configurations))
    X, y, solved = recorded.runs(order[:700], n, rng)
    bound = np.minimum(rng.uniform(-1.5, CUTOFF, n), CUTOFF)
    censored = (y >= bound) | ~solved
    shown = np.minimum(y, bound)
    test = recorded.runs(order[700:], 2_000, rng)
    data = {"tobit": (X, shown, censored), "ignore": (X, shown), "drop": (X[~censored], shown[~censored])}
    return {way: {"censored": float(censored.mean()), **scored(recorded.types, rows, test)} for way, rows in data.items()}


def scored(types: np.ndarray, rows: tuple[np.ndarray, ...], test: tuple[np.ndarray, ...]) -> dict[str, float]:
    started = time.process_time()
    model = CensoredGP(types).fit(*rows)
    took = time.process_time() - started
    X, y, solved = test
    mean, std = model.predict(X)
    runs, y = np.hypot(std, model.noise), np.minimum(y, CUTOFF)
    return {
        "fit_cpu_s": took,
        "rmse_solved": rmse(y[solved], mean[solved]),
        "log_likelihood": log_likelihood(y, ~solved, mean, runs),
        "crps": crps(y, ~solved, mean, runs, np.full(len(y), CUTOFF)),
        "largest_tenth": float(np.max(d_calibration(y, ~solved, mean, runs)[0])),
    }


def main() -> None:
    recorded = load()
    results: dict[str, dict[str, dict[str, float]]] = {}
    with threadpool_limits(1):
        for n in SIZES:
            found = [study(recorded, n, seed) for seed in range(SEEDS)]
            results[str(n)] = {
                way: {key: float(np.mean([one[way][key] for one in found])) for key in found[0][way]} for way in found[0]
            }
            for way, row in results[str(n)].items():
                print(f"n = {n:4} {way:7}", "  ".join(f"{key} {value:6.2f}" for key, value in row.items()), flush=True)
    write_results("capped_models", {"machine": machine("numpy", "scipy"), "seeds": SEEDS, "gaussian_process": results})


if __name__ == "__main__":
    main()
