"""What challengers are measured against: the incumbent's costs, with less luck in them, and the lead that is asked for.

SMAC's intensify compares sums over the pairs that both have run. That takes out what a pair does to everybody, and brings in
the incumbent's luck on these very pairs. Where configurations agree little about which pairs are hard, the second is more:
then a challenger is better measured against the incumbent's mean over all its pairs. In between lies the control variate of
survey sampling: the mean, corrected by what the pairs at hand cost the incumbent, as far as others are known to follow it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from statistics import fmean

from capra.runs.history import Pair

__all__ = ["FEW", "Yardstick", "agreement"]

FEW = 4
"""Pairs in common from which on it counts how far a configuration agrees with the incumbent."""
DOUBT = 5.0
"""Full agreement is taken for granted as if so many pairs had shown it."""
MOST = 100
"""Pairs of a configuration that are looked at."""
LEAST = 0.5
"""A challenger is never asked to be better than this share of the incumbent's cost."""


@dataclass(frozen=True, slots=True)
class Yardstick:
    """An incumbent, as it was known at some moment. The plain one asks only for not being worse on the same pairs."""

    mean: float = 0.0
    """Of the incumbent's cost, over ``pairs`` pairs of ``everything`` that there are."""
    deviation: float = 0.0
    """Of its cost, from pair to pair."""
    agreement: float = 1.0
    """Correlation of another's costs with the incumbent's on the same pairs, from 0 to 1."""
    pairs: int = 1
    everything: float = math.inf
    lead: float = 0.0
    """Standard errors that a challenger must be ahead by."""
    positive: bool = True
    """Are costs times, or the like?"""

    @classmethod
    def of(
        cls,
        costs: Mapping[Pair, float],
        others: Iterable[Mapping[Pair, float]],
        everything: float,
        *,
        lead: float,
        positive: bool,
    ) -> Yardstick:
        """The incumbent's complete ``costs``, and those of others who may agree with it or not."""
        mean = fmean(costs.values()) if costs else math.inf
        if lead <= 0.0 or len(costs) < 2 or not math.isfinite(mean):
            return cls()
        squares = sum((cost - mean) ** 2 for cost in costs.values())
        deviation = math.sqrt(squares / (len(costs) - 1))
        return cls(mean, deviation, agreement(costs, others), len(costs), everything, lead, positive)

    def bound(self, costs: Collection[float]) -> float:
        """What a challenger may cost, in sum, on pairs that cost the incumbent so much; infinite if one of these is."""
        count, total = len(costs), sum(costs)
        if self.agreement == 1.0 or not count or not math.isfinite(total):
            return total
        expected = self.agreement * total + (1.0 - self.agreement) * count * self.mean
        ahead = expected - self.lead * count * self.deviation * math.sqrt(self._variance(count))
        return max(ahead, LEAST * expected) if self.positive else ahead

    def _variance(self, count: int) -> float:
        """Of the difference between the incumbent and an equal after ``count`` pairs, in variances of a single pair.

        The part of the challenger's luck that the incumbent does not share, and of the incumbent's on its own pairs. None of
        it is left when all pairs that there are have been run.
        """
        unmet = 1.0 / self.everything
        own, other = 1.0 / count - unmet, 1.0 / self.pairs - unmet
        return max(0.0, (1.0 - self.agreement**2) * own + (1.0 - self.agreement) ** 2 * other)


def agreement(costs: Mapping[Pair, float], others: Iterable[Mapping[Pair, float]]) -> float:
    """Correlation of others' costs with ``costs`` on the pairs that both have, over all of them, from 0 to 1.

    1 as long as next to nothing is known: then sums over the same pairs are compared, as SMAC does.
    """
    known = agreed = DOUBT
    for other in others:
        both = [(costs[pair], cost) for pair, cost in islice(other.items(), MOST) if pair in costs]
        if len(both) >= FEW and (correlation := _correlation(both)) is not None:
            known += len(both) - 1
            agreed += (len(both) - 1) * correlation
    return min(1.0, max(0.0, agreed / known))


def _correlation(both: Collection[tuple[float, float]]) -> float | None:
    """None where one of them does not vary, or is infinite."""
    means = fmean(x for x, _ in both), fmean(y for _, y in both)
    if not math.isfinite(sum(means)):
        return None
    squares = [sum((pair[i] - means[i]) ** 2 for pair in both) for i in (0, 1)]
    product = sum((x - means[0]) * (y - means[1]) for x, y in both)
    return product / math.sqrt(squares[0] * squares[1]) if min(squares) > 0.0 else None
