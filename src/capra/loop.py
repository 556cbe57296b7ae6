"""The loop: ask, execute, record, tell.

The strategy is asked for runs; the store records each before it can start; the engine carries it to the target; the store
appends the outcome; the strategy is told. Nothing else holds state: kill any process, resume, go on. The outcome of a short
run is written together with what is asked for next: nothing starts that builds on what a crash could take away.
"""

from __future__ import annotations

import dataclasses
import math
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from capra.breaker import ALIKE, CONTROL, Breaker
from capra.budget import Leased, Meter
from capra.errors import TargetError
from capra.folder import CERTIFICATE, STORE, Milestone, milestone, milestones
from capra.keeper import Keeper
from capra.repeats import REPEAT, Repeats
from capra.report.views import Views
from capra.runs import History, Outcome, Run, RunRequest, Status, Value
from capra.runs.bulk import bulk
from capra.scenario import Scenario
from capra.strategies import Strategy
from capra.strategies.certificate import Certificate

__all__ = ["Result", "Tuning", "words_of"]

if TYPE_CHECKING:
    from capra.engines import Engine, Ticket
    from capra.runs.store import Lease

HEARTBEAT = 0.5
"""Seconds after which the loop looks up even if nothing happened."""
FAILED = (Status.CRASHED, Status.TIMEOUT, Status.MEMOUT)
"""How a control ends that shows a broken machine: it had succeeded before."""
LOST_IN_A_ROW = 5
"""So many runs in a row that the infrastructure lost are no accident."""
BRIEF = 1.0
"""Seconds from which on an outcome is written at once. That of a shorter run waits for what is asked for next, which saves
half of the transactions; should we be killed in between, it is soon made again."""
CERTIFY = 16
"""Runs between two looks at what is promised, at least."""


@dataclass(frozen=True, slots=True)
class Result(Views):
    """What tuning found. ``plot_…()`` gives matplotlib figures of it, ``to_frame()`` pandas frames."""

    incumbent: dict[str, Value]
    """The active parameters of the best configuration; the default's while ``trajectory`` is empty."""
    cost: float
    """Its mean cost over the pairs that it was run on; what was only capped counts as the least that it can cost. Infinite
    while no run of it has come to its end."""
    default_cost: float
    history: History
    store: Path | None
    trajectory: list[Milestone]
    spent: float
    certificate: Certificate | None = None
    """What is promised of it, by strategies with guarantees."""
    scenario: Scenario | None = None


class Tuning:
    """One tuning under way."""

    def __init__(
        self,
        scenario: Scenario,
        strategy: Strategy,
        engine: Engine,
        keeper: Keeper,
        meter: Meter,
        repeats: Repeats | None = None,
    ) -> None:
        self.scenario = scenario
        self.strategy = strategy
        self.engine = engine
        self.keeper = keeper
        self.store = keeper.store
        self.meter = meter
        self.stopping = False
        self.trajectory = milestones(self.store)
        self.breaker = Breaker(scenario.cutoff)
        self.repeats = repeats or Repeats(scenario.cutoff)
        self._leases: dict[Ticket, Lease] = {}
        self._leased = Leased()
        self._again: set[str] = set()
        """Which of CONTROL and REPEAT are under way."""
        self._tickets: dict[tuple[str, str | None, int], Ticket] = {}
        self._lost_in_a_row = 0
        self._warned: set[str] = set()
        self._certified: dict[str, float] = {}
        self._certify_at = 0
        self._cancelled = False

    @property
    def history(self) -> History:
        """All runs so far."""
        return self.strategy.history

    @property
    def under_way(self) -> list[Lease]:
        """Runs that were started and are not over."""
        return list(self._leases.values())

    def warnings(self) -> list[str]:
        """What a user should know about the measurements and the store."""
        return [*self.engine.warnings(), *self.store.warnings, *self.repeats.warnings(), *self.keeper.troubles()]

    def replay(self) -> None:
        """Bring the strategy to where the store is; runs that were under way when we died count as never made."""
        with bulk():
            for run in self.store.runs():
                self._tell(run)
        self.keeper.write(lambda: self.store.abandon_open_leases("the tuning was interrupted"))

    def run(self, watch: Callable[[Tuning], None] = lambda _: None) -> None:
        """Until the budget is used up, the strategy has finished, or somebody stops us."""
        while True:
            self._start_runs()
            self.keeper.write(self.store.catch_up)
            watch(self)
            if not self._leases:
                self._note_certificate(last=True)
                return
            for ticket, outcome in self.engine.wait(min(HEARTBEAT, self.meter.wall_left(self.engine.clock))):
                self._record(ticket, outcome)
            self._tighten()
            self.keeper.back_up()
            if self._is_over:
                self._cancel_all()

    def stop(self) -> None:
        """Finish soon: runs under way are stopped and count as never made. May be called from a signal handler."""
        self.stopping = self.keeper.hurried = True

    @property
    def _is_over(self) -> bool:
        """Are runs under way to be stopped?"""
        return self.stopping or self.meter.wall_left(self.engine.clock) == 0.0

    def _start_runs(self) -> None:
        room = min(self.engine.free, self.meter.room(self.history, self._leased, self.engine.clock))
        if self.stopping or room <= 0 or not self.keeper.has_space(busy=bool(self._leases)):
            return
        wanted = self._wanted(int(room))
        for lease in self.keeper.write(lambda: self.store.lease_many(wanted)):
            ticket = self.engine.submit(lease.request)
            self._leases[ticket] = lease
            self._leased.add(lease.request.cutoff)
            if lease.asked_by in (CONTROL, REPEAT):  # these repeat a cell, and nobody tightens them
                self._again.add(lease.asked_by)
            else:
                self._tickets[lease.request.cell] = ticket

    def _wanted(self, room: int) -> list[tuple[RunRequest, str]]:
        """What to run now, and who asks for it. While a control is under way nothing else is started."""
        if (control := self.breaker.control) is not None:
            return [] if CONTROL in self._again else [(control, CONTROL)]
        repeat = None if REPEAT in self._again else self.repeats.due(self.strategy.incumbent)
        wanted = [] if repeat is None else [(repeat, REPEAT)]
        return wanted + [(request, self.strategy.why(request)) for request in self.strategy.ask(room - len(wanted))]

    def _record(self, ticket: Ticket, outcome: Outcome) -> None:
        lease = self._over(ticket)
        wall = self.meter.wall(self.engine.clock)
        broken = lease.asked_by == CONTROL and outcome.status in FAILED and self.breaker.control is not None
        if broken:
            self._take_back(f"crashed when a run that had succeeded before crashed as well: {outcome.reason}")
            outcome = dataclasses.replace(outcome, status=Status.LOST)
        spent = {"spent": {"wall": wall, "own": self.meter.own}}
        place, long = (lease.assignment, lease.attempt), outcome.time >= BRIEF
        run = self.keeper.write(lambda: self.store.finish(*place, outcome, wall, spent, at_once=long))
        self._tell(run or Run(lease.request, outcome, lease.asked_by))
        self._refuse_a_broken_target(lease.request, outcome, broken=broken)
        self._note_incumbent()
        self._note_certificate()
        self._note_warnings()

    def _over(self, ticket: Ticket) -> Lease:
        lease = self._leases.pop(ticket)
        self._leased.add(lease.request.cutoff, -1)
        self._again.discard(lease.asked_by)
        if self._tickets.get(lease.request.cell) == ticket:
            del self._tickets[lease.request.cell]
        return lease

    def _tell(self, run: Run) -> None:
        """The strategy, and who watches the machine. Runs made again decide nothing, unless they refute an answer."""
        self.breaker.tell(run)
        self.repeats.tell(run)
        if run.asked_by in (CONTROL, REPEAT) and run.outcome.status is not Status.WRONG:
            self.history.add(run)
        else:
            self.strategy.tell(run)

    def _take_back(self, reason: str) -> None:
        """The last runs, back to the first that crashed alike, were lost: what was decided because of them never was."""
        self.keeper.write(self.store.flush)
        workers = self.engine.free + len(self._leases)
        gone = self.breaker.suspects(self.store.latest(), workers)
        self.keeper.write(lambda: self.store.take_back(gone, reason))

    def _take_back_all(self, reason: str) -> None:
        """There are only a few, and all have crashed."""
        self.keeper.write(self.store.flush)
        gone = list(self.store.latest())
        self.keeper.write(lambda: self.store.take_back(gone, reason))

    def _note_warnings(self) -> None:
        """Kept for whoever looks from outside; once for each kind, since the figures in them change all the time."""
        warnings = self.warnings()
        kinds = {words_of(text) for text in warnings}
        if kinds != self._warned:
            self._warned = kinds
            self.keeper.write(lambda: self.store.note("warnings", warnings))

    def _tighten(self) -> None:
        for request, cutoff in self.strategy.tighten():
            if (ticket := self._tickets.get(request.cell)) is not None:
                self.engine.tighten(ticket, cutoff)

    def _cancel_all(self) -> None:
        """Once: nothing is started any more."""
        if not self._cancelled:
            self._cancelled = True
            for ticket in self._leases:
                self.engine.cancel(ticket)

    def _refuse_a_broken_target(self, request: RunRequest, outcome: Outcome, *, broken: bool) -> None:
        """A target that cannot run at all ends the tuning with a reason; resuming works once it is mended."""
        if outcome.aborts:
            raise self._broken(f"stopped, because {outcome.reason}", request)
        if broken:
            what = f"at least {ALIKE} runs in a row crashed alike, and a run that had succeeded before failed as well"
            raise self._broken(f"{what}: {outcome.reason}. No configuration was blamed", request)
        if self._is_over:
            return
        self._lost_in_a_row = self._lost_in_a_row + 1 if outcome.status is Status.LOST else 0
        if self._lost_in_a_row >= LOST_IN_A_ROW:
            self._take_back("crashed when the target could not be run any more")
            raise self._broken(f"{LOST_IN_A_ROW} runs in a row were lost: {outcome.reason}", request)
        if self._default_crashes(request, outcome):
            self._take_back_all("crashed before anything had succeeded")
            raise self._broken(f"the default configuration crashes: {outcome.reason}", request)

    def _default_crashes(self, request: RunRequest, outcome: Outcome) -> bool:
        """And nothing else has succeeded yet: then it is more likely the target than the parameters."""
        statuses = self.history.statuses
        alone = statuses[Status.CRASHED] == len(self.history) - statuses[Status.LOST]
        return outcome.status is Status.CRASHED and request.config == self.scenario.default and alone

    def _broken(self, what: str, request: RunRequest) -> TargetError:
        command = self.engine.command(request)
        see = "capra check shows the command" if command is None else f"to see it: {command}"
        return TargetError(what, hint=see if self.store.path is None else f"{see}; mend it, then {self._go_on()}")

    def _go_on(self) -> str:
        path = self.store.path or Path()
        command = "resume" if path.name == STORE else "ablation" if path.name.startswith("ablation") else "validate"
        return f"capra {command} {shlex.quote(str(path.parent))}"

    def _note_incumbent(self) -> None:
        incumbent = self.strategy.incumbent
        if incumbent is None or (self.trajectory and self.trajectory[-1].config == incumbent):
            return
        data = {
            "config": dict(incumbent),
            "cost": self.history.record(incumbent).mean,
            "spent": self.meter.spent(self.history),
            "wall": self.meter.wall(self.engine.clock),
            "evaluations": len(self.history),
        }
        self.keeper.write(lambda: self.store.decide("incumbent", str(len(self.trajectory)), data))
        self.trajectory.append(milestone(data))

    def _note_certificate(self, *, last: bool = False) -> None:
        """A promise that became clearly better is a decision, and so is the last one."""
        if len(self.history) < self._certify_at and not last:
            return
        self._certify_at = len(self.history) + max(CERTIFY, len(self.history) // 50)
        certificate = self.strategy.certificate
        if certificate is None or (not last and not _is_better(certificate.parameters, self._certified)):
            return
        self._certified = certificate.parameters
        data = {**certificate.plain(), "spent": self.meter.spent(self.history), "evaluations": len(self.history)}
        self.keeper.write(lambda: self.store.decide(CERTIFICATE, str(len(self.history)), data))

    def result(self) -> Result:
        """What was found so far."""
        incumbent, objective = self.strategy.incumbent or self.scenario.default, self.scenario.objective
        return Result(
            certificate=self.strategy.certificate,
            incumbent=dict(incumbent),
            cost=self.history.record(incumbent).estimate(objective),
            default_cost=self.history.record(self.scenario.default).estimate(objective),
            history=self.history,
            store=self.store.path,
            trajectory=self.trajectory,
            spent=self.meter.spent(self.history),
            scenario=self.scenario,
        )


def _is_better(now: dict[str, float], before: dict[str, float]) -> bool:
    """Is something promised for the first time, or a tenth more tightly?"""
    return any(value < 0.9 * before.get(name, math.inf) for name, value in now.items())


@lru_cache(256)
def words_of(warning: str) -> str:
    """A warning without its figures: the same one again, with other figures, is no news."""
    return re.sub(r"[\d.]+", "", warning)
