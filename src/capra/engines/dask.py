"""Runs on a Dask cluster: each is one task, at a worker that we choose, under our supervisor there.

Dask carries; the promises are ours. A run is a lease: it ends by its worker's answer; or its worker leaves, falls silent
or keeps it beyond its bounds, and then it is lost, and made again at another worker under a new attempt number. What an
earlier attempt says later is ignored, and its run is stopped when its worker is heard of again. All state is changed by
the thread that calls the engine: where each run is (``flights.py``), whose fault a failure is (``verdicts.py``). What
happens on the cluster comes to it as news (``link.py``).
"""

from __future__ import annotations

import copy
import dataclasses
import math
import queue
import time
import uuid
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from capra.engines.base import Ticket
from capra.engines.crew import Crew, Worker
from capra.engines.flights import Flights
from capra.engines.link import Link
from capra.engines.local import LocalEngine, machine_warnings
from capra.engines.news import Alive, Done, Ended, Gone, Joined, Left, News, Refused
from capra.engines.site import Package
from capra.engines.speed import loop_seconds
from capra.engines.verdicts import Verdicts
from capra.errors import CapraError, InputError, TargetError
from capra.runs import Outcome, RunRequest, Status
from capra.scenario import Scenario
from capra.targets.function import whereabouts

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["DaskEngine"]

HEARTBEAT = 5.0
"""Seconds between two signs of life, in both directions."""
SILENCE = 6
"""Heartbeats without a sign of life after which the other side is given up."""


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
        self._measured = self._disturbed = self._straggling = 0
        self._sick: list[int] = []
        self._refused: dict[str, str] = {}
        self._notes: dict[str, None] = {}
        self._began = time.monotonic()
        self._closed = False
        self._link = Link(cluster, package)
        self._flights = Flights(scenario, self._crew, self._link)
        self._verdicts = Verdicts(self._flights, self._crew, self._link)
        self._silence = package.silence
        self._link.open_present()
        self._read_news(0.0)
        if self._refused and not self._crew:
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
        flights = self._flights
        room = int(min(self._most - len(flights.under_way), self._crew.free - len(flights.waiting)))
        # One request may wait for the first worker: a cluster that is empty just now is no reason to end a tuning.
        return max(room, 0 if flights.under_way else 1)

    def submit(self, request: RunRequest) -> Ticket:
        if not self.free:
            raise InputError("no worker is free")
        return self._flights.open(request).ticket

    def wait(self, timeout: float | None = None) -> list[tuple[Ticket, Outcome]]:
        until = math.inf if timeout is None else time.monotonic() + timeout
        flights = self._flights
        while not flights.ready and flights.under_way:
            left = until - time.monotonic()
            self._read_news(max(0.0, min(left, self._silence / SILENCE)))
            flights.look_at_leases()
            flights.place()
            if left <= 0.0:
                break
        ready, flights.ready = flights.ready, []
        return ready

    def tighten(self, ticket: Ticket, cutoff: float) -> None:
        flight = self._flights.under_way.get(ticket)
        if flight is None or flight.cancelled or not cutoff < flight.request.cutoff:
            return
        if cutoff <= 0.0:
            flight.stopped = True
        elif self._scenario.unit in ("cpu", "wall"):
            flight.request = dataclasses.replace(flight.request, cutoff=cutoff)
        self._flights.order(flight, max(0.0, cutoff))

    def cancel(self, ticket: Ticket) -> None:
        flight = self._flights.under_way.get(ticket)
        if flight is not None and not flight.cancelled:
            flight.cancelled = True
            self._flights.order(flight, None)

    def warnings(self) -> list[str]:
        """What a user should know about the measurements so far."""
        hosts = self._crew.hosts.quarantined.items()
        found = [f"no more runs go to {host}, where they failed: {why}" for host, why in hosts]
        if not self._crew:
            found.append(f"no worker has joined {self._link.address}")
        if slowness := self._crew.slowness:
            found.append(f"times are divided by the hosts' slowness: {slowness}")
        machine = machine_warnings(self._measured, self._disturbed, self._sick, self._straggling)
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
        self._flights.forget()
        self._link.end_sites()
        end = time.monotonic() + self._silence
        while any(worker.taken and not worker.silent for worker in self._crew) and time.monotonic() < end:
            self._read_news(0.1)
        self._link.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

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
                    self._flights.lose_all(worker, f"the worker {address} is gone")
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
        self._crew.hear(worker, time.monotonic())
        given_up = {key for key in worker.taken | news.runs if self._flights.of(key) is None}
        self._crew.release(worker, given_up - news.runs)
        for key in given_up & news.runs:
            self._link.order(worker.address, key, None)

    def _hear_done(self, news: Done) -> None:
        worker = self._crew.known(news.address, news.token)
        flight = self._flights.of(news.key)
        if worker is not None:
            self._crew.hear(worker, time.monotonic())
            self._crew.release(worker, [news.key])
        if worker is None or flight is None or flight.worker is not worker:
            self.fenced += not self._closed
            return
        flight.future = None  # its task ends by itself
        if "refused" in news.answer:
            self._flights.report(flight, self._flights.lost(flight, news.answer["refused"]))
            raise InputError(news.answer["refused"])
        self._note(worker, news.answer)
        facts = news.answer["outcome"]
        self._verdicts.judge(flight, worker, Outcome(**{**facts, "status": Status(facts["status"])}))

    def _hear_ended(self, news: Ended) -> None:
        worker = self._crew.known(news.address, news.token)
        if worker is not None and not news.dropped:
            self._crew.release(worker, [news.key])
        if (flight := self._flights.of(news.key)) is not None:
            self._flights.lose(flight, self._flights.lost(flight, news.reason))

    def _note(self, worker: Worker, answer: dict[str, Any]) -> None:
        self._measured += answer["measured"]
        self._disturbed += answer["disturbed"]
        self._straggling += answer["straggling"]
        self._notes |= {f"{worker.host}: {note}": None for note in answer["notes"]}
        if answer["sick"]:
            self._sick += answer["sick"]
            self._crew.retire_seat(worker)


def _portable(scenario: Scenario) -> Scenario:
    """The scenario as other processes can read it: a function by its whereabouts, and not what it was made of."""
    found = copy.copy(scenario)
    object.__setattr__(found, "given", {})
    object.__setattr__(found, "bases", tuple(base.resolve() for base in scenario.bases))
    if not isinstance(scenario.target, tuple):
        where = whereabouts(scenario.target)
        object.__setattr__(found, "target", f"{where['file'] or where['module']}:{where['name']}")
    return found
