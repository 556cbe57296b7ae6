"""The loop: budgets, resume, a full disk, a broken target. (Killing it is in tests/faults.)"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import capra
from capra import keeper
from capra import tune as tune_function
from capra.errors import InputError, StoreFull, TargetError
from capra.runs import Outcome, RunRequest, Status
from capra.runs.store import Store
from tests.runs.checker import check
from tests.strategies.conformance import KAPPA, lognormal, scenario, sequence


class Target:
    """A target on the virtual clock."""

    def __init__(self, run: Any = lognormal) -> None:
        self.run = run

    def __call__(self, *_: object) -> float:
        raise AssertionError("the simulated engine asks run()")


def small(run: Any = lognormal, **budget: float) -> capra.Scenario:
    return scenario(target=Target(run), budget=budget or {"cpu": 1500})


def tune(given: capra.Scenario, **options: Any) -> capra.Result:
    return tune_function(given, **({"engine": "simulated", "overhead": "ignore"} | options))


def test_the_contract_of_the_result(tmp_path: Path) -> None:
    result = tune(small(), out=tmp_path)
    assert result.incumbent == dict(result.trajectory[-1].config)
    assert result.cost < result.default_cost
    assert result.store == tmp_path / "history.sqlite"
    assert result.spent == pytest.approx(sum(run.outcome.time for run in result.history))
    assert result.certificate is None
    assert check(tmp_path / "history.sqlite") == []


@pytest.mark.parametrize("workers", [1, 4, 50])
def test_the_budget_is_passed_by_at_most_one_cutoff_per_worker(workers: int) -> None:
    result = tune(small(cpu=1500), workers=workers)
    assert result.spent + workers * KAPPA >= 1500
    assert result.spent <= 1500 + workers * KAPPA


def test_the_number_of_runs_is_exact() -> None:
    assert len(tune(small(runs=123), workers=7).history) == 123


def test_the_virtual_wall_clock_ends_it() -> None:
    result = tune(small(wall=200), workers=3)
    assert max(run.finished for run in result.history) <= 200 + KAPPA


def test_no_budget_is_an_error() -> None:
    with pytest.raises(InputError, match="no budget"):
        tune(scenario(target=Target(), budget=capra.Budget()))


def test_a_finished_tuning_is_resumed_with_a_larger_budget_only_as_it_was(tmp_path: Path) -> None:
    first = tune(small(), out=tmp_path)
    again = tune(small(), out=tmp_path)
    assert sequence(list(again.history)) == sequence(list(first.history))
    with pytest.raises(InputError, match="another scenario"):
        tune(small(cpu=3000), out=tmp_path)
    with pytest.raises(InputError, match="another settings"):
        tune(small(), out=tmp_path, seed=5)


def test_stopping_in_between_changes_nothing(tmp_path: Path) -> None:
    whole = tune(small())

    def stop_at(count: int) -> Any:
        return lambda tuning: tuning.stop() if len(tuning.history) >= count else None

    for count in (5, 60, 61, 110):
        tune(small(), out=tmp_path, watch=stop_at(count))
    last = tune(small(), out=tmp_path)
    assert sequence([run for run in last.history if run.outcome.status is not Status.LOST]) == sequence(list(whole.history))
    assert check(tmp_path / "history.sqlite") == []


def test_a_default_that_crashes_ends_it_with_the_reason() -> None:
    def crash(request: RunRequest) -> Outcome:
        return Outcome(Status.CRASHED, 0.1, request.cutoff, reason="no licence")

    with pytest.raises(TargetError, match="no licence"):
        tune(small(crash))


def test_a_target_that_vanishes_ends_it_with_the_reason() -> None:
    """RELIABILITY row 11: the binary is removed in the middle of a run."""
    made: list[RunRequest] = []

    def vanish(request: RunRequest) -> Outcome:
        made.append(request)
        if len(made) > 20:
            return Outcome(Status.LOST, 0.0, request.cutoff, reason="could not be started: No such file or directory")
        return lognormal(request)

    with pytest.raises(TargetError, match="No such file"):
        tune(small(vanish))
    assert len(made) == 25


def test_a_full_disk_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """RELIABILITY row 18: the store cannot write for a while; nothing is lost and the tuning is the same."""
    whole = tune(small())
    finish, failures = Store.finish, iter(range(40))
    monkeypatch.setattr(keeper, "PATIENCE", 0.001)

    def sometimes_full(self: Store, *arguments: Any) -> Any:
        if next(failures, 99) % 4 == 1:
            raise StoreFull("the disk is full")
        return finish(self, *arguments)

    monkeypatch.setattr(Store, "finish", sometimes_full)
    result = tune(small(), out=tmp_path)
    assert sequence(list(result.history)) == sequence(list(whole.history))
    assert check(tmp_path / "history.sqlite") == []


def test_nothing_is_started_while_the_disk_is_nearly_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def little(_: Path) -> int:
        seen.append(1)
        return 0 if len(seen) % 10 < 3 else 10**12

    monkeypatch.setattr(keeper, "free_space", little)
    monkeypatch.setattr(keeper, "PATIENCE", 0.001)
    result = tune(small(), out=tmp_path)
    assert result.cost < result.default_cost


def test_our_own_time_counts_unless_told_otherwise() -> None:
    given = scenario(target=Target(), unit="cpu", budget={"cpu": 300})
    result = tune(given, overhead="count")
    assert result.spent > sum(run.outcome.time for run in result.history)
