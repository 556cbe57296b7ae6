"""How good normal predictions are when some of the truth is censored.

All of it takes arrays: ``y`` (n,) and ``censored`` (n,) as a surrogate's ``fit`` does, and the predicted ``mean`` and
``std`` of *single runs* (n,): the deviation includes the noise. Score data that the model was not fitted on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc, ndtr

from capra.errors import ModelError
from capra.models.base import Floats, Mask
from capra.models.numerics import log_density, log_survival, standardised

__all__ = ["calibration_curve", "crps", "d_calibration", "log_likelihood", "rmse"]


def rmse(truth: ArrayLike, mean: ArrayLike) -> float:
    """Root of the mean squared error against uncensored values."""
    error = np.subtract(truth, mean, dtype=np.float64)
    if error.size == 0:
        raise ModelError("there is nothing to score", hint="give at least one prediction and its truth")
    return float(np.sqrt(np.mean(error * error)))


def log_likelihood(y: ArrayLike, censored: ArrayLike, mean: ArrayLike, std: ArrayLike) -> float:
    """Mean log probability of the data, natural logarithm: density where observed, survival where censored; more is better.

    A proper score if censoring does not depend on what it hides (Eggensperger et al. 2020, eq. 4, with the sign turned).
    """
    values, mask, centre, spread = _checked(y, censored, mean, std)
    z = standardised(values, centre, spread)
    return float(np.mean(np.where(mask, log_survival(z), log_density(z) - np.log(spread))))


def crps(y: ArrayLike, censored: ArrayLike, mean: ArrayLike, std: ArrayLike, cutoff: ArrayLike | None = None) -> float:
    """Mean continuous ranked probability score, in the unit of ``y``; less is better.

    The squared distance between the predicted distribution function and the step at the truth, integrated up to where the
    truth is known: everywhere for observed values, up to ``y`` for censored ones (Avati et al. 2019). That favours low
    predictions: observed runs, which tend to be the short ones, are scored over a longer range. With ``cutoff``, the bound
    that each run was given, they are scored up to it as well, and the score is proper (threshold weighting, Gneiting &
    Ranjan 2011).
    """
    values, mask, centre, spread = _checked(y, censored, mean, std)
    z = standardised(values, centre, spread)
    bound = np.inf if cutoff is None else np.asarray(cutoff, dtype=np.float64)
    if np.any(bound < values):
        raise ModelError("a value lies beyond its cutoff", hint="cutoff is the bound of each run in the unit of y")
    above = _squared_area(-z) - _squared_area(-standardised(bound, centre, spread))
    return float(np.mean(spread * (_squared_area(z) + np.where(mask, 0.0, above))))


def calibration_curve(y: ArrayLike, censored: ArrayLike, mean: ArrayLike, std: ArrayLike) -> tuple[Floats, Floats]:
    """Share of runs (second array) that stayed below their predicted quantile of each level (first array).

    The Kaplan–Meier estimate over the probability transform u = Φ((y − mean) / std); a run censored at level u is known to
    lie beyond u. Levels are those of the observed runs, ascending. A calibrated model's curve is the diagonal.
    """
    values, mask, centre, spread = _checked(y, censored, mean, std)
    u = ndtr(standardised(values, centre, spread))
    levels, ended = np.unique(u[~mask], return_counts=True)
    at_risk = len(u) - np.searchsorted(np.sort(u), levels, side="left")
    return levels, np.asarray(1.0 - np.cumprod(1.0 - ended / at_risk))


def d_calibration(
    y: ArrayLike, censored: ArrayLike, mean: ArrayLike, std: ArrayLike, bins: int = 10
) -> tuple[Floats, float]:
    """Share of runs in each of ``bins`` equally likely ranges of the prediction, and the p-value of "all are 1/bins".

    D-calibration (Haider et al. 2020): a run censored within a range is spread over the rest of that range and all later
    ones as the prediction itself would. A small p-value means that the probabilities are wrong. The spreading evens the
    shares out, so the test forgives more the more is censored.
    """
    if bins < 2:
        raise ModelError(f"d_calibration needs at least two bins, not {bins}")
    values, mask, centre, spread = _checked(y, censored, mean, std)
    z = standardised(values, centre, spread)
    edges = np.linspace(0.0, 1.0, bins + 1)
    observed = np.bincount(np.minimum((ndtr(z[~mask]) * bins).astype(np.int64), bins - 1), minlength=bins)
    shares = (observed + _spread(ndtr(-z[mask]), edges)) / len(values)
    statistic = len(values) * bins * float(np.sum((shares - 1.0 / bins) ** 2))
    return shares, float(chdtrc(bins - 1, statistic))


def _spread(left: Floats, edges: Floats) -> Floats:
    """Mass of each range, summed over runs with probability ``left`` still before them (0 counts as the end of it)."""
    left = np.maximum(left, np.finfo(np.float64).tiny)[:, None]
    # work with survival probabilities: they keep their digits where u = 1 − left has none
    upper, lower = 1.0 - edges[:-1], 1.0 - edges[1:]
    lower[-1] = 0.0
    return np.asarray(np.sum((np.minimum(left, upper) - np.minimum(left, lower)) / left, axis=0))


def _squared_area(z: Floats) -> Floats:
    """∫ Φ(u)² du up to z: z Φ² + 2 Φ φ − Φ(√2 z) / √π, which has that slope and starts at 0."""
    z = np.clip(z, -40.0, None)  # Φ² is 0 in double precision long before
    distribution = ndtr(z)
    return np.asarray(
        z * distribution**2 + 2.0 * distribution * np.exp(log_density(z)) - ndtr(np.sqrt(2.0) * z) / np.sqrt(np.pi)
    )


def _checked(y: ArrayLike, censored: ArrayLike, mean: ArrayLike, std: ArrayLike) -> tuple[Floats, Mask, Floats, Floats]:
    values, centre, spread = (np.asarray(array, dtype=np.float64) for array in (y, mean, std))
    mask = np.asarray(censored)
    if values.ndim != 1 or len(values) == 0 or any(array.shape != values.shape for array in (mask, centre, spread)):
        raise ModelError("y, censored, mean and std must have one entry per run, and there must be one run at least")
    if mask.dtype != np.bool_:
        raise ModelError("censored must be booleans")
    if not np.all(np.isfinite(values) & np.isfinite(centre) & np.isfinite(spread) & (spread > 0.0)):
        raise ModelError("y, mean and std must be finite, and std positive", hint="add the noise's deviation to the model's")
    return values, mask, centre, spread
