"""No choice at all: a given list of runs, each made once. What validation needs."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from capra.runs import Configuration, History, Run, RunRequest, Status
from capra.strategies.base import Context

__all__ = ["Listed"]

MOST_LOSSES = 3


class Listed:
    """A ``Strategy`` that asks for the given requests, in order, and for nothing else.

    ``history`` has the runs of these cells only: a store may hold those of other lists.
    """

    incumbent: Configuration | None = None
    certificate: None = None
    lines: Sequence[str] = ()

    def __init__(self, context: Context, requests: list[RunRequest]) -> None:
        self.history = History(context.scenario.objective, context.scenario.cutoff)
        self._waiting = deque(requests)
        self._wanted = {request.cell for request in requests}
        self._done: set[tuple[str, str | None, int]] = set()
        self._losses: dict[tuple[str, str | None, int], int] = {}

    def ask(self, n: int) -> list[RunRequest]:
        found: list[RunRequest] = []
        while self._waiting and len(found) < n:
            request = self._waiting.popleft()
            if request.cell not in self._done:
                found.append(request)
        return found

    def tell(self, run: Run) -> None:
        cell = run.request.cell
        if cell not in self._wanted:
            return
        self.history.add(run)
        if run.outcome.status is not Status.LOST:
            self._done.add(cell)
            return
        self._losses[cell] = self._losses.get(cell, 0) + 1
        if self._losses[cell] < MOST_LOSSES:
            self._waiting.append(run.request)

    def why(self, request: RunRequest) -> str:
        return "listed"

    def describe(self) -> list[tuple[str, str]]:
        return [("left", f"{len(self._waiting)} runs")]

    def tighten(self) -> list[tuple[RunRequest, float]]:
        return []
