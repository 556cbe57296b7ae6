"""Whose fault is it? Runs that fail on one host only are that host's fault, and made again on another one."""

from __future__ import annotations

from capra.engines.crew import Crew, Worker
from capra.engines.flights import Flight, Flights
from capra.engines.hosts import look_of
from capra.engines.link import Link
from capra.runs import Outcome, Status

__all__ = ["Verdicts"]


class Verdicts:
    """Decides about each answer of a worker: report it, or make the run again elsewhere? Is the host to be avoided?"""

    def __init__(self, flights: Flights, crew: Crew, link: Link) -> None:
        self._flights = flights
        self._crew = crew
        self._link = link

    def judge(self, flight: Flight, worker: Worker, outcome: Outcome) -> None:
        """A worker said what came of the present attempt."""
        if flight.cancelled or outcome.aborts:
            self._flights.report(flight, outcome)
        elif outcome.status is Status.LOST:
            self._failed_there(flight, worker.host, outcome)
        elif outcome.status is Status.CRASHED:
            self._crashed(flight, worker.host, outcome)
        else:
            if outcome.status is Status.SUCCESS:
                self._crew.hosts.succeeded(worker.host)
                self._refute(flight, worker.host)
            self._flights.report(flight, outcome)

    def _failed_there(self, flight: Flight, host: str, outcome: Outcome) -> None:
        """It could not be run there: says nothing about the configuration, but something about the host."""
        flight.avoid.add(host)
        self._flights.lose(flight, outcome)
        self._blame(host, outcome.reason or "")

    def _crashed(self, flight: Flight, host: str, outcome: Outcome) -> None:
        """New crashes are made again on another host, and only then reported."""
        hosts, before = self._crew.hosts, flight.doubt
        doubtful = hosts.crashed(host, outcome)
        if before is None and doubtful and not flight.stopped and self._crew.has_others(host):
            flight.doubt = outcome
            flight.avoid.add(host)
            self._flights.again(flight)
            return
        if before is not None and before.host != host:
            if look_of(before) == look_of(outcome):
                hosts.confirmed(outcome)
            else:
                self._refute(flight, host)
        self._flights.report(flight, outcome)

    def _refute(self, flight: Flight, host: str) -> None:
        """What crashed on another host did something else on this one."""
        if flight.doubt is not None and flight.doubt.host not in (None, host):
            self._blame(str(flight.doubt.host), flight.doubt.reason or "")

    def _blame(self, host: str, reason: str) -> None:
        if not self._crew.blame(host, reason):
            return
        for flight in list(self._flights.under_way.values()):
            if flight.worker is not None and flight.worker.host == host:
                self._link.order(flight.worker.address, flight.key, None)
                self._flights.again(flight)
