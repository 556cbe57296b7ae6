"""Runs on a virtual clock: recorded or computed outcomes, any number of workers, no waiting.

The same loop drives it as drives real runs; only the clock is made up. A day of tuning takes seconds, and the same seed
gives the same day.
"""

from __future__ import annotations

import dataclasses
import heapq
import math
import os
import shlex
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from importlib.machinery import PathFinder
from typing import Any

from capra.engines.base import Ticket
from capra.errors import InputError, TargetError
from capra.runs import Outcome, RunRequest, Status
from capra.scenario import Scenario
from capra.targets import call
from capra.targets.dialects import Claim, Reply
from capra.targets.function import read_value, whereabouts
from capra.targets.judge import Judge
from capra.targets.supervisor import Facts
from capra.targets.verify import Answer, check_answer, known_answers

__all__ = ["SimulatedEngine", "simulated_target"]

SHORTEST = 1e-6
"""A run that is stopped before it began still has a positive cutoff."""


@dataclass(slots=True)
class _UnderWay:
    request: RunRequest
    outcome: Outcome
    start: float
    """When it began, had it not been held in between."""
    end: float


class SimulatedEngine:
    """An ``Engine`` over a function from requests to outcomes. ``clock`` is the virtual time, in the scenario's unit."""

    def __init__(self, run: Callable[[RunRequest], Outcome], workers: int = 1, *, hold: bool = False) -> None:
        """``hold``: a longer run of a cell goes on where the last one was stopped; made-up runs need no memory."""
        if workers < 1:
            raise InputError(f"an engine needs at least one worker, not {workers}")
        self.clock = 0.0
        self.busy = 0.0
        """Worker time in use so far: utilisation is busy / (workers · clock)."""
        self.workers = workers
        self._run = run
        self._hold = hold
        self._held: dict[tuple[str, str | None, int], float] = {}
        self._next = 0
        self._under_way: dict[Ticket, _UnderWay] = {}
        self._ends: list[tuple[float, Ticket]] = []

    @property
    def free(self) -> int:
        return self.workers - len(self._under_way)

    def submit(self, request: RunRequest) -> Ticket:
        if not self.free:
            raise InputError("no worker is free")
        ticket = Ticket(self._next)
        self._next += 1
        outcome = self._run(request)
        before = self._held.get(request.cell, 0.0)
        if before < request.cutoff:
            outcome = dataclasses.replace(outcome, continued=min(before, outcome.time))
        start = self.clock - outcome.continued
        self._under_way[ticket] = _UnderWay(request, outcome, start, start + outcome.time)
        heapq.heappush(self._ends, (start + outcome.time, ticket))
        return ticket

    def wait(self, timeout: float | None = None) -> list[tuple[Ticket, Outcome]]:
        """The run that ends next, and all that end with it; the clock moves there. Never waits, whatever ``timeout``."""
        done: list[tuple[Ticket, Outcome]] = []
        while self._ends and (not done or self._ends[0][0] <= self.clock):
            end, ticket = heapq.heappop(self._ends)
            run = self._under_way.get(ticket)
            if run is None or run.end != end:
                continue  # it was stopped earlier
            self.clock = max(self.clock, end)
            self.busy += run.end - run.start - run.outcome.continued
            del self._under_way[ticket]
            if self._hold and run.outcome.status is Status.CAPPED:
                self._held[run.request.cell] = run.outcome.time
            done.append((ticket, run.outcome))
        return done

    def tighten(self, ticket: Ticket, cutoff: float) -> None:
        run = self._under_way.get(ticket)
        if run is None:
            return
        bound = max(cutoff, self.clock - run.start, SHORTEST)
        if bound < run.outcome.time:
            reason = "stopped by its cutoff"
            run.outcome = self._cut(run, Status.CAPPED, bound, bound, reason)
            self._reschedule(ticket, run, run.start + bound)

    def cancel(self, ticket: Ticket) -> None:
        run = self._under_way.get(ticket)
        if run is not None:
            used = self.clock - run.start
            run.outcome = self._cut(run, Status.LOST, used, run.request.cutoff, "stopped by us")
            self._reschedule(ticket, run, self.clock)

    @staticmethod
    def _cut(run: _UnderWay, status: Status, time: float, cutoff: float, reason: str) -> Outcome:
        continued = min(run.outcome.continued, time)
        return Outcome(status, time, cutoff, continued=continued, reason=reason, backend=run.outcome.backend)

    def _reschedule(self, ticket: Ticket, run: _UnderWay, end: float) -> None:
        run.end = end
        heapq.heappush(self._ends, (end, ticket))

    def warnings(self) -> list[str]:
        return []

    def command(self, request: RunRequest) -> str | None:
        return None

    def close(self) -> None:
        self._under_way.clear()
        self._ends.clear()


def simulated_target(scenario: Scenario) -> Callable[[RunRequest], Outcome]:
    """How requests are answered on the virtual clock: by a table or model (``target.run``), or by a Python function.

    InputError for a command, TargetError for a function that cannot be found.
    """
    target = scenario.target
    if callable(getattr(target, "run", None)):
        return target.run  # type: ignore[no-any-return, union-attr]
    if isinstance(target, tuple):
        hint = "engine='simulated' needs a table or a Python function; 'local' runs commands"
        raise InputError(f"a command cannot be simulated: {shlex.join(target)}", hint=hint)

    function = _found(target, scenario) if isinstance(target, str) else target
    judge = Judge(scenario.cutoff, scenario.unit, scenario.objective.kind == "quality")
    answers = known_answers((*scenario.instances, *scenario.test_instances)) if scenario.verifier else {}

    def run(request: RunRequest) -> Outcome:
        instance = None if request.instance is None else scenario.path_of(request.instance)
        reply = _called(function, dict(request.config), instance, request, judge)
        return _outcome_of(reply, request, judge, answers.get(request.instance or ""))

    return run


def _found(target: str, scenario: Scenario) -> Callable[..., Any]:
    """The function ``module:name``, looked for where its own process would look; the scenario's folders stay on the path."""
    folders = [str(base.resolve()) for base in scenario.bases]
    sys.path[:0] = [folder for folder in folders if folder not in sys.path]
    where = whereabouts(target)
    _refuse_a_namesake(where["module"].partition(".")[0], folders)
    try:
        return call.find(**where)
    except (Exception, SystemExit) as error:
        hint = "it must lie beside the scenario or on PYTHONPATH"
        raise TargetError(f"the function {target} cannot be found: {_last_line(error)}", hint=hint) from error


def _refuse_a_namesake(module: str, folders: list[str]) -> None:
    """A module that this process has loaded from elsewhere would answer in place of the one beside the scenario."""
    beside, loaded = PathFinder.find_spec(module, folders), getattr(sys.modules.get(module), "__spec__", None)
    if beside is None or beside.origin is None or loaded is None:
        return
    if os.path.realpath(beside.origin) != os.path.realpath(loaded.origin or ""):
        hint = "rename one of them, or begin a new Python"
        raise TargetError(f"{beside.origin} cannot be loaded: {module} is already {loaded.origin}", hint=hint)


def _called(
    function: Callable[..., Any], config: dict[str, Any], instance: str | None, request: RunRequest, judge: Judge
) -> Reply:
    """What the function says; one that raises has crashed, as in a process of its own."""
    try:
        value = call.plain(function(config, instance, request.seed, request.cutoff))
    except (Exception, SystemExit) as error:  # noqa: BLE001 (whatever the user's code raises is the answer)
        return Reply(Claim.CRASHED, reason=_last_line(error))
    return read_value(value, quality=judge.needs_quality)


def _last_line(error: BaseException) -> str:
    return "".join(traceback.format_exception_only(error)).strip().rpartition("\n")[2]


def _outcome_of(reply: Reply, request: RunRequest, judge: Judge, known: Answer | None) -> Outcome:
    """As if it had been run; its own word for the time is all there is."""
    if reply.claim is Claim.SUCCESS and reply.time is None and not judge.needs_quality:
        reply = dataclasses.replace(reply, claim=Claim.CRASHED, reason="reports no time, and nobody measures it here")
    stopped = reply.claim is Claim.TIMEOUT and reply.time is None and math.isfinite(request.cutoff)
    spent = request.cutoff if stopped else reply.time or 0.0
    limit = judge.unit if reply.claim is Claim.SUCCESS and spent > request.cutoff else None
    facts = Facts(limit=limit, cutoff=request.cutoff, cpu=spent, wall=spent, backend="function")
    outcome = judge.outcome(request, facts, reply, None if known is None else check_answer(known, reply))
    return dataclasses.replace(outcome, cpu=None, wall=None, memory=None)
