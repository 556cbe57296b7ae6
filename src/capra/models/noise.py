"""How much single runs differ from a function that a model has learnt without saying so."""

from __future__ import annotations

import numpy as np

from capra.models.base import Floats, Mask
from capra.models.numerics import log_density, log_survival, standardised

__all__ = ["fitted_noise"]

FARTHEST = 1e3  # of the residuals' size, either way


def fitted_noise(residuals: Floats, censored: Mask, doubt: Floats) -> float:
    """The deviation of single runs that makes ``residuals`` most likely (Tobit likelihood), (n,) each.

    ``residuals`` are values, or bounds where ``censored``, minus predictions that did not use them; ``doubt`` is the
    deviation of the function itself, which explains a part of them.
    """
    from scipy.optimize import minimize_scalar  # a fifth of a second that only this needs

    size = float(np.sqrt(np.mean(residuals**2)))
    if size == 0.0:
        return 0.0

    def loss(log_noise: float) -> float:
        std = np.hypot(doubt, size * np.exp(log_noise))
        z = standardised(residuals, 0.0, std)
        return -float(np.sum(np.where(censored, log_survival(z), log_density(z) - np.log(std))))

    widest = np.log(FARTHEST)
    return size * float(np.exp(minimize_scalar(loss, bounds=(-widest, widest), method="bounded").x))
