"""The conformance suite, on every strategy of the package."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from capra.errors import InputError
from capra.runs import Configuration, Outcome, RunRequest, Status, Value
from capra.strategies import GUARANTEED, STRATEGIES
from capra.tune import Tuning, tune
from tests.strategies.conformance import (
    KAPPA,
    LIGHT,
    Decisions,
    drive,
    lognormal,
    make,
    median_time,
    rich_space,
    scenario,
    sequence,
)

CUTS = 60
"""Places at which a history is cut, about."""
pytestmark = pytest.mark.parametrize("name", STRATEGIES)


def test_the_same_seed_makes_the_same_choices(name: str) -> None:
    first, _ = drive(make(name), 800)
    second, _ = drive(make(name), 800)
    other, _ = drive(make(name, seed=1), 800)
    assert sequence(first) == sequence(second)
    assert sequence(first) != sequence(other)


@pytest.mark.parametrize("seed", [0, 3])
def test_replay_restores_the_strategy(name: str, seed: int) -> None:
    """Cut anywhere: a new strategy that is told the runs so far asks for the very next one."""
    decisions = Decisions()
    whole, _ = drive(make(name, seed=seed, decisions=decisions), 400)
    for cut in range(0, len(whole), max(1, len(whole) // CUTS)):
        resumed = make(name, seed=seed, decisions=decisions.until(cut))
        for run in whole[:cut]:
            resumed.tell(run)
        (request,) = resumed.ask(1)
        assert (request.cell, request.cutoff) == (whole[cut].request.cell, whole[cut].request.cutoff), cut
        assert resumed.why(request) == whole[cut].asked_by


@pytest.mark.parametrize("workers", [3, 20])
def test_replay_restores_what_many_workers_made(name: str, workers: int) -> None:
    decisions = Decisions()
    first = make(name, decisions=decisions)
    runs, _ = drive(first, 1500, workers)
    resumed = make(name, decisions=decisions)
    for run in runs:
        resumed.tell(run)
    assert resumed.incumbent == first.incumbent
    assert resumed.ask(1) == first.ask(1)


def test_a_resumed_strategy_goes_on_as_if_nothing_happened(name: str) -> None:
    decisions = Decisions()
    whole, _ = drive(make(name, decisions=decisions), 800)
    resumed = make(name, decisions=decisions.until(40))
    for run in whole[:40]:
        resumed.tell(run)
    rest, _ = drive(resumed, 800, already=40)
    assert sequence(whole[:40] + rest) == sequence(whole)


@pytest.mark.parametrize("workers", [1, 2, 7, 100])
def test_any_number_of_workers(name: str, workers: int) -> None:
    budget = 1000 + 20 * workers
    runs, _ = drive(make(name), budget, workers)
    assert sum(run.outcome.time for run in runs) >= budget
    assert sum(run.outcome.time for run in runs) <= budget + workers * KAPPA
    assert len({run.request.cell for run in runs if run.outcome.status is not Status.CAPPED}) == sum(
        run.outcome.status is not Status.CAPPED for run in runs
    )


def test_it_finds_something_better_than_the_default(name: str) -> None:
    strategy = make(name)
    drive(strategy, 3000)
    assert strategy.incumbent is not None
    assert median_time(strategy.incumbent) < 0.8 * median_time(scenario().default)


def test_a_wrong_configuration_is_never_incumbent(name: str) -> None:
    """Everything with x < 0.4 lies, and lies fast; ``drive`` checks the incumbent after every run."""

    def liar(request: RunRequest) -> Outcome:
        if float(request.config["x"]) < 0.4:
            return Outcome(Status.WRONG, 0.001, request.cutoff)
        return lognormal(request)

    strategy = make(name)
    runs, _ = drive(strategy, 1500, 2, liar)
    assert any(run.outcome.status is Status.WRONG for run in runs)
    assert strategy.incumbent is not None
    assert float(strategy.incumbent["x"]) >= 0.4


def test_a_wrong_default_loses_the_throne(name: str) -> None:
    default = scenario().default

    def later_wrong(request: RunRequest) -> Outcome:
        if request.config == default and request.instance in ("i3", "i4"):
            return Outcome(Status.WRONG, 0.5, request.cutoff)
        return lognormal(request)

    strategy = make(name)
    drive(strategy, 1500, 2, later_wrong)
    assert strategy.incumbent not in (None, default)


def test_crashes_cost_and_do_not_stop(name: str) -> None:
    def crashing(request: RunRequest) -> Outcome:
        if request.config["algorithm"] == "c":
            return Outcome(Status.CRASHED, 0.01, request.cutoff)
        return lognormal(request)

    strategy = make(name)
    drive(strategy, 1500, 2, crashing)
    assert strategy.incumbent is not None
    assert strategy.incumbent["algorithm"] != "c"


def test_lost_runs_are_asked_for_again(name: str) -> None:
    """One run in four is lost; what is lost is never held against a configuration."""
    seen: dict[object, int] = {}

    def flaky(request: RunRequest) -> Outcome:
        seen[request.cell] = seen.get(request.cell, 0) + 1
        if seen[request.cell] == 1 and hash(request.cell[0]) % 4 == 0:
            return Outcome(Status.LOST, 0.0, request.cutoff)
        return lognormal(request)

    strategy = make(name)
    drive(strategy, 1500, 3, flaky)
    check = strategy.history.record(strategy.incumbent) if strategy.incumbent else None
    assert check is not None
    assert check.costs


def test_a_pool_is_all_it_tries(name: str) -> None:
    space = scenario().space
    pool = [{"algorithm": a, "x": x, **({"n": 8} if a != "c" else {})} for a in "abc" for x in (0.1, 0.5, 0.9)]
    given = scenario(configurations=pool)
    strategy = make(name, given)
    runs, _ = drive(strategy, 1500, 3)
    allowed = {space.configuration(config) for config in pool}
    assert {run.request.config for run in runs} <= allowed
    assert strategy.incumbent in allowed


def test_a_finished_deterministic_pool_ends(name: str) -> None:
    pool = [{"algorithm": "c", "x": x} for x in (0.1, 0.9)]
    given = scenario(configurations=pool, deterministic=True, instances=["i0", "i1"])
    strategy = make(name, given)
    runs, _ = drive(strategy, 1e9)
    assert len(runs) <= 16  # four cells, each of which may be capped a few times
    assert sum(run.outcome.status is not Status.CAPPED for run in runs) <= 4
    costs = {config: strategy.history.record(config).mean for config in given.configurations}
    assert strategy.incumbent is not None
    assert costs[strategy.incumbent] == min(costs.values())


def test_without_capping_every_run_gets_the_whole_cutoff(name: str) -> None:
    if name in GUARANTEED:
        pytest.skip("strategies with guarantees live by capping")
    runs, _ = drive(make(name, capping=False), 1000)
    assert all(run.request.cutoff == KAPPA for run in runs)
    assert not any(run.outcome.status is Status.CAPPED for run in runs)


def test_no_run_is_capped_for_its_quality(name: str) -> None:
    """What a run reports when it was stopped is no bound on what it would have reported."""

    def judged(request: RunRequest) -> Outcome:
        found = lognormal(request)
        return Outcome(Status.SUCCESS, 1.0, request.cutoff, quality=-1.0 / found.time)

    given = scenario(objective="quality", crash_cost=0.0)
    if name in GUARANTEED:
        with pytest.raises(InputError, match=r"quality|time"):
            make(name, given)
        return
    runs, _ = drive(make(name, given), 300, 2, judged)
    assert {run.request.cutoff for run in runs} == {KAPPA}


def test_bounds_are_times_whatever_a_time_is_worth(name: str) -> None:
    """Under a utility costs are no times: a bound of 0.3 on a cost is not one of 0.3 on a time."""
    given = scenario(objective="utility:uniform(100)")
    if name in GUARANTEED and name not in ("up", "oup", "coup"):
        with pytest.raises(InputError, match="mean times, not utilities"):
            make(name, given)
        return
    strategy = make(name, given)
    runs, _ = drive(strategy, 2000, 2)
    assert strategy.incumbent is not None
    if name not in GUARANTEED:
        assert median_time(strategy.incumbent) < 0.8 * median_time(given.default)
        capped = [run.outcome.time for run in runs if run.outcome.status is Status.CAPPED]
        assert not capped or max(capped) > 1.0  # of utility nobody loses more than 1


def test_a_rounded_cutoff_is_no_reason_to_ask_again(name: str) -> None:
    """An engine may scale times between hosts: what was stopped at its cutoff then seems to have been stopped just before."""

    def rounding(request: RunRequest) -> Outcome:
        found = lognormal(request)
        if found.status is not Status.CAPPED:
            return found
        cut = max(1e-9, math.floor(found.time * 1e9) / 1e9)
        return Outcome(Status.CAPPED, cut, cut)

    runs, _ = drive(make(name), 800, 2, rounding)
    spent = [run for run in runs if run.outcome.status is Status.CAPPED and run.request.cutoff - run.outcome.time < 1e-6]
    asked = [(run.request.cell, run.request.cutoff) for run in spent]
    assert len(set(asked)) == len(asked)


def test_every_feature_of_a_space(name: str) -> None:
    """Two levels of conditions, forbidden clauses, all types, a constant: whatever is asked for is legal."""
    given = scenario(space=rich_space())
    runs, _ = drive(make(name, given), 600, 3)
    tried = {run.request.config for run in runs}
    assert len(tried) > 5
    assert all(given.space.configuration(config) == config for config in tried)
    assert len({config.get("n") for config in tried}) > 2


def test_an_interrupted_tuning_makes_the_runs_of_one_that_was_not(name: str, tmp_path: Path) -> None:
    """Through the whole loop and the store: stopped after 40 runs, resumed, and compared."""

    def target(config: dict[str, Value], instance: str | None, seed: int, cutoff: float) -> float:
        return lognormal(RunRequest(Configuration(config), instance, seed, KAPPA)).time

    def stop(tuning: Tuning) -> None:
        if len(tuning.history) >= 40:
            tuning.stop()

    given = scenario(target=target, budget={"runs": 90})
    how: dict[str, Any] = {"engine": "simulated", "overhead": "ignore", **LIGHT.get(name, {})}
    whole = tune(given, name, **how)
    tune(given, name, out=tmp_path / "run", watch=stop, **how)
    resumed = tune(given, name, out=tmp_path / "run", **how)
    made = [run for run in resumed.history if run.outcome.status is not Status.LOST]
    assert sequence(made) == sequence(list(whole.history))
    assert resumed.incumbent == whole.incumbent
