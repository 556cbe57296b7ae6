"""CapsAndRuns (Weisz, György & Szepesvári 2019): first each configuration's own cap, then a race of capped means.

All configurations advance in parallel: the one that has used least time goes on. Phase I runs b instances with growing caps
until all but 3δ/4 of them have ended: τ, the configuration's cap. Phase II estimates its mean, capped at τ, on further ones.
Both are given up as soon as they cannot end below T, the least upper bound of any mean so far. The algorithm is
``native/caps.hpp``.
"""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass

from capra._guarantees import CapsAndRuns, CapsSettings, Impatient
from capra.strategies.base import Context
from capra.strategies.certificate import Promise
from capra.strategies.guaranteed import Guaranteed
from capra.strategies.pool import Pool
from capra.strategies.promises import MORE, first_cap, means_only, optimal, parameters_of, pool_size

__all__ = ["BASIC", "PLUS_PLUS", "Constants", "caps", "caps_plus_plus", "promised", "settings"]

SHARES = 6
"""Parts of the failure probability that the proof spends."""


@dataclass(frozen=True)
class Constants:
    """b = ⌈runs · ln(events · n/ζ)/δ⌉ instances in phase I, given up at ``patience`` · b · T."""

    runs: float
    events: float
    patience: float


BASIC, PLUS_PLUS = Constants(48.0, 3.0, 2.0), Constants(26.0, 2.0, 1.5)
"""As published, and with the better constants of the paper on ImpatientCapsAndRuns."""


def settings(
    n: int, epsilon: float, delta: float, zeta: float, kappa0: float, constants: Constants = PLUS_PLUS
) -> CapsSettings:
    """What the core needs; ``zeta`` is what the proof has for each of its parts."""
    return CapsSettings(n, epsilon, delta, zeta, kappa0, *astuple(constants))


def caps(
    context: Context,
    *,
    n: int = 50,
    epsilon: float = 0.2,
    delta: float = 0.1,
    zeta: float = 0.1,
    kappa0: float | None = None,
) -> Guaranteed:
    """CapsAndRuns as published, over the pool or over ``n`` samples of the space."""
    return _made(context, "caps", n, parameters_of(epsilon, delta, zeta), kappa0, BASIC)


def caps_plus_plus(
    context: Context,
    *,
    n: int = 50,
    epsilon: float = 0.2,
    delta: float = 0.1,
    zeta: float = 0.1,
    kappa0: float | None = None,
) -> Guaranteed:
    """CapsAndRuns with better constants: the same promise for about half of the time."""
    return _made(context, "caps++", n, parameters_of(epsilon, delta, zeta), kappa0, PLUS_PLUS)


def _made(
    context: Context, name: str, n: int, parameters: dict[str, float], kappa0: float | None, constants: Constants
) -> Guaranteed:
    means_only(context)
    pool = Pool(context)
    n, cap = pool_size(pool, n), first_cap(context, kappa0)
    epsilon, delta, zeta = parameters.values()
    core = CapsAndRuns(settings(n, epsilon, delta, zeta / SHARES, cap, constants))
    whom = f"any of the {n} configurations"
    return Guaranteed(context, name, core, pool, lambda: promised(core, parameters, whom), trims=True)


def promised(core: CapsAndRuns | Impatient, parameters: dict[str, float], whom: str) -> Promise:
    """The promise of a core that promises once, at its end."""
    if not core.is_sure or core.answer < 0:
        bound = f"; the best mean is at most {core.least:.3g}" if core.least < math.inf else ""
        return Promise({}, f"Nothing is promised yet{bound}.", MORE)
    return Promise(parameters, optimal(parameters, whom), MORE)
