"""The normal distribution beyond a lower bound, exact far into the tail (z from −8 to 40).

All of it is about a normal variable known to be at least ``lower``; ``z = (lower − mean) / std``. No formula divides by the
survival function or takes the logarithm of a difference: both have lost all digits by z ≈ 6 and z ≈ 10.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import erfcx, log_ndtr, ndtri_exp

__all__ = ["hazard", "log_density", "log_survival", "truncated_mean", "truncated_quantile", "truncated_variance"]

Floats = NDArray[np.float64]

LOG_SQRT_2PI = 0.5 * float(np.log(2.0 * np.pi))


def log_density(z: ArrayLike) -> Floats:
    """log φ(z)."""
    z = np.asarray(z, dtype=np.float64)
    return np.asarray(-0.5 * z * z - LOG_SQRT_2PI)


def log_survival(z: ArrayLike) -> Floats:
    """log(1 − Φ(z))."""
    return np.asarray(log_ndtr(-np.asarray(z, dtype=np.float64)))


def hazard(z: ArrayLike) -> Floats:
    """φ(z) / (1 − Φ(z)): minus the slope of ``log_survival``, and the mean of a standard normal beyond z."""
    return np.asarray(np.sqrt(2.0 / np.pi) / erfcx(np.asarray(z, dtype=np.float64) / np.sqrt(2.0)))


def truncated_mean(mean: ArrayLike, std: ArrayLike, lower: ArrayLike) -> Floats:
    """E[Y | Y ≥ lower] for Y ~ N(mean, std²)."""
    mean, std, lower = np.asarray(mean), np.asarray(std), np.asarray(lower)
    return np.asarray(mean + std * hazard((lower - mean) / std))


def truncated_variance(mean: ArrayLike, std: ArrayLike, lower: ArrayLike) -> Floats:
    """Var[Y | Y ≥ lower] for Y ~ N(mean, std²)."""
    mean, std, lower = np.asarray(mean), np.asarray(std), np.asarray(lower)
    z = (lower - mean) / std
    h = hazard(z)
    return np.asarray(std**2 * (1.0 - h * (h - z)))


def truncated_quantile(mean: ArrayLike, std: ArrayLike, lower: ArrayLike, q: ArrayLike) -> Floats:
    """The value that Y ~ N(mean, std²), given Y ≥ lower, stays below with probability ``q``."""
    mean, std, lower, q = np.asarray(mean), np.asarray(std), np.asarray(lower), np.asarray(q)
    z = (lower - mean) / std
    return np.asarray(mean - std * ndtri_exp(log_survival(z) + np.log1p(-q)))
