"""Acquisition functions: how much a configuration with this prediction is worth a run. Higher is better.

Predictions are those of surrogates: mean and standard deviation of log10 of the cost; ``best`` is log10 of the cost to beat.
Everything is computed as a logarithm where the value itself would underflow, so that far candidates still have an order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, log_ndtr

from capra.models.numerics import log_density

__all__ = ["ACQUISITIONS", "expected_improvement", "lognormal_improvement", "lower_bound", "probability_of_improvement"]

Floats = NDArray[np.float64]
LN10 = math.log(10.0)


def expected_improvement(mean: Floats, std: Floats, best: float) -> Floats:
    """log E[max(0, best − y)] for y ~ N(mean, std²): Hutter et al., censored response data, eq. 1, of the log cost."""
    u = (best - mean) / std
    return np.log(std) + _log_improvement(u)


def _log_improvement(u: Floats) -> Floats:
    """log(u·Φ(u) + φ(u)). Below −1 the two terms cancel: φ is taken out, and what is left is exact."""
    near = np.maximum(u, -1.0)
    direct = np.log(near * np.exp(log_ndtr(near)) + np.exp(log_density(near)))
    x = np.maximum(-u, 1.0)
    tail = log_density(x) + np.log1p(-x * math.sqrt(math.pi / 2.0) * erfcx(x / math.sqrt(2.0)))
    far = log_density(x) - 2.0 * np.log(x)  # where even that has lost its digits
    return np.where(u > -1.0, direct, np.where(x < 1e3, tail, far))


def lognormal_improvement(mean: Floats, std: Floats, best: float) -> Floats:
    """log E[max(0, 10^best − 10^y)]: the improvement of the cost itself.

    f·Φ(v) − exp(μ + σ²/2)·Φ(v − σ) with v = (ln f − μ)/σ, in natural logarithms (METHODS §5).
    """
    mu, sigma, f = mean * LN10, std * LN10, best * LN10
    v = (f - mu) / sigma
    gain = f + log_ndtr(v)
    loss = np.minimum(mu + 0.5 * sigma**2 + log_ndtr(v - sigma), gain)
    with np.errstate(divide="ignore"):
        return np.asarray(gain + np.log(-np.expm1(loss - gain)))


def probability_of_improvement(mean: Floats, std: Floats, best: float) -> Floats:
    """log P[y < best]."""
    return np.asarray(log_ndtr((best - mean) / std))


def lower_bound(mean: Floats, std: Floats, best: float) -> Floats:
    """How far the optimist's guess, one deviation below the mean, is under ``best``."""
    return best - (mean - std)


ACQUISITIONS: Mapping[str, Callable[[Floats, Floats, float], Floats]] = {
    "ei": expected_improvement,
    "log-ei": lognormal_improvement,
    "pi": probability_of_improvement,
    "lcb": lower_bound,
}
"""By name. Thompson sampling is none of these: it asks the model for one of its functions (``Surrogate.sample``)."""
