"""The simulated engine keeps the promises of every engine, on its virtual clock."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from capra.engines import Engine, SimulatedEngine
from capra.runs import Outcome, RunRequest, Status
from tests.engines.conformance import KAPPA, LONG, SHORT, EngineConformance, finish, request


def work(wanted: RunRequest) -> Outcome:
    """A target that needs ``seconds`` and then succeeds."""
    seconds = float(wanted.config["seconds"])
    if seconds <= wanted.cutoff:
        return Outcome(Status.SUCCESS, seconds, wanted.cutoff)
    status = Status.CAPPED if wanted.cutoff < KAPPA else Status.TIMEOUT
    return Outcome(status, wanted.cutoff, wanted.cutoff)


class TestConformance(EngineConformance):
    @pytest.fixture
    def make(self) -> Callable[[int], Engine]:
        return lambda workers: SimulatedEngine(work, workers)


def test_the_clock_is_virtual() -> None:
    engine = SimulatedEngine(work, 2)
    long, short = engine.submit(request(LONG)), engine.submit(request(SHORT))
    finish(engine, short, long)
    assert engine.clock == LONG
    assert engine.busy == LONG + SHORT
