"""ImpatientCapsAndRuns (Weisz et al. 2020): an infinite pool, most of which is thrown out after a few runs.

The answer is compared with all but the best share γ of the space. Samples grow from level to level, as that share halves
from about a half to γ; what the first levels tell about T lets a cheap check reject most of the rest. The algorithm is
``native/impatient.hpp``.
"""

from __future__ import annotations

import math

from capra._guarantees import Impatient
from capra.strategies.base import Context, checked
from capra.strategies.caps import promised, settings
from capra.strategies.guaranteed import Guaranteed
from capra.strategies.pool import Pool
from capra.strategies.promises import first_cap, means_only, parameters_of

__all__ = ["SHARES", "impatient", "sample_sizes"]

SHARES = 12
"""Parts of the failure probability that the proof spends."""


def sample_sizes(gamma: float, zeta: float) -> list[int]:
    """How many configurations each level needs to hold one of the best 2^k · γ, k = K − 1, …, 0."""
    levels = math.ceil(math.log2(0.5 / gamma))
    return [math.ceil(math.log(zeta / levels) / math.log1p(-(2.0**k) * gamma)) for k in range(levels - 1, -1, -1)]


def impatient(
    context: Context,
    *,
    gamma: float = 0.05,
    epsilon: float = 0.2,
    delta: float = 0.1,
    zeta: float = 0.1,
    kappa0: float | None = None,
) -> Guaranteed:
    """ImpatientCapsAndRuns over a sample of the space, or of the pool, that is large enough for ``gamma``."""
    means_only(context)
    pool = Pool(context)
    parameters = parameters_of(epsilon, delta, zeta) | {"gamma": checked("gamma", gamma, 1e-5, 0.25)}
    sizes = [pool.given + size for size in sample_sizes(gamma, zeta / SHARES)]
    if sizes[-1] > pool.most:  # the sample is the pool itself
        sizes, parameters["gamma"] = [min(size, int(pool.most)) for size in sizes], 0.0
    share, cap = parameters["gamma"], first_cap(context, kappa0)
    core = Impatient(sizes, settings(sizes[-1], epsilon, delta, zeta / SHARES, cap))
    whom = f"all but the best {100 * share:.3g} % of the space" if share else f"any of the {sizes[-1]} configurations"
    return Guaranteed(context, "impatient", core, pool, lambda: promised(core, parameters, whom), trims=True)
