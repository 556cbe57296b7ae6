"""How many times as fast, and how sure that is: costs compared on the pairs that both have, resampled by instance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

__all__ = ["SpeedUp", "speed_up"]

LEVEL = 0.95
RESAMPLES = 2000
FEWEST = 5
"""Instances below which a bootstrap interval means nothing."""


class SpeedUp(NamedTuple):
    """The ratio of total costs, its percentile interval, and what it was judged on."""

    ratio: float
    low: float
    high: float
    pairs: int
    instances: int

    @property
    def enough(self) -> bool:
        """Were there enough instances (or pairs, of one instance) to say anything about the interval?"""
        return (self.instances if self.instances > 1 else self.pairs) >= FEWEST

    @property
    def sure(self) -> bool:
        """Is the interval on one side of 1?"""
        return self.enough and not self.low <= 1.0 <= self.high


def speed_up(
    before: Mapping[tuple[str | None, int], float], after: Mapping[tuple[str | None, int], float], seed: int = 0
) -> SpeedUp | None:
    """Costs by (instance, seed) ``before`` and ``after``, on the pairs that both have; None where nothing can be compared.

    Instances are drawn whole, since runs on one instance are anything but independent; where there is only one instance
    its pairs are drawn. Percentile bootstrap with 2,000 resamples, the same for the same ``seed``.
    """
    shared = [pair for pair in after if pair in before]
    instances = len({instance for instance, _ in shared})
    totals: dict[object, tuple[float, float]] = {}
    for pair in shared:
        key: object = pair[0] if instances > 1 else pair
        old, new = totals.get(key, (0.0, 0.0))
        totals[key] = old + before[pair], new + after[pair]
    sums = np.array(list(totals.values())).reshape(-1, 2)
    if not len(sums) or not np.isfinite(sums).all() or sums[:, 1].sum() <= 0.0 or sums[:, 0].sum() <= 0.0:
        return None
    picks = np.random.default_rng(seed).integers(len(sums), size=(RESAMPLES, len(sums)))
    drawn = sums[picks].sum(axis=1)
    drawn = drawn[drawn[:, 1] > 0.0]
    low, high = np.quantile(drawn[:, 0] / drawn[:, 1], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return SpeedUp(float(sums[:, 0].sum() / sums[:, 1].sum()), float(low), float(high), len(shared), instances)
