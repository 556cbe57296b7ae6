"""What every engine promises (``capra.engines.Engine``), as tests.

A test module subclasses ``EngineConformance`` and gives the fixture ``make``: a function from a number of workers to an
engine whose target needs ``config["seconds"]`` of the unit, then succeeds, under a κ_max of ``KAPPA``. The suite never looks
at a clock: what it asserts holds on a loaded machine and on a virtual clock.

``LossConformance`` is for engines whose runs are in processes that may die or stall. What arrives twice is refused by the
store, whatever the engine (``tests/runs/test_store.py``); where answers travel, also by the engine (``test_dask.py``).
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable

import pytest

from capra.engines import Engine, Ticket
from capra.errors import InputError
from capra.runs import Configuration, Outcome, RunRequest, Status

KAPPA = 30.0
SHORT = 0.02
LONG = 25.0
"""Long enough to be interrupted; never waited for."""
PATIENCE = 100.0

STALL = 4.0
"""Seconds; longer than the silence that the tests' Dask engines bear."""

Make = Callable[[int], Engine]
Strike = Callable[[Ticket, signal.Signals], None]


def request(seconds: float, cutoff: float = KAPPA, seed: int = 1) -> RunRequest:
    return RunRequest(Configuration({"seconds": seconds}), None, seed, cutoff)


def finish(engine: Engine, *tickets: Ticket) -> list[Outcome]:
    """The outcomes of these tickets, in their order; fails if any other ticket turns up, or one of them twice."""
    found: dict[Ticket, Outcome] = {}
    while set(found) != set(tickets):
        news = engine.wait(PATIENCE)
        assert news, "waited in vain"
        for ticket, outcome in news:
            assert ticket in tickets
            assert ticket not in found
            found[ticket] = outcome
    return [found[ticket] for ticket in tickets]


class EngineConformance:
    """Inherit, and give the fixture ``make``."""

    def test_workers_are_counted(self, make: Make) -> None:
        engine = make(2)
        assert engine.free == 2
        first, second = engine.submit(request(SHORT)), engine.submit(request(SHORT))
        assert (engine.free, first != second) == (0, True)
        with pytest.raises(InputError, match="free"):
            engine.submit(request(SHORT))
        finish(engine, first, second)
        assert engine.free == 2

    def test_there_must_be_a_worker(self, make: Make) -> None:
        with pytest.raises(InputError, match="worker"):
            make(0)

    def test_nothing_under_way(self, make: Make) -> None:
        engine = make(1)
        assert engine.wait() == []
        assert engine.wait(0.0) == []

    def test_each_outcome_exactly_once(self, make: Make) -> None:
        engine = make(2)
        waiting = [request(SHORT * (1 + i % 3), seed=i) for i in range(12)]
        asked: dict[Ticket, RunRequest] = {}
        seen: list[Ticket] = []
        while waiting or len(seen) < len(asked):
            while waiting and engine.free:
                now = waiting.pop()
                asked[engine.submit(now)] = now
            for ticket, outcome in engine.wait(PATIENCE):
                seen.append(ticket)
                assert outcome.status is Status.SUCCESS
                assert asked[ticket].config["seconds"] <= outcome.time < KAPPA
        assert sorted(seen) == sorted(asked)
        assert len(asked) == 12
        assert engine.wait() == []

    def test_a_long_run_does_not_hold_up_a_short_one(self, make: Make) -> None:
        engine = make(2)
        long = engine.submit(request(LONG))
        for _ in range(3):
            [outcome] = finish(engine, engine.submit(request(SHORT)))
            assert outcome.status is Status.SUCCESS
        engine.cancel(long)
        finish(engine, long)

    def test_cut_at_its_cutoff(self, make: Make) -> None:
        engine = make(1)
        [outcome] = finish(engine, engine.submit(request(LONG, cutoff=0.1)))
        assert (outcome.status, outcome.time, outcome.cutoff) == (Status.CAPPED, 0.1, 0.1)

    def test_tighten(self, make: Make) -> None:
        engine = make(1)
        ticket = engine.submit(request(LONG))
        engine.tighten(ticket, 0.2)
        engine.tighten(ticket, 5.0)  # only ever smaller
        [outcome] = finish(engine, ticket)
        assert (outcome.status, outcome.time, outcome.cutoff) == (Status.CAPPED, 0.2, 0.2)

    def test_tighten_to_more_than_there_is(self, make: Make) -> None:
        engine = make(1)
        ticket = engine.submit(request(LONG, cutoff=0.1))
        engine.tighten(ticket, 20.0)
        [outcome] = finish(engine, ticket)
        assert (outcome.status, outcome.cutoff) == (Status.CAPPED, 0.1)

    def test_tighten_to_nothing_stops_it(self, make: Make) -> None:
        engine = make(1)
        for cutoff in (0.0, -1.0):
            ticket = engine.submit(request(LONG))
            engine.tighten(ticket, cutoff)
            [outcome] = finish(engine, ticket)
            assert outcome.status is Status.CAPPED
            assert 0.0 < outcome.time == outcome.cutoff < KAPPA

    def test_cancel(self, make: Make) -> None:
        engine = make(2)
        one, two = engine.submit(request(LONG)), engine.submit(request(SHORT))
        engine.cancel(one)
        engine.cancel(one)
        lost, done = finish(engine, one, two)
        assert (lost.status, done.status) == (Status.LOST, Status.SUCCESS)
        assert engine.free == 2

    def test_commands_on_finished_runs_do_nothing(self, make: Make) -> None:
        engine = make(1)
        over = engine.submit(request(SHORT))
        finish(engine, over)
        under_way = engine.submit(request(5 * SHORT))
        engine.tighten(over, 0.001)
        engine.tighten(over, 0.0)
        engine.cancel(over)
        [outcome] = finish(engine, under_way)
        assert outcome.status is Status.SUCCESS
        engine.cancel(Ticket(10**6))
        engine.tighten(Ticket(10**6), 1.0)
        assert engine.wait() == []

    def test_close_twice(self, make: Make) -> None:
        engine = make(2)
        engine.submit(request(LONG))
        engine.close()
        engine.close()
        assert engine.wait() == []


class LossConformance:
    """Inherit, and give ``make`` (two workers) and ``strike``: it sends a signal to the process that has a ticket's run, once
    that is under way; the same process again if it is to go on.
    """

    def test_a_run_whose_process_is_killed_is_made_again(self, make: Make, strike: Strike) -> None:
        engine = make(2)
        ticket = engine.submit(request(0.5))
        strike(ticket, signal.SIGKILL)
        [outcome] = finish(engine, ticket)
        assert outcome.status is Status.SUCCESS
        assert 0.5 <= outcome.time < KAPPA
        assert engine.wait() == []

    def test_a_run_whose_process_stalls_comes_back_once(self, make: Make, strike: Strike) -> None:
        """Waited for or given up; and what the process says when it goes on is no second outcome."""
        engine = make(2)
        ticket = engine.submit(request(2.0))
        strike(ticket, signal.SIGSTOP)
        end, found = time.monotonic() + STALL, []
        while time.monotonic() < end:
            found += engine.wait(0.1)
        strike(ticket, signal.SIGCONT)
        outcomes = finish(engine, ticket) if not found else [outcome for _, outcome in found]
        assert [outcome.status for outcome in outcomes] == [Status.SUCCESS]
        [other] = finish(engine, engine.submit(request(SHORT)))
        assert other.status is Status.SUCCESS
        assert engine.wait() == []
