"""The machine is at fault, not a configuration: rows 11, 19, 21 and 30 of RELIABILITY, and AClib's ABORT."""

from __future__ import annotations

import io
import itertools
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import capra
from capra import keeper
from capra.breaker import ALIKE, CONTROL, Breaker
from capra.errors import StoreError, StoreFull, TargetError
from capra.overview import status_of
from capra.repeats import REPEAT, Repeats
from capra.report.console import LiveConsole
from capra.runs import Outcome, Run, RunRequest, Status
from capra.runs.place import backup_of
from capra.runs.store import Store
from capra.space import Real, Space
from capra.tune import Tuning
from tests.runs.checker import check
from tests.strategies.conformance import lognormal, sequence
from tests.test_tune import small, tune

STORE = "history.sqlite"


def crash(request: RunRequest, reason: str = "exit code 127") -> Outcome:
    return Outcome(Status.CRASHED, 0.01, request.cutoff, exit_code=127, reason=reason)


def stored(folder: Path) -> list[Run]:
    with Store.read(folder / STORE) as store:
        return list(store.runs())


# --- row 11: the circuit breaker ---


@pytest.fixture
def fragile(tmp_path: Path) -> capra.Scenario:
    """A real wrapper that needs a file, and a scenario that can be resumed from its store."""
    (tmp_path / "library.sh").write_text("exit 0\n")
    wrapper = tmp_path / "solver.sh"
    wrapper.write_text('#!/bin/sh\n. "$(dirname "$0")/library.sh"\n')
    wrapper.chmod(0o755)
    (tmp_path / "space.pcs").write_text("x real [0, 1] [0.5]\n")
    return capra.Scenario(
        target=["./solver.sh", "{instance}", "{params}"],
        space="space.pcs",
        instances=[f"i{k}" for k in range(6)],
        instance_kind="name",
        cutoff=5.0,
        budget={"runs": 60},
        base=tmp_path,
    )


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("victim", ["library.sh", "solver.sh"])
def test_a_file_that_vanishes_is_nobodys_fault(fragile: capra.Scenario, tmp_path: Path, victim: str, workers: int) -> None:
    """Without its library the wrapper crashes; without the wrapper nothing starts. Either way no configuration is blamed."""
    out, text = tmp_path / "run", (tmp_path / victim).read_text()

    def remove(tuning: Tuning) -> None:
        if len(tuning.history) >= 20:
            (tmp_path / victim).unlink(missing_ok=True)

    with pytest.raises(TargetError) as caught:
        capra.tune(fragile, out=out, workers=workers, watch=remove)
    assert f"{tmp_path}/solver.sh" in str(caught.value), "the command to see it"
    assert f"capra resume {out}" in str(caught.value)
    before = stored(out)
    assert len(before) >= 20
    assert {run.outcome.status for run in before} <= {Status.SUCCESS, Status.CAPPED}
    with Store.read(out / STORE) as store:
        assert sum(1 for _ in store.losses()) >= ALIKE
    (tmp_path / victim).write_text(text)
    (tmp_path / victim).chmod(0o755)
    result = capra.resume(out)
    assert stored(out)[: len(before)] == before
    assert len(result.history) == 60
    assert {run.outcome.status for run in result.history} <= {Status.SUCCESS, Status.CAPPED}
    assert check(out / STORE) == []


def breaks_after(count: int) -> Callable[[RunRequest], Outcome]:
    """A target whose machine breaks after so many runs."""
    made = itertools.count()
    return lambda request: lognormal(request) if next(made) < count else crash(request)


def test_a_run_that_was_cut_between_the_crashes_does_not_hide_them() -> None:
    request = RunRequest(capra.Configuration({"x": 0.5}), "i", 1, 10.0)
    good, cut = Outcome(Status.SUCCESS, 1.0, 10.0), Outcome(Status.CAPPED, 2.0, 2.0)
    outcomes = [good, cut, crash(request), crash(request), cut, crash(request), cut, crash(request), crash(request)]
    breaker = Breaker(10.0)
    runs = [Run(request, outcome, "challenger 1", order) for order, outcome in enumerate(outcomes, start=1)]
    for run in runs:
        assert breaker.control is None
        breaker.tell(run)
    assert breaker.control == request
    assert [run.order for _, run in breaker.suspects((("lease", run) for run in reversed(runs)), 1)] == [9, 8, 7, 6, 5, 4, 3]


def test_a_control_that_hangs_settles_it_too(tmp_path: Path) -> None:
    """The machine does not crash any more, it hangs: no more budget is spent on finding that out again."""
    made = itertools.count()

    def target(request: RunRequest) -> Outcome:
        number = next(made)
        if number < 30:
            return lognormal(request)
        if number < 30 + ALIKE:
            return crash(request)
        return Outcome(Status.TIMEOUT, request.cutoff, request.cutoff, reason="stopped by its cutoff")

    with pytest.raises(TargetError, match="No configuration was blamed"):
        tune(small(target), out=tmp_path)
    assert {run.outcome.status for run in stored(tmp_path)} <= {Status.SUCCESS, Status.CAPPED, Status.TIMEOUT}
    assert next(made) <= 30 + ALIKE + 1
    assert check(tmp_path / STORE) == []


def test_another_workers_success_between_the_crashes_does_not_hide_the_first() -> None:
    request = RunRequest(capra.Configuration({"x": 0.5}), "i", 1, 10.0)
    good = Outcome(Status.SUCCESS, 1.0, 10.0)
    outcomes = [good, crash(request), good, *(crash(request) for _ in range(ALIKE))]
    breaker = Breaker(10.0)
    runs = [("lease", Run(request, outcome, "challenger 1", order)) for order, outcome in enumerate(outcomes, start=1)]
    for _, run in runs:
        breaker.tell(run)
    assert [run.order for _, run in breaker.suspects(reversed(runs), 1)] == [8, 7, 6, 5, 4]
    assert [run.order for _, run in breaker.suspects(reversed(runs), 2)] == [8, 7, 6, 5, 4, 3, 2]


def test_after_the_repair_it_is_as_if_nothing_had_happened(tmp_path: Path) -> None:
    whole = tune(small())
    for count in (40, 30, 1, 70):  # runs that each session makes before it breaks
        with pytest.raises(TargetError, match=r"a run that had succeeded before failed as well: exit code 127"):
            tune(small(breaks_after(count)), out=tmp_path)
        assert check(tmp_path / STORE) == []
        done = stored(tmp_path)
        assert sequence(done) == sequence(list(whole.history))[: len(done)]
    last = tune(small(), out=tmp_path)
    assert sequence(list(last.history)) == sequence(list(whole.history))
    assert last.trajectory[-1].config == whole.trajectory[-1].config


def test_runs_that_began_before_it_broke_are_kept(tmp_path: Path) -> None:
    """With eight workers, good results come in between the crashes."""
    with pytest.raises(TargetError, match="No configuration was blamed"):
        tune(small(breaks_after(50)), out=tmp_path, workers=8)
    done = stored(tmp_path)
    assert Status.CRASHED not in {run.outcome.status for run in done}
    assert len(done) >= 50 - 8
    assert check(tmp_path / STORE) == []
    assert tune(small(), out=tmp_path, workers=8).cost < math.inf
    assert check(tmp_path / STORE) == []


def test_parameters_that_crash_are_blamed(tmp_path: Path) -> None:
    """Row 10 goes on to work: a control run succeeds, so the crashes stand; fewer and fewer controls are made."""

    def fragile(request: RunRequest) -> Outcome:
        return crash(request) if float(request.config["x"]) < 0.88 else lognormal(request)

    result = tune(small(fragile), out=tmp_path)
    controls = [run for run in result.history if run.asked_by == CONTROL]
    crashes = [run for run in result.history if run.outcome.status is Status.CRASHED]
    assert 1 <= len(controls) <= math.log2(len(crashes))
    assert all(run.outcome.status is Status.SUCCESS for run in controls)
    assert float(result.incumbent["x"]) >= 0.88
    assert check(tmp_path / STORE) == []
    again = tune(small(fragile), out=tmp_path)
    assert sequence(list(again.history)) == sequence(list(result.history))


def test_crashes_that_look_different_are_the_parameters(tmp_path: Path) -> None:
    words = "alpha beta gamma delta epsilon zeta eta theta".split()
    pairs = [f"{one} {other}" for one in words for other in words]  # so many that no five in a row are alike by chance

    def fragile(request: RunRequest) -> Outcome:
        x = float(request.config["x"])
        return crash(request, pairs[int(6400 * x) % 64]) if x < 0.88 else lognormal(request)

    result = tune(small(fragile))
    assert sum(run.outcome.status is Status.CRASHED for run in result.history) > 5 * ALIKE
    assert CONTROL not in {run.asked_by for run in result.history}


def test_stopped_by_the_clock_is_not_lost_by_the_machine() -> None:
    """Many runs cut at once by the end of the budget are no reason for alarm."""
    result = tune(small(wall=50), workers=40)
    assert result.history.statuses[Status.LOST] > ALIKE


# --- ABORT ---


def test_abort_ends_the_tuning(tmp_path: Path) -> None:
    licence = tmp_path / "licence"
    licence.touch()
    wrapper = tmp_path / "wrapper.sh"
    say = "echo Result of this Algorithm Run: $1, 0.1, 0, 0, 1, $2"
    wrapper.write_text(
        f'#!/bin/sh\nsay() {{ {say}; }}\nif test -e {licence}; then say SAT; else say ABORT "no licence"; fi\n'
    )
    wrapper.chmod(0o755)
    (tmp_path / "space.pcs").write_text("x real [0, 1] [0.5]\n")
    given = capra.Scenario(
        target=["./wrapper.sh"], dialect="aclib", space="space.pcs", cutoff=5.0, budget={"runs": 20}, base=tmp_path
    )

    def run_out(tuning: Tuning) -> None:
        if len(tuning.history) == 10:
            licence.unlink()

    with pytest.raises(TargetError, match=r"says ABORT.*no licence.*capra resume"):
        capra.tune(given, out=tmp_path / "run", watch=run_out)
    assert {run.outcome.status for run in stored(tmp_path / "run")} <= {Status.SUCCESS, Status.CAPPED}
    with Store.read(tmp_path / "run" / STORE) as store:
        assert len(list(store.losses())) == 1, "it was not tried again"
    licence.touch()
    assert len(capra.resume(tmp_path / "run").history) == 20


# --- row 21: noisy neighbours ---

BUSY = "import time; all(iter(lambda: time.process_time() < 0.02, False))"


@pytest.fixture
def hogs() -> Iterator[Callable[[], None]]:
    """Starts processes that do nothing but compute, on the core that one worker is pinned to."""
    started: list[subprocess.Popen[bytes]] = []
    everything = os.sched_getaffinity(0)

    def start() -> None:
        if not started:
            command = [sys.executable, "-E", "-S", "-c", "while True: pass"]
            # Each in a session of its own: Linux shares a core among sessions first.
            started.extend(subprocess.Popen(command, start_new_session=True) for _ in range(15))
            for hog in started:
                os.sched_setaffinity(hog.pid, {max(everything)})

    yield start
    for hog in started:
        hog.kill()
        hog.wait()


def test_a_hog_on_the_machine_is_noticed(tmp_path: Path, hogs: Callable[[], None]) -> None:
    (tmp_path / "space.pcs").write_text("x real [0, 1] [0.5]\n")
    given = capra.Scenario(
        target=[sys.executable, "-E", "-S", "-c", BUSY],
        space="space.pcs",
        cutoff=30.0,
        unit="wall",
        budget={"runs": 200},
        base=tmp_path,
    )
    screen, seen = io.StringIO(), []
    console = LiveConsole(Console(file=screen))

    def watch(tuning: Tuning) -> None:
        console.watch(tuning)
        if len(tuning.history) >= 20:  # the incumbent has all its runs
            hogs()
        if len(tuning.history) >= 30 and (tuning.repeats.drift or 1.0) > 1.2:
            seen.append(tuning.repeats.drift)
            tuning.stop()

    capra.tune(given, "basic", n=12, out=tmp_path / "run", watch=watch, repeat=0.4, capping=False)
    assert seen, "no drift was found"
    status = status_of(tmp_path / "run")
    assert any("times as long as when they were first made" in text for text in status["warnings"])
    assert "warning: runs take" in screen.getvalue()
    loads = [run.outcome.load for run in stored(tmp_path / "run")]
    assert all(load is not None and load >= 0.0 for load in loads)


@pytest.mark.parametrize("terminal", [False, True])
def test_the_console_warns(terminal: bool) -> None:
    """Where nobody watches, once; in a terminal in the picture, and again when that is gone."""
    screen = io.StringIO()
    with LiveConsole(Console(file=screen, force_terminal=terminal, width=200)) as console:

        def warn(tuning: Tuning) -> None:
            tuning.keeper._trouble = f"{len(tuning.history)} runs, and a comet"
            console.watch(tuning)

        tune(small(runs=30), watch=warn)
    last = screen.getvalue().splitlines()[-1]
    assert "runs, and a comet" in screen.getvalue()
    assert ("30 runs, and a comet" in last) if terminal else screen.getvalue().count("comet") == 1


# --- row 30: the same seed, another time ---


def noisy(sigma: float) -> Callable[[RunRequest], Outcome]:
    """The same run takes another time each time."""
    rng = np.random.default_rng(1)

    def run(request: RunRequest) -> Outcome:
        time = min(float((2.0 - float(request.config["x"])) * math.exp(sigma * rng.normal())), request.cutoff)
        return Outcome(Status.SUCCESS, time, request.cutoff)

    return run


@pytest.mark.parametrize("sigma", [0.05, 0.4])
def test_the_spread_of_repeated_runs_is_reported(sigma: float) -> None:
    result = tune(small(noisy(sigma), runs=2000), repeat=0.2, capping=False)
    repeats = Repeats.of(result.history)
    assert repeats.made == pytest.approx(400, abs=2)
    assert repeats.spread == pytest.approx(sigma, rel=0.15)
    assert f"{repeats.made} runs made again: with the same seed their time varies by {100 * repeats.spread:.2g} %" == str(
        repeats
    )


def test_repeated_runs_decide_nothing(tmp_path: Path) -> None:
    whole = tune(small(runs=400))

    def stop_at(count: int) -> Any:
        return lambda tuning: tuning.stop() if len(tuning.history) >= count else None

    for count in (7, 61, 130):
        tune(small(runs=200), out=tmp_path, repeat=0.1, watch=stop_at(count))
    result = tune(small(runs=200), out=tmp_path, repeat=0.1)
    assert check(tmp_path / STORE) == []
    others = [run for run in stored(tmp_path) if run.asked_by != REPEAT]
    assert len(others) == 181
    assert sequence(others) == sequence(list(whole.history))[:181]
    repeats = Repeats.of(result.history)
    assert (repeats.made, repeats.changed, repeats.spread, repeats.warnings()) == (19, 0, 0.0, [])


def test_a_repeated_run_may_refute_the_incumbent() -> None:
    def lies(request: RunRequest, seen: set[object] = set()) -> Outcome:  # noqa: B006 (a memory over the calls)
        outcome = lognormal(request)
        wrong = request.cell in seen and float(request.config["x"]) != 0.9
        seen.add(request.cell)
        return Outcome(Status.WRONG, outcome.time, outcome.cutoff) if wrong else outcome

    result = tune(small(lies, runs=300), repeat=0.2)
    refuted = {run.request.config for run in result.history if run.outcome.status is Status.WRONG}
    assert refuted
    assert capra.Configuration(result.incumbent) not in refuted


# --- row 19: backups ---


def test_the_store_is_backed_up_and_can_be_restored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tune(small(), out=tmp_path)
    assert not backup_of(tmp_path / STORE).exists(), "an hour has not passed"
    monkeypatch.setattr(keeper, "BACKUP_EVERY", 0.05)
    out = tmp_path / "other"
    whole = tune(small(), out=out)
    path, backup = out / STORE, backup_of(out / STORE)
    assert check(backup) == []
    assert {file.name for file in out.iterdir()} == {STORE, backup.name}, "one backup, nothing half done"
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(StoreError, match="to go back to the last backup: ") as caught:
        tune(small(), out=out)
    recipe = str(caught.value).partition("last backup: ")[2].partition(";")[0]
    subprocess.run(["sh", "-c", recipe], check=True)
    assert 0 < len(stored(out)) <= len(whole.history)
    assert sequence(list(tune(small(), out=out).history)) == sequence(list(whole.history))


def test_a_backup_that_fails_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise StoreFull("no space left on the device")

    monkeypatch.setattr(keeper, "BACKUP_EVERY", 0.0)
    monkeypatch.setattr(Store, "backup", refuse)
    seen: set[str] = set()
    result = tune(small(), out=tmp_path, watch=lambda tuning: seen.update(tuning.warnings()))
    assert result.cost < result.default_cost
    assert seen == {"the store could not be backed up: no space left on the device"}


# --- drift, without a machine ---


def told(ratios: list[float]) -> Repeats:
    repeats = Repeats(100.0, 0.5)
    config = Space([Real("x", 0.0, 1.0, 0.5)]).default
    requests = [RunRequest(config, None, seed, 100.0) for seed in range(7)]
    for request in requests:
        repeats.tell(Run(request, Outcome(Status.SUCCESS, 1.0, 100.0, load=1.0)))
    for request, ratio in zip(itertools.cycle(requests), ratios, strict=False):
        repeats.tell(Run(request, Outcome(Status.SUCCESS, ratio, 100.0, load=3.0), REPEAT))
    return repeats


@pytest.mark.parametrize(
    ("ratios", "warns"),
    [
        ([1.5] * 3, False),  # too few
        ([1.5] * 4, True),
        ([0.7] * 4, True),
        ([1.15] * 20, False),
        ([0.5, 2.0] * 10, False),  # noise
        ([1.4, 1.5, 1.3, 1.45, 1.38], True),
        ([1.5] * 20 + [1.0] * 8, False),  # over
        ([1.0] * 20 + [1.5] * 8, True),
    ],
)
def test_drift(ratios: list[float], warns: bool) -> None:
    repeats = told(ratios)
    assert bool(repeats.warnings()) == warns
    assert not warns or "load 1.0 then, 3.0 now" in repeats.warnings()[0]
