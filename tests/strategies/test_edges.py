"""Where racing comes to an edge: everything known, nobody finishes, crashes that cost infinitely much; and resumed there."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import capra
from capra.errors import ScenarioError, TargetError
from capra.runs import Configuration, Outcome, Run, RunRequest, Status
from capra.scenario import Scenario
from capra.space import Categorical, Real, Space
from capra.strategies import make_strategy
from capra.strategies.base import Context

Target = Callable[[dict[str, Any], str | None, int, float], Any]


def noise(*key: object) -> float:
    return random.Random(str(key)).gauss(0.0, 1.0)


def scenario(target: Target, space: Space, **options: Any) -> Scenario:
    given = {"instances": ["a", "b", "c"], "cutoff": 100.0, "unit": "steps", "budget": {"runs": 60}}
    return Scenario(
        target=target, space=space, **{key: value for key, value in (given | options).items() if value is not None}
    )


def tuned(given: Scenario, strategy: str = "roar", **options: Any) -> capra.Result:
    return capra.tune(given, strategy, engine="simulated", overhead="ignore", **options)


LINE = Space([Real("x", 0.0, 1.0, 0.9)])


# --- small spaces ---


def four_by_four() -> Space:
    words = tuple("0123")
    return Space([Categorical("a", words, "3"), Categorical("b", words, "3")])


def by_digits(config: dict[str, Any], instance: str | None, seed: int, cutoff: float) -> float:
    return (1.0 + int(config["a"]) + 4 * int(config["b"])) * math.exp(0.8 * noise(config, instance, seed))


@pytest.mark.parametrize("strategy", ["roar", "smac"])
def test_when_all_of_a_small_space_was_tried_it_is_raced_again(strategy: str) -> None:
    options = {"refit": 40, "candidates": 100} if strategy == "smac" else {}
    given = scenario(by_digits, four_by_four(), budget={"cpu": 1500})
    result = tuned(given, strategy, **options)
    assert result.spent >= 1400.0  # it used to end after a few percent, with whoever had been lucky
    assert len(result.history.configurations) == 16
    assert result.incumbent["b"] == "0"


def test_a_deterministic_small_space_still_ends() -> None:
    """When everything is known of everybody there is nothing left to run."""
    given = scenario(lambda c, *_: 1.0 + int(c["a"]), four_by_four(), deterministic=True, budget={"runs": 10_000})
    result = tuned(given)
    assert len(result.history) <= 16 * 3
    assert result.incumbent["a"] == "0"


# --- stopped and resumed ---


def hopeless_default(config: dict[str, Any], instance: str | None, seed: int, cutoff: float) -> float:
    x = config["x"]
    return 2000.0 * random.Random(str(x)).random() ** 3 * math.exp(noise(x, instance, seed)) if x != 0.9 else 1e9


def two_words(config: dict[str, Any], instance: str | None, seed: int, cutoff: float) -> float:
    return {"0": 40.0, "1": 4.0}[config["x"]] * math.exp(0.5 * noise(config, instance, seed))


def put_off() -> Scenario:
    return scenario(hopeless_default, LINE)


def pool_of_two() -> Scenario:
    return scenario(
        two_words, Space([Categorical("x", ("0", "1"), "0")]), configurations=[{"x": "0"}, {"x": "1"}], instances=["a", "b"]
    )


def small() -> Scenario:
    return scenario(by_digits, four_by_four())


@pytest.mark.parametrize("given", [put_off, pool_of_two, small])
@pytest.mark.parametrize("seed", range(4))
def test_resumed_where_challengers_lost_without_a_run(given: Callable[[], Scenario], seed: int, tmp_path: Path) -> None:
    def sequence(result: capra.Result) -> list[Any]:
        return [(run.request.cell, run.request.cutoff, run.outcome.status, run.asked_by) for run in result.history]

    whole = sequence(tuned(given(), seed=seed))
    for after in (5, 20, 35, 50):
        out = tmp_path / str(after)
        tuned(given(), seed=seed, out=out, watch=lambda t, after=after: t.stop() if len(t.history) >= after else None)
        assert sequence(capra.resume(out, given())) == whole


# --- crashes ---


@pytest.mark.parametrize("strategy", ["roar", "ils", "gga"])
def test_an_instance_on_which_everybody_crashes_hides_nothing(strategy: str) -> None:
    """Without a crash_cost it costs everybody infinitely much."""

    def target(config: dict[str, Any], instance: str | None, seed: int, cutoff: float) -> Any:
        if instance == "b":
            return {"status": "CRASHED", "time": 1.0}
        return {"quality": 100.0 * abs(config["x"] - 0.2) + noise(config, instance, seed), "time": 1.0}

    given = scenario(target, LINE, objective="quality", budget={"runs": 600})
    assert tuned(given, strategy, seed=3).incumbent["x"] == pytest.approx(0.2, abs=0.06)


@pytest.mark.parametrize("strategy", ["roar", "gga", "sp"])
@pytest.mark.parametrize("workers", [1, 4])
def test_only_a_default_that_crashes_ends_the_tuning(strategy: str, workers: int) -> None:
    def target(config: dict[str, Any], *_: Any) -> Any:
        return 5.0 if config["x"] == 0.9 else {"status": "CRASHED", "time": 0.1}

    assert len(tuned(scenario(target, LINE), strategy, workers=workers).history) == 60


def test_a_crash_of_the_default_is_forgotten_when_the_target_is_mended(tmp_path: Path) -> None:
    broken = [True]

    def target(config: dict[str, Any], *_: Any) -> Any:
        return {"status": "CRASHED", "time": 0.1} if broken else 5.0 + config["x"]

    given = scenario(target, LINE, deterministic=True)
    with pytest.raises(TargetError, match="the default configuration crashes"):
        tuned(given, out=tmp_path)
    broken.clear()
    assert capra.resume(tmp_path, given).default_cost == pytest.approx(5.9)


def test_the_pool_is_all_there_is() -> None:
    words = Space([Categorical("x", ("0", "1", "2"), "0")])
    with pytest.raises(ScenarioError, match="none of the configurations"):
        scenario(two_words, words, configurations=[{"x": "0"}, {"x": "1"}], initial=[{"x": "2"}])


# --- other edges ---


@pytest.mark.parametrize("strategy", ["ils", "roar", "smac", "gga", "irace"])
@pytest.mark.parametrize("objective", ["par10", "utility:step(60)"])
def test_an_incumbent_that_costs_nothing(strategy: str, objective: str) -> None:
    assert tuned(scenario(lambda *_: 0.0, LINE, objective=objective), strategy).cost == 0.0


def test_ils_on_a_space_of_one() -> None:
    result = tuned(scenario(lambda *_: 3.0, Space([Categorical("x", ("0",), "0")])), "ils")
    assert result.cost == 3.0


def test_runs_without_a_cutoff_go_side_by_side() -> None:
    """Of what they will take nothing is known: the budget does not make them wait for each other."""
    most = []
    given = scenario(lambda c, i, s, k: {"quality": c["x"], "time": 1.0 + s % 7}, LINE, objective="quality", cutoff=None)
    tuned(given, workers=8, watch=lambda tuning: most.append(len(tuning._leases)))
    assert sorted(most)[len(most) // 2] == 8


def test_nobody_races_while_a_run_of_it_is_being_stopped() -> None:
    """Its end would be taken for one of the new race."""
    pool = [{"x": word} for word in "012"]
    given = scenario(two_words, Space([Categorical("x", tuple("012"), "0")]), configurations=pool)
    race = make_strategy("roar", Context(given))
    first = race.ask(1)[0]
    race.tell(Run(first, Outcome(Status.SUCCESS, 5.0, first.cutoff), race.why(first), 1))
    asked = race.ask(3)
    stopped = next(request for request in asked if request.config != given.default)
    race._reject(stopped.config)
    assert [(request.cell, cutoff) for request, cutoff in race.tighten()] == [(stopped.cell, 0.0)]
    assert all(request.config != stopped.config for request in race.ask(3))


def test_a_refuted_configuration_that_was_being_looked_into_is_no_incumbent() -> None:
    """The incumbent is refuted, the best of the rest takes over while it is audited, and is refuted by that very run."""
    pool = [{"x": word} for word in "01"]
    given = scenario(two_words, Space([Categorical("x", tuple("01"), "0")]), configurations=pool, deterministic=True)
    race = make_strategy("roar", Context(given, options={"audit": 1.0}))
    one, count = Configuration({"x": "1"}), 0

    def tell(request: RunRequest, status: Status, time: float, why: str) -> None:
        nonlocal count
        count += 1
        race.tell(Run(request, Outcome(status, min(time, request.cutoff), request.cutoff), why, count))

    def next_run() -> tuple[RunRequest, str]:
        [request] = race.ask(1)
        return request, race.why(request)

    while not (asked := next_run())[1].startswith("audit"):
        time = 4.0 if asked[0].config == one else 6.0
        tell(asked[0], Status.SUCCESS if time <= asked[0].cutoff else Status.CAPPED, time, asked[1])
    tell(RunRequest(one, "a", 7, 100.0), Status.WRONG, 4.0, "incumbent")
    assert race.incumbent == asked[0].config
    tell(asked[0], Status.WRONG, 6.0, asked[1])
    assert race.incumbent is None
