"""The simulated engine keeps the promises of every engine, on its virtual clock."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from capra.engines import Engine, SimulatedEngine, simulated_target
from capra.errors import InputError, TargetError
from capra.formats.instances import Instance
from capra.runs import Outcome, RunRequest, Status
from capra.scenario import Scenario
from capra.space import Real, Space
from tests.engines.conformance import KAPPA, LONG, SHORT, EngineConformance, finish, request


def work(wanted: RunRequest) -> Outcome:
    """A target that needs ``seconds`` and then succeeds."""
    seconds = float(wanted.config["seconds"])
    if seconds <= wanted.cutoff:
        return Outcome(Status.SUCCESS, seconds, wanted.cutoff)
    status = Status.CAPPED if wanted.cutoff < KAPPA else Status.TIMEOUT
    return Outcome(status, wanted.cutoff, wanted.cutoff)


class TestConformance(EngineConformance):
    @pytest.fixture
    def make(self) -> Callable[[int], Engine]:
        return lambda workers: SimulatedEngine(work, workers)


def test_the_clock_is_virtual() -> None:
    engine = SimulatedEngine(work, 2)
    long, short = engine.submit(request(LONG)), engine.submit(request(SHORT))
    finish(engine, short, long)
    assert engine.clock == LONG
    assert engine.busy == LONG + SHORT


def answered(value: Any, **options: Any) -> Outcome:
    """What a run with a cutoff of 5 amounts to whose function gives this value."""
    given = {"space": Space([Real("x", 0.0, 1.0, 0.5)]), "cutoff": 10.0, "instances": [Instance("i", "SAT")]}
    scenario = Scenario(target=lambda *_: value, **given | options)
    return simulated_target(scenario)(RunRequest(scenario.default, "i", 1, 5.0))


@pytest.mark.parametrize(
    ("value", "options", "status", "time"),
    [
        (3.0, {}, Status.SUCCESS, 3.0),
        (7.0, {}, Status.CAPPED, 5.0),
        (70.0, {"cutoff": 5.0}, Status.TIMEOUT, 5.0),
        ({"status": "TIMEOUT"}, {}, Status.CAPPED, 5.0),
        (None, {}, Status.CRASHED, 0.0),
        (None, {"unit": "steps"}, Status.CRASHED, 0.0),
        (None, {"objective": "quality"}, Status.CRASHED, 0.0),
        (0.5, {"objective": "quality"}, Status.SUCCESS, 0.0),
        ({"status": "MEMOUT", "time": 2.0}, {}, Status.MEMOUT, 2.0),
        ({"status": "ABORT"}, {}, Status.LOST, 0.0),
        ({"time": 1.0, "answer": "UNSAT"}, {"verifier": "answers"}, Status.WRONG, 1.0),
        ({"time": 1.0, "answer": "SAT"}, {"verifier": "answers"}, Status.SUCCESS, 1.0),
        ({"tiem": 1.0}, {}, Status.CRASHED, 0.0),
    ],
)
def test_values_mean_what_they_mean_elsewhere(value: Any, options: dict[str, Any], status: Status, time: float) -> None:
    outcome = answered(value, **options)
    assert (outcome.status, outcome.time, outcome.cutoff) == (status, time, 5.0)


# --- functions that are named ---


def named(folder: Path, module: str, code: str, **options: Any) -> Scenario:
    (folder / f"{module}.py").write_text(code)
    given = {"target": f"{module}:run", "space": Space([Real("x", 0.0, 1.0, 0.5)]), "cutoff": 10.0, "instances": ["i"]}
    return Scenario(base=folder, **given | options)


def outcome_of(scenario: Scenario) -> Outcome:
    return simulated_target(scenario)(RunRequest(scenario.default, scenario.instances[0].name, 1, 5.0))


@pytest.fixture(autouse=True)
def _the_path_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))


def test_a_named_function_is_found_beside_the_scenario(tmp_path: Path) -> None:
    (tmp_path / "capra_test_far.py").write_text("def far():\n    return 2.0\n")
    code = "def run(config, instance, seed, cutoff):\n    from capra_test_far import far\n    return config['x'] + far()\n"
    assert outcome_of(named(tmp_path, "capra_test_near", code)).time == 2.5


def test_instances_that_are_files_are_paths(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("four")
    code = (
        "def run(config, instance, seed, cutoff):\n    return 1.0 + len(__import__('pathlib').Path(instance).read_text())\n"
    )
    scenario = named(tmp_path, "capra_test_file", code, instances=["long.txt"], instance_kind="file")
    assert outcome_of(scenario).time == 5.0


@pytest.mark.parametrize(
    ("body", "reason"),
    [("raise ValueError('one\\ntwo')", "two"), ("raise KeyError('x')", "KeyError: 'x'"), ("exit(3)", "SystemExit: 3")],
)
def test_a_function_that_raises_has_crashed(tmp_path: Path, body: str, reason: str) -> None:
    code = f"def run(*_):\n    {body}\n"
    outcome = outcome_of(named(tmp_path, f"capra_test_raises_{abs(hash(body))}", code))
    assert (outcome.status, outcome.reason) == (Status.CRASHED, reason)


def test_numbers_of_numpy_are_numbers(tmp_path: Path) -> None:
    code = "import numpy as np\ndef run(*_):\n    return np.float32(1.5)\n"
    assert outcome_of(named(tmp_path, "capra_test_numpy", code)).time == 1.5


def test_what_cannot_be_simulated_is_said(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="capra_test_none:run cannot be found: AttributeError: capra_test_none has no"):
        simulated_target(named(tmp_path, "capra_test_none", ""))
    with pytest.raises(TargetError, match="cannot be found: RuntimeError: not today"):
        simulated_target(named(tmp_path, "capra_test_never", "raise RuntimeError('not today')"))
    target = ["solve", "a b", "{instance}", "{params}"]
    with pytest.raises(InputError, match=r"a command cannot be simulated: solve 'a b' '\{instance\}' '\{params\}'"):
        simulated_target(named(tmp_path, "unused", "", target=target, instance_kind="name"))


def test_a_module_of_the_same_name_from_elsewhere_does_not_answer(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    one = named(tmp_path / "one", "capra_test_twice", "def run(*_):\n    return 1.0\n")
    two = named(tmp_path / "two", "capra_test_twice", "def run(*_):\n    return 2.0\n")
    assert outcome_of(one).time == outcome_of(one).time == 1.0
    with pytest.raises(TargetError, match=r"capra_test_twice is already .*one/capra_test_twice\.py"):
        simulated_target(two)
