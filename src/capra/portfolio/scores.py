"""How good a selection is, between the single best configuration and the virtual best."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from capra.errors import InputError
from capra.models.base import Floats
from capra.portfolio.records import PENALTY, Records

__all__ = ["Score", "score", "single_best", "virtual_best"]


def single_best(training: Records) -> int:
    """The configuration with the lowest mean PAR10 on *training* instances; a tie goes to the first.

    A capped run counts as unsolved: a configuration whose runs were all stopped early must not look fast.
    """
    costs = np.where(training.capped, PENALTY * training.cutoff, training.costs)
    return int(np.argmin(costs.mean(axis=0)))


def virtual_best(records: Records) -> Floats:
    """(n,): the lowest PAR10 of any configuration on each instance; no features are computed for it."""
    return np.asarray(records.costs.min(axis=1))


@dataclass(frozen=True, slots=True)
class Score:
    """``par10`` is a mean; ``npar10`` is 0 for the virtual best and 1 for the single best; intervals are 95 %.

    ``npar10`` is the ratio of sums over all folds, never a mean of the folds' ratios: a fold in which the single best is
    nearly perfect would decide alone. None where single and virtual best are equal.
    """

    par10: float
    interval: tuple[float, float]
    npar10: float | None
    npar10_interval: tuple[float, float] | None

    @property
    def closed_gap(self) -> float | None:
        return None if self.npar10 is None else 1.0 - self.npar10


def score(costs: Floats, single: Floats, virtual: Floats, rng: np.random.Generator, *, resamples: int = 2000) -> Score:
    """Of PAR10 per instance, (n,) each: of the selection, of the single best (chosen on training rows) and the virtual best.

    Intervals are percentiles over instances drawn anew, the three of an instance together.
    """
    if not len(costs) == len(single) == len(virtual) > 0:
        raise InputError("a score needs three costs for each of at least one instance")
    picks = rng.integers(len(costs), size=(resamples, len(costs)))
    means = costs[picks].mean(axis=1)
    gap = float((single - virtual).sum())
    if gap <= 0.0:
        return Score(float(costs.mean()), _percentiles(means), None, None)
    gaps = (single - virtual)[picks].sum(axis=1)
    ratios = (costs - virtual)[picks].sum(axis=1)[gaps > 0.0] / gaps[gaps > 0.0]
    return Score(float(costs.mean()), _percentiles(means), float((costs - virtual).sum()) / gap, _percentiles(ratios))


def _percentiles(values: Floats) -> tuple[float, float]:
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)
