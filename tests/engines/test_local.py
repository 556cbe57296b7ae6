"""The local engine: the conformance suite, and real processes that misbehave.

Which failure class is tested where: tests/faults/README.md.

Besides: kill -9 of a supervisor (test_supervisor_killed), a program that vanishes (test_program_vanishes).
"""

from __future__ import annotations

import dataclasses
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest

import capra.engines.local as local
import capra.targets.supervisor as supervisor
from capra.engines import Engine, LocalEngine, Ticket
from capra.errors import InputError, TargetError
from capra.runs import Outcome, RunRequest, Status
from capra.scenario import Scenario
from capra.space import Real, Space
from capra.targets import CommandTarget
from capra.targets.supervisor import Job, Supervised
from capra.testing import hostile
from tests.engines.conformance import KAPPA, LONG, SHORT, EngineConformance, LossConformance, Strike, finish, request

PYTHON = [sys.executable, "-E", "-S", "-c"]
WORK = [*PYTHON, "import sys, time; all(iter(lambda: time.process_time() < float(sys.argv[1]), False))", "{config.seconds}"]
SPACE = Space([Real("seconds", 0.0, 100.0, 1.0)])


def scenario_of(target: Sequence[str], **options: Any) -> Scenario:
    return Scenario(**({"target": list(target), "space": SPACE, "cutoff": KAPPA} | options))


def private_directories() -> list[Path]:
    return list(Path(tempfile.gettempdir()).glob("capra-run-*"))


def targets_alive() -> list[int]:
    """Processes whose HOME is a private directory of this test session."""
    needle = b"HOME=" + os.fsencode(tempfile.gettempdir()) + b"/capra-run-"
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                environment = Path("/proc", name, "environ").read_bytes()
            except OSError:
                continue
            found += [int(name)] if needle in environment else []
    return found


def until(condition: Callable[[], Any], seconds: float = 60.0) -> Any:
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)
    return value


@pytest.fixture(autouse=True)
def _nothing_left() -> Iterator[None]:
    affinity = os.sched_getaffinity(0)
    yield
    assert private_directories() == []
    assert targets_alive() == []
    assert os.sched_getaffinity(0) == affinity


@pytest.fixture
def once() -> Callable[..., Outcome]:
    """One run of a program under a scenario."""

    def once(target: Sequence[str], cutoff: float = KAPPA, **options: Any) -> Outcome:
        scenario = scenario_of(target, **options)
        instance = scenario.instances[0].name if scenario.instances else None
        with LocalEngine(scenario, 1) as engine:
            ticket = engine.submit(RunRequest(SPACE.default, instance, 1, cutoff))
            [outcome] = finish(engine, ticket)
        return outcome

    return once


class TestConformance(EngineConformance, LossConformance):
    @pytest.fixture
    def engines(self) -> Iterator[list[LocalEngine]]:
        found: list[LocalEngine] = []
        yield found
        for engine in found:
            engine.close()

    @pytest.fixture
    def make(self, engines: list[LocalEngine]) -> Callable[[int], Engine]:
        def make(workers: int) -> Engine:
            engines.append(LocalEngine(scenario_of(WORK), workers))
            return engines[-1]

        return make

    @pytest.fixture
    def strike(self, engines: list[LocalEngine]) -> Strike:
        def strike(ticket: Ticket, number: signal.Signals) -> None:
            if number is not signal.SIGCONT:
                until(targets_alive)
            if (slot := engines[-1]._slots.get(ticket)) is not None:  # else it was over before it could be struck
                os.kill(slot.supervised.pid, number)

        return strike


# --- the engine itself ---


def test_workers_run_side_by_side() -> None:
    """Two runs that wait for each other."""
    meet = ["sh", "-c", "touch $0/$1; while [ $(ls $0 | wc -l) -lt 2 ]; do sleep 0.01; done"]
    with tempfile.TemporaryDirectory() as place, LocalEngine(scenario_of([*meet, place, "{seed}"]), 2) as engine:
        tickets = [engine.submit(request(SHORT, seed=seed)) for seed in (1, 2)]
        assert [outcome.status for outcome in finish(engine, *tickets)] == [Status.SUCCESS] * 2


def test_wait_gives_up_in_time() -> None:
    with LocalEngine(scenario_of(hostile.sleeper()), 1) as engine:
        engine.submit(request(LONG))
        assert engine.wait(0.0) == []
        assert engine.wait(0.05) == []
        assert engine.free == 0


def test_facts_come_along() -> None:
    with LocalEngine(scenario_of(WORK), 1) as engine:
        [outcome] = finish(engine, engine.submit(request(0.15)))
        assert outcome.cpu is not None
        assert outcome.wall is not None
        assert outcome.memory is not None
        assert 0.15 <= outcome.cpu == outcome.time
        assert outcome.memory > 10**6
        assert (outcome.exit_code, outcome.host, outcome.backend in ("process", "cgroup2")) == (0, os.uname().nodename, True)
        assert engine.measured == 1
        assert engine.warnings() == []


def test_warning_when_runs_are_disturbed() -> None:
    with LocalEngine(scenario_of(WORK), 1) as engine:
        engine.measured, engine.disturbed = 20, 5
        assert "25 %" in engine.warnings()[0]


def test_close_leaves_nothing() -> None:
    engine = LocalEngine(scenario_of(hostile.daemon(main_seconds=60.0)), 2)
    for seed in (1, 2):
        engine.submit(request(LONG, seed=seed))
    until(lambda: len(targets_alive()) == 4)
    assert len(private_directories()) == 2
    engine.close()
    assert targets_alive() == []
    assert private_directories() == []
    with pytest.raises(InputError, match="free"):
        engine.submit(request(SHORT))


def test_a_request_that_cannot_be_started_takes_no_worker() -> None:
    with LocalEngine(scenario_of([*WORK[:-1], "{config.other}"], space=Space([Real("seconds", 0.0, 1.0, 1.0), Real("other", 0.0, 1.0, 1.0)])), 1) as engine:  # fmt: skip
        with pytest.raises(InputError, match="inactive"):
            engine.submit(request(SHORT))
        assert engine.free == 1


def test_a_supervisor_that_cannot_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(job: Job) -> Supervised:
        raise TargetError("cannot start: too many processes")

    with LocalEngine(scenario_of(hostile.sleeper()), 1) as engine:
        with monkeypatch.context() as patch:
            patch.setattr(Supervised, "start", refuse)
            with pytest.raises(TargetError):
                engine.submit(request(SHORT))
        assert engine.free == 1
        ticket = engine.submit(request(LONG))
        with monkeypatch.context() as patch:
            patch.setattr(Supervised, "start", refuse)
            os.kill(engine._slots[ticket].supervised.pid, signal.SIGKILL)
            [outcome] = finish(engine, ticket)
        assert outcome.status is Status.LOST
        assert "too many processes" in str(outcome.reason)
        assert engine.free == 1


def test_pinning() -> None:
    cores = os.sched_getaffinity(0)
    if len(cores) < 2:
        pytest.skip("one core only: nothing to pin apart")
    with LocalEngine(scenario_of(WORK), len(cores) - 1) as engine:
        ours = os.sched_getaffinity(0)
        assert len(ours) == 1
        assert {core for pin in engine._pins for core in pin} == cores - ours
        scenario = scenario_of([*PYTHON, "import os; print(*sorted(os.sched_getaffinity(0)))"], output={"answer": "(.+)"})
    assert os.sched_getaffinity(0) == cores
    with LocalEngine(scenario, 1) as engine:
        [outcome] = finish(engine, engine.submit(request(SHORT)))
        assert outcome.answer == str(max(cores))
    with LocalEngine(scenario, len(cores)) as engine:  # no core would be left for us
        assert os.sched_getaffinity(0) == cores
        [outcome] = finish(engine, engine.submit(request(SHORT)))
        assert outcome.answer == " ".join(map(str, sorted(cores)))
    with LocalEngine(scenario, 1, pin=False) as engine:
        assert os.sched_getaffinity(0) == cores


# --- hold and resume ---


def cpu_of(pid: int) -> float:
    fields = Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_held_runs_make_no_progress_and_finish_later() -> None:
    with LocalEngine(scenario_of(WORK), 2) as engine:
        ticket = engine.submit(request(0.5))
        [pid] = until(lambda: targets_alive())
        engine.hold(ticket)
        until(lambda: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T")
        before = cpu_of(pid)
        assert engine.wait(0.3) == []  # at once: nothing but held runs is under way
        [other] = finish(engine, engine.submit(request(0.2)))
        assert other.status is Status.SUCCESS
        assert cpu_of(pid) == before
        assert engine.free == 1
        engine.resume(ticket, KAPPA)
        [outcome] = finish(engine, ticket)
        assert outcome.status is Status.SUCCESS
        assert 0.5 <= outcome.time < KAPPA


def test_resumed_under_a_larger_cutoff() -> None:
    with LocalEngine(scenario_of(WORK), 1) as engine:
        ticket = engine.submit(request(0.6, cutoff=0.3))
        engine.hold(ticket)
        engine.resume(ticket, 20.0)
        [outcome] = finish(engine, ticket)
        assert (outcome.status, outcome.cutoff) == (Status.SUCCESS, 20.0)
        ticket = engine.submit(request(LONG, cutoff=5.0))
        engine.hold(ticket)
        engine.resume(ticket, 0.1)
        [outcome] = finish(engine, ticket)
        assert (outcome.status, outcome.time) == (Status.CAPPED, 0.1)


def test_held_runs_can_be_stopped() -> None:
    with LocalEngine(scenario_of(WORK), 2) as engine:
        one, two = engine.submit(request(LONG)), engine.submit(request(LONG))
        for ticket in (one, two):
            engine.hold(ticket)
            engine.hold(ticket)
        engine.cancel(one)
        [lost] = finish(engine, one)
        assert lost.status is Status.LOST
        engine.tighten(two, 0.0)
        [capped] = finish(engine, two)
        assert capped.status is Status.CAPPED
        engine.resume(two, 1.0)  # over: nothing happens
        assert engine.free == 2


def test_close_while_held() -> None:
    with LocalEngine(scenario_of(WORK), 1) as engine:
        engine.hold(engine.submit(request(LONG)))


# --- the infrastructure fails ---


def kill_attempts(engine: LocalEngine, ticket: Any, times: int) -> int:
    """Kill the supervisor of so many attempts at a run, each when its target is alive; how many there were."""
    seen: set[int] = set()
    while len(seen) < times and ticket in engine._slots:
        pid = engine._slots[ticket].supervised.pid
        if pid not in seen and targets_alive():
            seen.add(pid)
            os.kill(pid, signal.SIGKILL)
            until(lambda: not targets_alive())
        engine._look(0.01)
    return len(seen)


def test_supervisor_killed_once() -> None:
    with LocalEngine(scenario_of(WORK), 1) as engine:
        ticket = engine.submit(request(0.3))
        assert kill_attempts(engine, ticket, 1) == 1
        [outcome] = finish(engine, ticket)
        assert outcome.status is Status.SUCCESS
        assert 0.3 <= outcome.time < KAPPA


def test_supervisor_killed_every_time() -> None:
    with LocalEngine(scenario_of(hostile.sleeper()), 1) as engine:
        ticket = engine.submit(request(LONG))
        assert kill_attempts(engine, ticket, 10) == local.ATTEMPTS == 3
        [outcome] = finish(engine, ticket)
        assert outcome.status is Status.LOST
        assert "supervisor" in str(outcome.reason)
        assert engine.free == 1


def test_supervisor_killed_when_the_run_was_to_stop() -> None:
    """A run that was told to stop is not started again, one that was held is held again."""
    with LocalEngine(scenario_of(hostile.deaf()), 2) as engine:
        stopped, held = engine.submit(request(LONG)), engine.submit(request(LONG))
        until(lambda: len(targets_alive()) == 2)
        engine.tighten(stopped, 0.0)
        os.kill(engine._slots[stopped].supervised.pid, signal.SIGKILL)
        [outcome] = finish(engine, stopped)
        assert outcome.status in (Status.LOST, Status.CAPPED)  # whichever was first
        engine.hold(held)
        victim = engine._slots[held].supervised.pid
        os.kill(victim, signal.SIGKILL)
        until(lambda: (engine.wait(0.01), engine._slots[held].supervised.pid != victim)[1])
        assert engine._slots[held].held


def test_silent_supervisor_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Past every bound it is killed, and the run tried again."""
    monkeypatch.setattr(local, "PATIENCE", -40.0)
    with LocalEngine(scenario_of(hostile.sleeper(), cutoff=1.0), 1) as engine:
        [outcome] = finish(engine, engine.submit(request(LONG, cutoff=1.0)))
        assert outcome.status is Status.LOST


def stop_the_worker(engine: LocalEngine, ticket: Ticket) -> None:
    """The process of the supervisor that has the run; its guard lives."""
    until(targets_alive)
    [worker] = supervisor._children(engine._slots[ticket].supervised.pid)
    os.kill(worker, signal.SIGSTOP)


def test_a_supervisor_whose_worker_is_stopped() -> None:
    """It holds the pipe of its report; past every bound it is killed, its guard cleans up, and the run is made again."""
    with LocalEngine(scenario_of(WORK, cutoff=1.0), 1) as engine:
        ticket = engine.submit(request(0.8, cutoff=1.0))
        stop_the_worker(engine, ticket)
        engine._slots[ticket].deadline = 0.0
        [outcome] = finish(engine, ticket)
        assert outcome.status is Status.SUCCESS


def test_close_with_a_worker_that_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "_EXIT", 0.2)
    scenario = scenario_of(hostile.sleeper(50.0))
    engine = LocalEngine(scenario, 1, target=Impatient(scenario))
    stop_the_worker(engine, engine.submit(request(LONG)))
    engine.close()
    until(lambda: not targets_alive())


def test_program_vanishes(tmp_path: Path) -> None:
    program = tmp_path / "solver"
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o755)
    with LocalEngine(scenario_of([str(program)]), 1) as engine:
        [first] = finish(engine, engine.submit(request(SHORT)))
        program.unlink()
        [second] = finish(engine, engine.submit(request(SHORT)))
        program.write_text("#!/bin/sh\nexit 0\n")
        program.chmod(0o755)
        [third] = finish(engine, engine.submit(request(SHORT)))
    assert [first.status, second.status, third.status] == [Status.SUCCESS, Status.LOST, Status.SUCCESS]
    assert str(program) in str(second.reason)


def test_missing_program(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="not there"):
        LocalEngine(scenario_of(["no-such-solver"]), 1)
    (tmp_path / "plain").write_text("")
    with pytest.raises(TargetError, match="chmod"):
        LocalEngine(scenario_of(["./plain"], base=tmp_path), 1)


class Impatient(CommandTarget):
    """Gives up on a process soon."""

    def job(self, request: RunRequest) -> Job:
        job = super().job(request)
        limits = dataclasses.replace(job.limits, wall=0.2, grace=0.1, kill_timeout=0.2)
        return dataclasses.replace(job, limits=limits)


def test_unkillable(monkeypatch: pytest.MonkeyPatch) -> None:
    """The outcome is declared, the worker is not used again, the others go on."""
    scenario = scenario_of(hostile.sleeper(50.0))
    start = Supervised.start
    with LocalEngine(scenario, 2, target=Impatient(scenario)) as engine:
        with monkeypatch.context() as patch:
            patch.setattr(Supervised, "start", lambda job: start(job, _testing={"toothless": 1}))
            ticket = engine.submit(request(LONG))
        [outcome] = finish(engine, ticket)
        assert (outcome.status, outcome.time, outcome.signal) == (Status.TIMEOUT, KAPPA, None)
        assert len(engine.sick) == 1
        assert (engine.free, len(engine._pins)) == (1, 1)
        assert "could not be killed" in engine.warnings()[0]
        [other] = finish(engine, engine.submit(request(LONG)))
        assert other.status is Status.TIMEOUT
        until(lambda: not targets_alive())  # here it does go, with its supervisor


# --- cutoffs that come late ---


def test_tightened_when_it_is_over() -> None:
    with LocalEngine(scenario_of(WORK), 1) as engine:
        ticket = engine.submit(request(0.3))
        until(lambda: engine._slots[ticket].supervised._readable(0.0))
        engine.tighten(ticket, 0.1)
        [outcome] = finish(engine, ticket)
        assert (outcome.status, outcome.cutoff) == (Status.SUCCESS, KAPPA)
        assert outcome.time >= 0.3


@pytest.mark.parametrize("unit", ["cpu", "wall"])
def test_tightened_to_less_than_it_has_used(unit: str) -> None:
    """It is over there, and has taken what it has taken: that is charged, and known of it."""
    with LocalEngine(scenario_of(WORK, unit=unit), 1) as engine:
        ticket = engine.submit(request(LONG))
        until(lambda: sum(sum(psutil.Process(pid).cpu_times()[:2]) for pid in targets_alive()) > 0.5)
        engine.tighten(ticket, 0.1)
        [outcome] = finish(engine, ticket)
        assert outcome.status is Status.CAPPED
        assert 0.3 < outcome.time == outcome.cutoff <= float(outcome.wall or 0.0)


# --- targets that misbehave ---


def test_deaf(once: Callable[..., Outcome]) -> None:
    outcome = once(hostile.deaf(), cutoff=0.2)
    assert (outcome.status, outcome.time, outcome.signal) == (Status.CAPPED, 0.2, signal.SIGKILL)


def test_daemon(once: Callable[..., Outcome]) -> None:
    outcome = once(hostile.daemon(seconds=60.0, main_seconds=60.0), cutoff=0.3)
    assert (outcome.status, outcome.time) == (Status.CAPPED, 0.3)


def test_what_is_left_behind_is_said() -> None:
    with LocalEngine(scenario_of(hostile.daemon(seconds=60.0, main_seconds=0.0)), 1) as engine:
        finish(engine, engine.submit(request(LONG, cutoff=0.3)))
        assert "1 runs left processes behind" in " ".join(engine.warnings())


def test_fork_storm(once: Callable[..., Outcome]) -> None:
    outcome = once(hostile.fork_storm(4), cutoff=0.5)
    assert (outcome.status, outcome.time) == (Status.CAPPED, 0.5)


def test_endless_output(once: Callable[..., Outcome]) -> None:
    assert once(hostile.endless_output(), cutoff=0.3).status is Status.CAPPED


def test_disk_filler(once: Callable[..., Outcome]) -> None:
    outcome = once(hostile.disk_filler(), file_size="1MB")
    assert outcome.status is Status.CRASHED


def test_memory_hog(once: Callable[..., Outcome]) -> None:
    outcome = once(hostile.memory_hog(400 * 1024**2), memory="100MB", unit="wall")
    assert outcome.status is Status.MEMOUT
    assert outcome.memory is not None
    assert outcome.memory > 50 * 1024**2


@pytest.mark.parametrize("said", ["nan", "-1", "1e999", "inf", "many", "1e3", ""])
def test_nonsense_steps(once: Callable[..., Outcome], said: str) -> None:
    outcome = once(["echo", f"steps: {said}"], output={"time": "^steps: (.*)$"}, unit="steps")
    assert outcome.status is Status.CRASHED
    assert outcome.reason


def test_measured_time_is_not_what_it_says(once: Callable[..., Outcome]) -> None:
    outcome = once(["sh", "-c", 'echo time: 0.000001; "$@"', "sh", *WORK[:-1], "0.1"], output={"time": "^time: (.*)$"})
    assert (outcome.status, outcome.reported) == (Status.SUCCESS, 1e-6)
    assert outcome.time >= 0.1


def test_success_then_segv(once: Callable[..., Outcome]) -> None:
    outcome = once(hostile.success_then_segv(), output={"solved": "^s SATISFIABLE"})
    assert (outcome.status, outcome.signal) == (Status.CRASHED, signal.SIGSEGV)
    assert "SIGSEGV" in str(outcome.reason)


def test_crashes_for_some_parameters() -> None:
    fragile = [*PYTHON, "import sys; sys.exit(1 if float(sys.argv[1]) > 0.5 else 0)", "{config.seconds}"]
    with LocalEngine(scenario_of(fragile), 1) as engine:
        found = [finish(engine, engine.submit(request(x)))[0] for x in (0.1, 0.9, 0.2, 0.8)]
    assert [outcome.status for outcome in found] == [Status.SUCCESS, Status.CRASHED] * 2
    assert "exit code 1" in str(found[1].reason)


# --- verification ---


CNF = "p cnf 2 2\n1 2 0\n-1 0\n"


@pytest.fixture
def cnf(tmp_path: Path) -> Path:
    (tmp_path / "f.cnf").write_text(CNF)
    return tmp_path


def sat(script: str, **options: Any) -> dict[str, Any]:
    rules = {"solved": "^s ", "answer": "^s (.*)$"}
    return {"target": ["sh", "-c", script, "{instance}"], "instances": ["f.cnf"], "output": rules} | options


@pytest.mark.parametrize(
    ("verifier", "status", "reason"),
    [
        ("exit 0", Status.SUCCESS, None),
        ("echo never heard of it; exit 1", Status.WRONG, "never heard of it"),
        ("exit 7", Status.SUCCESS, "not verified"),
        ("kill -SEGV $$", Status.SUCCESS, "not verified"),
        ('test "$(cat $1)" = "s SATISFIABLE" && test -f $0', Status.SUCCESS, None),
        ('test "$(cat $1)" = "something else"', Status.WRONG, "refutes"),
    ],
)
def test_verifier_command(
    once: Callable[..., Outcome], cnf: Path, verifier: str, status: Status, reason: str | None
) -> None:
    check = ["sh", "-c", verifier, "{instance}", "{output}"]
    outcome = once(**sat("echo s SATISFIABLE", verifier=check, base=cnf))
    assert outcome.status is status
    assert (outcome.reason is None) if reason is None else reason in str(outcome.reason)


def test_verifier_that_is_not_there(once: Callable[..., Outcome], cnf: Path) -> None:
    """A verifier that protects nobody is refused before the first run."""
    with pytest.raises(TargetError, match="no-such-checker"):
        once(**sat("echo s SATISFIABLE", verifier=["./no-such-checker", "{output}"], base=cnf))


def test_only_answers_are_verified(once: Callable[..., Outcome], cnf: Path) -> None:
    outcome = once(**sat("echo s SATISFIABLE; exit 3", verifier=["sh", "-c", "exit 1"], base=cnf))
    assert outcome.status is Status.CRASHED


def test_cancelled_while_it_is_verified(cnf: Path) -> None:
    scenario = scenario_of(**sat("echo s SATISFIABLE", verifier=["sleep", "60"], base=cnf))
    with LocalEngine(scenario, 1) as engine:
        ticket = engine.submit(RunRequest(SPACE.default, "f.cnf", 1, KAPPA))
        until(lambda: (engine.wait(0.01), engine._slots[ticket].verifying)[1])
        engine.hold(ticket)
        engine.tighten(ticket, 0.1)
        engine.cancel(ticket)
        [outcome] = finish(engine, ticket)
        assert outcome.status is Status.LOST


def test_verifier_whose_supervisor_is_killed(cnf: Path) -> None:
    scenario = scenario_of(**sat("echo s SATISFIABLE", verifier=["sleep", "60"], base=cnf))
    with LocalEngine(scenario, 1) as engine:
        ticket = engine.submit(RunRequest(SPACE.default, "f.cnf", 1, KAPPA))
        until(lambda: (engine.wait(0.01), engine._slots[ticket].verifying)[1])
        os.kill(engine._slots[ticket].supervised.pid, signal.SIGKILL)
        [outcome] = finish(engine, ticket)
    assert outcome.status is Status.SUCCESS
    assert "not verified" in str(outcome.reason)


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ("s SATISFIABLE|v -1 2 0", Status.SUCCESS),
        ("s SATISFIABLE|v 1 2 0", Status.WRONG),
        ("s SATISFIABLE|v -1 -2 0", Status.WRONG),
        ("s SATISFIABLE|v x y", Status.WRONG),
        ("s UNSATISFIABLE", Status.SUCCESS),  # nothing to hold against it
    ],
)
def test_lying_about_a_model(once: Callable[..., Outcome], cnf: Path, said: str, status: Status) -> None:
    outcome = once(**sat(f"echo '{said}' | tr '|' '\\n'", verifier="sat", base=cnf))
    assert outcome.status is status
    assert status is Status.SUCCESS or outcome.reason


def test_a_model_of_a_malformed_formula(once: Callable[..., Outcome], cnf: Path) -> None:
    (cnf / "f.cnf").write_text("p cnf two 2\n")
    outcome = once(**sat("echo s SATISFIABLE; echo v -1 2 0", verifier="sat", base=cnf))
    assert outcome.status is Status.SUCCESS
    assert "not verified" in str(outcome.reason)


@pytest.mark.parametrize(
    ("known", "said", "status"),
    [
        ("UNSAT", "s SATISFIABLE", Status.WRONG),
        ("SAT", "s SATISFIABLE", Status.SUCCESS),
        ("SAT", "s UNSATISFIABLE", Status.WRONG),
    ],
)
def test_known_answers(once: Callable[..., Outcome], cnf: Path, known: str, said: str, status: Status) -> None:
    (cnf / "list.txt").write_text(f"f.cnf {known}\n")
    outcome = once(**sat(f"echo {said}", verifier="answers", base=cnf, instances="list.txt"))
    assert outcome.status is status


# --- nothing leaks, in or out ---


@pytest.mark.parametrize(
    "name", ["a b;touch pwned $(id).cnf", "<script>alert(1)</script>.cnf", "-rf *.cnf", "ä∀'\"\\`.cnf", "%s{seed}{x}.cnf"]
)
def test_names_arrive_byte_for_byte(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "in"
    place = folder / name
    place.parent.mkdir(parents=True)
    place.write_text(CNF)
    before = sorted(tmp_path.rglob("*"))
    scenario = scenario_of([*hostile.echo(), "{instance}", "--file={instance}"], instances=[f"in/{name}"], base=tmp_path, output={"answer": '"argv": (.*?]),'})  # fmt: skip
    target = CommandTarget(scenario)
    wanted = RunRequest(SPACE.default, f"in/{name}", 1, KAPPA)
    with Supervised.start(target.job(wanted)) as run:
        facts = run.wait(60.0)
    assert facts is not None
    arrived = [bytes.fromhex(word) for word in json.loads(facts.stdout.text())["argv"]]
    assert arrived == [os.fsencode(place), b"--file=" + os.fsencode(place)]
    with LocalEngine(scenario, 1) as engine:
        [outcome] = finish(engine, engine.submit(wanted))
    assert outcome.status is Status.SUCCESS
    assert sorted(tmp_path.rglob("*")) == before
    assert not Path("pwned").exists()


def test_line_breaks_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a\nb.cnf").write_text(CNF)
    scenario = scenario_of(["cat", "{instance}"], instances="*.cnf", base=tmp_path, instance_kind="file")
    with LocalEngine(scenario, 1) as engine, pytest.raises(InputError, match="line break"):
        engine.submit(RunRequest(SPACE.default, scenario.instances[0].name, 1, KAPPA))


def test_private_directories(tmp_path: Path) -> None:
    """Named by chance, not by what an instance is called; what a target writes is gone afterwards."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "passwd").write_text(CNF)
    script = "echo secret > result; pwd; ls -a"
    scenario = scenario_of(["sh", "-c", script, "{instance}"], instances=["deep/../../" + tmp_path.name + "/passwd"], base=tmp_path, output={"answer": "^(/.*)$"})  # fmt: skip
    with LocalEngine(scenario, 1) as engine:
        [outcome] = finish(engine, engine.submit(RunRequest(SPACE.default, scenario.instances[0].name, 1, KAPPA)))
    place = Path(str(outcome.answer))
    assert place.parent == Path(tempfile.gettempdir())
    assert place.name.startswith("capra-run-")
    assert "passwd" not in place.name
    assert not place.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["deep", "passwd"]


def test_planted_links_are_not_followed(once: Callable[..., Outcome], cnf: Path) -> None:
    precious = cnf / "precious"
    precious.write_text("keep me")
    plant = f"for n in capra-output.txt output.txt output stdout; do ln -s {precious} $n; done; echo s SATISFIABLE"
    outcome = once(**sat(plant, verifier=["grep", "-q", "SATISFIABLE", "{output}"], base=cnf))
    assert (outcome.status, outcome.reason) == (Status.SUCCESS, None)
    assert precious.read_text() == "keep me"


def test_target_that_removes_its_directory(once: Callable[..., Outcome], cnf: Path) -> None:
    outcome = once(**sat('cd /; rm -rf "$HOME"; echo s SATISFIABLE', verifier=["true", "{output}"], base=cnf))
    assert outcome.status is Status.SUCCESS
    assert "not verified" in str(outcome.reason)


def test_canary_in_the_environment(once: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY", "sings")
    monkeypatch.setenv("LICENCE", "allowed")
    outcome = once(["sh", "-c", "echo canary=$CANARY licence=$LICENCE"], output={"answer": "(.+)"}, environment=["LICENCE"])
    assert outcome.answer == "canary= licence=allowed"


def test_working_directory_of_the_scenario(once: Callable[..., Outcome], tmp_path: Path) -> None:
    (tmp_path / "solver.sh").write_text("#!/bin/sh\npwd\n")
    (tmp_path / "solver.sh").chmod(0o755)
    outcome = once(["./solver.sh"], directory=str(tmp_path), output={"answer": "(.+)"})
    assert outcome.answer == str(tmp_path.resolve())


# --- everything at once ---


@pytest.mark.parametrize("seed", range(3))
def test_orders_and_accidents_at_random(seed: int) -> None:
    """Whatever happens to runs under way, each comes back exactly once, with a time that its bounds allow."""
    rng = random.Random(seed)
    asked: dict[Any, RunRequest] = {}
    found: dict[Any, Outcome] = {}
    with LocalEngine(scenario_of(WORK), 3, pin=False) as engine:
        while len(found) < 25:
            while engine.free and len(asked) < 25:
                now = request(rng.choice((0.01, 0.05, 0.2, LONG)), rng.choice((0.02, 0.1, 0.3, 0.5)), rng.randrange(9))
                asked[engine.submit(now)] = now
            for ticket, outcome in engine.wait(rng.choice((0.0, 0.01, 0.05))):
                assert ticket not in found
                found[ticket] = outcome
            if engine._slots:
                _something_happens(engine, rng, rng.choice(list(asked)))
    assert set(found) == set(asked)
    for ticket, outcome in found.items():
        assert outcome.status in (Status.SUCCESS, Status.CAPPED, Status.LOST)
        assert outcome.status is not Status.SUCCESS or outcome.time >= float(asked[ticket].config["seconds"])
        assert outcome.time <= outcome.cutoff <= 1.0


def _something_happens(engine: LocalEngine, rng: random.Random, ticket: Any) -> None:
    """To a run, which may be over."""
    slot = engine._slots.get(ticket)
    match rng.randrange(9):
        case 0:
            engine.tighten(ticket, rng.choice((0.0, 0.05, 0.4)))
        case 1:
            engine.cancel(ticket)
        case 2:
            engine.hold(ticket)
        case 3 | 4 | 5 | 6:  # more often than it is held: all must end
            engine.resume(ticket, rng.choice((0.05, 0.3, 1.0)))
        case 7 if slot is not None:
            os.kill(slot.supervised.pid, signal.SIGKILL)
        case _:
            engine.tighten(ticket, 10.0)
