"""What every surrogate promises, and the one place where its data is checked."""

from __future__ import annotations

from typing import Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from capra.errors import ModelError

__all__ = ["Floats", "Mask", "Surrogate", "Types", "checked_data", "checked_inputs", "checked_types"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Types = NDArray[np.int64]


class Surrogate(Protocol):
    """Regression of a logarithm on configurations (and instances) that understands "at least".

    ``X`` is (n, d): numeric entries in [0, 1], categories as their index, NaN = inactive. ``y`` is (n,), log10 of a cost or
    a time; where ``censored`` is true the true value is at least ``y``. Means and deviations are those of log10.
    """

    def fit(self, X: ArrayLike, y: ArrayLike, censored: ArrayLike | None = None) -> Self:
        """Learn from data alone; what an earlier fit learnt is forgotten unless warm start was asked for."""

    def predict(self, X: ArrayLike) -> tuple[Floats, Floats]:
        """Mean and standard deviation of the function, (n,) each; the deviation is positive."""

    def predict_runs(self, X: ArrayLike) -> tuple[Floats, Floats]:
        """Mean and deviation of a single run: doubt about the function and the noise of runs together. For scores."""

    def predict_marginal(self, X: ArrayLike, instances: ArrayLike) -> tuple[Floats, Floats]:
        """Mean and deviation of log10 of the *arithmetic* mean over instances, (n,) each.

        ``X`` holds configurations (n, d − f), ``instances`` features (m, f); the model was fitted on rows with both.
        """

    def sample(self, X: ArrayLike, rng: np.random.Generator) -> Floats:
        """One function drawn from what the model believes, at all rows of ``X`` together, (n,)."""

    def sample_marginal(self, X: ArrayLike, instances: ArrayLike, rng: np.random.Generator) -> Floats:
        """Log10 of the arithmetic mean over instances of one function drawn, (n,); the arguments of ``predict_marginal``."""


def checked_types(types: ArrayLike | None, width: int) -> Types:
    """``types`` as an array of ``width`` counts: 0 = numeric, k = categorical with k values. None: all numeric."""
    if types is None:
        return np.zeros(width, dtype=np.int64)
    kinds = np.asarray(types)
    if kinds.shape != (width,) or not np.issubdtype(kinds.dtype, np.integer) or np.any(kinds < 0):
        raise ModelError(f"types must be {width} counts, one per column: 0 = numeric, k = categorical with k values")
    return kinds.astype(np.int64)


def checked_inputs(X: ArrayLike, types: Types) -> Floats:
    """``X`` as a contiguous (n, d) matrix that agrees with ``types``."""
    rows = np.ascontiguousarray(X, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != len(types):
        raise ModelError(f"X must have shape (n, {len(types)}), not {rows.shape}")
    if np.any(np.isinf(rows)):
        raise ModelError(
            "X has an infinite entry", hint="numbers are scaled to [0, 1]; NaN stands for an inactive parameter"
        )
    for j in np.flatnonzero(types):
        column = rows[:, j]
        known = column[~np.isnan(column)]
        if np.any((known < 0) | (known >= types[j]) | (known != np.floor(known))):
            raise ModelError(f"column {j} is categorical with {types[j]} values: entries must be 0 … {types[j] - 1} or NaN")
    return rows


def checked_data(
    X: ArrayLike, y: ArrayLike, censored: ArrayLike | None, types: ArrayLike | None
) -> tuple[Floats, Floats, Mask, Types]:
    """Everything ``fit`` is given, as arrays that agree with each other; raises ``ModelError`` otherwise."""
    rows = np.asarray(X, dtype=np.float64)
    if rows.ndim != 2 or rows.size == 0:
        raise ModelError(f"X must have shape (n, d) with at least one row and one column, not {rows.shape}")
    kinds = checked_types(types, rows.shape[1])
    values = np.ascontiguousarray(y, dtype=np.float64)
    if values.shape != (len(rows),):
        raise ModelError(f"y must have one value per row of X: {len(rows)}, not {values.shape}")
    if not np.all(np.isfinite(values)):
        raise ModelError("y has a NaN or infinite value", hint="a run without a result must be left out or given a cost")
    mask = np.zeros(len(rows), dtype=np.bool_) if censored is None else np.asarray(censored)
    if mask.shape != values.shape or mask.dtype != np.bool_:
        raise ModelError(f"censored must be an array of booleans, one for each of the {len(rows)} rows of X")
    return checked_inputs(rows, kinds), values, np.ascontiguousarray(mask), kinds
