"""A growing sample with a guide: a censored model proposes every other configuration.

The random ones carry the promise, which is about them; the proposed ones count in its bounds like all others. So it holds
whatever the model proposes, and a good model's proposals are soon the best of the sample.
"""

from __future__ import annotations

from typing import Any

from capra.runs import Configuration, History
from capra.strategies.base import Context
from capra.strategies.pool import Pool
from capra.strategies.smac import make_suggester

__all__ = ["GuidedPool"]

_SPARES, _FITS = 23, 24
"""Streams of random numbers (see Context.rng)."""
BLOCK = 8
"""Proposals of one fit."""
FEW = 50
"""With fewer runs the model knows nothing, and proposals are random."""
CANDIDATES = 2000
"""Random candidates of the search for proposals."""


class GuidedPool(Pool):
    """After the given ones: a sample, a proposal, a sample, … Proposals are stored as decisions: a replay needs no model."""

    def __init__(self, context: Context, model: str) -> None:
        super().__init__(context)
        self.history = History(context.scenario.objective, context.scenario.cutoff)
        """What the model learns from: the strategy's own, once there is one."""
        self._suggester = make_suggester(context, model, candidates=CANDIDATES)
        self._proposals: dict[int, list[Configuration]] = {}

    def _next(self, number: int) -> Configuration:
        place, is_proposal = divmod(number - self.given, 2)
        if not is_proposal:
            return self._sample(place)
        block = place // BLOCK
        if block not in self._proposals:
            self._proposals = {block: self._proposed(block)}
        return self._proposals[block][place % BLOCK]

    def _proposed(self, block: int) -> list[Configuration]:
        stored: Any = self._context.recall("proposals", str(block))
        if stored is None:
            found = self._suggest(block)
            stored = [dict(config) for config in found]
            self._context.record("proposals", str(block), stored)
        return [Configuration(values) for values in stored]

    def _suggest(self, block: int) -> list[Configuration]:
        space = self._context.scenario.space
        found: list[Configuration] = []
        if len(self.history) >= FEW:
            found = self._suggester.suggest(self.history, None, self._context.rng(_FITS, block), count=BLOCK)
        missing = BLOCK - len(found)
        return found + space.decode(space.sample(missing, self._context.rng(_SPARES, block))) if missing else found
