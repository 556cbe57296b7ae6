"""How often does capping throw away a good configuration? A random share of capped challengers is run out, to find out."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Container, KeysView, Mapping
from dataclasses import dataclass, field

from capra.runs import Configuration, Run, RunRequest, Status
from capra.runs.history import History, Pair
from capra.strategies.base import Context

__all__ = ["Audit"]

_AUDITS = 5
"""Stream of random numbers (see Context.rng)."""
_LABEL = re.compile(r"audit (\d+)")


@dataclass
class _Case:
    """A rejected challenger and the incumbent that beat it, on the pairs that the incumbent had then."""

    number: int
    config: Configuration
    incumbent: Configuration
    left: set[Pair] = field(default_factory=set)
    pairs: tuple[Pair, ...] = ()


class Audit:
    """Chooses rejected challengers, asks for their missing runs at κ_max, and counts who should have won.

    Its runs cost budget and decide nothing: the race goes on as if they had not been made.
    """

    def __init__(self, context: Context, share: float) -> None:
        self.share = share
        self.checked = 0
        """Rejections that were looked into to the end."""
        self.wrong = 0
        """Those in which the challenger was better on all the incumbent's pairs."""
        self._context = context
        self._cases: dict[Configuration, _Case] = {}
        self._queue: deque[RunRequest] = deque()
        self._running: dict[tuple[str, str | None, int], RunRequest] = {}

    @property
    def configs(self) -> KeysView[Configuration]:
        """Those that are looked into: nobody may race them meanwhile, or two would ask for one cell."""
        return self._cases.keys()

    def drop(self, config: Configuration) -> list[RunRequest]:
        """It is the incumbent now, and its rejection is history. Its runs under way."""
        self._cases.pop(config, None)
        return [request for request in self._running.values() if request.config == config]

    def consider(self, number: int, config: Configuration, incumbent: Configuration, history: History) -> None:
        """A challenger was rejected because a run of it was capped."""
        if self.share <= 0.0 or self._context.rng(_AUDITS, number).random() >= self.share:
            return
        pairs = tuple(history.record(incumbent).costs)
        left = {pair for pair in pairs if pair not in history.record(config).costs}
        self._cases[config] = _Case(number, config, incumbent, left, pairs)
        self._queue.extend(RunRequest(config, *pair, self._context.scenario.cutoff) for pair in pairs if pair in left)

    def next_request(self, pending: Mapping[Configuration, Container[Pair]]) -> RunRequest | None:
        """A run to make for an audit; not one that is ``pending`` in the race, which may be about to be stopped."""
        for _ in range(len(self._queue)):
            request = self._queue.popleft()
            if (request.instance, request.seed) in pending.get(request.config, ()):
                self._queue.append(request)
            elif self.why(request):  # when a history is replayed, some were made already
                self._running[request.cell] = request
                return request
        return None

    def why(self, request: RunRequest) -> str | None:
        """``audit K`` if the request is one of ours."""
        case = self._cases.get(request.config)
        return f"audit {case.number}" if case is not None and (request.instance, request.seed) in case.left else None

    def tell(self, run: Run, history: History) -> bool:
        """Take note of a run; True if it was ours."""
        label = _LABEL.fullmatch(run.asked_by) if run.asked_by.startswith("audit") else None
        if label is None:
            return False
        self._running.pop(run.request.cell, None)
        case = self._cases.get(run.request.config)
        if run.outcome.status is Status.LOST:
            self._queue.append(run.request)
        elif case is not None and case.number == int(label[1]):
            case.left.discard((run.request.instance, run.request.seed))
            if not case.left:
                self._close(case, history)
        return True

    def _close(self, case: _Case, history: History) -> None:
        del self._cases[case.config]
        wrong = history.total(case.config, case.pairs) < history.total(case.incumbent, case.pairs)
        self.checked += 1
        self.wrong += wrong
        self._context.record("audit", str(case.number), {"config": case.config.id, "wrong": wrong})
