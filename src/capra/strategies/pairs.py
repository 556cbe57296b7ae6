"""The order of (instance, seed) pairs: one for everybody, so that configurations meet on the same ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from capra.runs.history import Pair
from capra.strategies.base import Context

__all__ = ["PairOrder", "some"]

_PAIRS = 1
"""Stream of random numbers (see Context.rng)."""
LARGEST_SEED = 2**31


class PairOrder:
    """An endless (or, for deterministic targets, finite) sequence of pairs.

    Every instance comes once before any comes again, each round in a new random order: whoever takes pairs from the front
    always lacks the instances it has run least. Position j is the same whenever it is asked for.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._instances: list[str | None] = [instance.name for instance in context.scenario.instances] or [None]
        self._rounds: list[list[Pair]] = []

    @property
    def length(self) -> float:
        """How many pairs there are."""
        scenario = self._context.scenario
        if scenario.deterministic:
            return len(self._instances)
        return len(self._instances) * len(scenario.seeds) if scenario.seeds is not None else float("inf")

    def __getitem__(self, position: int) -> Pair:
        lap, step = divmod(position, len(self._instances))
        while len(self._rounds) <= lap:
            self._rounds.append(self._round(len(self._rounds)))
        return self._rounds[lap][step]

    def first(self, count: float) -> list[Pair]:
        """The first ``count`` pairs, or all."""
        return [self[j] for j in range(int(min(count, self.length)))]

    def _round(self, lap: int) -> list[Pair]:
        rng = self._context.rng(_PAIRS, lap)
        order = rng.permutation(len(self._instances))
        return [(self._instances[i], self._seed(lap, int(rng.integers(LARGEST_SEED)))) for i in order]

    def _seed(self, lap: int, fresh: int) -> int:
        scenario = self._context.scenario
        if scenario.seeds is not None:
            return scenario.seeds[lap % len(scenario.seeds)]
        return 0 if scenario.deterministic else fresh


def some(pairs: Sequence[Pair], count: int, seed: int) -> list[Pair]:
    """``count`` of the pairs (all, if there are fewer) in random order."""
    rng = np.random.default_rng(seed)
    return [pairs[i] for i in rng.choice(len(pairs), min(count, len(pairs)), replace=False)]
