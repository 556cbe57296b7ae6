"""What a model is told of the instances: their features, and how hard they have been so far."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["hardness", "reduced_features"]

Floats = NDArray[np.float64]
MOST = 7
"""Principal components that are kept (SMAC's choice)."""
DIGITS = 9
"""Of scaled features: what is beyond them depends on the machine's linear algebra, and trees would differ."""


def reduced_features(rows: Floats) -> Floats:
    """Features of m instances (m, f ≤ 7), scaled to [0, 1]: gaps filled with means, constants dropped, PCA above 7."""
    known = ~np.isnan(rows)
    means = np.where(known, rows, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    rows = np.where(known, rows, means)
    rows = rows[:, np.ptp(rows, axis=0) > 0]
    if rows.shape[1] > MOST:
        rows = _components((rows - rows.mean(axis=0)) / rows.std(axis=0))
    return _scaled(rows)


def _components(rows: Floats) -> Floats:
    """Principal components, the longer tail of each to the right: libraries differ in the signs that they give them."""
    left, sizes, _ = np.linalg.svd(rows, full_matrices=False)
    return np.asarray((left * sizes * np.where((left**3).sum(axis=0) < 0.0, -1.0, 1.0))[:, :MOST])


def _scaled(rows: Floats) -> Floats:
    if not rows.size:
        return rows
    span = np.ptp(rows, axis=0)
    return np.asarray(np.round((rows - rows.min(axis=0)) / np.where(span > 0, span, 1.0), DIGITS))


def hardness(config: NDArray[np.intp], instance: NDArray[np.intp], y: Floats, instances: int) -> Floats:
    """How much longer than others each instance took whoever ran it, scaled to [0, 1], (m,); the median where nobody has.

    The instance part of y ≈ configuration part + instance part, by backfitting: challengers meet different instances, so
    that plain means over either would confuse the two. Censored values count as they stand.
    """
    effect = np.zeros(instances)
    runs = np.bincount(instance, minlength=instances)
    per_config = np.maximum(np.bincount(config), 1)
    for _ in range(3):
        base = np.bincount(config, y - effect[instance]) / per_config
        effect = np.bincount(instance, y - base[config], minlength=instances) / np.maximum(runs, 1)
    effect[runs == 0] = np.median(effect[runs > 0])
    return np.asarray((effect - effect.min()) / (np.ptp(effect) or 1.0))
