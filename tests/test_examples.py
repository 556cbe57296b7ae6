"""The example scenarios, checked as a user would."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
PROGRAMS = {"minisat": ("minisat", "minisat"), "cbc": ("cbc", "coinor-cbc"), "compiler": ("g++", "g++")}
"""What an example runs, and the Debian package that has it."""


def need(name: str) -> None:
    program, package = PROGRAMS.get(name, ("env", ""))
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed here: apt-get install {package}")


@pytest.mark.parametrize("name", ["minisat", "cbc", "compiler", "python-function", "time-to-accuracy"])
def test_check(name: str) -> None:
    need(name)
    argv = [sys.executable, "-m", "capra", "check", str(EXAMPLES / name / "scenario.toml"), "--json"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    document = json.loads(done.stdout)
    found = {run["status"] for run in document["runs"] if run["purpose"] == "default"}
    assert "SUCCESS" in found <= {"SUCCESS", "TIMEOUT"}  # hard instances are tried, too
    assert {run["status"] for run in document["runs"]} <= {
        "SUCCESS",
        "CAPPED",
        "TIMEOUT",
        *(["CRASHED"] if name == "time-to-accuracy" else []),
    }
    assert not [finding for finding in document["findings"] if finding["level"] == "error"]
    assert not [run["reason"] for run in document["runs"] if "not verified" in (run["reason"] or "")]


def texts(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", ["minisat", "cbc"])
def test_instances_are_what_the_generator_makes(name: str, tmp_path: Path) -> None:
    folder = EXAMPLES / name
    subprocess.run([sys.executable, folder / "generate.py", tmp_path], check=True, timeout=100)
    made = texts(tmp_path)
    assert made == texts(folder / "instances")
    assert max(map(len, made.values())) < 20_000


def test_checker_of_the_minisat_example(tmp_path: Path) -> None:
    checker = EXAMPLES / "minisat" / "check.py"
    (tmp_path / "f.cnf").write_text("c x\np cnf 2 2\n1 2 0\n-1\n0\n")
    for said, code in (("SAT\n-1 2 0\nSATISFIABLE\n", 0), ("SAT\n1 2 0\n", 1), ("UNSAT\nUNSATISFIABLE\n", 0)):
        (tmp_path / "out").write_text(said)
        done = subprocess.run([checker, tmp_path / "f.cnf", tmp_path / "out"], check=False, capture_output=True, timeout=60)
        assert done.returncode == code


def compiled_and_run(
    place: Path, cutoff: str, *flags: str, program: Path = EXAMPLES / "compiler/programs/train/kahan.cpp"
) -> dict[str, object]:
    argv = [EXAMPLES / "compiler" / "compile_and_run.py", program, cutoff, "1", *flags]
    done = subprocess.run(argv, cwd=place, capture_output=True, text=True, check=True, timeout=100)
    (place / "output").write_text(done.stdout)
    checked = subprocess.run([EXAMPLES / "compiler" / "check.py", program, place / "output"], check=False, timeout=60)
    return json.loads(done.stdout) | {"wrong": bool(checked.returncode)}


def test_programs_of_the_compiler_example_know_their_answers(tmp_path: Path) -> None:
    need("compiler")
    programs = sorted(EXAMPLES.glob("compiler/programs/*/*.cpp"))
    assert len(programs) == 6
    for program in programs:
        made = compiled_and_run(tmp_path, "60", "-O0", program=program)
        assert (made["status"], made["wrong"]) == ("SUCCESS", False), program


def test_the_compiler_example_finds_the_fast_and_wrong_flag(tmp_path: Path) -> None:
    need("compiler")
    right, wrong = (compiled_and_run(tmp_path, "60", "-O2", *flags) for flags in ((), ("-ffast-math",)))
    assert (right["status"], right["wrong"]) == ("SUCCESS", False)
    assert (wrong["status"], wrong["wrong"]) == ("SUCCESS", True)
    assert compiled_and_run(tmp_path, "0.001") == {"status": "TIMEOUT", "time": 0.001, "wrong": False}
    assert compiled_and_run(tmp_path, "1", "--no-such-flag")["status"] == "CRASHED"


def test_the_trainer_reaches_its_accuracy_and_says_when_it_diverged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLES / "time-to-accuracy")
    from trainer import POINTS, Network, spirals, train

    good = {"batch-size": 32, "learning-rate": 0.01, "momentum": 0.9, "decay": 1e-4, "layers": 2, "units": 64}
    assert train(good | {"activation": "relu"}, "spirals-1", 1, 5.0)["status"] == "SUCCESS"
    assert train(good | {"activation": "relu", "learning-rate": 1e9}, "spirals-1", 1, 5.0) == {"status": "CRASHED"}
    X, y = spirals("spirals-1")
    for activation in ("relu", "tanh"):
        network = Network(
            good | {"activation": activation, "layers": 1, "momentum": 0.0, "decay": 0.0}, np.random.default_rng(0)
        )
        before = [layer.copy() for layer in network.layers]
        network.step(X[:POINTS], y[:POINTS])
        moved = [(new - old)[0, 0] / -good["learning-rate"] for new, old in zip(network.layers, before, strict=True)]
        network.layers = before
        slopes = [slope(network, layer, X[:POINTS], y[:POINTS]) for layer in before]
        assert moved == pytest.approx(slopes, abs=1e-7)


def slope(network: Any, layer: np.ndarray, X: np.ndarray, y: np.ndarray) -> float:
    """Of the mean cross-entropy along the first weight of a layer."""

    def loss() -> float:
        logits = network.outputs(X)[-1]
        return float(np.mean(np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(len(y)), y]))

    h = 1e-5
    layer[0, 0] += h
    above = loss()
    layer[0, 0] -= 2 * h
    below = loss()
    layer[0, 0] += h
    return (above - below) / (2 * h)
