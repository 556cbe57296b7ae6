"""Aggressive racing with adaptive capping: the heart of most strategies.

The incumbent is run on more and more pairs; a challenger follows it in batches of 1, 2, 4, … of those pairs, and is rejected
as soon as it is worse on what both have run, or becomes the incumbent when it is better on all of it (Hutter et al. 2009:
FocusedILS; SMAC's intensify). Where challengers come from is a ``Proposer``.

Everything here follows from what was told. What is asked for but not yet told is remembered only to not ask for it twice.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from capra.runs import Configuration, Run, RunRequest, Status
from capra.runs.history import History, Pair
from capra.strategies.audit import Audit
from capra.strategies.base import Context
from capra.strategies.capping import next_cutoff
from capra.strategies.pairs import PairOrder, some

__all__ = ["Proposer", "Race"]

_NUMBER = re.compile(r"challenger (\d+)")


class Proposer(Protocol):
    """Where challengers come from."""

    def propose(self, number: int, history: History, busy: set[Configuration]) -> Configuration | None:
        """Challenger ``number`` (from 0), not one of ``busy``; None when there is nothing left to try."""


@dataclass(slots=True)
class _Challenger:
    """A configuration in its race."""

    number: int
    compared: list[Pair] = field(default_factory=list)
    """The pairs of the next comparison: those it has finished and its current batch."""
    left: set[Pair] = field(default_factory=set)
    """Those of them that it has not finished."""


class Race:
    """A ``Strategy`` that races challengers against the incumbent.

    ``slack`` ξ multiplies the capping bound; ``capping=False`` gives every run κ_max. ``max_runs`` bounds the number of
    pairs of the incumbent. ``audit`` is the share of capped challengers that are run out to see whether it was right to
    reject them.
    """

    def __init__(
        self,
        context: Context,
        proposer: Proposer,
        *,
        slack: float = 1.3,
        capping: bool = True,
        max_runs: int = 2000,
        audit: float = 0.0,
    ) -> None:
        scenario = context.scenario
        self.context = context
        self.proposer = proposer
        self.slack = slack
        self.capping = capping and scenario.objective.kind == "runtime"
        self.max_runs = max_runs
        self.kappa_max = scenario.cutoff
        self.history = History(scenario.objective, scenario.cutoff)
        self.pairs = PairOrder(context)
        self.audit = Audit(context, audit)
        self.incumbent: Configuration | None = None
        self.started = 0
        """Challengers so far."""
        self._first = scenario.default
        self._incumbent_time = self._challenger_time = 0.0
        self._racing: dict[Configuration, _Challenger] = {}
        self._queue: deque[tuple[Configuration, Pair]] = deque()
        """What challengers wait to run; entries that are no longer wanted are skipped when their turn comes."""
        self._pending: dict[Configuration, dict[Pair, RunRequest]] = {}
        self._moved: set[Configuration] = set()
        """Challengers whose bounds may have become tighter."""

    # --- what subclasses vary ---

    def incumbent_pairs(self) -> int:
        """How many pairs the incumbent should have now: one to begin with, and one more before each challenger.

        Deviates from SMAC's intensify in one point: the incumbent's runs may not take more time than all challengers' runs,
        because those of a bad incumbent are the dearest of all. Whether that pays is not settled (docs/architecture.md).
        """
        if self._incumbent_time > self._challenger_time:
            return max(1, len(self.history.record(self.incumbent or self._first).costs))
        return min(self.max_runs, self.started + 2)

    def batch(self, finished: int) -> int:
        """How many pairs a challenger runs between comparisons: 1, 2, 4, …"""
        return finished + 1

    # --- ask ---

    def ask(self, n: int) -> list[RunRequest]:
        found: list[RunRequest] = []
        requests = self._requests()
        while len(found) < n and (request := next(requests, None)) is not None:
            found.append(request)
        return found

    def why(self, request: RunRequest) -> str:
        """Who asked for a run; ``tell`` understands it when a stored history is replayed."""
        challenger = self._racing.get(request.config)
        if challenger:
            return f"challenger {challenger.number}"
        return self.audit.why(request) or "incumbent"

    def describe(self) -> list[tuple[str, str]]:
        text = f"{self.started} challengers so far, {len(self._racing)} in the race"
        if self._racing:
            config, challenger = next(iter(self._racing.items()))
            done = len(challenger.compared) - len(challenger.left)
            text += f"; {config.id[:6]} has {done} of {len(self._common_pairs())} pairs"
        if self.audit.checked:
            text += f"; {self.audit.wrong} of {self.audit.checked} audited rejections were wrong"
        return [("race", text)]

    def _requests(self) -> Iterator[RunRequest]:
        """What could run now, most wanted first: challengers under way, the incumbent, new challengers.

        A new challenger's first run is asked for at once, so that a replay finds the state in which it was chosen.
        """
        for _ in range(max(1000, len(self.context.scenario.configurations))):  # a pool may have nothing left to learn
            while self._queue:
                if (request := self._next_queued()) is not None:
                    yield request
            while (request := self.audit.next_request()) is not None:
                yield request
            yield from self._for_incumbent()
            if not self._start_challenger():
                return

    def _for_incumbent(self) -> Iterator[RunRequest]:
        config = self.incumbent or self._first
        if self.history.record(config).wrong:
            return
        known, pending = self.history.record(config).costs, self._pending.get(config, {})
        wanted = min(self.incumbent_pairs(), self.pairs.length)
        if len(known) + len(pending) < wanted:
            for pair in self.pairs.first(wanted):
                if pair not in known and pair not in pending:
                    yield self._request(config, pair, self.kappa_max)

    def _next_queued(self) -> RunRequest | None:
        config, pair = self._queue.popleft()
        challenger = self._racing.get(config)
        if challenger is None or pair not in challenger.left or pair in self._pending.get(config, {}):
            return None
        cutoff = self._cutoff(config, challenger)
        if cutoff <= self.history.record(config).bounds.get(pair, 0.0):  # known to take longer than it may
            self._reject(config)
            return None
        return self._request(config, pair, cutoff)

    def _request(self, config: Configuration, pair: Pair, cutoff: float) -> RunRequest:
        request = RunRequest(config, *pair, cutoff)
        self._pending.setdefault(config, {})[pair] = request
        return request

    def _start_challenger(self) -> bool:
        busy = {*self._racing, self.incumbent or self._first}
        config = self.proposer.propose(self.started, self.history, busy)
        if config is None:
            return False
        self._register(config, self.started)
        return True

    def _register(self, config: Configuration, number: int) -> None:
        self.started = number + 1
        self._racing[config] = _Challenger(number)
        self._next_batch(config)

    def _next_batch(self, config: Configuration) -> None:
        """Extend the comparison by the next batch, in the challenger's own random order of the incumbent's pairs."""
        challenger, costs = self._racing[config], self.history.record(config).costs
        common = self._common_pairs()
        finished = [pair for pair in common if pair in costs]
        fresh = some([pair for pair in common if pair not in costs], self.batch(len(finished)), int(config.id, 16))
        challenger.compared, challenger.left = finished + fresh, set(fresh)
        self._queue.extend((config, pair) for pair in fresh)
        if not fresh:
            self._judge(config)

    def _common_pairs(self) -> list[Pair]:
        """What challengers are compared on: the incumbent's complete pairs; its first ones while it has none."""
        known = self.history.record(self.incumbent).costs if self.incumbent else {}
        return list(known) or self.pairs.first(self.incumbent_pairs())

    # --- capping ---

    def _cutoff(self, config: Configuration, challenger: _Challenger) -> float:
        """What the challenger's batch may still cost: ξ times what it cost the incumbent."""
        if not self.capping or self.incumbent is None:
            return self.kappa_max
        costs = self.history.record(config).costs
        bound = self.history.total(self.incumbent, challenger.compared)
        spent = sum(costs.get(pair, 0.0) for pair in challenger.compared)
        return next_cutoff(bound, spent, self.slack, self.kappa_max)

    def tighten(self) -> list[tuple[RunRequest, float]]:
        found = []
        for config in self._moved:
            challenger = self._racing.get(config)
            cutoff = self._cutoff(config, challenger) if challenger else 0.0
            for pair, request in self._pending.get(config, {}).items():
                if config != self.incumbent and cutoff < request.cutoff:
                    found.append((request, cutoff))
                    if cutoff > 0.0:
                        self._pending[config][pair] = RunRequest(config, *pair, cutoff)
        self._moved.clear()
        return found

    # --- tell ---

    def tell(self, run: Run) -> None:
        config, pair = run.request.config, (run.request.instance, run.request.seed)
        self._pending.get(config, {}).pop(pair, None)
        self._recognise(run)
        self.history.add(run)
        if self.audit.tell(run, self.history):
            return
        if run.asked_by == "incumbent":
            self._incumbent_time += run.outcome.time
        else:
            self._challenger_time += run.outcome.time
        if run.outcome.status is Status.LOST:
            self._queue.append((config, pair))
        elif config == (self.incumbent or self._first):
            self._incumbent_told(config)
        else:
            self._challenger_told(config, pair, run)

    def _recognise(self, run: Run) -> None:
        """Replay: a challenger that we have not met was proposed just before its first run was made."""
        number = _NUMBER.fullmatch(run.asked_by)
        if number and int(number[1]) >= self.started:
            self._register(run.request.config, int(number[1]))

    def _incumbent_told(self, config: Configuration) -> None:
        if self.history.record(config).wrong:
            self._dethrone()
        elif self.incumbent is None:
            self._crown(config)

    def _challenger_told(self, config: Configuration, pair: Pair, run: Run) -> None:
        challenger = self._racing.get(config)
        if challenger is None:
            return  # a sibling of the run that decided
        self._moved.add(config)
        challenger.left.discard(pair)
        if run.outcome.status is Status.CAPPED or self.history.record(config).wrong:
            self._reject(config)
            if self.incumbent is not None and not self.history.record(config).wrong:
                self.audit.consider(challenger.number, config, self.incumbent, self.history)
        elif not challenger.left:
            self._judge(config)

    def _judge(self, config: Configuration) -> None:
        """Compare after a batch: reject, promote, or go on with the next batch."""
        if self.incumbent is None:
            if self.history.record(self._first).wrong:  # nobody is left to race against
                del self._racing[config]
                self._crown(config)
            return
        costs, theirs = self.history.record(config).costs, self.history.record(self.incumbent).costs
        shared = [pair for pair in costs if pair in theirs]
        ours, other = sum(costs[pair] for pair in shared), sum(theirs[pair] for pair in shared)
        everything = len(shared) == len(theirs)
        if ours > other or (everything and ours == other):  # a tie on everything keeps the incumbent
            self._reject(config)
        elif everything:
            del self._racing[config]
            self._crown(config)
        else:
            self._next_batch(config)

    def _crown(self, config: Configuration) -> None:
        """A new incumbent: everybody else is measured against it from now on."""
        self.incumbent = config
        for other in list(self._racing):
            self._moved.add(other)
            if other in self._racing and not self._racing[other].left:
                self._judge(other)

    def _reject(self, config: Configuration) -> None:
        del self._racing[config]
        self._moved.add(config)

    def _dethrone(self) -> None:
        """The incumbent's answer was refuted: the best of the rest takes over, most pairs first."""
        best = self.history.best()
        if best is None:
            self.incumbent = None
            return
        self._racing.pop(best, None)
        self._crown(best)
