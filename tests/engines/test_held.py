"""Runs that wait at their cutoff for a longer one: real processes that are stopped, continued, evicted and orphaned."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from capra.engines import LocalEngine
from capra.engines.held import HeldRuns
from capra.engines.simulated import SimulatedEngine
from capra.errors import InputError
from capra.overview import status_of
from capra.runs import Configuration, Outcome, RunRequest, Status
from capra.scenario import Scenario
from capra.space import Integer, Real, Space
from capra.tune import resume, tune
from tests.engines.conformance import KAPPA, LONG, finish
from tests.engines.test_local import targets_alive, until

MB = 1024**2
SPACE = Space([Real("seconds", 0.0, 100.0, 1.0), Integer("size", 0, 1000, 0)])
PROGRAM = """
import hashlib, sys, time
seconds, size, log = float(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
open(log, "a").write("begun\\n")
block, found = bytearray(b"x") * (size * 2**20), b""
while time.process_time() < seconds:
    found = hashlib.sha256(b"x").digest()
print("answer", sum(found))
"""
WORK = "import sys, time\nwhile time.process_time() < float(sys.argv[1]): pass\n"
COUNT = """
import hashlib, sys
found = b""
for i in range(int(sys.argv[1])):
    found = hashlib.sha256(found + b"%d" % i).digest()
print("answer", found.hex())
"""
PYTHON = [sys.executable, "-E", "-S"]


def script(folder: Path, text: str) -> Path:
    """No line breaks in arguments."""
    place = folder / "program.py"
    place.write_text(text)
    return place


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "begun.log"


@pytest.fixture
def scenario(log: Path) -> Scenario:
    target = [*PYTHON, str(script(log.parent, PROGRAM)), "{config.seconds}", "{config.size}", str(log)]
    return Scenario(target=target, space=SPACE, cutoff=KAPPA, output={"answer": "answer (.+)"})


@pytest.fixture(autouse=True)
def _nothing_left() -> Iterator[None]:
    yield
    assert targets_alive() == []
    assert list(Path(tempfile.gettempdir()).glob("capra-run-*")) == []


def ask(seconds: float, cutoff: float, size: int = 0, seed: int = 1) -> RunRequest:
    return RunRequest(Configuration({"seconds": seconds, "size": size}), None, seed, cutoff)


def once(engine: LocalEngine, request: RunRequest) -> Outcome:
    [outcome] = finish(engine, engine.submit(request))
    return outcome


def states(pids: list[int]) -> set[str]:
    return {Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] for pid in pids}


# --- one run ---


def test_a_longer_cutoff_goes_on_where_the_run_was(scenario: Scenario, log: Path) -> None:
    with LocalEngine(scenario, 1, hold=500 * MB) as engine:
        first = once(engine, ask(0.6, 0.15))
        assert (first.status, first.time, first.continued) == (Status.CAPPED, 0.15, 0.0)
        [pid] = targets_alive()
        assert states([pid]) == {"T"}
        assert (engine.free, engine.wait(0.0)) == (1, [])
        second = once(engine, ask(0.6, 0.3))
        assert (second.status, second.time, second.continued) == (Status.CAPPED, 0.3, 0.15)
        assert targets_alive() == [pid]
        last = once(engine, ask(0.6, 20.0))
        assert (last.status, last.continued, last.cutoff) == (Status.SUCCESS, 0.3, 20.0)
        assert 0.6 <= last.time < 2.0  # of one process in all: two would take 1.05 more
        assert last.cpu == last.time
        assert log.read_text() == "begun\n"
        assert targets_alive() == []


def test_a_continued_run_gives_the_answer_of_an_uninterrupted_one(tmp_path: Path) -> None:
    scenario = Scenario(target=[*PYTHON, str(script(tmp_path, COUNT)), "{config.n}"], space=Space([Integer("n", 1, 10**8, 10)]), cutoff=KAPPA, output={"answer": "answer (.+)"})  # fmt: skip
    request = RunRequest(Configuration({"n": 600_000}), None, 1, KAPPA)
    with LocalEngine(scenario, 1) as engine:
        whole = once(engine, request)
    with LocalEngine(scenario, 1, hold=500 * MB) as engine:
        parts = [once(engine, RunRequest(request.config, None, 1, cutoff)) for cutoff in (0.05, 0.1, 0.2, KAPPA)]
    assert [part.status for part in parts[:3]] == [Status.CAPPED] * 3
    assert (parts[-1].status, parts[-1].answer) == (Status.SUCCESS, whole.answer)
    assert parts[-1].continued == 0.2
    assert parts[-1].time == pytest.approx(whole.time, rel=1.0)  # CPU time of the same work: far from the sum of restarts
    used = sum(part.time - part.continued for part in parts)
    assert used == pytest.approx(parts[-1].time)


def test_the_whole_tree_is_stopped_and_goes_on(log: Path) -> None:
    loops = "for i in 1 2; do sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done' & done; wait; echo answer done"
    scenario = Scenario(target=["sh", "-c", loops, "{config.seconds}"], space=SPACE, cutoff=KAPPA, output={"answer": "answer (.+)"}, arguments={"size": ""})  # fmt: skip
    with LocalEngine(scenario, 1, hold=500 * MB) as engine:
        assert once(engine, ask(1.0, 0.05)).status is Status.CAPPED
        assert len(targets_alive()) == 3
        assert states(targets_alive()) == {"T"}
        last = once(engine, ask(1.0, KAPPA))
        assert (last.status, last.answer, last.continued) == (Status.SUCCESS, "done", 0.05)


def test_what_is_not_longer_begins_anew(scenario: Scenario, log: Path) -> None:
    with LocalEngine(scenario, 1, hold=500 * MB) as engine:
        for cutoff in (0.2, 0.2, 0.1):
            assert once(engine, ask(LONG, cutoff)).continued == 0.0
        assert once(engine, ask(LONG, 0.3, seed=2)).continued == 0.0
        assert len(log.read_text().split()) == 4
        assert len(targets_alive()) == 2  # one for each cell
        assert once(engine, ask(LONG, 0.25)).continued == 0.2  # the one that had come furthest


def test_nobody_waits_at_the_longest_cutoff(scenario: Scenario) -> None:
    short = Scenario(**{**scenario.given, "cutoff": 0.3})
    with LocalEngine(short, 1, hold=500 * MB) as engine:
        assert once(engine, ask(LONG, 0.1)).status is Status.CAPPED
        last = once(engine, ask(LONG, 0.3))
        assert (last.status, last.time, last.continued) == (Status.TIMEOUT, 0.3, 0.1)
        assert once(engine, ask(LONG, 0.3, seed=2)).status is Status.TIMEOUT
        assert targets_alive() == []


def test_the_target_is_told_the_longest_cutoff(tmp_path: Path) -> None:
    scenario = Scenario(target=["sh", "-c", "echo answer $0", "{cutoff}"], space=SPACE, cutoff=KAPPA, output={"answer": "answer (.+)"}, arguments={"size": "", "seconds": ""})  # fmt: skip
    with LocalEngine(scenario, 1) as engine:
        assert float(str(once(engine, ask(1.0, 4.0)).answer)) == 4.0
    with LocalEngine(scenario, 1, hold=MB) as engine:
        outcome = once(engine, ask(1.0, 4.0))
        assert (float(str(outcome.answer)), outcome.cutoff) == (KAPPA, 4.0)


def test_a_run_that_died_while_it_waited_begins_anew(scenario: Scenario, log: Path) -> None:
    with LocalEngine(scenario, 1, hold=500 * MB) as engine:
        once(engine, ask(0.4, 0.1))
        [pid] = targets_alive()
        os.kill(pid, signal.SIGKILL)
        until(lambda: not targets_alive())
        outcome = once(engine, ask(0.4, KAPPA))
        assert (outcome.status, outcome.continued) == (Status.SUCCESS, 0.0)
        assert len(log.read_text().split()) == 2


def test_a_continued_run_whose_supervisor_dies_is_made_again(scenario: Scenario, log: Path) -> None:
    with LocalEngine(scenario, 1, hold=500 * MB) as engine:
        once(engine, ask(0.5, 0.1))
        ticket = engine.submit(ask(0.5, KAPPA))
        os.kill(engine._slots[ticket].supervised.pid, signal.SIGKILL)
        [outcome] = finish(engine, ticket)
        assert (outcome.status, outcome.continued) == (Status.SUCCESS, 0.0)


def test_orders_to_a_continued_run(scenario: Scenario) -> None:
    with LocalEngine(scenario, 2, hold=500 * MB) as engine:
        for seed in (1, 2, 3):
            once(engine, ask(LONG, 0.1, seed=seed))
        cancelled, stopped = engine.submit(ask(LONG, KAPPA, seed=1)), engine.submit(ask(LONG, KAPPA, seed=2))
        engine.cancel(cancelled)
        engine.tighten(stopped, 0.0)
        lost, cut = finish(engine, cancelled, stopped)
        assert (lost.status, cut.status) == (Status.LOST, Status.CAPPED)
        assert 0.1 <= cut.continued <= cut.time < KAPPA
        ticket = engine.submit(ask(LONG, 20.0, seed=3))
        engine.tighten(ticket, 0.3)
        [tightened] = finish(engine, ticket)
        assert (tightened.status, tightened.time, tightened.continued) == (Status.CAPPED, 0.3, 0.1)
        assert once(engine, ask(LONG, 0.4, seed=3)).continued == 0.3


def test_it_goes_on_where_there_is_a_worker(scenario: Scenario) -> None:
    """Pinned to the core of the worker that is free now, not to that of the one that began it."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one core only: nothing to pin apart")
    with LocalEngine(scenario, 1, hold=500 * MB) as engine:
        once(engine, ask(LONG, 0.1))
        [pid] = targets_alive()
        mine, theirs = os.sched_getaffinity(0), os.sched_getaffinity(pid)
        assert theirs.isdisjoint(mine)
        engine._pins = [tuple(mine)]
        ticket = engine.submit(ask(LONG, KAPPA))
        until(lambda: os.sched_getaffinity(pid) == mine)
        engine.cancel(ticket)
        finish(engine, ticket)


def test_who_cannot_be_held_is_refused(scenario: Scenario) -> None:
    steps = Scenario(**{**scenario.given, "unit": "steps", "output": {"time": "(.+)"}})
    elsewhere = Scenario(**{**scenario.given, "backend": "benchexec"})
    function = Scenario(target="os:getcwd", space=SPACE, cutoff=KAPPA)
    for given in (steps, elsewhere, function):
        with pytest.raises(InputError, match="cannot be held"):
            LocalEngine(given, 1, hold=MB)


# --- many ---


def test_memory_is_bounded_and_the_cheapest_run_makes_room(scenario: Scenario) -> None:
    """All of them have computed as long, but for one; the largest goes first, then who has computed least."""
    with LocalEngine(scenario, 1, hold=160 * MB) as engine:
        assert engine.held is not None
        once(engine, ask(LONG, 0.2, size=100, seed=1))
        once(engine, ask(LONG, 0.2, size=10, seed=2))
        assert (len(engine.held), engine.held.ended) == (2, 0)
        once(engine, ask(LONG, 0.4, size=60, seed=3))
        assert (len(engine.held), engine.held.ended) == (2, 1)
        assert engine.held.memory <= 160 * MB
        assert len(targets_alive()) == 2
        assert once(engine, ask(LONG, 0.3, size=100, seed=1)).continued == 0.0  # it had to go
        assert once(engine, ask(LONG, 0.5, size=10, seed=2)).continued == 0.2
        once(engine, ask(LONG, 0.2, size=400, seed=4))  # larger than all that may be held
        assert engine.held.memory <= 160 * MB
        assert len(targets_alive()) == len(engine.held)


def test_their_number_is_bounded(scenario: Scenario) -> None:
    with LocalEngine(scenario, 1, hold=500 * MB) as engine:
        engine.held = HeldRuns(500 * MB, most=2)
        for seed, cutoff in ((1, 0.3), (2, 0.1), (3, 0.3)):
            once(engine, ask(LONG, cutoff, seed=seed))
        assert len(targets_alive()) == len(engine.held) == 2
        assert [once(engine, ask(LONG, 0.4, seed=seed)).continued for seed in (1, 3)] == [0.3, 0.3]


# --- tunings ---


def written(folder: Path, **more: Any) -> Path:
    """A scenario whose configurations need between nothing and a second."""
    (folder / "p.pcs").write_text("seconds real [0.0, 1.0] [0.5]\n")
    given = {
        "target": [*PYTHON, str(script(folder, WORK)), "{config.seconds}"],
        "space": "p.pcs", "cutoff": 2.0, "objective": "par1", "seeds": list(range(20)),
    }  # fmt: skip
    lines = [f"{key} = {json.dumps(value)}" for key, value in given.items()]
    budget = ", ".join(f"{key} = {value!r}" for key, value in ({"cpu": 60} | more).items())
    (folder / "scenario.toml").write_text("\n".join([*lines, f"budget = {{ {budget} }}"]))
    return folder / "scenario.toml"


def test_a_tuning_uses_what_a_held_run_computed(tmp_path: Path) -> None:
    made = Scenario.load(written(tmp_path, runs=40))
    result = tune(made, "oup", out=tmp_path / "run", hold="200MB", repeat=0, n=3, kappa0=0.05)
    certificate, history = result.certificate, result.history
    assert certificate is not None
    assert history.continued > 0.0
    assert certificate.used == pytest.approx(certificate.resumed)  # nothing was evicted
    assert certificate.restart == pytest.approx(sum(run.outcome.time for run in history))
    assert certificate.used == pytest.approx(certificate.restart - history.continued)
    document = status_of(tmp_path / "run")
    assert document["continued_time"] == pytest.approx(history.continued)
    assert document["target_time"] == pytest.approx(certificate.used)
    again = resume(tmp_path / "run", budget={"runs": 50})
    assert len(again.history) >= 50
    assert again.history.continued >= history.continued


def test_only_for_strategies_with_guarantees(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="only strategies with guarantees"):
        tune(Scenario.load(written(tmp_path)), "roar", out=tmp_path / "run", hold="1GB")
    with pytest.raises(InputError, match="not a size"):
        tune(Scenario.load(written(tmp_path)), "oup", out=tmp_path / "run", hold="much")
    assert not (tmp_path / "run").exists()


def alive_in(folder: Path) -> list[int]:
    needle = b"HOME=" + os.fsencode(folder)
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                found += [int(name)] if needle in Path("/proc", name, "environ").read_bytes() else []
            except OSError:
                continue
    return found


@pytest.mark.parametrize(
    ("end", "code"),
    [(lambda it: it.kill(), -9), (lambda it: it.send_signal(signal.SIGINT), 130), (lambda it: None, 0)],
    ids=["killed", "interrupted", "finished"],
)
def test_nobody_is_left_over(tmp_path: Path, end: Callable[[subprocess.Popen[bytes]], None], code: int) -> None:
    """Whatever becomes of the tuning, those that it holds go with it."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    path = written(tmp_path, **({"runs": 25} if code == 0 else {}))
    command = [sys.executable, "-m", "capra", "tune", str(path), "--strategy", "oup", "--hold", "300MB", "--repeat", "0"]
    command += ["--out", str(tmp_path / "run"), "--set", "n=4", "--set", "kappa0=0.05", "--json"]
    environment = {**os.environ, "TMPDIR": str(scratch)}
    tuning = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until(lambda: len(held_in(scratch)) >= 3)
        end(tuning)
        assert tuning.wait(100) == code
        until(lambda: not alive_in(scratch))
        until(lambda: not list(scratch.iterdir()))
    finally:
        tuning.kill()
        tuning.wait()


def held_in(folder: Path) -> list[int]:
    """Processes that stand still."""
    found = []
    for pid in alive_in(folder):
        try:
            found += [pid] if states([pid]) == {"T"} else []
        except OSError:
            continue
    return found


# --- on the virtual clock ---


def test_simulated_runs_go_on_as_well() -> None:
    def run(request: RunRequest) -> Outcome:
        time = float(request.config["seconds"])
        if time > request.cutoff:
            return Outcome(Status.CAPPED, request.cutoff, request.cutoff)
        return Outcome(Status.SUCCESS, time, request.cutoff)

    engine = SimulatedEngine(run, 1, hold=True)
    found = []
    for cutoff in (1.0, 2.0, 8.0):
        engine.submit(ask(5.0, cutoff))
        found += [outcome for _, outcome in engine.wait()]
    assert [(outcome.time, outcome.continued) for outcome in found] == [(1.0, 0.0), (2.0, 1.0), (5.0, 2.0)]
    assert engine.clock == engine.busy == 5.0
    engine.submit(ask(9.0, 4.0))
    engine.wait()
    ticket = engine.submit(ask(9.0, 8.0))
    engine.tighten(ticket, 6.0)
    [(_, outcome)] = engine.wait()
    assert (outcome.time, outcome.continued, engine.clock) == (6.0, 4.0, 11.0)
