"""A challenger's books: what it is compared on next, and what of that it has still to run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from capra.runs.history import Pair

__all__ = ["Challenger"]


@dataclass(slots=True)
class Challenger:
    """A configuration in its race."""

    number: int
    again: bool = False
    """Was it put off before? Then it runs to the end where the incumbent has failed."""
    compared: Sequence[Pair] = ()
    """The pairs of the next comparison: those it has finished and its current batch."""
    left: set[Pair] = field(default_factory=set)
    """Those of them that it has not finished."""
    asked: int = 0
    """The others after so many of them wait to be asked for, if they are left and not pending."""
    spent: float = 0.0
    """Its cost on those of them that it has finished."""
    bound: float = math.inf
    """What all of them may cost (see ``Yardstick``); infinite where that is not known."""

    def begin(self, finished: list[Pair], fresh: list[Pair], costs: Mapping[Pair, float]) -> None:
        """Compare on the ``finished`` pairs, which have ``costs``, and a batch of ``fresh`` ones."""
        self.compared, self.left, self.asked = finished + fresh, set(fresh), len(finished)
        self.spent, self.bound = sum(costs[pair] for pair in finished), math.inf

    def next_pair(self) -> Pair:
        """The next pair to ask for."""
        self.asked += 1
        return self.compared[self.asked - 1]

    @property
    def is_asked(self) -> bool:
        """Does no pair wait?"""
        return self.asked == len(self.compared)

    def ask_again(self) -> None:
        """A run was lost: whatever is left and not pending waits again."""
        self.asked = 0

    def finish(self, pair: Pair, cost: float) -> None:
        """A run is complete; perhaps not one of this batch."""
        if pair in self.left:
            self.left.discard(pair)
            self.spent += cost

    def skip(self, pair: Pair) -> None:
        """Compare without a pair, for now."""
        self.left.discard(pair)
        self.compared = [other for other in self.compared if other != pair]
        self.bound, self.asked = math.inf, 0
