"""Utilitarian procrastination: up (Graham et al. 2023), oup and coup (Graham & Leyton-Brown 2025).

They maximise the mean of a bounded utility of the time: the scenario's, or loglaplace(κ_max/5, 1) where that is PARk
(under 1 − PARk/(k·κ_max) all but the worst would be within a tenth of each other). A run without an answer is worth nothing.
Caps double only where the cap, and not the number of runs, dominates the error. At any time nobody's mean utility is more
than ε* above the answer's.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from capra._guarantees import Coup, Oup, Up
from capra.runs.utility import Utility
from capra.strategies.base import Context, checked
from capra.strategies.certificate import Promise
from capra.strategies.guaranteed import Guaranteed
from capra.strategies.pool import Pool
from capra.strategies.promises import first_cap, pool_size

if TYPE_CHECKING:
    from capra.strategies.guided import GuidedPool

__all__ = ["coup", "oup", "up"]

LEVELS = 64
"""Caps may double so often."""
MOST = 1_000_000
"""A sample of a space does not grow beyond this."""
MORE = "That holds whenever it is stopped. More time makes epsilon smaller: half of it takes about four times the runs."


def up(
    context: Context, *, n: int = 50, delta: float = 0.1, epsilon: float = 0.0, kappa0: float | None = None
) -> Guaranteed:
    """Everybody who may still be best is run on the next instance, until epsilon is reached."""
    return _fixed(context, Up, "up", n, delta, epsilon, kappa0)


def oup(
    context: Context, *, n: int = 50, delta: float = 0.1, epsilon: float = 0.0, kappa0: float | None = None
) -> Guaranteed:
    """Who may be best by most is run next, until epsilon is reached. The same promise as ``up`` for far fewer runs."""
    return _fixed(context, Oup, "oup", n, delta, epsilon, kappa0)


def _fixed(
    context: Context, kind: type[Up] | type[Oup], name: str, n: int, delta: float, epsilon: float, kappa0: float | None
) -> Guaranteed:
    pool, cap = Pool(context), first_cap(context, kappa0)
    n, delta, epsilon = pool_size(pool, n), checked("delta", delta, 1e-9, 0.5), checked("epsilon", epsilon, 0.0, 1.0)
    utility = _utility(context)
    core = kind(n, delta, cap, _worth(utility, cap), epsilon)

    def promise() -> Promise:
        if (gap := core.gap) >= 1.0:
            return Promise({}, "Nothing is promised yet.", MORE)
        return Promise({"epsilon": gap, "zeta": delta}, _says(gap, delta, f"any of the {n} configurations", utility), MORE)

    return Guaranteed(context, name, core, pool, promise, utility=utility, is_endless=True)


def coup(
    context: Context,
    *,
    delta: float = 0.1,
    pace: float = 5.0,
    phases: int = 1000,
    kappa0: float | None = None,
    model: str | None = None,
) -> Guaranteed:
    """oup over a growing sample: after phase p, ε ≤ e^(−p/pace) towards all but the best e^(−p/pace) of the space.

    ``model`` (one of ``search.surrogates.MODELS``) proposes every other configuration of the sample.
    """
    guided = None if model is None or context.scenario.configurations else _guided(context, model)
    pool = guided or Pool(context)
    cap = first_cap(context, kappa0)
    most = int(pool.most) if math.isfinite(pool.most) else MOST
    delta, utility = checked("delta", delta, 1e-9, 0.5), _utility(context)
    pace, phases = checked("pace", pace, 0.1, 1000.0), checked("phases", phases, 1, 1000, whole=True)
    core = Coup(most, delta, cap, _worth(utility, cap), pace, phases, pool.given, 1 if guided is None else 2)

    def promise() -> Promise:
        gap = core.gap
        more = f"{MORE} Phase {core.phase + 1} compares with all but {100 * core.promise * math.exp(-1 / pace):.3g} %."
        if gap >= 1.0:
            return Promise({}, "Nothing is promised yet.", more)
        everybody = core.configs >= most
        gamma = 0.0 if everybody else core.promise
        whom = f"any of the {most} configurations" if everybody else f"all but the best {100 * gamma:.3g} % of the space"
        return Promise({"epsilon": gap, "gamma": gamma, "zeta": delta}, _says(gap, delta, whom, utility), more)

    strategy = Guaranteed(context, "coup", core, pool, promise, utility=utility, is_endless=True)
    if guided is not None:
        guided.history = strategy.history
    return strategy


def _guided(context: Context, model: str) -> GuidedPool:
    from capra.strategies.guided import GuidedPool  # models take their time to load

    return GuidedPool(context, model)


def _utility(context: Context) -> Utility:
    return context.scenario.objective.utility or Utility("loglaplace", context.scenario.cutoff / 5.0)


def _worth(utility: Utility, kappa0: float) -> list[float]:
    """u of the caps κ0, 2κ0, 4κ0, …"""
    return [utility.of(math.ldexp(kappa0, level)) for level in range(LEVELS)]


def _says(gap: float, zeta: float, whom: str, utility: Utility) -> str:
    return (
        f"With probability at least {100 * (1 - zeta):.4g} % the mean utility {utility} of {whom} is at most {gap:.3g} "
        "above that of the answer."
    )
