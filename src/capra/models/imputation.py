"""What a censored value probably was: imputation by turns of believing and refitting, for any model.

A model's belief about a censored point is a normal distribution; knowing that the value is at least ``lower`` truncates
it. Schmee & Hahn (1979) put the mean of that in place of the unknown value; Hutter et al. (2013) put quantiles in the place
of its copies, because a model that is told the mean thinks it knows the value.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from capra.models.base import Floats
from capra.models.numerics import truncated_mean, truncated_quantile

__all__ = ["Belief", "Indices", "conditional_means", "conditional_quantiles", "impute"]

Indices = NDArray[np.int64]
Belief = tuple[Floats, Floats]
"""Means and standard deviations at the censored points."""

SETTLED = 0.9
"""Values that move by more than this share of what they moved before do not come nearer any more."""


def impute(
    belief: Belief, values: Callable[[Belief], Floats], refit: Callable[[Floats], Belief], *, limit: int, tolerance: float
) -> int:
    """Put ``values(belief)`` in place of the unknown and ``refit``, until the values stay where they are.

    That is, until they move by less than ``tolerance`` on average, or hardly less than the time before (the trees of a
    forest are drawn anew at every refit: its values keep moving), or ``limit`` refits have been made. The number of
    refits is returned; the model has then been fitted to the last values.
    """
    now, last = values(belief), math.inf
    for turn in range(1, limit + 1):
        belief = refit(now)
        before, now = now, values(belief)
        moved = float(np.mean(np.abs(now - before)))
        if moved < tolerance or moved > SETTLED * last:
            return turn
        last = moved
    return limit


def conditional_means(belief: Belief, lower: Floats, upper: float | None) -> Floats:
    """Mean of each point's value given that it is at least ``lower``, but not above ``upper`` (Schmee & Hahn 1979)."""
    values = np.maximum(truncated_mean(*belief, lower), lower)
    return values if upper is None else np.minimum(values, np.maximum(lower, upper))


def conditional_quantiles(belief: Belief, lower: Floats, upper: float | None, point: Indices, level: Floats) -> Floats:
    """One value for each copy of a censored point: copy i is of point ``point[i]`` and gets the quantile ``level[i]``.

    Where the mean of a point's copies is above ``upper``, all of them are shifted down by the same amount.
    """
    mean, std = belief
    values = np.maximum(truncated_quantile(mean[point], std[point], lower[point], level), lower[point])
    if upper is None:
        return values
    copies = np.bincount(point, minlength=len(lower))
    means = np.bincount(point, weights=values, minlength=len(lower)) / np.maximum(copies, 1)
    excess = np.maximum(0.0, means - np.maximum(lower, upper))  # Hutter et al. 2013, footnote 3
    return values - excess[point]
