"""What the strategies with guarantees have in common as options, and how promises are worded."""

from __future__ import annotations

import math

from capra.errors import InputError
from capra.strategies.base import Context, checked
from capra.strategies.pool import Pool

__all__ = ["MORE", "first_cap", "means_only", "optimal", "parameters_of", "pool_size"]

MORE = "It promises once, when it has finished: a smaller epsilon or delta is a longer run of its own."
HALVINGS = 8
"""κ0 is κ_max halved so often, unless somebody says otherwise."""


def first_cap(context: Context, kappa0: float | None) -> float:
    """κ0, the cap that runs start with."""
    _runtime_only(context)
    if kappa0 is None:
        return context.scenario.cutoff / 2.0**HALVINGS
    return checked("kappa0", kappa0, 1e-6, context.scenario.cutoff)


def means_only(context: Context) -> None:
    """InputError under a utility, whose mean is for others to maximise."""
    if context.scenario.objective.utility is not None:
        raise InputError("this strategy compares mean times, not utilities", hint="use up, oup or coup")


def _runtime_only(context: Context) -> None:
    if context.scenario.objective.kind != "runtime":
        raise InputError("strategies with guarantees minimise time", hint="use roar or smac for the quality objective")


def pool_size(pool: Pool, n: int) -> int:
    """How many configurations are compared: the whole pool of the scenario, or ``n`` samples of its space."""
    n = checked("n", n, 1, whole=True)
    return int(pool.most) if math.isfinite(pool.most) else n + pool.given


def parameters_of(epsilon: float, delta: float, zeta: float) -> dict[str, float]:
    """What a mean is promised with, if it makes sense: the proofs want ε ≤ 1/3."""
    return {
        "epsilon": checked("epsilon", epsilon, 0.01, 1.0 / 3.0),
        "delta": checked("delta", delta, 0.001, 0.5),
        "zeta": checked("zeta", zeta, 1e-9, 0.5),
    }


def optimal(parameters: dict[str, float], whom: str) -> str:
    """(ε, δ)-optimality in one sentence."""
    sure, delta = 1.0 - parameters["zeta"], parameters["delta"]
    trimmed = f", with its slowest {100 * delta:.3g} % of runs cut off where they begin," if delta > 0.0 else ""
    return (
        f"With probability at least {100 * sure:.4g} % the mean cost of the answer{trimmed} is at most "
        f"{1.0 + parameters['epsilon']:.3g} times the least mean cost of {whom}."
    )
