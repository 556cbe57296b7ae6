"""Adaptive capping: how long a run may last before it is provably too long. Pure functions."""

from __future__ import annotations

__all__ = ["next_cutoff"]


def next_cutoff(incumbent_total: float, spent: float, slack: float, kappa_max: float) -> float:
    """Time the challenger may still use before it is provably worse than the incumbent.

    ``incumbent_total`` is the incumbent's cost on the pairs that are compared, ``spent`` the challenger's cost on those of
    them that it has finished (Hutter et al. 2009, trajectory-preserving capping; the slack factor ξ of Hutter, Hoos &
    Leyton-Brown 2011, §3: 1 is the exact bound, more buys better data). 0.0 means that it has already lost: reject, do not
    run.
    """
    return min(kappa_max, max(0.0, slack * incumbent_total - spent))
