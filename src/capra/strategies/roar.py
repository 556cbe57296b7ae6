"""ROAR: random challengers, aggressive racing (Hutter, Hoos & Leyton-Brown 2011)."""

from __future__ import annotations

from typing import Any

from capra.runs import Configuration
from capra.runs.history import History
from capra.strategies.base import Context
from capra.strategies.race import Busy, Race

__all__ = ["RandomProposer", "roar"]

_SAMPLES, _LAPS, _SPARES, _AGAIN = 2, 3, 4, 17
"""Streams of random numbers (see Context.rng)."""
BLOCK = 64
"""Samples are drawn and decoded so many at a time."""


class RandomProposer:
    """The context's first configurations, then random ones: of the space, or of the pool, one lap after another."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._first = context.first
        self._blocks: dict[int, list[Configuration]] = {}
        self._laps: dict[int, list[int]] = {}

    def propose(self, number: int, history: History, busy: Busy, incumbent: Configuration | None) -> Configuration | None:
        if number < len(self._first):
            return self._first[number] if self._first[number] not in busy else self._random(number, history, busy)
        return self._random(number - len(self._first), history, busy)

    def _random(self, number: int, history: History, busy: Busy) -> Configuration | None:
        if self._context.scenario.configurations:
            return self._of_pool(number, history, busy)
        candidate = self._block(number // BLOCK)[number % BLOCK]
        if candidate not in busy and not history.record(candidate).known:
            return candidate
        space = self._context.scenario.space
        for spare in space.decode(space.sample(BLOCK, self._context.rng(_SPARES, number))):
            if spare not in busy and not history.record(spare).known:
                return spare
        return self._known(number, history, busy)  # a small space, and all or nearly all of it was tried

    def _known(self, number: int, history: History, busy: Busy) -> Configuration | None:
        """One that was rejected, to be raced again with what is known now."""
        sound = [config for config in history.configurations if config not in busy and not history.record(config).wrong]
        return sound[int(self._context.rng(_AGAIN, number).integers(len(sound)))] if sound else None

    def _block(self, index: int) -> list[Configuration]:
        if index not in self._blocks:
            space = self._context.scenario.space
            self._blocks = {index: space.decode(space.sample(BLOCK, self._context.rng(_SAMPLES, index)))}
        return self._blocks[index]

    def _of_pool(self, number: int, history: History, busy: Busy) -> Configuration | None:
        """Lap after lap over the pool: a configuration that was rejected may be raced again with what is known now."""
        pool = self._context.scenario.configurations
        lap, position = divmod(number, len(pool))
        if lap not in self._laps:
            self._laps = {lap: self._context.rng(_LAPS, lap).permutation(len(pool)).tolist()}
        order = self._laps[lap]
        for step in range(len(pool)):
            candidate: Configuration = pool[order[(position + step) % len(pool)]]
            if candidate not in busy and not history.record(candidate).wrong:
                return candidate
        return None


def roar(context: Context, **options: Any) -> Race:
    """Random online aggressive racing."""
    return Race(context, RandomProposer(context), **options)
