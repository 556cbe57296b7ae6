"""The example scenarios, checked as a user would."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
PROGRAMS = {"minisat": "minisat", "cbc": "coinor-cbc"}


@pytest.mark.parametrize("name", ["minisat", "cbc", "python-function"])
def test_check(name: str) -> None:
    program = {"minisat": "minisat", "cbc": "cbc"}.get(name)
    if program and not shutil.which(program):
        pytest.skip(f"{program} is not installed here: apt-get install {PROGRAMS[name]}")
    argv = [sys.executable, "-m", "capra", "check", str(EXAMPLES / name / "scenario.toml"), "--json"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    document = json.loads(done.stdout)
    assert {run["status"] for run in document["runs"] if run["purpose"] == "default"} == {"SUCCESS"}
    assert {run["status"] for run in document["runs"]} <= {"SUCCESS", "CAPPED", "TIMEOUT"}
    assert not [finding for finding in document["findings"] if finding["level"] == "error"]
    assert not [run["reason"] for run in document["runs"] if "not verified" in (run["reason"] or "")]


@pytest.mark.parametrize("name", ["minisat", "cbc"])
def test_instances_are_what_the_generator_makes(name: str, tmp_path: Path) -> None:
    folder = EXAMPLES / name
    subprocess.run([sys.executable, folder / "generate.py", tmp_path], check=True, timeout=100)
    made = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert made == {path.name: path.read_text() for path in (folder / "instances").iterdir()}
    assert max(map(len, made.values())) < 20_000


def test_checker_of_the_minisat_example(tmp_path: Path) -> None:
    checker = EXAMPLES / "minisat" / "check.py"
    (tmp_path / "f.cnf").write_text("c x\np cnf 2 2\n1 2 0\n-1\n0\n")
    for said, code in (("SAT\n-1 2 0\nSATISFIABLE\n", 0), ("SAT\n1 2 0\n", 1), ("UNSAT\nUNSATISFIABLE\n", 0)):
        (tmp_path / "out").write_text(said)
        done = subprocess.run([checker, tmp_path / "f.cnf", tmp_path / "out"], check=False, capture_output=True, timeout=60)
        assert done.returncode == code
