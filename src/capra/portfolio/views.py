"""How the strategy of a step sees the target: as it is, or as the portfolio built so far makes it look."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator

from capra.runs import Configuration, Outcome, RunRequest, Status
from capra.runs.history import Pair
from capra.search.earlier import Cell

__all__ = ["Ceilings", "View"]


class View:
    """The target as it is. Subclasses change what is run for a request, and what the strategy is shown of it."""

    def real(self, request: RunRequest) -> RunRequest:
        """What is run for the strategy's request."""
        return request

    def tag(self, request: RunRequest) -> str:
        """What else must be known of the strategy's request, beside the run that was made for it; no blanks."""
        return ""

    def asked(self, real: RunRequest, tag: str) -> RunRequest:
        """The strategy's request, as far as it matters, that a run was made for."""
        return real

    def shown(self, asked: RunRequest, outcome: Outcome) -> Outcome:
        """The outcome that the strategy is told."""
        return outcome

    def config(self, proposed: Configuration) -> Configuration:
        """The configuration of the target that one of the strategy's means."""
        return proposed

    def cells(self, known: Iterable[Cell]) -> Iterator[Cell]:
        """What runs of the target tell the strategy's model."""
        yield from known


class Ceilings(View):
    """No run lasts longer than the ceiling of its pair: the time of a portfolio that is there already.

    The cost that counts is min(own, portfolio) (Xu, Hoos & Leyton-Brown 2010: Hydra's metric), so that reaching the ceiling
    is a complete evaluation worth exactly that, and no reason to reject anybody. The store keeps the run as what it is,
    CAPPED. A run that fails costs no more either: the portfolio would answer.
    """

    def __init__(self, ceiling: Callable[[Pair], float]) -> None:
        self._ceiling = ceiling

    def real(self, request: RunRequest) -> RunRequest:
        ceiling = self._ceiling((request.instance, request.seed))
        return request if ceiling >= request.cutoff else RunRequest(request.config, request.instance, request.seed, ceiling)

    def shown(self, asked: RunRequest, outcome: Outcome) -> Outcome:
        ceiling = self._ceiling((asked.instance, asked.seed))
        if math.isinf(ceiling) or outcome.status in (Status.SUCCESS, Status.WRONG, Status.LOST):
            return outcome
        if outcome.status is Status.CAPPED and outcome.time < ceiling:
            return outcome
        return Outcome(Status.SUCCESS, ceiling, ceiling, reason="the portfolio is as fast")

    def cells(self, known: Iterable[Cell]) -> Iterator[Cell]:
        for config, pair, cost, censored in known:
            ceiling = self._ceiling(pair)
            yield config, pair, min(cost, ceiling), censored and cost < ceiling
