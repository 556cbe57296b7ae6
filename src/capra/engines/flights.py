"""Where each run of a cluster is: it waits, it is at a worker under a lease, or it is over.

This is the one place where an attempt is given up and another begun. ``of`` is the fence: it knows a run by its ticket and
its latest attempt only, so whatever an earlier attempt still says belongs to nobody.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from capra.engines.base import Ticket
from capra.engines.crew import Crew, Worker
from capra.engines.local import ATTEMPTS, PATIENCE
from capra.engines.news import Key
from capra.runs import Outcome, RunRequest, Status
from capra.scenario import Scenario
from capra.targets.base import limits_of
from capra.targets.function import START

if TYPE_CHECKING:
    from distributed import Future

    from capra.engines.link import Link

__all__ = ["Flight", "Flights"]

VERIFIER = 150.0
"""Seconds that a verifier may add to a lease, its own clean-up included."""
LOOK = 0.05
"""Share of the silence that is granted after which all workers and leases are looked at again."""
SHORTEST = 1e-6
"""A run that is stopped before it began still has a positive cutoff."""


@dataclass(eq=False)
class Flight:
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


class Flights:
    """All requests that are under way, by their tickets; ``ready`` are those that are over and not yet fetched."""

    def __init__(self, scenario: Scenario, crew: Crew, link: Link) -> None:
        self.under_way: dict[Ticket, Flight] = {}
        self.waiting: deque[Flight] = deque()
        self.ready: list[tuple[Ticket, Outcome]] = []
        self._scenario = scenario
        self._crew = crew
        self._link = link
        self._silence = link.package.silence
        self._next = 0
        self._look_at = 0.0

    def of(self, key: Key) -> Flight | None:
        """The flight, if this is its present attempt."""
        flight = self.under_way.get(Ticket(key[0]))
        return flight if flight is not None and flight.key == key and flight.worker is not None else None

    def open(self, request: RunRequest) -> Flight:
        """A request is to be run somewhere."""
        flight = Flight(Ticket(self._next), request)
        self._next += 1
        self.under_way[flight.ticket] = flight
        self.waiting.append(flight)
        self.place()
        return flight

    def forget(self) -> None:
        """Nobody wants to know any more."""
        self.under_way.clear()
        self.waiting.clear()
        self.ready.clear()

    def place(self) -> None:
        """Give seats to those who wait, as far as there are any."""
        for _ in range(len(self.waiting)):
            flight = self.waiting.popleft()
            worker = self._crew.seat(flight.avoid)
            if worker is None:
                self.waiting.append(flight)
            else:
                self._start(flight, worker)

    def _start(self, flight: Flight, worker: Worker) -> None:
        flight.attempt += 1
        flight.worker = worker
        flight.deadline = time.monotonic() + self._lease(flight.request.cutoff * worker.slowness)
        self._crew.take(worker, flight.key)
        flight.future = self._link.submit(worker.address, worker.token, flight.key, flight.request)

    def _lease(self, cutoff: float) -> float:
        """Seconds that a worker may keep a run: what its own limits allow, and a few heartbeats."""
        limits = limits_of(self._scenario, cutoff)
        verifier = VERIFIER if isinstance(self._scenario.verifier, tuple) else 0.0
        return limits.wall_bound + START + limits.grace + limits.kill_timeout + PATIENCE + verifier + self._silence

    def order(self, flight: Flight, order: float | None) -> None:
        if flight.worker is not None:
            self._link.order(flight.worker.address, flight.key, order)
        elif flight.cancelled:
            self.report(flight, self.lost(flight, "stopped by us"))
        elif flight.stopped:
            reason = "stopped by order"
            self.report(flight, Outcome(Status.CAPPED, SHORTEST, SHORTEST, reason=reason, backend="process"))

    def look_at_leases(self) -> None:
        """Who has not been heard of, or keeps a run for too long? Not at every word that comes: there may be many."""
        now = time.monotonic()
        if now < self._look_at:
            return
        self._look_at = now + self._silence * LOOK
        for worker in self._crew:
            if not worker.silent and now - worker.heard > self._silence:
                self._crew.give_up(worker)
                self.lose_all(worker, f"the worker {worker.address} was not heard of for {now - worker.heard:.0f} s")
        for flight in list(self.under_way.values()):
            if flight.worker is not None and now > flight.deadline:
                self._link.order(flight.worker.address, flight.key, None)
                self.lose(flight, self.lost(flight, f"the worker {flight.worker.address} did not answer in time"))

    def lose_all(self, worker: Worker, reason: str) -> None:
        """Whatever is at that worker."""
        for key in list(worker.taken):
            if (flight := self.of(key)) is not None:
                self.lose(flight, self.lost(flight, reason))

    def lose(self, flight: Flight, outcome: Outcome) -> None:
        """This attempt failed: make another, or give up."""
        flight.lost += 1
        if flight.lost >= ATTEMPTS or flight.cancelled or flight.stopped:
            self.report(flight, outcome)
        else:
            self.again(flight)

    def again(self, flight: Flight) -> None:
        """Another attempt, when a seat is free."""
        self._leave_seat(flight)
        self.waiting.append(flight)

    def _leave_seat(self, flight: Flight) -> None:
        """What its task still does is no longer of interest; the seat is free when its worker says so."""
        if flight.future is not None:
            self._link.drop([flight.future])
        flight.worker, flight.future, flight.deadline = None, None, math.inf

    def lost(self, flight: Flight, reason: str) -> Outcome:
        """What an attempt amounts to that nobody will hear of."""
        host = None if flight.worker is None else flight.worker.host
        return Outcome(Status.LOST, 0.0, flight.request.cutoff, reason=reason, backend="process", host=host)

    def report(self, flight: Flight, outcome: Outcome) -> None:
        self._leave_seat(flight)
        if flight in self.waiting:
            self.waiting.remove(flight)
        del self.under_way[flight.ticket]
        if flight.cancelled and outcome.status is not Status.LOST:  # it was over before it could be stopped
            outcome = dataclasses.replace(outcome, status=Status.LOST, reason="stopped by us")
        if flight.stopped and not flight.cancelled and outcome.status is Status.LOST:  # nobody waits for it any more
            used = max(SHORTEST, outcome.time)
            outcome = dataclasses.replace(outcome, status=Status.CAPPED, time=used, cutoff=used)
        self.ready.append((flight.ticket, outcome))
