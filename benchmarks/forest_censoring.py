"""What forests make of censored data: ``python -m benchmarks.forest_censoring``.

Hutter et al. 2013, Fig. 2: both imputations have a lower error than dropping or ignoring censored data, and sampling has the
highest likelihood. Here on a function of five numbers (two noises) and on 2,000 recorded runs of SPEAR-SWV (26 parameters, 138
instance features), each run with a cutoff of its own. Error and likelihood are those of log10 time on runs not seen, of other
configurations, without timeouts; the likelihood is that of the forest's normal distribution, with deviations of 0.05 at
least. Mean over seeds.

"sample, paper's variance" truncates the variance over trees alone, as the paper does; "sample" adds that inside of leaves
(``CensoredForest._observed``). Results: benchmarks/results/forest_censoring.json.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.machine import SHARED, machine, write_results
from capra._kernels import Forest
from capra.models import CensoredForest

SEEDS = 10
Sample = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""X, y and censored to learn from; X and y to predict."""


class PaperVariance(CensoredForest):
    """Truncates the belief about the function, not about an observation."""

    def _observed(self, forest: Forest, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self._belief(forest.predict(points))


METHODS: dict[str, Callable[..., CensoredForest]] = {
    "ignore": lambda **options: CensoredForest(censoring="ignore", **options),
    "drop": lambda **options: CensoredForest(censoring="drop", **options),
    "mean": lambda **options: CensoredForest(censoring="mean", **options),
    "sample": lambda **options: CensoredForest(censoring="sample", **options),
    "sample, paper's variance": lambda **options: PaperVariance(censoring="sample", **options),
}


def function(rng: np.random.Generator, noise: float) -> Sample:
    X = rng.random((1_400, 5))
    true = 1.5 * np.sin(5 * X[:, 0]) + 2 * X[:, 1] * X[:, 2] + (X[:, 3] > 0.5)
    y = true + noise * rng.normal(size=len(X))
    cutoff = np.quantile(y, rng.uniform(0.3, 1.0, size=400))
    return X[:400], np.minimum(y[:400], cutoff), y[:400] > cutoff, X[400:], true[400:]


def spear(rng: np.random.Generator, recorded: dict[str, np.ndarray]) -> Sample:
    configurations = rng.permutation(len(recorded["codes"]))
    parts = []
    for pool in (configurations[:500], configurations[500:]):
        rows, columns = rng.choice(pool, 2_000), rng.integers(len(recorded["features"]), size=2_000)
        X = np.hstack([recorded["codes"][rows], recorded["features"][columns]])
        parts.append((X, np.log10(np.maximum(recorded["runtime"][rows, columns], 0.005)), recorded["solved"][rows, columns]))
    (X, y, solved), (Q, truth, known) = parts
    cutoff = np.minimum(rng.uniform(-2.0, np.log10(300.0), size=len(y)), np.log10(300.0))
    censored = (y > cutoff) | ~solved
    return X, np.minimum(y, cutoff), censored, Q[known], truth[known]


def load_spear() -> tuple[dict[str, np.ndarray], np.ndarray]:
    """The recorded runs with parameters as category indices, and the types of all columns."""
    data = np.load(SHARED / "configs" / "SPEAR-SWV.npz", allow_pickle=False)
    coded = [np.unique(column, return_inverse=True) for column in data["param_values"].T]
    types = [len(values) for values, _ in coded] + [0] * data["features"].shape[1]
    recorded = {name: data[name] for name in ("runtime", "solved", "features")}
    return recorded | {"codes": np.column_stack([code for _, code in coded]).astype(float)}, np.array(types)


def compare(draw: Callable[[np.random.Generator], Sample], **options: Any) -> dict[str, dict[str, float]]:
    found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in METHODS}
    for seed in range(SEEDS):
        X, y, censored, Q, truth = draw(np.random.default_rng(seed))
        for name, make in METHODS.items():
            mean, std = make(seed=seed, **options).fit(X, y, censored).predict(Q)
            std = np.maximum(std, 0.05)
            density = -0.5 * ((truth - mean) / std) ** 2 - np.log(std * np.sqrt(2 * np.pi))
            found[name].append((np.sqrt(np.mean((mean - truth) ** 2)), np.mean(mean - truth), np.mean(density)))
    keys = ("rmse", "bias", "log_likelihood")
    return {name: dict(zip(keys, np.mean(rows, axis=0).tolist(), strict=True)) for name, rows in found.items()}


def main() -> None:
    results = {
        f"function, noise {noise}, leaf {leaf}": compare(lambda rng, s=noise: function(rng, s), min_leaf=leaf)
        for noise in (0.05, 0.4)
        for leaf in (1, 3, 5)
    }
    if SHARED.is_dir():
        recorded, types = load_spear()
        for leaf in (1, 3, 5):
            upper = float(np.log10(3_000.0))
            results[f"SPEAR-SWV, leaf {leaf}"] = compare(
                lambda rng: spear(rng, recorded), types=types, upper=upper, min_leaf=leaf
            )
    else:
        print(f"no recorded data at {SHARED}: SPEAR-SWV is left out", file=sys.stderr)
    for title, rows in results.items():
        print(f"{title}\n{'':28}{'RMSE':>10}{'bias':>10}{'log-likelihood':>18}")
        for name, row in rows.items():
            print(f"  {name:26}{row['rmse']:10.3f}{row['bias']:+10.3f}{row['log_likelihood']:18.2f}")
    write_results("forest_censoring", {"machine": machine("numpy"), "seeds": SEEDS, "results": results})


if __name__ == "__main__":
    main()
