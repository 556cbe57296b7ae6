"""The simulated engine keeps the promises of every engine, on its virtual clock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from capra.engines import Engine, SimulatedEngine, simulated_target
from capra.formats.instances import Instance
from capra.runs import Outcome, RunRequest, Status
from capra.scenario import Scenario
from capra.space import Real, Space
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


def answered(value: Any, **options: Any) -> Outcome:
    """What a run with a cutoff of 5 amounts to whose function gives this value."""
    given = {"space": Space([Real("x", 0.0, 1.0, 0.5)]), "cutoff": 10.0, "instances": [Instance("i", "SAT")]}
    scenario = Scenario(target=lambda *_: value, **given | options)
    return simulated_target(scenario)(RunRequest(scenario.default, "i", 1, 5.0))


@pytest.mark.parametrize(
    ("value", "options", "status", "time"),
    [
        (3.0, {}, Status.SUCCESS, 3.0),
        (7.0, {}, Status.CAPPED, 5.0),
        (70.0, {"cutoff": 5.0}, Status.TIMEOUT, 5.0),
        ({"status": "TIMEOUT"}, {}, Status.CAPPED, 5.0),
        (None, {}, Status.CRASHED, 0.0),
        (None, {"unit": "steps"}, Status.CRASHED, 0.0),
        (None, {"objective": "quality"}, Status.CRASHED, 0.0),
        (0.5, {"objective": "quality"}, Status.SUCCESS, 0.0),
        ({"status": "MEMOUT", "time": 2.0}, {}, Status.MEMOUT, 2.0),
        ({"status": "ABORT"}, {}, Status.LOST, 0.0),
        ({"time": 1.0, "answer": "UNSAT"}, {"verifier": "answers"}, Status.WRONG, 1.0),
        ({"time": 1.0, "answer": "SAT"}, {"verifier": "answers"}, Status.SUCCESS, 1.0),
        ({"tiem": 1.0}, {}, Status.CRASHED, 0.0),
    ],
)
def test_values_mean_what_they_mean_elsewhere(value: Any, options: dict[str, Any], status: Status, time: float) -> None:
    outcome = answered(value, **options)
    assert (outcome.status, outcome.time, outcome.cutoff) == (status, time, 5.0)
