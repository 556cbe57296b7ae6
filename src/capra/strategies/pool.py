"""What strategies with guarantees choose from, and on what they compare: numbered configurations, numbered columns."""

from __future__ import annotations

from capra.errors import InputError
from capra.runs import Configuration
from capra.runs.history import Pair
from capra.strategies.base import Context
from capra.strategies.pairs import PairOrder

__all__ = ["Columns", "Pool"]

_SAMPLES, _ORDER, _AGAIN = 20, 21, 22
"""Streams of random numbers (see Context.rng)."""
BLOCK = 64
"""Samples are drawn and decoded so many at a time."""


class Pool:
    """Configurations by number: the default, the scenario's first ones, then its pool in random order or samples.

    Number i is the same whenever it is asked for, so a sample may grow without end. Whoever samples from a distribution may
    add a few of his own: a promise about n configurations counts them all.
    """

    def __init__(self, context: Context) -> None:
        scenario = context.scenario
        self._context = context
        given = [scenario.default, *context.first]
        if scenario.configurations:
            order = context.rng(_ORDER).permutation(len(scenario.configurations))
            given += [scenario.configurations[k] for k in order]
        self._known = list(dict.fromkeys(given))
        self._numbers = {config: [i] for i, config in enumerate(self._known)}
        self._blocks: dict[int, list[Configuration]] = {}

    @property
    def most(self) -> float:
        """How many there are; infinite for samples of a space."""
        return len(self._known) if self._context.scenario.configurations else float("inf")

    @property
    def given(self) -> int:
        """So many of the first ones are no samples."""
        return len({self._context.scenario.default, *self._context.first})

    def __getitem__(self, number: int) -> Configuration:
        while len(self._known) <= number:
            self._append(self._next(len(self._known)))
        return self._known[number]

    def numbers(self, config: Configuration) -> list[int]:
        """The numbers of a configuration, as far as they were asked for: samples of a small space may have several."""
        return self._numbers.get(config, [])

    def _append(self, config: Configuration) -> None:
        self._numbers.setdefault(config, []).append(len(self._known))
        self._known.append(config)

    def _next(self, number: int) -> Configuration:
        """The configuration of a number that was not asked for before."""
        if self._context.scenario.configurations:
            raise InputError(f"the pool has only {len(self._known)} configurations")
        return self._sample(number - self.given)

    def _sample(self, place: int) -> Configuration:
        """A random configuration of the space."""
        block, space = place // BLOCK, self._context.scenario.space
        if block not in self._blocks:
            self._blocks = {block: space.decode(space.sample(BLOCK, self._context.rng(_SAMPLES, block)))}
        return self._blocks[block][place % BLOCK]


class Columns:
    """The one random order of (instance, seed) pairs that everybody runs on.

    Every pair comes once before any comes again; beyond a finite set they are drawn with replacement, and a cell that is
    known is not run again.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._order = PairOrder(context)
        self._again: list[int] = []

    @property
    def different(self) -> float:
        """How many different pairs there are."""
        return self._order.length

    def __getitem__(self, column: int) -> Pair:
        if column < self.different:
            return self._order[column]
        beyond, length = column - int(self.different), int(self.different)
        while len(self._again) <= beyond:
            block = self._context.rng(_AGAIN, len(self._again) // BLOCK)
            self._again += block.integers(length, size=BLOCK).tolist()
        return self._order[self._again[beyond]]
