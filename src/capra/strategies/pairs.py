"""The order of (instance, seed) pairs: one for everybody, so that configurations meet on the same ones."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from itertools import islice

from capra.runs.history import Pair
from capra.strategies.base import Context

__all__ = ["PairOrder", "some"]

_PAIRS = 1
"""Stream of random numbers (see Context.rng)."""
LARGEST_SEED = 2**31
_MASK = 2**64 - 1


class PairOrder:
    """An endless (or, for deterministic targets, finite) sequence of pairs.

    Every instance comes once before any comes again, each round in a new random order: whoever takes pairs from the front
    always lacks the instances it has run least. Position j is the same whenever it is asked for.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._instances: list[str | None] = [instance.name for instance in context.scenario.instances] or [None]
        self._known: list[Pair] = []
        self._places: dict[Pair, int] = {}

    @property
    def length(self) -> float:
        """How many pairs there are."""
        scenario = self._context.scenario
        if scenario.deterministic:
            return len(self._instances)
        return len(self._instances) * len(scenario.seeds) if scenario.seeds is not None else float("inf")

    def __getitem__(self, position: int) -> Pair:
        while len(self._known) <= position:
            self._known += self._round(len(self._known) // len(self._instances))
        return self._known[position]

    def place(self, pair: Pair) -> int:
        """The position of a pair that was given out before."""
        while len(self._places) < len(self._known):
            self._places[self._known[len(self._places)]] = len(self._places)
        return self._places[pair]

    def first(self, count: float) -> list[Pair]:
        """The first ``count`` pairs, or all."""
        wanted = int(min(count, self.length))
        if wanted:
            self[wanted - 1]
        return self._known[:wanted]

    def _round(self, lap: int) -> list[Pair]:
        rng = self._context.rng(_PAIRS, lap)
        order = rng.permutation(len(self._instances))
        return [(self._instances[i], self._seed(lap, int(rng.integers(LARGEST_SEED)))) for i in order]

    def _seed(self, lap: int, fresh: int) -> int:
        scenario = self._context.scenario
        if scenario.seeds is not None:
            return scenario.seeds[lap % len(scenario.seeds)]
        return 0 if scenario.deterministic else fresh


def some(pairs: Sequence[Pair], count: int, seed: int, known: Container[Pair] = ()) -> list[Pair]:
    """``count`` of the pairs that are not ``known`` (all, if there are fewer) in random order.

    Takes as long as there are pairs to skip and to take, however many there are: challengers come by the million.
    """
    fresh = (pairs[place] for place in _shuffled(len(pairs), seed))
    return list(islice((pair for pair in fresh if pair not in known), count))


def _shuffled(length: int, seed: int) -> Iterator[int]:
    """0, …, length − 1 in random order: Fisher & Yates, one step for each that is taken."""
    moved: dict[int, int] = {}
    for left, number in zip(range(length, 0, -1), splitmix(seed), strict=False):
        place = number % left
        yield moved.get(place, place)
        moved[place] = moved.get(left - 1, left - 1)


def splitmix(state: int) -> Iterator[int]:
    """SplitMix64 (Steele, Lea & Flood 2014): seeding a NumPy generator takes 20 times as long as its first number."""
    while True:
        state = (state + 0x9E3779B97F4A7C15) & _MASK
        mixed = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
        yield mixed ^ (mixed >> 31)
