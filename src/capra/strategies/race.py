"""Aggressive racing with adaptive capping: the heart of most strategies.

The incumbent is run on more and more pairs; a challenger follows it in batches of 1, 2, 4, … of those pairs, and is rejected
as soon as it is worse on what both have run, or becomes the incumbent when it is better on all of it (Hutter et al. 2009:
FocusedILS; SMAC's intensify). Where challengers come from is a ``Proposer``.

Everything here follows from what was told. What is asked for but not yet told is remembered only to not ask for it twice.
"""

from __future__ import annotations

import math
import re
from collections import ChainMap, OrderedDict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from capra.runs import Configuration, Run, RunRequest, Status
from capra.runs.history import ROUNDED, History, Pair, worth
from capra.strategies.audit import Audit
from capra.strategies.base import Context, checked
from capra.strategies.capping import Believer, Duel, chosen_capping
from capra.strategies.challenger import Challenger
from capra.strategies.pairs import PairOrder, some
from capra.strategies.yardstick import FEW, Yardstick

__all__ = ["Busy", "Proposer", "Race"]

Busy = Mapping[Configuration, Collection[Pair]]
"""The configurations in the race, and the pairs that each is running."""
EVIDENCE = 0.05
"""All runs of an incumbent may take this share of the challengers' time."""
BALANCED = 0.5
"""The same where time is not what counts, and for an incumbent that has never finished: on such pairs nobody can be told
from anybody, others are needed."""
AGAIN = 10
"""Every so many challengers one begins again that was put off: as much time for these as for trials (see ``Slack``)."""
LEAD = 0.5
"""Standard errors of the difference that a challenger must be ahead by to go on."""
SEASONED = 30
"""So many of the newest challengers that have come far tell how much configurations agree."""
GROWN = 1.25
"""The incumbent is measured anew when it has so many times as many pairs."""
_NUMBER = re.compile(r"challenger (\d+)")


class Proposer(Protocol):
    """Where challengers come from."""

    def propose(self, number: int, history: History, busy: Busy, incumbent: Configuration | None) -> Configuration | None:
        """Challenger ``number`` (from 0), not one of ``busy``; None when there is nothing left to try."""


class Race:
    """A ``Strategy`` that races challengers against the incumbent.

    ``slack`` ξ multiplies the capping bound; ``capping=False`` gives every run κ_max, and "information" lets the model of
    a ``believer`` choose cutoffs within the bound. ``max_runs`` bounds the number of pairs of the incumbent. ``audit`` is
    the share of capped challengers that are run out to see whether it was right to reject them. ``lead``: by how many
    standard errors a challenger must be better to go on.
    """

    certificate: None = None
    lines: Sequence[str] = ()

    def __init__(
        self,
        context: Context,
        proposer: Proposer,
        *,
        slack: float = 1.3,
        capping: bool | str = True,
        max_runs: int = 2000,
        audit: float = 0.0,
        lead: float = LEAD,
        believer: Believer | None = None,
    ) -> None:
        scenario = context.scenario
        self.context = context
        self.proposer = proposer
        self.capping = chosen_capping(context, capping, slack, believer)
        self.max_runs = checked("max_runs", max_runs, 1, whole=True)
        self.lead = checked("lead", lead, 0.0)
        self.kappa_max = scenario.cutoff
        self.history = History(scenario.objective, scenario.cutoff)
        self.pairs = PairOrder(context)
        self.audit = Audit(context, checked("audit", audit, 0.0, 1.0))
        self.incumbent: Configuration | None = None
        self.started = 0
        """Challengers so far."""
        self._futile: list[Configuration | None] = []
        """Challengers since the last that had a run to make: they lost without one. With whoever had been put off."""
        self._first = scenario.default
        self._challenger_time = 0.0
        self._unmet: dict[int, Configuration | None] = {}
        """Replay: challengers that began before others: their first run took longer, or they lost without one. With whoever
        had been put off until then, if it was the turn of such."""
        self._racing: dict[Configuration, Challenger] = {}
        self._queue: OrderedDict[Configuration, Challenger] = OrderedDict()
        """Challengers that have pairs waiting, in the order of their batches."""
        self._postponed: dict[Configuration, None] = {}
        """Challengers that only tie with an incumbent that has failed: in more time they may do what it cannot."""
        self._pending: dict[Configuration, dict[Pair, RunRequest]] = {}
        self._moved: dict[Configuration, None] = {}
        """Those with runs under way whose bounds may have become tighter."""
        self._doubtful: dict[Configuration, None] = {}
        """Challengers that may have lost: they, or what is known of their bounds, have changed since somebody looked."""
        self._unbounded: dict[Pair, dict[Configuration, None]] = {}
        """Others whose bound is not known before the incumbent has run this pair."""
        self._common: list[Pair] = []
        """The incumbent's complete pairs."""
        self._passed = 0
        """So many of the first pairs the incumbent has run, or is about to."""
        self._yardstick = Yardstick()
        self._seasoned: deque[Configuration] = deque(maxlen=SEASONED)
        """Those who had enough complete runs to be compared with others, the newest last."""

    @property
    def _reference(self) -> Configuration:
        """The incumbent, or who is to become the first."""
        return self._first if self.incumbent is None else self.incumbent

    # --- what subclasses vary ---

    def incumbent_pairs(self, idle: bool = False) -> int:
        """How many pairs the incumbent should have now: one more before each challenger, as long as that is cheap.

        Deviates from SMAC's intensify, which knows no limit (docs/architecture.md has the figures): whoever is to follow the
        incumbent must run all its pairs, so that a race of equals would take most of the time while runs are still long.
        ``idle``: there is nothing else to do.
        """
        record = self.history.record(self._reference)
        known, most = len(record.costs), min(self.max_runs, self.started + 2)
        if idle:  # a power of two, so that it is the same when some of these runs have been told
            return min(most if self._pending else self.max_runs, 1 << known.bit_length())
        affordable = (
            self._evidence_share() * self._challenger_time * max(1, known) / record.time if record.time else math.inf
        )
        return max(1, known, math.ceil(min(most, affordable)))

    def _evidence_share(self) -> float:
        """Which share of the challengers' time the incumbent's runs may take."""
        objective, mean = self.history.objective, self.history.record(self._reference).mean
        if objective.kind != "runtime":  # long runs are no sign of a bad incumbent then, and challengers are not stopped
            return BALANCED
        return BALANCED if mean >= objective.worst(self.kappa_max) else EVIDENCE  # infinite if it has no pair

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
        for _ in range(self._attempts()):
            while self._queue:
                if (request := self._next_queued()) is not None:
                    yield request
            while (request := self.audit.next_request(self._pending)) is not None:
                yield request
            yield from self._for_incumbent(self.incumbent_pairs())
            if not self._start_challenger():
                break
        yield from self._for_incumbent(self.incumbent_pairs(idle=True))

    def _attempts(self) -> int:
        """Challengers that may lose without a run before others are asked for: a pool, or a small space, may have nothing
        left to learn as long as the incumbent has no more pairs."""
        return len(self.context.scenario.configurations) or min(1000, max(10, len(self.history.configurations)))

    def _for_incumbent(self, pairs: int) -> Iterator[RunRequest]:
        config = self._reference
        if self.history.record(config).wrong:
            return
        known, pending = self.history.record(config).costs, self._pending.get(config, {})
        wanted = int(min(pairs, self.pairs.length))
        if len(known) + len(pending) >= wanted:
            return
        for position in range(self._passed, wanted):
            self._passed = position + 1
            pair = self.pairs[position]
            if pair not in known and pair not in pending:
                yield self._request(config, pair, self.kappa_max)

    def _next_queued(self) -> RunRequest | None:
        config, challenger = next(iter(self._queue.items()))
        pair = challenger.next_pair()
        if challenger.is_asked:
            del self._queue[config]
        if pair not in challenger.left or pair in self._pending.get(config, {}):
            return None
        if self._has_lost(config, challenger, [pair]):
            self._reject(config)
            return None
        return self._request(config, pair, self.capping.cutoff(self._duel(config, pair), self._cutoff(challenger)))

    def _has_lost(self, config: Configuration, challenger: Challenger, pairs: Iterable[Pair]) -> bool:
        """Is it known to take longer on one of the pairs than it may?"""
        most, record = self._cutoff(challenger), self.history.record(config)
        return any(record.outlasted(pair, most) for pair in pairs)

    def _duel(self, config: Configuration, pair: Pair) -> Duel:
        return Duel(config, self._reference, pair, self.history)

    def _request(self, config: Configuration, pair: Pair, cutoff: float) -> RunRequest:
        request = RunRequest(config, *pair, cutoff)
        self._pending.setdefault(config, {})[pair] = request
        return request

    def _start_challenger(self) -> bool:
        """One that has lost before its first run leaves no trace in a history: it counts when another begins after it."""
        number, waiting = self.started + len(self._futile), next(iter(self._postponed), None)
        if waiting is not None and number % AGAIN == 0:
            config: Configuration | None = waiting
        else:
            config = self.proposer.propose(number, self.history, _Busy(self), self.incumbent)
        config = waiting if config is None else config
        if config is None:
            return False
        again = config in self._postponed
        self._enter(config, number, again)
        self._next_batch(config)
        if config in self._racing:
            self.started = number + 1
            self._futile.clear()
        else:
            self._futile.append(config if again else None)
        return True

    def _enter(self, config: Configuration, number: int, again: bool) -> None:
        self._racing[config] = Challenger(number, again=again)
        self._postponed.pop(config, None)

    def _forget_futile(self) -> None:
        """Something new is known: whoever had lost without a run, and nobody has begun since, may try again."""
        if self._futile:
            back = dict.fromkeys(config for config in self._futile if config is not None)
            self._postponed = back | self._postponed
            self._futile.clear()

    def _register(self, config: Configuration, number: int) -> None:
        """Replay: a challenger's first run shows that it has begun, and others before it."""
        for passed in range(self.started, number):
            self._unmet[passed] = self._take_postponed() if passed % AGAIN == 0 else None
        begun = self._unmet.pop(number, None)
        self.started = max(self.started, number + 1)
        self._enter(config, number, config in self._postponed or begun == config)

    def _take_postponed(self) -> Configuration | None:
        config = next(iter(self._postponed), None)
        if config is not None:
            del self._postponed[config]
        return config

    def _next_batch(self, config: Configuration, begun: Pair | None = None) -> None:
        """Extend the comparison by the next batch, in the challenger's own random order of the incumbent's pairs.

        ``begun``: a pair that is known to be in it, though the incumbent may have more pairs now than when it was drawn.
        """
        challenger, costs = self._racing[config], self.history.record(config).costs
        common = self._common_pairs()
        finished = self._shared_pairs(costs)
        size, seed, later = self.batch(len(finished)), int(config.id, 16), {} if challenger.again else self._put_off(config)
        fresh = some(common, size, seed, ChainMap(costs, later))
        if begun is not None and begun not in fresh:
            fresh[:1] = [begun]
        fresh.sort(key=lambda pair: not self._duel(config, pair).failed)  # no bound for the others before that is tried
        challenger.begin(finished, fresh, costs)
        self._doubtful[config] = None
        self._queue.pop(config, None)
        if not fresh:
            self._judge(config)
        elif begun is None and self._has_lost(config, challenger, fresh):  # else it would not have begun
            self._reject(config)
        else:
            self._queue[config] = challenger

    def _put_off(self, config: Configuration) -> dict[Pair, float]:
        """Pairs on which the challenger was stopped although it had not lost: where the incumbent has failed."""
        bounds = self.history.record(config).bounds
        return {pair: bound for pair, bound in bounds.items() if self._duel(config, pair).failed} if bounds else {}

    def _common_pairs(self) -> list[Pair]:
        """What challengers are compared on: the incumbent's complete pairs; its first ones while it has none."""
        known = {} if self.incumbent is None else self.history.record(self.incumbent).costs
        if len(known) != len(self._common):
            self._common = list(known)
        return self._common or self.pairs.first(self.incumbent_pairs())

    def _shared_pairs(self, costs: dict[Pair, float]) -> list[Pair]:
        """Those of a challenger's complete pairs that are compared."""
        if not costs:
            return []
        known = {} if self.incumbent is None else self.history.record(self.incumbent).costs
        theirs = known or set(self._common_pairs())
        return [pair for pair in costs if pair in theirs]

    # --- capping ---

    def _cutoff(self, challenger: Challenger) -> float:
        """What the challenger's batch may still cost: ξ times what is expected of an incumbent there."""
        if self.incumbent is None:
            return self.kappa_max
        if math.isinf(challenger.bound):
            known = self.history.record(self.incumbent).costs
            challenger.bound = self._yardstick.bound([known.get(pair, math.inf) for pair in challenger.compared])
        return self.capping.most(challenger.bound, challenger.spent)

    def tighten(self) -> list[tuple[RunRequest, float]]:
        found = []
        for config in self._moved:
            challenger = self._racing.get(config)
            cutoff = self._cutoff(challenger) if challenger else 0.0
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
        if self._pending:
            self._is_over(config, pair)
        self._forget_futile()
        self._recognise(run)
        self.history.add(run)
        if len(self.history.record(config).costs) == FEW and run.outcome.status is not Status.CAPPED:
            self._seasoned.append(config)
        if config == self._reference:  # whoever asked for it
            self._doubtful |= self._unbounded.pop(pair, {})
        if self.audit.tell(run, self.history) and config != self._reference:
            return
        if run.asked_by != "incumbent" and run.outcome.status is not Status.LOST:  # a replay does not see what was lost
            self._challenger_time += run.outcome.time
        if config == self._reference:
            self._incumbent_told(config, pair)
        elif (challenger := self._racing.get(config)) is not None:  # else a sibling of the run that decided
            self._challenger_told(config, challenger, pair, run)

    def _is_over(self, config: Configuration, pair: Pair) -> None:
        pending = self._pending.get(config)
        if pending is not None and pending.pop(pair, None) is not None and not pending:
            del self._pending[config]

    def _recognise(self, run: Run) -> None:
        """Replay: a challenger that we have not met was proposed just before its first run was made."""
        match = _NUMBER.fullmatch(run.asked_by)
        if match and ((number := int(match[1])) >= self.started or number in self._unmet):
            self._register(run.request.config, number)
            self._next_batch(run.request.config, (run.request.instance, run.request.seed))

    def _incumbent_told(self, config: Configuration, pair: Pair) -> None:
        record = self.history.record(config)
        if pair not in record.costs:  # lost, or capped before it became the incumbent: to be run again
            self._passed = 0
        if record.wrong:
            self._dethrone()
        elif self.incumbent is None and record.costs:
            self._crown(config)
        else:
            if self._has_grown(len(record.costs)):
                self._measure()
            self._give_up_losers()

    def _has_grown(self, pairs: int) -> bool:
        """Is there much more to measure the incumbent by, or all that there is?"""
        known = self._yardstick.pairs
        return pairs >= GROWN * known or known < pairs == self.pairs.length

    def _challenger_told(self, config: Configuration, challenger: Challenger, pair: Pair, run: Run) -> None:
        capped, wrong = run.outcome.status is Status.CAPPED, self.history.record(config).wrong
        is_over = wrong or (capped and self._lost_by(config, challenger, pair, run))
        if run.outcome.status is Status.LOST:  # to be run again
            challenger.ask_again()
            self._queue[config] = challenger
            return
        if is_over:
            self._reject(config)
            if self.incumbent is not None and not wrong:
                self.audit.consider(challenger.number, config, self.incumbent, self.history)
            return
        if capped:
            challenger.skip(pair)
            if challenger.left:
                self._queue[config] = challenger
        else:
            challenger.finish(pair, self.history.record(config).costs[pair])
        self._doubtful[config] = None
        self._may_tighten(config)
        if not challenger.left:
            self._judge(config)
        elif self._cutoff(challenger) <= 0.0:  # nothing is left for the rest of the batch
            self._reject(config)

    def _lost_by(self, config: Configuration, challenger: Challenger, pair: Pair, run: Run) -> bool:
        """Is a capped run the end?"""
        return self.capping.rejects(
            self._duel(config, pair), run.order, lambda: self._cutoff(challenger) <= run.outcome.cutoff + ROUNDED
        )

    def _judge(self, config: Configuration) -> None:
        """Compare after a batch: reject, promote, or go on with the next batch."""
        if self.incumbent is None:
            if self.history.record(self._first).wrong:  # nobody is left to race against
                self._withdraw(config)
                self._crown(config)
            return
        costs, theirs = self.history.record(config).costs, self.history.record(self.incumbent).costs
        shared = [pair for pair in costs if pair in theirs]
        ours, other = worth(costs[pair] for pair in shared), worth(theirs[pair] for pair in shared)
        # On what is put off the incumbent has failed: nobody is worse there, and to see whether it is a tie costs most.
        later = self._put_off(config)
        everything = len(shared) + len(later) == len(theirs)
        is_last = everything or ours[0] or other[0]  # sums say nothing of what is infinite
        is_tie = everything and ours == other  # a tie on everything keeps the incumbent
        if (is_last and ours > other) or is_tie or ours[1] > self._yardstick.bound([theirs[pair] for pair in shared]):
            self._reject(config)
            if ours == other and later:
                self._postponed[config] = None
        elif everything:
            self._withdraw(config)
            self._crown(config)
        else:
            self._next_batch(config)

    def _crown(self, config: Configuration) -> None:
        """A new incumbent: everybody else is measured against it from now on."""
        self._enthrone(config)
        for request in self.audit.drop(config):
            self._pending.setdefault(config, {})[request.instance, request.seed] = request
        self._measure()
        self._give_up_losers()

    def _measure(self) -> None:
        """The incumbent is another, or better known: so are all bounds."""
        known = self.history.record(self._reference).costs
        others = (self.history.record(config).costs for config in self._seasoned if config != self._reference)
        positive = self.history.objective.kind == "runtime"
        self._yardstick = Yardstick.of(known, others, self.pairs.length, lead=self.lead, positive=positive)
        for other, challenger in list(self._racing.items()):
            challenger.bound = math.inf
            self._doubtful[other] = None
            self._may_tighten(other)
            if other in self._racing and not challenger.left:
                self._judge(other)

    def _give_up_losers(self) -> None:
        """Reject who has lost by what the incumbent has done: at once, because a replay asks for nothing in between.

        A bound that is known stays what it is, until its challenger's next run: nobody else is looked at.
        """
        doubtful, self._doubtful = self._doubtful, {}
        for config in doubtful:
            challenger = self._racing.get(config)
            if challenger is None:
                continue
            if challenger.left and self._has_lost(config, challenger, challenger.left):
                self._reject(config)
            elif math.isinf(challenger.bound):
                self._await_bound(config, challenger)

    def _await_bound(self, config: Configuration, challenger: Challenger) -> None:
        known = {} if self.incumbent is None else self.history.record(self.incumbent).costs
        missing = next((pair for pair in challenger.compared if pair not in known), None)
        if missing is not None:
            self._unbounded.setdefault(missing, {})[config] = None

    def _enthrone(self, config: Configuration | None) -> None:
        self.incumbent, self._common, self._passed = config, [], 0
        self._unbounded.clear()
        if config is not None:
            self._postponed.pop(config, None)

    def _reject(self, config: Configuration) -> None:
        self._withdraw(config)
        self._may_tighten(config)

    def _withdraw(self, config: Configuration) -> None:
        self._racing.pop(config, None)
        self._doubtful.pop(config, None)
        if self._queue:
            self._queue.pop(config, None)

    def _may_tighten(self, config: Configuration) -> None:
        if self._pending and config in self._pending:
            self._moved[config] = None

    def _dethrone(self) -> None:
        """The incumbent's answer was refuted: the best of the rest takes over, most pairs first."""
        best = self.history.best()
        if best is None:
            self._enthrone(None)
            return
        self._withdraw(best)
        self._crown(best)


class _Busy(Busy):
    """Who races now, is raced against or looked into, or has a run that is being stopped: read where that is kept, since a
    copy takes as long as there are workers, for every challenger.
    """

    def __init__(self, race: Race) -> None:
        self._race = race

    def __contains__(self, config: object) -> bool:
        race = self._race
        return config in race._racing or config == race._reference or config in race.audit.configs or config in race._pending

    def __getitem__(self, config: Configuration) -> Collection[Pair]:
        if config not in self:
            raise KeyError(config)
        return self._race._pending.get(config, ())

    def __iter__(self) -> Iterator[Configuration]:
        race = self._race
        return iter(dict.fromkeys((*race._racing, race._reference, *race.audit.configs, *race._pending)))

    def __len__(self) -> int:
        return sum(1 for _ in self)
