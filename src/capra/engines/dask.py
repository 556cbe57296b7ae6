"""Runs on a Dask cluster: each is one task, at a worker that we choose, under our supervisor there.

Dask carries; the promises are ours. A run is a lease: it ends by its worker's answer; or its worker leaves, falls silent
or keeps it beyond its bounds, and then it is lost, and made again at another worker under a new attempt number. What an
earlier attempt says later is ignored, and its run is stopped when its worker is heard of again. All state is changed by
the thread that calls the engine; what happens on the cluster comes to it as news (``link.py``).
"""

from __future__ import annotations

import copy
import dataclasses
import math
import queue
import time
import uuid
from collections import deque
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from capra.engines.base import Ticket
from capra.engines.crew import Crew, Worker
from capra.engines.hosts import look_of
from capra.engines.link import Link
from capra.engines.local import ATTEMPTS, PATIENCE, LocalEngine, machine_warnings
from capra.engines.news import Alive, Done, Ended, Gone, Joined, Key, Left, News, Refused
from capra.engines.site import Package
from capra.engines.speed import loop_seconds
from capra.errors import CapraError, InputError, TargetError
from capra.runs import Outcome, RunRequest, Status
from capra.scenario import Scenario
from capra.targets.base import limits_of
from capra.targets.function import START, whereabouts

if TYPE_CHECKING:
    from distributed import Client, Future

__all__ = ["DaskEngine"]

HEARTBEAT = 5.0
"""Seconds between two signs of life, in both directions."""
SILENCE = 6
"""Heartbeats without a sign of life after which the other side is given up."""
VERIFIER = 150.0
"""Seconds that a verifier may add to a lease, its own clean-up included."""
SHORTEST = 1e-6
"""A run that is stopped before it began still has a positive cutoff."""


@dataclass(eq=False)
class _Flight:
    """One request on its way, wherever it is."""

    ticket: Ticket
    request: RunRequest
    attempt: int = 0
    lost: int = 0
    worker: Worker | None = None
    future: Future | None = None
    deadline: float = math.inf
    cancelled: bool = False
    stopped: bool = False
    """By a cutoff of 0: not to be started again."""
    avoid: set[str] = field(default_factory=set)
    """Hosts that failed it."""
    doubt: Outcome | None = None
    """A crash that another host is to confirm."""

    @property
    def key(self) -> Key:
        return self.ticket, self.attempt


class DaskEngine:
    """An ``Engine`` over a Dask cluster. To be closed, best as a context manager.

    ``cluster`` is a ``distributed.Client``, a scheduler's address, or a number of worker processes to start on this machine.
    ``workers`` bounds the runs at a time; without it every thread of every worker gets one. With ``calibrate`` times and
    cutoffs are scaled to this machine's speed (``speed.py``); with ``stage`` (bytes) instances are copied to the workers'
    own disks first.
    """

    def __init__(
        self,
        scenario: Scenario,
        cluster: Client | str | int,
        workers: int | None = None,
        *,
        calibrate: bool = False,
        stage: int | None = None,
        heartbeat: float | None = None,
    ) -> None:
        if workers is not None and workers < 1:
            raise InputError(f"an engine needs at least one worker, not {workers}")
        if calibrate and scenario.unit not in ("cpu", "wall"):
            raise InputError(f"{scenario.unit} are the same on every machine", hint="drop calibrate")
        heartbeat = heartbeat or HEARTBEAT
        package = Package(
            session=uuid.uuid4().hex,
            scenario=_portable(scenario),
            heartbeat=heartbeat,
            silence=SILENCE * heartbeat,
            reference=loop_seconds() if calibrate else None,
            stage=stage,
            shielded=isinstance(cluster, int),
        )
        self.fenced = 0
        """Answers that came too late, and were ignored."""
        self._scenario = scenario
        self._most = math.inf if workers is None else workers
        self._crew = Crew()
        self._flights: dict[Ticket, _Flight] = {}
        self._waiting: deque[_Flight] = deque()
        self._ready: list[tuple[Ticket, Outcome]] = []
        self._next = self._measured = self._disturbed = 0
        self._sick: list[int] = []
        self._refused: dict[str, str] = {}
        self._notes: dict[str, None] = {}
        self._began = time.monotonic()
        self._closed = False
        self._link = Link(cluster, package)
        self._silence = package.silence
        self._link.open_present()
        self._read_news(0.0)
        if self._refused and not list(self._crew):
            self.close()
            raise TargetError(next(iter(self._refused_words())), hint="every worker needs the same Capra and the target")

    # --- the contract ---

    @property
    def clock(self) -> float:
        return time.monotonic() - self._began

    @property
    def free(self) -> int:
        self._read_news(0.0)
        if self._closed:
            return 0
        room = int(min(self._most - len(self._flights), self._crew.free - len(self._waiting)))
        # One request may wait for the first worker: a cluster that is empty just now is no reason to end a tuning.
        return max(room, 0 if self._flights else 1)

    def submit(self, request: RunRequest) -> Ticket:
        if not self.free:
            raise InputError("no worker is free")
        flight = _Flight(Ticket(self._next), request)
        self._next += 1
        self._flights[flight.ticket] = flight
        self._waiting.append(flight)
        self._place()
        return flight.ticket

    def wait(self, timeout: float | None = None) -> list[tuple[Ticket, Outcome]]:
        until = math.inf if timeout is None else time.monotonic() + timeout
        while not self._ready and self._flights:
            left = until - time.monotonic()
            self._read_news(max(0.0, min(left, self._silence / SILENCE)))
            self._look_at_leases()
            self._place()
            if left <= 0.0:
                break
        ready, self._ready = self._ready, []
        return ready

    def tighten(self, ticket: Ticket, cutoff: float) -> None:
        flight = self._flights.get(ticket)
        if flight is None or flight.cancelled or not cutoff < flight.request.cutoff:
            return
        if cutoff <= 0.0:
            flight.stopped = True
        elif self._scenario.unit in ("cpu", "wall"):
            flight.request = dataclasses.replace(flight.request, cutoff=cutoff)
        self._order(flight, max(0.0, cutoff))

    def cancel(self, ticket: Ticket) -> None:
        flight = self._flights.get(ticket)
        if flight is not None and not flight.cancelled:
            flight.cancelled = True
            self._order(flight, None)

    def warnings(self) -> list[str]:
        """What a user should know about the measurements so far."""
        hosts = self._crew.hosts.quarantined.items()
        found = [f"no more runs go to {host}, where they failed: {why}" for host, why in hosts]
        if not list(self._crew):
            found.append(f"no worker has joined {self._link.address}")
        slow = {worker.host: worker.slowness for worker in self._crew if worker.slowness != 1.0}
        if slow:
            text = ", ".join(f"{host} {slowness:.2f}" for host, slowness in sorted(slow.items()))
            found.append(f"times are divided by the hosts' slowness: {text}")
        machine = machine_warnings(self._measured, self._disturbed, self._sick)
        return [*found, *self._refused_words(), *self._notes, *machine]

    def _refused_words(self) -> list[str]:
        return [f"the worker {address} cannot be used: {reason}" for address, reason in self._refused.items()]

    def command(self, request: RunRequest) -> str | None:
        try:
            with LocalEngine(self._scenario, 1, pin=False) as here:
                return here.command(request)
        except CapraError:  # the target may be on the workers only
            return None

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._flights.clear()
        self._waiting.clear()
        self._ready.clear()
        self._link.end_sites()
        end = time.monotonic() + self._silence
        while any(worker.taken and not worker.silent for worker in self._crew) and time.monotonic() < end:
            self._read_news(0.1)
        self._link.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    # --- where a run is ---

    def _place(self) -> None:
        """Give seats to those who wait, as far as there are any."""
        for _ in range(len(self._waiting)):
            flight = self._waiting.popleft()
            worker = self._crew.seat(flight.avoid)
            if worker is None:
                self._waiting.append(flight)
            else:
                self._start(flight, worker)

    def _start(self, flight: _Flight, worker: Worker) -> None:
        flight.attempt += 1
        flight.worker = worker
        flight.deadline = time.monotonic() + self._lease(flight.request.cutoff * worker.slowness)
        worker.taken.add(flight.key)
        flight.future = self._link.submit(worker.address, worker.token, flight.key, flight.request)

    def _lease(self, cutoff: float) -> float:
        """Seconds that a worker may keep a run: what its own limits allow, and a few heartbeats."""
        limits = limits_of(self._scenario, cutoff)
        verifier = VERIFIER if isinstance(self._scenario.verifier, tuple) else 0.0
        return limits.wall_bound + START + limits.grace + limits.kill_timeout + PATIENCE + verifier + self._silence

    def _order(self, flight: _Flight, order: float | None) -> None:
        if flight.worker is not None:
            self._link.order(flight.worker.address, flight.key, order)
        elif flight.cancelled:
            self._report(flight, self._lost(flight, "stopped by us"))
        elif flight.stopped:
            reason = "stopped by order"
            self._report(flight, Outcome(Status.CAPPED, SHORTEST, SHORTEST, reason=reason, backend="process"))

    def _look_at_leases(self) -> None:
        """Who has not been heard of, or keeps a run for too long?"""
        now = time.monotonic()
        for worker in self._crew:
            if not worker.silent and now - worker.heard > self._silence:
                worker.silent = True
                self._lose_all(worker, f"the worker {worker.address} was not heard of for {now - worker.heard:.0f} s")
        for flight in list(self._flights.values()):
            if flight.worker is not None and now > flight.deadline:
                self._link.order(flight.worker.address, flight.key, None)
                self._lose(flight, f"the worker {flight.worker.address} did not answer in time")

    def _lose_all(self, worker: Worker, reason: str) -> None:
        for flight in list(self._flights.values()):
            if flight.worker is worker:
                self._lose(flight, reason)

    def _lose(self, flight: _Flight, reason: str) -> None:
        """This attempt failed: make another, or give up."""
        outcome = self._lost(flight, reason)
        flight.lost += 1
        if flight.lost >= ATTEMPTS or flight.cancelled or flight.stopped:
            self._report(flight, outcome)
        else:
            self._again(flight)

    def _again(self, flight: _Flight) -> None:
        self._leave_seat(flight)
        self._waiting.append(flight)

    def _leave_seat(self, flight: _Flight) -> None:
        """What its task still does is no longer of interest; the seat is free when its worker says so."""
        if flight.future is not None:
            self._link.drop([flight.future])
        flight.worker, flight.future, flight.deadline = None, None, math.inf

    def _lost(self, flight: _Flight, reason: str) -> Outcome:
        host = None if flight.worker is None else flight.worker.host
        return Outcome(Status.LOST, 0.0, flight.request.cutoff, reason=reason, backend="process", host=host)

    def _report(self, flight: _Flight, outcome: Outcome) -> None:
        self._leave_seat(flight)
        if flight in self._waiting:
            self._waiting.remove(flight)
        del self._flights[flight.ticket]
        if flight.stopped and not flight.cancelled and outcome.status is Status.LOST:  # nobody waits for it any more
            used = max(SHORTEST, outcome.time)
            outcome = dataclasses.replace(outcome, status=Status.CAPPED, time=used, cutoff=used)
        self._ready.append((flight.ticket, outcome))

    # --- what is new ---

    def _read_news(self, timeout: float) -> None:
        """All there is; if there is nothing, wait for it."""
        block = timeout > 0.0
        while True:
            try:
                news = self._link.news.get(block, timeout)
            except queue.Empty:
                return
            block = False
            self._hear(news)

    def _hear(self, news: News) -> None:
        match news:
            case Joined():
                self._crew.join(news, time.monotonic())
                if news.warning:
                    self._notes[f"{news.host}: {news.warning}"] = None
            case Refused(address, reason):
                self._refused[address] = reason
            case Left(address):
                self._refused.pop(address, None)
                if (worker := self._crew.leave(address)) is not None:
                    self._lose_all(worker, f"the worker {address} is gone")
            case Alive():
                self._hear_alive(news)
            case Done():
                self._hear_done(news)
            case Ended():
                self._hear_ended(news)
            case Gone() if not self._closed:
                hint = "start one, then go on: capra resume RUN --scheduler ADDRESS"
                raise TargetError("the Dask scheduler is gone", hint=hint)

    def _hear_alive(self, news: Alive) -> None:
        worker = self._crew.known(news.address, news.token)
        if worker is None:
            return
        worker.heard, worker.silent = time.monotonic(), False
        given_up = {key for key in worker.taken | news.runs if self._flight(key) is None}
        worker.taken -= given_up - news.runs
        for key in given_up & news.runs:
            self._link.order(worker.address, key, None)

    def _hear_done(self, news: Done) -> None:
        worker = self._crew.known(news.address, news.token)
        flight = self._flight(news.key)
        if worker is not None:
            worker.heard, worker.silent = time.monotonic(), False
            worker.taken.discard(news.key)
        if worker is None or flight is None or flight.worker is not worker:
            self.fenced += not self._closed
            return
        flight.future = None  # its task ends by itself
        if "refused" in news.answer:
            self._report(flight, self._lost(flight, news.answer["refused"]))
            raise InputError(news.answer["refused"])
        self._note(worker, news.answer)
        facts = news.answer["outcome"]
        self._judge(flight, worker, Outcome(**{**facts, "status": Status(facts["status"])}))

    def _hear_ended(self, news: Ended) -> None:
        worker = self._crew.known(news.address, news.token)
        if worker is not None and not news.dropped:
            worker.taken.discard(news.key)
        if (flight := self._flight(news.key)) is not None:
            self._lose(flight, news.reason)

    def _flight(self, key: Key) -> _Flight | None:
        """The flight, if this is its present attempt."""
        flight = self._flights.get(Ticket(key[0]))
        return flight if flight is not None and flight.key == key and flight.worker is not None else None

    def _note(self, worker: Worker, answer: dict[str, Any]) -> None:
        self._measured += answer["measured"]
        self._disturbed += answer["disturbed"]
        self._notes |= {f"{worker.host}: {note}": None for note in answer["notes"]}
        if answer["sick"]:
            self._sick += answer["sick"]
            worker.seats -= 1

    # --- whose fault it is ---

    def _judge(self, flight: _Flight, worker: Worker, outcome: Outcome) -> None:
        if flight.cancelled or outcome.aborts:
            self._report(flight, outcome)
        elif outcome.status is Status.LOST:
            self._failed_there(flight, worker.host, outcome)
        elif outcome.status is Status.CRASHED:
            self._crashed(flight, worker.host, outcome)
        else:
            if outcome.status is Status.SUCCESS:
                self._crew.hosts.succeeded(worker.host)
                self._refute(flight, worker.host)
            self._report(flight, outcome)

    def _failed_there(self, flight: _Flight, host: str, outcome: Outcome) -> None:
        """It could not be run there: says nothing about the configuration, but something about the host."""
        flight.avoid.add(host)
        flight.lost += 1
        if flight.lost >= ATTEMPTS or flight.stopped:
            self._report(flight, outcome)
        else:
            self._again(flight)
        self._blame(host, outcome.reason or "")

    def _crashed(self, flight: _Flight, host: str, outcome: Outcome) -> None:
        """New crashes are made again on another host, and only then reported."""
        hosts, before = self._crew.hosts, flight.doubt
        doubtful = hosts.crashed(host, outcome)
        if before is None and doubtful and not flight.stopped and self._crew.has_others(host):
            flight.doubt = outcome
            flight.avoid.add(host)
            self._again(flight)
            return
        if before is not None and before.host != host:
            if look_of(before) == look_of(outcome):
                hosts.confirmed(outcome)
            else:
                self._refute(flight, host)
        self._report(flight, outcome)

    def _refute(self, flight: _Flight, host: str) -> None:
        """What crashed on another host did something else on this one."""
        if flight.doubt is not None and flight.doubt.host not in (None, host):
            self._blame(str(flight.doubt.host), flight.doubt.reason or "")

    def _blame(self, host: str, reason: str) -> None:
        if not self._crew.hosts.faulted(host, reason, self._crew.has_others(host)):
            return
        for flight in list(self._flights.values()):
            if flight.worker is not None and flight.worker.host == host:
                self._link.order(flight.worker.address, flight.key, None)
                self._again(flight)


def _portable(scenario: Scenario) -> Scenario:
    """The scenario as other processes can read it: a function by its whereabouts, and not what it was made of."""
    found = copy.copy(scenario)
    object.__setattr__(found, "given", {})
    object.__setattr__(found, "bases", tuple(base.resolve() for base in scenario.bases))
    if not isinstance(scenario.target, tuple):
        where = whereabouts(scenario.target)
        object.__setattr__(found, "target", f"{where['file'] or where['module']}:{where['name']}")
    return found
