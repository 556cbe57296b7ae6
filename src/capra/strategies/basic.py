"""Basic(N): every configuration gets the same N pairs. What racing is measured against."""

from __future__ import annotations

from typing import Any

from capra.strategies.base import Context, checked
from capra.strategies.race import Race
from capra.strategies.roar import RandomProposer

__all__ = ["Basic", "basic"]


class Basic(Race):
    """Random configurations, each run on the first N pairs before it is compared (the lecture's Basic(N))."""

    def __init__(self, context: Context, *, n: int, **options: Any) -> None:
        super().__init__(context, RandomProposer(context), **{"lead": 0.0, **options})  # the N pairs decide
        self.n = checked("n", n, 1, whole=True)

    def incumbent_pairs(self, idle: bool = False) -> int:
        return self.n

    def batch(self, finished: int) -> int:
        return self.n


def basic(context: Context, *, n: int = 10, **options: Any) -> Basic:
    """Basic(N)."""
    return Basic(context, n=n, **options)
