"""The loop: budgets, resume, a full disk, a broken target. (Killing it is in tests/faults.)"""

from __future__ import annotations

import math
import random
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import capra
from capra import keeper
from capra import tune as tune_function
from capra.budget import Leased
from capra.errors import InputError, StoreError, StoreFull, TargetError
from capra.runs import Outcome, RunRequest, Status
from capra.runs.store import Store
from capra.runs.writer import Writer
from tests.runs.checker import check
from tests.strategies.conformance import KAPPA, lognormal, scenario, sequence

PACKAGE = str(Path(capra.__file__).parent)


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


@pytest.mark.skipif(sys.gettrace() is not None, reason="somebody else traces: a debugger, or a measurement of coverage")
def test_a_run_costs_the_same_however_many_workers_there_are() -> None:
    """Counted in bytecodes of ours, with as many runs for each worker."""
    few, many = (bytecodes_per_run(workers) for workers in (50, 300))
    assert many < 1.2 * few


def bytecodes_per_run(workers: int) -> float:
    count = 0

    def step(_: FrameType, event: str, __: object) -> Any:
        nonlocal count
        count += event == "opcode"
        return step

    def enter(frame: FrameType, _: str, __: object) -> Any:
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return step

    sys.settrace(enter)
    try:
        runs = len(tune(small(runs=3 * workers), workers=workers).history)
    finally:
        sys.settrace(None)
    return count / runs


@given(st.lists(st.floats(0.0, 1e12) | st.just(math.inf)), st.randoms(use_true_random=False))
def test_what_is_leased_is_summed_exactly(cutoffs: list[float], rng: random.Random) -> None:
    leased = Leased()
    for cutoff in cutoffs:
        leased.add(cutoff)
    left = list(cutoffs)
    rng.shuffle(left)
    while left:
        assert (leased.number, leased.total) == (len(left), math.fsum(filter(math.isfinite, left)))
        leased.add(left.pop(), -1)
    assert (leased.number, leased.total) == (0, 0.0)


def test_the_number_of_runs_is_exact() -> None:
    assert len(tune(small(runs=123), workers=7).history) == 123


def test_the_virtual_wall_clock_ends_it() -> None:
    result = tune(small(wall=200), workers=3)
    assert max(run.finished for run in result.history) <= 200 + KAPPA


def test_the_wall_clock_stops_a_run_that_is_under_way(tmp_path: Path) -> None:
    """Otherwise this test would take a quarter of an hour."""
    target = ["sh", "-c", "exec sleep 900", "{instance}", "{params}"]
    given = scenario(target=target, instance_kind="name", wall_limit=900, budget={"wall": 0.5})
    result = tune_function(given, out=tmp_path)
    assert [run.outcome.status for run in result.history] == [Status.LOST]
    assert check(tmp_path / "history.sqlite") == []


def test_no_budget_is_an_error() -> None:
    with pytest.raises(InputError, match="no budget"):
        tune(scenario(target=Target(), budget=capra.Budget()))


def test_a_finished_tuning_is_resumed_only_as_it_was(tmp_path: Path) -> None:
    first = tune(small(), out=tmp_path)
    again = tune(small(), out=tmp_path)
    assert sequence(list(again.history)) == sequence(list(first.history))
    with pytest.raises(InputError, match=r"another budget \(cpu = 1500\).* capra resume .* --budget"):
        tune(small(cpu=3000), out=tmp_path)
    with pytest.raises(InputError, match=r"other settings \(seed\)"):
        tune(small(), out=tmp_path, seed=5)
    with pytest.raises(InputError, match=r"another scenario \(cutoff\)"):
        tune(scenario(target=Target(), budget={"cpu": 1500}, cutoff=50.0), out=tmp_path)


def test_a_finished_tuning_can_be_given_more_budget(tmp_path: Path) -> None:
    """It ends as if it had had that from the beginning, and whoever resumes it later need not say it again."""
    tune(small(cpu=1500), out=tmp_path)
    more = capra.resume(tmp_path, small(cpu=1500), budget={"cpu": 3000})
    whole = tune(small(cpu=3000))
    assert sequence(list(more.history)) == sequence(list(whole.history))
    assert more.spent > 2900
    again = capra.resume(tmp_path, small(cpu=1500))
    assert sequence(list(again.history)) == sequence(list(whole.history))
    assert sequence(list(tune(small(cpu=3000), out=tmp_path).history)) == sequence(list(whole.history))
    with pytest.raises(InputError, match=r"another budget \(cpu = 3000\)"):
        tune(small(cpu=1500), out=tmp_path)
    assert check(tmp_path / "history.sqlite") == []


def test_the_other_parts_of_a_budget_stay(tmp_path: Path) -> None:
    tune(small(runs=30, wall=1e6), out=tmp_path)
    assert len(capra.resume(tmp_path, small(runs=30, wall=1e6), budget=capra.Budget(runs=50)).history) == 50
    with Store.read(tmp_path / "history.sqlite") as store:
        assert store.notes["budget"] == {"runs": 50, "wall": 1e6}


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        ({"cpu": 1500}, "the budget for cpu is 1500, which is not less than 1500"),
        ({"cpu": 2000, "runs": 10}, "the budget for runs is without limit"),
        ({"cup": 2000}, "did you mean 'cpu'"),
        ({"cpu": "much"}, "give a number"),
        ("4h", "a table"),
    ],
)
def test_a_budget_can_only_grow(tmp_path: Path, budget: Any, words: str) -> None:
    first = tune(small(), out=tmp_path)
    with pytest.raises(InputError, match=words):
        capra.resume(tmp_path, small(), budget=budget)
    assert sequence(list(capra.resume(tmp_path, small()).history)) == sequence(list(first.history))


def test_a_store_whose_decisions_say_too_little_is_refused_with_a_way_out(tmp_path: Path, monkeypatch: Any) -> None:
    """Fits of the first versions of smac did not say how many runs they knew."""
    decide = Store.decide

    def as_it_was(self: Store, kind: str, key: str, data: Any) -> None:
        decide(self, kind, key, {part: value for part, value in data.items() if part != "known"})

    with monkeypatch.context() as patch:
        patch.setattr(Store, "decide", as_it_was)
        tune(small(), out=tmp_path, strategy="smac", candidates=100, refit=20)
    with pytest.raises(StoreError, match=r"earlier version .* the decision fit 0 does not say 'known' .*warm start"):
        capra.resume(tmp_path, small())
    with Store.read(tmp_path / "history.sqlite") as store:
        assert len(list(store.runs())) > 20
    assert len(tune(small(runs=10), warm_start=tmp_path).history) == 10


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
    begin, failures = Writer._begin, iter(range(200))
    monkeypatch.setattr(keeper, "PATIENCE", 0.001)

    def sometimes_full(self: Writer) -> None:
        if next(failures, 99) % 4 == 1:
            raise StoreFull("the disk is full")
        begin(self)

    monkeypatch.setattr(Writer, "_begin", sometimes_full)
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


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scenario": "scenario.toml"}, r"expected a Scenario, not 'scenario.toml' \(Scenario.load\('scenario.toml'\)\)"),
        ({"scenario": None}, "expected a Scenario, not None"),
        *(({"seed": seed}, f"seed is a whole number of at least 0, not {seed!r}") for seed in (-1, 1.5, "a", None, True)),
        *(({"workers": n}, f"workers is a whole number of at least 1, not {n!r}") for n in (0, 1.5, "2", True)),
        ({"strategy": None}, "strategy is a name, not None"),
        ({"engine": None}, "engine is a name, not None"),
        ({"repeat": "x"}, "repeat is a share of the runs, from 0 to 0.5, not 'x'"),
        ({"out": __file__}, "test_tune.py is a file, and no folder"),
        ({"out": f"{__file__}/run"}, "test_tune.py is a file, and no folder"),
    ],
)
def test_arguments_that_cannot_be_used(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        capra.tune(**{"scenario": small(), "engine": "simulated"} | changes)


def test_whole_numbers_of_numpy_are_whole_numbers(tmp_path: Path) -> None:
    first, again = (
        capra.tune(small(runs=20), engine="simulated", out=tmp_path / str(n), seed=kind(3), workers=kind(2))
        for n, kind in enumerate((int, np.int64))
    )
    assert sequence(list(first.history)) == sequence(list(again.history))
