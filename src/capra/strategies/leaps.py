"""LeapsAndBounds (Weisz, György & Szepesvári 2018): guess the best mean, see whether somebody is as good, guess higher.

The algorithm is ``native/leaps.hpp``.
"""

from __future__ import annotations

from capra._guarantees import LeapsAndBounds
from capra.strategies.base import Context
from capra.strategies.certificate import Promise
from capra.strategies.guaranteed import Guaranteed
from capra.strategies.pool import Pool
from capra.strategies.promises import MORE, first_cap, means_only, optimal, parameters_of, pool_size

__all__ = ["leaps"]


def leaps(
    context: Context,
    *,
    n: int = 50,
    epsilon: float = 0.2,
    delta: float = 0.2,
    zeta: float = 0.1,
    kappa0: float | None = None,
) -> Guaranteed:
    """LeapsAndBounds over the pool, or over ``n`` samples of the space."""
    means_only(context)
    pool = Pool(context)
    n, parameters = pool_size(pool, n), parameters_of(epsilon, delta, zeta)
    core = LeapsAndBounds(n, epsilon, delta, zeta, first_cap(context, kappa0))

    def promise() -> Promise:
        if core.answer < 0:
            return Promise({}, f"Nothing is promised yet; no mean is below {core.theta / 1.25:.3g}.", MORE)
        return Promise(parameters, optimal(parameters, f"any of the {n} configurations"), MORE)

    return Guaranteed(context, "leaps", core, pool, promise, trims=True)
