"""What every strategy must do, whatever it is: drive it by hand on a synthetic target and look at what it asks for."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from capra.engines import SimulatedEngine
from capra.runs import Outcome, Run, RunRequest, Status
from capra.scenario import Scenario
from capra.space import Categorical, Integer, Real, Space, is_in
from capra.strategies import Context, Strategy, make_strategy

KAPPA = 100.0


def space() -> Space:
    """Every kind of parameter, one of them conditional."""
    return Space(
        [
            Categorical("algorithm", ("a", "b", "c"), "a"),
            Real("x", 0.0, 1.0, 0.9),
            Integer("n", 1, 64, 8, log=True),
        ],
        {"n": is_in("algorithm", ["a", "b"])},
    )


def scenario(**options: object) -> Scenario:
    """Twelve instances, κ_max = 100 steps."""
    given: dict[str, object] = {
        "target": "some:function",
        "space": space(),
        "instances": [f"i{k}" for k in range(12)],
        "cutoff": KAPPA,
        "unit": "steps",
        "budget": {"cpu": 20_000},
    }
    return Scenario(**(given | options))


def lognormal(request: RunRequest) -> Outcome:
    """Heavy-tailed times that depend on x and the algorithm; the same request always takes the same time."""
    key = [ord(char) for char in f"{request.config.id}{request.instance}{request.seed}"]
    rng = np.random.default_rng(key)
    slow = {"a": 1.0, "b": 2.0, "c": 0.7}[str(request.config["algorithm"])]
    time = float(slow * math.exp(4.0 * (float(request.config["x"]) - 0.2) ** 2 + 1.2 * rng.normal()))
    if time <= request.cutoff and time < KAPPA:
        return Outcome(Status.SUCCESS, time, request.cutoff)
    return Outcome(Status.CAPPED if request.cutoff < KAPPA else Status.TIMEOUT, request.cutoff, request.cutoff)


def drive(
    strategy: Strategy,
    budget: float,
    workers: int = 1,
    target: Callable[[RunRequest], Outcome] = lognormal,
    already: int = 0,
) -> tuple[list[Run], SimulatedEngine]:
    """Ask, run, tell until the target time is used up; checks on the way what every strategy must keep."""
    engine = SimulatedEngine(target, workers)
    tickets: dict[int, tuple[RunRequest, str]] = {}
    runs: list[Run] = []
    while True:
        if strategy.history.spent < budget:
            for request in strategy.ask(engine.free):
                assert 0.0 < request.cutoff <= KAPPA
                assert request.cell not in {other.cell for other, _ in tickets.values()}, "asked twice for one cell"
                tickets[engine.submit(request)] = (request, strategy.why(request))
        done = engine.wait()
        if not done:
            return runs, engine
        for ticket, outcome in done:
            request, why = tickets.pop(ticket)
            runs.append(Run(request, outcome, why, already + len(runs) + 1))
            strategy.tell(runs[-1])
            check_incumbent(strategy)
        by_cell = {request.cell: ticket for ticket, (request, _) in tickets.items()}
        for request, cutoff in strategy.tighten():
            assert cutoff < request.cutoff
            engine.tighten(by_cell[request.cell], cutoff)
        assert not strategy.tighten(), "the same bound twice"


def check_incumbent(strategy: Strategy) -> None:
    if strategy.incumbent is not None:
        record = strategy.history.record(strategy.incumbent)
        assert record.costs, "an incumbent without complete runs"
        assert not record.wrong, "a refuted incumbent"


class Decisions:
    """What a store would keep of a strategy's decisions, and after how many runs it was told."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], tuple[int, str]] = {}
        self.runs: Callable[[], int] = lambda: 0

    def record(self, kind: str, key: str, data: Any) -> None:
        self.kept.setdefault((kind, key), (self.runs(), json.dumps(data)))

    def recall(self, kind: str, key: str) -> Any:
        return json.loads(self.kept[kind, key][1]) if (kind, key) in self.kept else None

    def until(self, runs: int) -> Decisions:
        """As the store was when it held so many runs."""
        earlier = Decisions()
        earlier.kept = {key: (when, data) for key, (when, data) in self.kept.items() if when < runs}
        return earlier


LIGHT: dict[str, dict[str, object]] = {"smac": {"candidates": 300, "refit": 40}}
"""Options that keep a strategy's own work small."""


def make(
    name: str, given: Scenario | None = None, seed: int = 0, decisions: Decisions | None = None, **options: object
) -> Strategy:
    decisions = decisions or Decisions()
    chosen = LIGHT.get(name, {}) | options
    strategy = make_strategy(
        name, Context(given or scenario(), seed, decisions.recall, decisions.record, options=dict(chosen))
    )
    decisions.runs = lambda: len(strategy.history)
    return strategy


def sequence(runs: list[Run]) -> list[tuple[object, ...]]:
    return [(run.request.cell, run.request.cutoff, run.outcome.status, run.asked_by) for run in runs]
