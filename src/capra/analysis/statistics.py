"""Statistics for heavy-tailed costs: no normality assumed anywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["bootstrap_interval", "paired_permutation_test"]

Floats = NDArray[np.float64]


def bootstrap_interval(
    groups: list[Floats], rng: np.random.Generator, *, level: float = 0.95, resamples: int = 2000
) -> tuple[float, float]:
    """Percentile interval of the mean of group means (instances, each with its runs): groups are drawn, then runs in them.

    Drawing whole instances first keeps runs on one instance together, which are anything but independent. NaN where a cost
    is infinite.
    """
    means = np.array([group.mean() for group in groups])
    if not np.isfinite(means).all():
        return np.nan, np.nan
    spreads = [group for group in groups if len(group) > 1]
    picks = rng.integers(len(groups), size=(resamples, len(groups)))
    if not spreads:
        samples = means[picks].mean(axis=1)
    else:
        redrawn = np.stack([rng.choice(group, size=(resamples, len(group))).mean(axis=1) for group in groups], axis=1)
        samples = np.take_along_axis(redrawn, picks, axis=1).mean(axis=1)
    low, high = np.quantile(samples, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def paired_permutation_test(
    one: Any, other: Any, rng: np.random.Generator, *, permutations: int = 100_000, chunk: int = 2000
) -> float:
    """Two-sided p-value of "the paired means do not differ": signs of the differences are flipped at random.

    The observed arrangement counts as one of the permutations, so that p is never 0.
    """
    differences = _differences(np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64))
    observed = abs(differences.sum()) * (1 - 1e-12)
    hits, done = 1, 1
    while done < permutations:
        size = min(chunk, permutations - done)
        signs = rng.integers(0, 2, size=(size, len(differences))) * 2 - 1
        hits += int((np.abs(signs @ differences) >= observed).sum())
        done += size
    return hits / done


def _differences(one: Floats, other: Floats) -> Floats:
    """One that is infinite counts as more than all finite ones together; two infinite costs are alike."""
    found = np.zeros(len(one))
    known = np.isfinite(one) & np.isfinite(other)
    np.subtract(one, other, out=found, where=known)
    endless = one != other
    found[endless & ~known] = (1.0 + 2.0 * np.abs(found).sum()) * np.where(one > other, 1.0, -1.0)[endless & ~known]
    return found
