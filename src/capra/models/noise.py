"""How much single runs differ from a function that a model has learnt without saying so."""

from __future__ import annotations

import numpy as np

from capra.models.base import Floats, Mask
from capra.models.numerics import hazard, standardised

__all__ = ["fitted_noise"]

FARTHEST = 1e3  # of the residuals' size, either way


def fitted_noise(residuals: Floats, censored: Mask, doubt: Floats) -> float:
    """The deviation of single runs with which squared standardised residuals are 1 on average; all arrays (n,).

    ``residuals`` are values, or bounds where ``censored``, minus predictions that did not use them; ``doubt`` is the
    deviation of the function itself, which explains a part of them. A censored one counts with its mean square beyond the
    bound. The most likely noise would be no good: times have a resolution, and where many runs and trees agree to the last
    digit its likelihood has no maximum but at 0.
    """
    from scipy.optimize import brentq  # a fifth of a second that only this needs

    size, widest = float(np.sqrt(np.mean(residuals**2))), float(np.log(FARTHEST))
    if size == 0.0:
        return 0.0

    def excess(log_noise: float) -> float:
        z = standardised(residuals, 0.0, np.hypot(doubt, size * np.exp(log_noise)))
        return float(np.mean(np.where(censored, 1.0 + z * hazard(z), z * z))) - 1.0

    if excess(-widest) <= 0.0:  # the doubt explains all of it
        return size / FARTHEST
    if excess(widest) >= 0.0:  # next to nothing was observed
        return size
    return size * float(np.exp(brentq(excess, -widest, widest, xtol=1e-4)))
