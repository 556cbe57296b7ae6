"""How much was spent, and whether another run may start."""

from __future__ import annotations

import math
import time

from capra.runs import History, Status
from capra.scenario import Budget

__all__ = ["Leased", "Meter"]


UNIT = 2**1074
"""Every number is a whole multiple of the smallest one, this part of 1."""


class Leased:
    """Cutoffs of the runs under way: how many, and the sum of those that are finite.

    The sum is exact: what came and went leaves nothing behind.
    """

    def __init__(self) -> None:
        self.number = 0
        self._sum = 0

    def add(self, cutoff: float, number: int = 1) -> None:
        """A run begins; with ``number`` -1 it is over."""
        self.number += number
        if math.isfinite(cutoff):
            numerator, denominator = cutoff.as_integer_ratio()
            self._sum += number * numerator * (UNIT // denominator)

    @property
    def total(self) -> float:
        return self._sum / UNIT


class Meter:
    """Holds a history against a budget.

    Target time is the sum over all runs that count; our own CPU time is added (``overhead="count"``), because fitting models
    costs the user as much as running the target. Cutoffs of runs under way count as if they were used, so that the budget is
    never passed by more than one cutoff per worker. Of a run without a cutoff nobody knows what it will take.
    """

    def __init__(self, budget: Budget, unit: str, *, overhead: str = "count", wall: float = 0.0, own: float = 0.0) -> None:
        self.budget = budget
        self.counts = overhead == "count" and unit in ("cpu", "wall")
        self.wall_before = wall
        self._own_before = own
        self._started = time.process_time()

    @property
    def own(self) -> float:
        """Our own CPU seconds, earlier sessions included."""
        return self._own_before + time.process_time() - self._started

    def overhead(self) -> float:
        """Our own CPU seconds as far as they count against the budget."""
        return self.own if self.counts else 0.0

    def spent(self, history: History) -> float:
        """Target time so far, with our own where it counts."""
        return history.spent + self.overhead()

    def wall(self, clock: float) -> float:
        """Wall seconds so far, earlier sessions included; ``clock`` is the engine's."""
        return self.wall_before + clock

    def room(self, history: History, leased: Leased, clock: float) -> float:
        """How many more runs may start now: 0 when the budget is used up or bound by what is under way."""
        if self.spent(history) + leased.total >= self.budget.cpu or self.wall(clock) >= self.budget.wall:
            return 0
        return max(0, self.budget.runs - made(history) - leased.number)

    def wall_left(self, clock: float) -> float:
        """Wall seconds until the runs under way must be stopped."""
        return max(0.0, self.budget.wall - self.wall(clock))

    def share(self, history: History, clock: float) -> float:
        """The used share of the budget, by whichever part is nearest to its end."""
        used = [
            self.spent(history) / self.budget.cpu,
            self.wall(clock) / self.budget.wall,
            made(history) / self.budget.runs,
        ]
        return min(1.0, max(0.0 if math.isnan(part) else part for part in used))


def made(history: History) -> int:
    """Runs that count: a LOST one is not in the store's history either, when it is read again."""
    return len(history) - history.statuses[Status.LOST]
