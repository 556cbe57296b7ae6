"""Tuning the time to accuracy: among the recorded configurations, on their surrogate, or with real training.

Every search has ``BUDGET`` nominal seconds of training and may stop a run at 1.3 times the best one so far. It starts with the
default. Searches of the whole space then try a Latin hypercube of ten, as ``capra.minimize`` does. What it costs is that of the
configuration found: its recorded time, its time on the surrogate, or its mean over trainings with fresh seeds.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from benchmarks.accuracy.data import load
from benchmarks.accuracy.record import CUTOFF, FOLDER, SPACE, SPEED, recorded, table
from benchmarks.accuracy.trainer import Recipe, train
from benchmarks.kept import add_line, read_lines
from capra import Minimizer
from capra.runs import Configuration, RunRequest, Status, Value
from capra.targets import SurrogateTarget, Table
from capra.tune import tune

BUDGET = 20.0 * CUTOFF
"""The paper's 24 hours are 864 cutoffs."""
SLACK = 1.3
METHODS: dict[str, dict[str, str]] = {
    "random": {},
    "RF+S&H": {"model": "forest-mean", "acquisition": "ei"},
    "NN+TS+Tobit": {"model": "network", "acquisition": "thompson"},
    "forest": {"model": "forest"},
    "ensemble": {"model": "ensemble"},
    "gp": {"model": "gp"},
}
"""The paper's three, then the others that Capra has, each with its usual acquisition function."""
RUNS = FOLDER / "runs.jsonl"
FRESH = range(1000, 1010)
"""Seeds of the trainings that judge a configuration which was found by training."""
ALWAYS = 1e9
"""A share of the target's time that never makes a model wait: our seconds are not the nominal ones."""
Function = Callable[[dict[str, Value], float], float | None]


class Problem(NamedTuple):
    """Times to accuracy over the whole space: what a search calls, and what a configuration really costs."""

    call: Function
    judge: Callable[[dict[str, Value]], float]


# --- the problems ---


def seconds_to(config: dict[str, Value], name: str, seed: int, target: float, cutoff: float) -> float | None:
    """Nominal seconds of training until the target accuracy; None if the cutoff comes first or training diverges."""
    points = train(Recipe(**config), load(name), seed, cutoff * SPEED)
    return next((point.work / SPEED for point in points if point.accuracy >= target), None)


@cache
def pool(name: str) -> Table:
    """The recorded times of one data set."""
    return table([name])


@cache
def surrogate(name: str) -> Problem:
    """A forest fitted to the recorded times."""
    known = pool(name)
    model = SurrogateTarget.of_table(known, SPACE, known.configs)

    def call(config: dict[str, Value], cutoff: float) -> float | None:
        outcome = model.run(RunRequest(Configuration(config), name, 0, cutoff))
        return outcome.time if outcome.status is Status.SUCCESS else None

    return Problem(call, lambda config: float(model.costs(config, [name], penalty=1.0)[0]))


def live(name: str, seed: int) -> Problem:
    """Real training; a search sees one seed, the configuration found is judged by others."""
    target = recorded(name).target()

    def judge(config: dict[str, Value]) -> float:
        return float(np.mean([seconds_to(config, name, fresh, target, CUTOFF) or CUTOFF for fresh in FRESH]))

    return Problem(lambda config, cutoff: seconds_to(config, name, seed, target, cutoff), judge)


# --- the searches ---


def by_model(call: Function, seed: int, **options: Any) -> tuple[dict[str, Value], int]:
    """The configuration that ``Minimizer`` finds and the number of runs; the default if nothing reached the target."""
    search = Minimizer(SPACE, budget=BUDGET, slack=SLACK, cutoff=CUTOFF, seed=seed, **options)
    while (question := search.ask()) is not None:
        search.tell(question[0], call(*question))
    best = search.best
    return best.config if best else dict(SPACE.default), len(search.observations)


def by_chance(call: Function, seed: int) -> tuple[dict[str, Value], int]:
    """The default, then uniform configurations, each stopped at the best so far: nobody learns from a longer run."""
    rng = np.random.default_rng(seed)
    found, best, spent, runs = dict(SPACE.default), CUTOFF, 0.0, 0
    config = found
    while spent < BUDGET:
        cutoff = min(best, BUDGET - spent)
        cost = call(config, cutoff)
        spent, runs = spent + (cutoff if cost is None else cost), runs + 1
        if cost is not None and cost < best:
            found, best = config, cost
        config = dict(SPACE.decode(SPACE.sample(1, rng))[0])
    return found, runs


def in_pool(name: str, method: str, seed: int) -> tuple[float, int]:
    """``capra.tune`` among the recorded configurations: the recorded time of what it finds."""
    known = pool(name)
    scenario = known.scenario(budget={"cpu": BUDGET})
    options: dict[str, Any] = (
        {"slack": 1.0} if method == "random" else METHODS[method] | {"fit_share": ALWAYS, "slack": SLACK}
    )
    strategy = "roar" if method == "random" else "smac"
    result = tune(scenario, strategy, engine="simulated", seed=seed, overhead="ignore", **options)
    row = known.configs.index(SPACE.configuration(result.incumbent))
    return float(known.times[row, 0]), len(result.history)


def one(on: str, name: str, method: str, seed: int) -> tuple[float, int]:
    """Cost of the configuration that a search finds, and the runs that it made."""
    if on == "pool":
        return in_pool(name, method, seed)
    problem = surrogate(name) if on == "surrogate" else live(name, seed)
    search = by_chance if method == "random" else by_model
    config, runs = search(problem.call, seed, **METHODS[method])
    return problem.judge(config), runs


def default_cost(on: str, name: str) -> float:
    """What the default costs, measured in the same way."""
    if on == "pool":
        return float(pool(name).times[0, 0])
    problem = surrogate(name) if on == "surrogate" else live(name, 0)
    return problem.judge(dict(SPACE.default))


# --- keeping what is finished ---


def finished() -> list[dict[str, Any]]:
    return read_lines(RUNS)


def wanted(on: list[str], names: list[str], methods: list[str], seeds: int) -> Iterator[tuple[str, str, str, int]]:
    """Searches that are not finished yet, seed by seed, so that an early end leaves as many of each."""
    known = {(row["on"], row["data"], row["method"], row["seed"]) for row in finished()}
    asked = ((o, n, m, s) for o in on for s in range(seeds) for n in names for m in methods)
    return (key for key in asked if key not in known)


def run(on: list[str], names: list[str], methods: list[str], seeds: int, deadline: float = math.inf) -> None:
    """Make the missing searches, each kept as soon as it is finished."""
    for key in list(wanted(on, names, methods, seeds)):
        if time.monotonic() > deadline:
            return
        began = time.process_time()
        cost, runs = one(*key)
        row = dict(zip(("on", "data", "method", "seed"), key, strict=True))
        add_line(RUNS, row | {"cost": round(cost, 4), "runs": runs, "cpu_s": round(time.process_time() - began, 2)})
