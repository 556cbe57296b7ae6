"""The circuit breaker: when the machine is broken, no configuration is to blame.

A library that vanished, or a licence that ran out, makes every run crash alike; so may a bad region of the parameters. After
some such crashes in a row a run that succeeded before is made again, and that decides: if the control crashes too, it is the
machine. What is known here follows from the runs that were accepted, in their order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeVar

from capra.runs import Outcome, Run, RunRequest, Status

__all__ = ["CONTROL", "Breaker"]

CONTROL = "control"
"""Who asked for such a run."""
ALIKE = 5
"""So many crashes in a row that look alike are suspicious."""
_DIGITS = re.compile(r"\d+")

T = TypeVar("T")
_Look = tuple[int | None, int | None, str]


class Breaker:
    """Counts crashes that look alike, and knows the run to make again."""

    def __init__(self, kappa_max: float) -> None:
        self._kappa_max = kappa_max
        self._look: _Look | None = None
        self._row = 0
        self._cleared: dict[_Look, int] = {}
        """How often a control showed that crashes of this look are the parameters' fault."""
        self._shortest: Run | None = None

    def tell(self, run: Run) -> None:
        """A run was accepted, or lost. An accepted control is one that succeeded again."""
        if run.outcome.status is Status.LOST:
            return
        if run.asked_by == CONTROL:
            self._clear()
            return
        if run.outcome.censored:  # it was cut, and may have been about to crash
            return
        if run.outcome.status is Status.SUCCESS and (not self._shortest or run.outcome.time < self._shortest.outcome.time):
            self._shortest = run
        look = _look(run.outcome)
        self._row = self._row + 1 if look == self._look else 1
        self._look = look

    def _clear(self) -> None:
        if self._look is not None:
            self._cleared[self._look] = self._cleared.get(self._look, 0) + 1
        self._look, self._row = None, 0

    @property
    def control(self) -> RunRequest | None:
        """The run to make before anything else; None if there is no suspicion, or nothing has ever succeeded.

        Each time that the parameters were at fault, twice as many crashes are needed for the next suspicion.
        """
        if self._look is None or self._shortest is None or self._row < ALIKE * 2 ** self._cleared.get(self._look, 0):
            return None
        request = self._shortest.request
        return RunRequest(request.config, request.instance, request.seed, self._kappa_max)

    def suspects(self, latest: Iterable[tuple[T, Run]], workers: int) -> list[tuple[T, Run]]:
        """Of the runs so far, the last lease first: those back to the first of the crashes in question.

        Where several workers run at a time, as many as the others may have succeeded in between: they began earlier.
        """
        since: list[tuple[T, Run]] = []
        crashes = others = 0
        for known in latest:
            since.append(known)
            if self._is_alike(known[1].outcome):
                crashes, others = len(since), 0
            elif not known[1].outcome.censored:
                others += 1
            if others >= workers:
                break
        return since[:crashes]

    def _is_alike(self, outcome: Outcome) -> bool:
        return self._look is not None and _look(outcome) == self._look


def _look(outcome: Outcome) -> _Look | None:
    """What crashes are compared by, whatever the targets said last; None for a run that did not crash."""
    if outcome.status is not Status.CRASHED:
        return None
    return outcome.exit_code, outcome.signal, _DIGITS.sub("#", (outcome.reason or "").partition("; it said ")[0])
