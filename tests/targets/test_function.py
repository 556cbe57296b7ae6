"""Python functions in supervised processes of their own."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capra.engines import LocalEngine
from capra.errors import TargetError
from capra.runs import Outcome, RunRequest, Status
from capra.scenario import Scenario
from capra.space import Real, Space
from capra.targets import FunctionTarget
from capra.targets.dialects import Claim
from capra.targets.function import read_value

FUNCTIONS = """
import os, signal, subprocess, sys, threading, time
import numpy

def number(config, instance, seed, cutoff): return config["x"] + seed
def nothing(config, instance, seed, cutoff): return None
def echo(config, instance, seed, cutoff): return {"answer": repr((config, instance, seed, cutoff)), "quality": 1}
def numpy_number(config, instance, seed, cutoff): return numpy.float32(0.5)
def numpy_dict(config, instance, seed, cutoff): return {"status": "success", "time": numpy.int64(3), "quality": numpy.float64(2)}
def raises(config, instance, seed, cutoff): raise ValueError("no\\nsuch luck")
def exits(config, instance, seed, cutoff): os._exit(3)
def leaves(config, instance, seed, cutoff): sys.exit(4)
def killed(config, instance, seed, cutoff): os.kill(os.getpid(), signal.SIGKILL)
def alarmed(config, instance, seed, cutoff): os.kill(os.getpid(), signal.SIGALRM)
def loop(config, instance, seed, cutoff):
    while True: pass
def compiled(config, instance, seed, cutoff): return sum(range(10**10))
def sleeps(config, instance, seed, cutoff): time.sleep(60)
def child(config, instance, seed, cutoff):
    subprocess.run([sys.executable, "-E", "-S", "-c", f"import time\\nwhile time.process_time() < {seed / 10}: pass"])
def busy(config, instance, seed, cutoff):
    start = time.process_time()
    while time.process_time() < start + 0.1: pass
def gives(config, instance, seed, cutoff):
    return [float("nan"), -1.0, "1e999", float("inf"), 10**400, 10**5000, [1], object, {"tiem": 1}, {"status": "fine"},
            {"time": True}, {"quality": float("nan")}, 1j][seed]
def steps(config, instance, seed, cutoff): return seed
def satisfiable(config, instance, seed, cutoff): return {"answer": "satisfiable"}
def gave_up(config, instance, seed, cutoff): return {"status": "TIMEOUT"}
def environment(config, instance, seed, cutoff): return {"answer": " ".join(sorted(os.environ))}
def hashes(config, instance, seed, cutoff): return {"answer": str(hash("word"))}
def leaves_a_thread(config, instance, seed, cutoff):
    threading.Thread(target=time.sleep, args=(600,)).start()
    return 1.0
class Named:
    @staticmethod
    def method(config, instance, seed, cutoff): return 2.0
"""


@pytest.fixture
def functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "my_functions.py").write_text(FUNCTIONS)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("my_functions", None)


@pytest.fixture
def call(functions: None) -> Callable[..., Outcome]:
    """One run of a function of the module, by name."""

    def call(
        name: str, seed: int = 1, cutoff: float = 5.0, instance: str | None = None, kappa_max: float = 5.0, **options: Any
    ) -> Outcome:
        given = {"objective": "par10", **options} | ({"cutoff": kappa_max} if kappa_max < math.inf else {})
        target = given.pop("target", f"my_functions:{name}")
        scenario = Scenario(target=target, space=Space([Real("x", 0.0, 1.0, 0.5)]), **given)
        with LocalEngine(scenario, 1) as engine:
            engine.submit(RunRequest(scenario.space.default, instance, seed, cutoff))
            [(_, outcome)] = engine.wait(60.0)
        return outcome

    return call


# --- what it returns ---


def test_time_is_measured_and_the_return_value_a_comment(call: Callable[..., Outcome]) -> None:
    outcome = call("number", 3)
    assert (outcome.status, outcome.reported) == (Status.SUCCESS, 3.5)
    assert outcome.time < 0.1  # neither the interpreter's start nor the import of numpy


def test_nothing_is_fine_where_we_measure(call: Callable[..., Outcome]) -> None:
    assert call("nothing").status is Status.SUCCESS
    assert call("nothing", objective="quality").reason == "reports no quality"
    assert call("nothing", unit="steps").reason == "reports no steps"


def test_threads_that_it_leaves_are_not_waited_for(call: Callable[..., Outcome]) -> None:
    assert call("leaves_a_thread").status is Status.SUCCESS


def test_arguments_arrive(call: Callable[..., Outcome]) -> None:
    strange = "a b;touch pwned $(id).cnf"
    outcome = call("echo", 7, 2.5, strange, instances=[strange])
    assert outcome.answer == repr(({"x": 0.5}, strange, 7, 2.5))


def test_no_cutoff(call: Callable[..., Outcome]) -> None:
    assert call("echo", 7, math.inf, objective="quality", kappa_max=math.inf).answer == repr(({"x": 0.5}, None, 7, math.inf))


def test_numbers_of_numpy(call: Callable[..., Outcome]) -> None:
    assert call("numpy_number", objective="quality").quality == 0.5
    outcome = call("numpy_dict", unit="steps")
    assert (outcome.status, outcome.time, outcome.quality) == (Status.SUCCESS, 3.0, 2.0)


def test_steps_beyond_the_cutoff_are_censored(call: Callable[..., Outcome]) -> None:
    for seed, cutoff, status, time in (
        (3, 5.0, Status.SUCCESS, 3.0),
        (4, 3.5, Status.CAPPED, 3.5),
        (9, 5.0, Status.TIMEOUT, 5.0),
    ):
        outcome = call("steps", seed, cutoff, unit="steps")
        assert (outcome.status, outcome.time, outcome.cutoff) == (status, time, cutoff)


@pytest.mark.parametrize("seed", range(13))
def test_nonsense_is_a_crash_with_the_reason(call: Callable[..., Outcome], seed: int) -> None:
    outcome = call("gives", seed)
    assert outcome.status is Status.CRASHED
    expected = [
        "nan",
        "-1.0",
        "'1e999'",
        "inf",
        "1000",
        "ValueError",
        "[1]",
        "class",
        "'tiem'",
        "'fine'",
        "True",
        "nan",
        "1j",
    ]
    assert expected[seed] in str(outcome.reason)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), lambda x: st.dictionaries(st.sampled_from(["status", "time", "quality", "answer", "x"]), x)))  # fmt: skip
def test_any_value_is_read(value: Any) -> None:
    for quality in (False, True):
        reply = read_value(value, quality=quality)
        assert reply.time is None or (math.isfinite(reply.time) and reply.time >= 0)
        assert reply.quality is None or math.isfinite(reply.quality)
        assert reply.claim is Claim.SUCCESS or reply.reason


def test_known_answers(call: Callable[..., Outcome], tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("easy SAT\nhard UNSAT\nfree\n")
    given = {"base": tmp_path, "instances": "list.txt", "verifier": "answers", "instance_kind": "name"}
    found = {name: call("satisfiable", instance=name, **given) for name in ("easy", "hard", "free")}
    assert [outcome.status for outcome in found.values()] == [Status.SUCCESS, Status.WRONG, Status.SUCCESS]
    assert found["hard"].reason == "the instance is UNSAT, the target says SAT"
    for verifier in ("sat", ["./check", "{output}"]):
        with pytest.raises(TargetError, match="verifier"):
            call("satisfiable", instance="easy", **(given | {"verifier": verifier}))


# --- how it ends ---


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("raises", "such luck"),
        ("exits", "ended without an answer (exit code 3)"),
        ("leaves", "ended without an answer (exit code 4)"),
        ("killed", "killed by SIGKILL"),
        ("alarmed", "killed by SIGALRM"),
        ("gave_up", "gave up"),
        ("absent", "my_functions has no function 'absent'"),
    ],
)
def test_crashes(call: Callable[..., Outcome], name: str, reason: str) -> None:
    outcome = call(name)
    assert outcome.status is Status.CRASHED
    assert reason in str(outcome.reason)


@pytest.mark.parametrize("name", ["loop", "compiled"])
def test_cut_by_cpu(call: Callable[..., Outcome], name: str) -> None:
    outcome = call(name, cutoff=0.2)
    assert (outcome.status, outcome.time, outcome.cutoff) == (Status.CAPPED, 0.2, 0.2)
    assert outcome.cpu is not None
    assert 0.2 <= outcome.cpu < 3.0  # never before its time, however busy the machine


def test_cut_at_kappa_max(call: Callable[..., Outcome]) -> None:
    outcome = call("loop", cutoff=0.2, kappa_max=0.2)
    assert (outcome.status, outcome.time) == (Status.TIMEOUT, 0.2)


def test_cut_by_wall(call: Callable[..., Outcome]) -> None:
    outcome = call("sleeps", cutoff=0.2, unit="wall")
    assert (outcome.status, outcome.time) == (Status.CAPPED, 0.2)
    assert call("busy", unit="wall").time >= 0.1


def test_cpu_of_children_counts(call: Callable[..., Outcome]) -> None:
    """The function's own timer does not see them; what we measured does."""
    within = call("child", 2)
    assert within.status is Status.SUCCESS
    assert 0.2 <= within.time < 2.0
    beyond = call("child", 4, cutoff=0.2)
    assert (beyond.status, beyond.time) == (Status.CAPPED, 0.2)


def test_the_start_is_allowed_for_as_it_was_seen(functions: None) -> None:
    scenario = Scenario(target="my_functions:nothing", space=Space([Real("x", 0.0, 1.0, 0.5)]), cutoff=1.0)
    target = FunctionTarget(scenario)
    request = RunRequest(scenario.space.default, None, 1, 1.0)
    assert target.job(request).limits.cpu == 21.0
    with LocalEngine(scenario, 1, target=target) as engine:
        engine.submit(request)
        engine.wait(60.0)
    cpu = target.job(request).limits.cpu
    assert cpu is not None
    assert 2.0 < cpu < 10.0


def test_tightened_stopped_held(functions: None) -> None:
    """Orders reach a function, too; what is told is true of the function alone."""
    scenario = Scenario(target="my_functions:loop", space=Space([Real("x", 0.0, 1.0, 0.5)]), cutoff=50.0)
    with LocalEngine(scenario, 1, pin=False) as engine:
        for bound in (0.4, 0.0):
            ticket = engine.submit(RunRequest(scenario.space.default, None, 1, 50.0))
            directory = engine._slots[ticket].supervised.directory
            while not (directory / "capra-started.json").exists():
                assert not engine.wait(0.01)
            engine.wait(0.1)
            engine.hold(ticket)
            assert engine.wait(0.1) == []
            engine.resume(ticket, 50.0)
            engine.tighten(ticket, bound)
            [(_, outcome)] = engine.wait(60.0)
            assert outcome.status is Status.CAPPED
            assert outcome.time == bound or (bound == 0.0 and outcome.time < 20.0)
        ticket = engine.submit(RunRequest(scenario.space.default, None, 1, 0.3))
        engine.hold(ticket)
        engine.resume(ticket, 40.0)  # its own timer knows 0.3 only: that is what it proves
        [(_, outcome)] = engine.wait(60.0)
        assert (outcome.status, outcome.time) == (Status.CAPPED, 0.3)


# --- where it lives ---


def test_environment_is_clean_and_hashes_repeat(call: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY", "sings")
    seen = str(call("environment").answer).split()
    assert "CANARY" not in seen
    assert {"PATH", "HOME", "TMPDIR"} <= set(seen)
    assert call("hashes").answer == call("hashes").answer


def test_function_objects(call: Callable[..., Outcome]) -> None:
    import my_functions

    assert call("", target=my_functions.number).reported == 1.5
    assert call("", target=my_functions.Named.method).reported == 2.0


def test_what_cannot_be_found_again() -> None:
    def inner(config: Any, instance: Any, seed: int, cutoff: float) -> float:
        return 1.0

    space = Space([Real("x", 0.0, 1.0, 0.5)])
    for target in (inner, lambda config, instance, seed, cutoff: 1.0):
        with pytest.raises(TargetError, match="inside a function") as caught:
            FunctionTarget(Scenario(target=target, space=space, cutoff=1.0))
        assert "top level" in str(caught.value.hint)
    with pytest.raises(TargetError, match="not a function"):
        FunctionTarget(Scenario(target=_Callable(), space=space, cutoff=1.0))


class _Callable:
    def __call__(self, config: Any, instance: Any, seed: int, cutoff: float) -> float:
        return 1.0


SCRIPT = """
import json
from dataclasses import dataclass
from capra.engines import LocalEngine
from capra.runs import RunRequest
from capra.scenario import Scenario
from capra.space import Real, Space

FACTOR = 2.0

@dataclass
class Box:
    value: float

def helper(x: float) -> float:
    return Box(x * FACTOR).value

def f(config, instance, seed, cutoff):
    return {"quality": helper(config["x"]) + seed}

if __name__ == "__main__":
    scenario = Scenario(target=f, space=Space([Real("x", 0.0, 1.0, 0.5)]), objective="quality", cutoff=5.0)
    with LocalEngine(scenario, 1) as engine:
        engine.submit(RunRequest(scenario.space.default, None, 3, 5.0))
        [(_, outcome)] = engine.wait(60.0)
    print(json.dumps([outcome.status, outcome.quality, outcome.reason]))
"""


def test_function_of_a_script(tmp_path: Path) -> None:
    script = tmp_path / "my script.py"
    script.write_text(SCRIPT)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True, timeout=100)
    assert json.loads(done.stdout) == ["SUCCESS", 4.0, None]


def test_function_of_a_session() -> None:
    code = textwrap.dedent("""
        from capra.scenario import Scenario
        from capra.space import Real, Space
        from capra.targets import FunctionTarget
        def f(config, instance, seed, cutoff): return 1.0
        FunctionTarget(Scenario(target=f, space=Space([Real("x", 0.0, 1.0, 0.5)]), cutoff=1.0))
    """)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=100)
    assert "put it into a file" in done.stderr


def test_command_to_repeat_it(functions: None, tmp_path: Path) -> None:
    scenario = Scenario(base=tmp_path, target="my_functions:number", space=Space([Real("x", 0.0, 1.0, 0.5)]), cutoff=1.0)
    argv = FunctionTarget(scenario).argv(RunRequest(scenario.space.default, None, 3, 1.0))
    done = subprocess.run(argv, capture_output=True, text=True, check=True, cwd="/", timeout=100)
    assert done.stdout == "3.5\n"
