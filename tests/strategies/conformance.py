"""What every strategy must do, whatever it is: drive it by hand on a synthetic target and look at what it asks for."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from typing import Any

from capra.engines import SimulatedEngine, Ticket
from capra.runs import Configuration, Outcome, Run, RunRequest, Status
from capra.scenario import Scenario
from capra.space import Categorical, Integer, Ordinal, Real, Space, equals, is_in
from capra.space.expressions import And, Compare, Literal, Name
from capra.strategies import GUARANTEED, Context, Strategy, make_strategy

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


def rich_space() -> Space:
    """All types, a constant, conditions on two levels, and forbidden combinations that are common."""
    return Space(
        [
            Categorical("algorithm", ("a", "b", "c"), "a"),
            Categorical("fixed", ("always",), "always"),
            Categorical("restarts", ("no", "luby", "geometric"), "luby"),
            Real("x", 0.01, 1.0, 0.9, log=True),
            Ordinal("effort", ("low", "middle", "high"), "low"),
            Integer("n", 1, 64, 8, log=True),
            Real("factor", 1.0, 2.0, 1.5),
        ],
        {
            "restarts": is_in("algorithm", ["a", "b"]),
            "n": is_in("restarts", ["luby", "geometric"]),
            "factor": equals("restarts", "geometric"),
        },
        [
            And((is_in("algorithm", ["a"]), is_in("effort", ["high"]))),
            Compare("<", Name("x"), Literal(0.05)),
        ],
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


def median_time(config: Configuration) -> float:
    slow = {"a": 1.0, "b": 2.0, "c": 0.7}[str(config["algorithm"])]
    return slow * math.exp(4.0 * (float(config["x"]) - 0.2) ** 2)


def lognormal(request: RunRequest) -> Outcome:
    """Heavy-tailed times that depend on x and the algorithm; the same request always takes the same time."""
    rng = random.Random(f"{request.config.id}{request.instance}{request.seed}")
    time = median_time(request.config) * math.exp(1.2 * rng.gauss(0.0, 1.0))
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
    tickets: dict[Ticket, tuple[RunRequest, str]] = {}
    by_cell: dict[tuple[str, str | None, int], Ticket] = {}
    runs: list[Run] = []
    while True:
        if strategy.history.spent < budget:
            for request in strategy.ask(engine.free):
                assert 0.0 < request.cutoff <= KAPPA
                assert request.cell not in by_cell, "asked twice for one cell"
                by_cell[request.cell] = ticket = engine.submit(request)
                tickets[ticket] = (request, strategy.why(request))
        done = engine.wait()
        if not done:
            return runs, engine
        for ticket, outcome in done:
            request, why = tickets.pop(ticket)
            del by_cell[request.cell]
            runs.append(Run(request, outcome, why, already + len(runs) + 1))
            strategy.tell(runs[-1])
            check_incumbent(strategy)
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


LIGHT: dict[str, dict[str, object]] = {
    "smac": {"candidates": 300, "refit": 40},
    **{name: {"kappa0": 5.0} for name in GUARANTEED},
    "leaps": {"kappa0": 0.4},  # its first guess of the best mean; a large one is tried on everybody, one after another
}
"""Options that keep a strategy's own work small, and the number of its runs."""


def make(
    name: str,
    given: Scenario | None = None,
    seed: int = 0,
    decisions: Decisions | None = None,
    clock: Callable[[], float] = lambda: 0.0,
    **options: object,
) -> Strategy:
    decisions = decisions or Decisions()
    chosen = LIGHT.get(name, {}) | options
    strategy = make_strategy(
        name, Context(given or scenario(), seed, decisions.recall, decisions.record, clock, options=dict(chosen))
    )
    decisions.runs = lambda: len(strategy.history)
    return strategy


def sequence(runs: list[Run]) -> list[tuple[object, ...]]:
    return [(run.request.cell, run.request.cutoff, run.outcome.status, run.asked_by) for run in runs]
