"""Challengers near the best: mutants of those who have come farthest in their races."""

from __future__ import annotations

from capra.runs import Configuration
from capra.runs.history import History
from capra.search.candidates import PARENTS, mutants
from capra.strategies.base import Context
from capra.strategies.race import Busy

__all__ = ["NearProposer"]

_MUTANTS = 19
"""Stream of random numbers (see Context.rng)."""
BLOCK = 16
"""Mutants that are made at a time, as long as the best are the same: sixteen take hardly longer than one."""


class NearProposer:
    """A ``Proposer``: the incumbent or another of the best, with some of its values changed.

    As irace samples around its elites: where good configurations are rare, most of them have good neighbours, a random one
    is better than the incumbent hardly ever, and a model that has seen one short run of each cannot tell which. The best are
    those with most complete runs: all others were rejected earlier.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._best: dict[Configuration, int] = {}
        """The best, and how many complete runs each has."""
        self._block: tuple[int, list[Configuration]] = 0, []
        """The last block of mutants: which, and whose."""
        self._mutants: list[Configuration] = []

    def look(self, config: Configuration, history: History) -> None:
        """A configuration has a new run."""
        complete = len(history.record(config).costs)
        if complete:
            self._best[config] = complete
            if len(self._best) > PARENTS:
                del self._best[min(self._best, key=self._place)]

    def _place(self, config: Configuration) -> tuple[int, str]:
        """Among the best; two are never level, so that they are the same ones after a replay."""
        return self._best[config], config.id

    def propose(self, number: int, history: History, busy: Busy, incumbent: Configuration | None) -> Configuration | None:
        """None where the pool or the space has nothing new nearby."""
        if self._context.scenario.configurations or incumbent is None:
            return None
        best = sorted(self._best, key=self._place, reverse=True)
        others = [config for config in best if config != incumbent and not history.record(config).wrong]
        block, place = divmod(number, BLOCK)
        found = self._mutants_of([incumbent, *others], block)
        turned = found[place:] + found[:place]
        return next((config for config in turned if config not in busy and not history.record(config).known), None)

    def _mutants_of(self, parents: list[Configuration], block: int) -> list[Configuration]:
        """They follow from the parents and the block alone, whatever was made before: a replay makes none."""
        if self._block != (block, parents):
            space = self._context.scenario.space
            rows = mutants(space, space.encode(parents), BLOCK, self._context.rng(_MUTANTS, block))
            self._block, self._mutants = (block, parents), space.decode(rows)
        return self._mutants
