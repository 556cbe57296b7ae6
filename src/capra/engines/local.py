"""Runs on this machine: n workers, each with a supervisor of its own, all watched by one thread.

A worker is a slot, not a process: the supervisor of each run is the process that may die, and then that run is LOST and
started again. Measured runs do not share a core with us where there are enough cores: each worker is pinned to one, and we
keep to the rest. With memory to hold them in, runs that were stopped at their cutoff wait for a longer one (``held``).
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import select
import shlex
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from capra.engines.base import Ticket
from capra.engines.held import HeldRun, HeldRuns
from capra.errors import CapraError, InputError
from capra.runs import Outcome, RunRequest, Status
from capra.scenario import Scenario
from capra.targets import make_target
from capra.targets.base import ProcessTarget
from capra.targets.judge import lost
from capra.targets.scratch import sweep
from capra.targets.supervisor import STRIKE, Facts, Job, Limits, Supervised, delegated_cgroup

__all__ = ["ATTEMPTS", "PATIENCE", "LocalEngine", "machine_warnings"]

ATTEMPTS = 3
"""How often a run is started before it is given up as LOST."""
PATIENCE = 15.0
"""Seconds past every bound, grace and kill timeout after which a silent supervisor is killed."""
DYING = 0.01
"""CPU seconds that a process may use to die."""
CONTENTION = 0.05
"""A run whose wall and CPU time differ by more than this share was disturbed, or waits, or computes in parallel."""


@dataclass
class _Slot:
    """One run under way."""

    ticket: Ticket
    request: RunRequest
    """With the cutoff that it was tightened to."""
    asked: float
    """The cutoff that it began with, or goes on with."""
    cores: tuple[int, ...]
    limits: Limits
    supervised: Supervised
    deadline: float
    attempt: int = 1
    cancelled: bool = False
    stopped: bool = False
    """By a cutoff of 0: not to be started again."""
    held: bool = False
    continued: float = 0.0
    """The cutoff at which it had waited; 0 for a run that was started for this ticket."""
    waited: float = 0.0
    """CPU seconds that it had used by then."""
    verifying: Outcome | None = None
    """The outcome that waits for its verifier."""
    finished: Supervised | None = None
    """The run whose private directory the verifier may still need."""


class LocalEngine:
    """An ``Engine`` over this machine's cores. To be closed, best as a context manager."""

    def __init__(
        self,
        scenario: Scenario,
        workers: int = 1,
        *,
        pin: bool = True,
        target: ProcessTarget | None = None,
        attempts: int = ATTEMPTS,
        hold: int = 0,
    ) -> None:
        """``hold``: bytes for runs that wait at their cutoff for a longer one; InputError if the target cannot wait."""
        if workers < 1:
            raise InputError(f"an engine needs at least one worker, not {workers}")
        self.target = target or make_target(scenario)
        if hold and not (self.target.can_wait and scenario.backend == "process"):
            hint = "only commands measured in cpu or wall seconds under the backend process can: drop hold"
            raise InputError("the target cannot be held at its cutoff", hint=hint)
        self.held = HeldRuns(hold) if hold else None
        """Runs that wait at their cutoff; None if they are ended there."""
        self._kappa_max = scenario.cutoff
        self.disturbed = 0
        self.measured = 0
        self.straggling = 0
        """Runs that left processes behind."""
        self.sick: list[int] = []
        """Processes that could not be killed; their workers are not used again."""
        self._slots: dict[Ticket, _Slot] = {}
        self._ready: list[tuple[Ticket, Outcome]] = []
        self._attempts = attempts
        self._next = 0
        self._host = socket.gethostname()
        self._cgroup = delegated_cgroup()
        self._backend = scenario.backend
        self._directory = scenario.directory
        self._affinity = os.sched_getaffinity(0)
        self._began = time.monotonic()
        self._pins = self._assign_cores(workers, pin)
        sweep()

    def _assign_cores(self, workers: int, pin: bool) -> list[tuple[int, ...]]:
        """A core for each worker, if that leaves one for us; otherwise the scheduler decides."""
        cores = sorted(self._affinity)
        if not pin or workers >= len(cores):
            return [()] * workers
        os.sched_setaffinity(0, cores[:-workers])
        return [(core,) for core in cores[-workers:]]

    # --- the contract ---

    @property
    def clock(self) -> float:
        return time.monotonic() - self._began

    @property
    def free(self) -> int:
        return len(self._pins)

    def submit(self, request: RunRequest) -> Ticket:
        if not self._pins:
            raise InputError("no worker is free")
        ticket = Ticket(self._next)
        cores = self._pins[-1]
        self._slots[ticket] = self._go_on(ticket, request, cores) or self._start(ticket, request, cores)
        self._pins.pop()
        self._next += 1
        return ticket

    def wait(self, timeout: float | None = None) -> list[tuple[Ticket, Outcome]]:
        until = None if timeout is None else time.monotonic() + timeout
        while not self._ready and self._slots:
            remaining = None if until is None else max(0.0, until - time.monotonic())
            if all(slot.held for slot in self._slots.values()):
                remaining = 0.0
            self._look(remaining)
            if remaining == 0.0:
                break
        ready, self._ready = self._ready, []
        return ready

    def tighten(self, ticket: Ticket, cutoff: float) -> None:
        slot = self._running(ticket)
        if slot is None or not cutoff < slot.request.cutoff:
            return
        if cutoff <= 0.0:
            slot.stopped, slot.held = True, False
            slot.supervised.tighten(0.0)
            return
        request = dataclasses.replace(slot.request, cutoff=cutoff)
        limits = self.target.bounds(request, slot.supervised.directory)
        if limits is not None:
            slot.request = request
            slot.supervised.tighten(limits.leading, limits.wall_bound)

    def cancel(self, ticket: Ticket) -> None:
        slot = self._slots.get(ticket)
        if slot is not None:
            slot.cancelled = True
            slot.held = False
            slot.supervised.kill()

    def hold(self, ticket: Ticket) -> None:
        """Stop the run where it is; it keeps its memory and its worker, and no clock runs."""
        slot = self._running(ticket)
        if slot is not None:
            slot.held = True
            slot.supervised.hold()

    def resume(self, ticket: Ticket, cutoff: float) -> None:
        """Let a held run go on, under a cutoff that may be larger than before."""
        slot = self._running(ticket)
        if slot is None or not slot.held:
            return
        request = dataclasses.replace(slot.request, cutoff=cutoff)
        limits = self.target.bounds(request, slot.supervised.directory)
        if limits is None:  # only the target can keep its cutoff, and it knows no other
            limits = slot.limits
        else:
            slot.request, slot.asked = request, cutoff
        slot.held = False
        slot.supervised.resume(limits.leading, limits.wall_bound)
        slot.deadline = _deadline(limits)

    def _running(self, ticket: Ticket) -> _Slot | None:
        """The run of a ticket unless it is over, or being verified."""
        slot = self._slots.get(ticket)
        return slot if slot is not None and slot.verifying is None else None

    def close(self) -> None:
        for slot in self._slots.values():
            slot.supervised.kill()
        for slot in self._slots.values():
            self._close_slot(slot)
        if self.held is not None:
            self.held.close()
        self._slots.clear()
        self._pins.clear()
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, self._affinity)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def warnings(self) -> list[str]:
        """What a user should know about the measurements so far."""
        return machine_warnings(self.measured, self.disturbed, self.sick, self.straggling)

    @property
    def files(self) -> list[int]:
        """File descriptors of the runs under way: one that becomes readable is news for ``wait``."""
        return [slot.supervised.fileno() for slot in self._slots.values()]

    def command(self, request: RunRequest) -> str:
        place = "" if self._directory is None else f"cd {shlex.quote(str(self._directory))} && "
        return place + shlex.join(self.target.argv(request))

    # --- one run ---

    def _start(self, ticket: Ticket, request: RunRequest, cores: tuple[int, ...]) -> _Slot:
        job = dataclasses.replace(self._job(request), cores=cores, cgroup=self._cgroup, backend=self._backend)
        return _Slot(ticket, request, request.cutoff, cores, job.limits, Supervised.start(job), _deadline(job.limits))

    def _job(self, request: RunRequest) -> Job:
        job = self.target.job(request)
        if self.held is None or request.cutoff >= self._kappa_max:
            return job
        # It may go on to κ_max, so that is what it is told.
        told = self.target.job(dataclasses.replace(request, cutoff=self._kappa_max))
        return dataclasses.replace(told, limits=job.limits, hold=True)

    def _go_on(self, ticket: Ticket, request: RunRequest, cores: tuple[int, ...]) -> _Slot | None:
        """With the run that waits for this request, if there is one."""
        run = None if self.held is None else self.held.take(request)
        if run is None:
            return None
        limits = self.target.job(request).limits
        run.supervised.resume(limits.leading, limits.wall_bound, cores)
        slot = _Slot(ticket, request, request.cutoff, cores, limits, run.supervised, _deadline(limits))
        slot.continued, slot.waited = run.request.cutoff, run.cpu
        return slot

    def _look(self, timeout: float | None) -> None:
        """Wait until something happens to one of the runs, or one of them has been silent for too long."""
        poll = select.poll()
        by_file = {slot.supervised.fileno(): slot for slot in self._slots.values()}
        for file in by_file:
            poll.register(file, select.POLLIN)
        now = time.monotonic()
        silent = min((slot.deadline for slot in self._slots.values() if not slot.held), default=now + 3600.0)
        patience = min(max(0.0, silent - now), 3600.0)
        for file, _ in poll.poll(1000.0 * (patience if timeout is None else min(timeout, patience))):
            self._advance(by_file[file])
        for slot in list(self._slots.values()):
            if not slot.held and time.monotonic() > slot.deadline:
                slot.supervised.strike()
                slot.deadline = time.monotonic() + STRIKE
                self._advance(slot)

    def _advance(self, slot: _Slot) -> None:
        facts = slot.supervised.wait(0.0)
        if facts is None:
            return
        if facts.waiting:
            self._keep(slot, facts)
        elif slot.cancelled:
            self._report(slot, lost(slot.request, facts, "stopped by us"))
        elif slot.verifying is not None:
            self._report(slot, self.target.verified(slot.request, slot.verifying, facts))
        else:
            self._judge(slot, facts)

    def _keep(self, slot: _Slot, facts: Facts) -> None:
        """It waits at its cutoff, as it was asked to. For us that run is over."""
        if slot.cancelled or slot.stopped:  # by now it is being ended
            return
        self._note(facts)
        outcome = self.target.outcome(self._in_force(slot, facts), facts, slot.supervised.directory)
        if self.held is not None and outcome.status is Status.CAPPED:
            request = dataclasses.replace(slot.request, cutoff=outcome.cutoff)
            self.held.put(HeldRun(request, slot.supervised, facts.cpu, facts.memory))
        else:
            self._close_slot(slot)
        self._deliver(slot, outcome)

    def _judge(self, slot: _Slot, facts: Facts) -> None:
        self._note(facts)
        outcome = self.target.outcome(self._in_force(slot, facts), facts, slot.supervised.directory)
        again = (outcome.status is Status.LOST and not outcome.aborts) or _died_waiting(slot, facts)
        if again and slot.attempt < self._attempts and not slot.stopped:
            self._restart(slot, outcome)
        else:
            self._verify(slot, outcome, facts)

    def _in_force(self, slot: _Slot, facts: Facts) -> RunRequest:
        """The request with the cutoff that its supervisor had: a smaller one may have come when the run was over, or had
        used more than that."""
        if not self.target.can_wait:  # the target keeps its cutoff itself
            return slot.request
        return dataclasses.replace(slot.request, cutoff=min(slot.asked, max(slot.request.cutoff, facts.cutoff)))

    def _restart(self, slot: _Slot, outcome: Outcome) -> None:
        try:
            fresh = self._start(slot.ticket, slot.request, slot.cores)
        except (CapraError, OSError) as error:
            self._report(slot, dataclasses.replace(outcome, reason=f"{outcome.reason}; and again: {error}"))
            return
        slot.supervised.close()
        fresh.attempt = slot.attempt + 1
        if slot.held:
            fresh.held = True
            fresh.supervised.hold()
        self._slots[slot.ticket] = fresh

    def _verify(self, slot: _Slot, outcome: Outcome, facts: Facts) -> None:
        try:
            job = self.target.verification(slot.request, outcome, facts, slot.supervised.directory)
            verifier = None if job is None else Supervised.start(job)
        except (CapraError, OSError) as error:
            self._report(slot, dataclasses.replace(outcome, reason=f"not verified: {error}"))
            return
        if job is None or verifier is None:
            self._report(slot, outcome)
            return
        slot.verifying, slot.finished, slot.held = outcome, slot.supervised, False
        slot.supervised, slot.deadline = verifier, _deadline(job.limits)

    def _report(self, slot: _Slot, outcome: Outcome) -> None:
        self._close_slot(slot)
        self._deliver(slot, outcome)

    def _deliver(self, slot: _Slot, outcome: Outcome) -> None:
        del self._slots[slot.ticket]
        if not self._gave_up_on(slot):
            self._pins.append(slot.cores)
        continued = min(slot.continued, outcome.time)
        outcome = dataclasses.replace(outcome, continued=continued, host=self._host, load=_load())
        self._ready.append((slot.ticket, outcome))

    def _close_slot(self, slot: _Slot) -> None:
        slot.supervised.close()
        if slot.finished is not None:
            slot.finished.close()

    def _gave_up_on(self, slot: _Slot) -> bool:
        seen = [part.wait(0.0) for part in (slot.supervised, slot.finished) if part is not None]
        return any(facts is not None and facts.unkillable for facts in seen)

    def _note(self, facts: Facts) -> None:
        self.sick += facts.unkillable
        self.straggling += facts.stragglers > 0
        if facts.wall >= 0.1 and not facts.lost:
            self.measured += 1
            self.disturbed += abs(facts.cpu - facts.wall) > CONTENTION * facts.wall


def machine_warnings(measured: int, disturbed: int, sick: Sequence[int], straggling: int) -> list[str]:
    """What to say of so many disturbed runs among the measured, and of processes that were left, or cannot be killed."""
    found = []
    if measured >= 5 and disturbed > 0.2 * measured:
        share = 100 * disturbed / measured
        found.append(
            f"in {share:.0f} % of the runs CPU and wall time differ by more than {100 * CONTENTION:.0f} %: "
            "the machine is busy, or the target waits or uses several cores"
        )
    if straggling:
        found.append(f"{straggling} runs left processes behind, which were killed; their CPU time counts")
    if sick:
        found.append(f"{len(sick)} processes could not be killed (uninterruptible I/O?): {list(sick[:5])}")
    return found


def _load() -> float | None:
    """The load average over one minute; None where nobody knows it."""
    try:
        return os.getloadavg()[0]
    except OSError:
        return None


def _died_waiting(slot: _Slot, facts: Facts) -> bool:
    """Was it killed by somebody else before it could go on? That says nothing about the configuration."""
    killed = facts.signal is not None and not facts.stopped
    return slot.continued > 0.0 and killed and facts.cpu <= slot.waited + DYING


def _deadline(limits: Limits) -> float:
    return time.monotonic() + limits.wall_bound + limits.grace + limits.kill_timeout + PATIENCE
