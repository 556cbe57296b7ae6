"""N(θ) and ĉ_N(θ): how many of the first pairs a configuration has completed, and what they cost it."""

from __future__ import annotations

from math import inf

from capra.runs import Configuration
from capra.runs.history import History
from capra.strategies.pairs import PairOrder

__all__ = ["Prefixes"]


class Prefixes:
    """Running sums over the pairs in their common order, brought up to date when asked for."""

    def __init__(self, history: History, pairs: PairOrder) -> None:
        self._history = history
        self._pairs = pairs
        self._sums: dict[Configuration, list[tuple[int, float]]] = {}
        """As ``runs.history.worth`` has them."""

    def count(self, config: Configuration) -> int:
        """N(θ): the configuration's complete runs up to the first pair that it lacks."""
        costs, sums = self._history.record(config).costs, self._sums.setdefault(config, [(0, 0.0)])
        while len(sums) <= len(costs) and (cost := costs.get(self._pairs[len(sums) - 1])) is not None:
            endless, total = sums[-1]
            sums.append((endless + 1, total) if cost == inf else (endless, total + cost))
        return len(sums) - 1

    def total(self, config: Configuration, n: int) -> float:
        """n · ĉ_n(θ): the cost of the first ``n`` pairs; infinite if it lacks one of them."""
        endless, total = self.worth(config, n)
        return inf if endless else total

    def worth(self, config: Configuration, n: int) -> tuple[int, float]:
        """The same to compare by, where runs without a result cost infinitely much; nobody has more than who lacks one."""
        return self._sums[config][n] if self.count(config) >= n else (n + 1, inf)

    def succeeds(self, config: Configuration, incumbent: Configuration | None) -> bool:
        """Does it dominate the incumbent (Hutter et al. 2009), strictly if it has no more runs?"""
        runs = self.count(config)
        if incumbent is None or config == incumbent:
            return runs > 0 and config != incumbent
        theirs = self.count(incumbent)
        if runs < theirs:
            return False
        ours, other = self.worth(config, theirs), self.worth(incumbent, theirs)
        return ours <= other if runs > theirs else ours < other
