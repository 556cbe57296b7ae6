"""``capra check`` on small real targets: what it runs, what it says, how it exits."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Checked = Callable[..., subprocess.CompletedProcess[str]]
GOOD = """#!/bin/sh
echo "s SATISFIABLE $3"
"""
BURN = f'{sys.executable} -E -S -c "import time; all(iter(lambda: time.process_time() < %s, False))"\n'


@pytest.fixture
def check(folder: Path) -> Checked:
    """Write a target script and a scenario around it, and check that."""

    def check(script: str, *flags: str, **options: Any) -> subprocess.CompletedProcess[str]:
        (folder / "solver").write_text(script if script.startswith("#!") else "#!/bin/sh\n" + script)
        (folder / "solver").chmod(0o755)
        given = {
            "target": ["./solver", "{instance}", "{seed}", "{config.alpha}", "{config.mode}"],
            "space": "parameters.pcs",
            "instances": "train",
            "test_instances": "test",
            "cutoff": 10,
            "output": {"solved": "^s (UN)?SATISFIABLE", "answer": "^s (.*)$"},
        } | options
        path = folder / "scenario.toml"
        path.write_text("\n".join(f"{key} = {_toml(value)}" for key, value in given.items()) + "\n")
        argv = [sys.executable, "-m", "capra", "check", str(path), *flags]
        return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=100)

    return check


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_toml(item)}" for key, item in value.items()) + "}"
    return json.dumps(value)


def findings(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """Topic to level of what the runs showed, from ``--json``; the worst one of each topic."""
    found: dict[str, str] = {}
    for finding in json.loads(done.stdout)["findings"]:
        if finding["level"] != "ok" or finding["topic"] not in found:
            found[finding["topic"]] = finding["level"]
    return found


def runs(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    return list(json.loads(done.stdout)["runs"])


def test_good_target(check: Checked, folder: Path) -> None:
    done = check(GOOD)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "error" not in done.stdout
    assert "solves 3 of 3" in done.stdout
    assert "the same seed repeats" in done.stdout
    assert "3 random configurations ran, 3 within the cutoff" in done.stdout
    command = next(line for line in done.stdout.splitlines() if line.startswith("    ")).strip()
    assert command == shlex.join([str(folder / "solver"), str(folder / "train/a.cnf"), "1", "0.5", "fast"])
    again = subprocess.run(shlex.split(command), capture_output=True, text=True, check=True)
    assert again.stdout == "s SATISFIABLE 0.5\n"


def test_json(check: Checked, folder: Path) -> None:
    done = check(GOOD, "--json")
    assert done.returncode == 0
    made = runs(done)
    assert [run["purpose"] for run in made].count("default") == 3
    assert [run["purpose"] for run in made].count("same seed") == 1
    assert [run["purpose"] for run in made].count("random") == 3
    for run in made:
        assert (run["status"], run["seed"], run["exit_code"]) == ("SUCCESS", 1, 0)
        assert 0 < run["time"] < 10
        assert run["command"].startswith(str(folder / "solver"))
        assert set(run["config"]) == {"alpha", "mode"}
        assert run["instance"] in ("train/a.cnf", "train/b.cnf", "train/c.cnf")


@pytest.mark.parametrize(
    ("words", "level", "text"),
    [
        (["{instance}", "{seed}"], "error", "no parameter reaches the target"),
        (["{instance}", "{params}"], "warning", "no seed reaches the target"),
        (["features.csv", "{instance}", "{seed}", "{params}"], "warning", "./features.csv"),
        (["/bin/sh", "features.csv", "{instance}", "{seed}", "{params}"], "warning", "./features.csv"),
        (["{instance}", "{seed}", "{config.mode}"], None, None),
    ],
)
def test_what_is_missing_on_the_command_line(check: Checked, words: list[str], level: str | None, text: str | None) -> None:
    done = check(GOOD, "--static", "--json", target=["./solver", *words])
    found = [finding for finding in json.loads(done.stdout)["findings"] if finding["topic"] == "target"][1:]
    assert [finding["level"] for finding in found] == ([level] if level else [])
    assert text is None or text in found[0]["text"]
    assert done.returncode == (3 if level == "error" else 0)


def test_a_deterministic_target_needs_no_seed(check: Checked) -> None:
    done = check(GOOD, "--static", "--json", target=["./solver", "{instance}", "{params}"], deterministic=True)
    assert findings(done)["target"] == "ok"


def test_static_runs_nothing(check: Checked, folder: Path) -> None:
    done = check("touch $(dirname $0)/ran", "--static", "--json")
    assert done.returncode == 0
    assert runs(done) == []
    assert not (folder / "ran").exists()


def test_runs_are_spread_over_the_instances(check: Checked, folder: Path) -> None:
    for name in ("a", "b", "c", "d", "e", "f", "g"):
        (folder / "train" / f"{name}.cnf").write_text("p cnf 1 1\n1 0\n")
    made = runs(check(GOOD, "--json"))
    assert [run["instance"] for run in made if run["purpose"] == "default"] == ["train/a.cnf", "train/d.cnf", "train/g.cnf"]


def test_instances_that_only_measure_the_start_of_the_program(check: Checked) -> None:
    assert findings(check(GOOD, "--json"))["default"] == "warning"
    assert findings(check(GOOD + BURN % 0.2, "--json"))["default"] == "ok"


def test_the_next_step_is_named(check: Checked, folder: Path) -> None:
    assert check(GOOD, "--static").stdout.splitlines()[-1] == f"next: capra tune {folder / 'scenario.toml'}"
    assert "next:" not in check("exit 3").stdout


def test_two_workers(check: Checked) -> None:
    done = check(GOOD, "--workers", "2", "--json")
    assert done.returncode == 0
    assert len(runs(done)) == 7


def test_crashing_default(check: Checked, folder: Path) -> None:
    done = check("echo 'no licence' >&2; exit 1")
    assert done.returncode == 3
    assert "exit code 1" in done.stdout
    assert "add it to codes" in done.stdout
    assert f"to see it: {folder}/solver {folder}/train/a.cnf 1 0.5 fast" in done.stdout
    assert "random" not in done.stdout  # no use to go on


def test_crashing_by_a_signal(check: Checked) -> None:
    done = check("echo s SATISFIABLE; kill -SEGV $$")
    assert done.returncode == 3
    assert "SIGSEGV" in done.stdout


def test_output_that_does_not_parse(check: Checked) -> None:
    done = check("echo I am done")
    assert done.returncode == 3
    assert "no line matches solved" in done.stdout
    assert "say in output how it is to be read" in done.stdout
    wrapper = check("echo Result: yes", dialect="paramils", target=["./solver"], output={})
    assert wrapper.returncode == 3
    assert "no result line in the output" in wrapper.stdout
    assert "choose another dialect" in wrapper.stdout


def test_answers_that_change_under_one_seed(check: Checked) -> None:
    done = check('echo "s $(cat /proc/sys/kernel/random/uuid)"', "--json", output={"answer": "^s (.*)$"})
    assert done.returncode == 0
    assert findings(done)["seed"] == "warning"


def test_times_that_change_under_one_seed(check: Checked, folder: Path) -> None:
    script = f"if [ -e {folder}/once-$(basename $1) ]; then {BURN % 0.6}fi; touch {folder}/once-$(basename $1); echo s SATISFIABLE"
    done = check(script, "--json")
    assert findings(done)["seed"] == "warning"
    assert done.returncode == 0


def test_lies_about_its_time(check: Checked) -> None:
    rules = {"solved": "^s ", "time": "^time: (.*)$"}
    done = check(BURN % 0.3 + "echo time: 0.001; echo s SATISFIABLE", "--json", output=rules)
    assert done.returncode == 0
    assert findings(done)["time"] == "warning"
    [text] = [finding["text"] for finding in json.loads(done.stdout)["findings"] if finding["topic"] == "time"]
    assert "claims 0.001" in text
    honest = check("echo time: 0.001; echo s SATISFIABLE", "--json", output=rules)
    assert findings(honest)["time"] == "ok"


def test_cutoff_is_kept(check: Checked) -> None:
    """With half of its time the target is cut, whether it knows of its cutoff or not."""
    done = check(f"trap '' TERM; {BURN % 0.4} echo s SATISFIABLE", "--json")
    assert done.returncode == 0, done.stdout
    [half] = [run for run in runs(done) if run["purpose"] == "half its time"]
    assert half["status"] == "CAPPED"
    assert half["time"] == half["cutoff"] < 10
    assert findings(done)["cutoff"] in ("ok", "warning")  # a warning on an overloaded machine


def test_every_default_run_times_out(check: Checked) -> None:
    done = check(BURN % 60, "--json", cutoff=0.2)
    assert done.returncode == 0
    assert {run["status"] for run in runs(done)} == {"TIMEOUT"}
    assert findings(done)["default"] == "warning"


def test_one_hard_instance_does_not_end_the_rehearsal(check: Checked) -> None:
    done = check(f"case $1 in */a.cnf) {BURN % 60};; *) echo s SATISFIABLE;; esac", "--json", cutoff=0.5)
    assert done.returncode == 0
    assert {run["purpose"] for run in runs(done)} >= {"default", "same seed", "random"}
    assert findings(done)["seed"] == "ok"


def test_wrong_random_configuration(check: Checked) -> None:
    lies = "echo s SATISFIABLE; if [ $4 = fast ] && [ $3 = 0.5 ]; then echo v 1 0; else echo v -1 0; fi"
    done = check(lies, verifier="sat", output={"solved": "^s ", "answer": "^s (.*)$"})
    assert done.returncode == 3
    assert "WRONG" in done.stdout
    assert "does not satisfy clause 1" in done.stdout


def test_crashing_random_configurations_are_a_warning(check: Checked) -> None:
    done = check("if [ $3 = 0.5 ]; then echo s SATISFIABLE; else exit 9; fi", "--json")
    assert done.returncode == 0
    assert findings(done)["random"] == "warning"


def test_memory(check: Checked) -> None:
    hungry = f"exec {sys.executable} -E -S -c 'x = bytearray(300000000); print(\"s SATISFIABLE\")'"
    done = check(hungry, "--json", memory="100MB")
    assert done.returncode == 3
    assert runs(done)[0]["status"] == "MEMOUT"


def test_working_directory_is_part_of_the_command(check: Checked, folder: Path) -> None:
    done = check(GOOD, "--json", directory=".")
    assert runs(done)[0]["command"].startswith(f"cd {folder} && ")


def test_python_function_beside_the_scenario(folder: Path) -> None:
    (folder / "mine.py").write_text("def f(config, instance, seed, cutoff):\n    return config['alpha'] + seed\n")
    text = 'target = "mine:f"\nspace = "parameters.pcs"\nobjective = "quality"\ncutoff = 5\ninstances = ["a", "b"]\n'
    (folder / "scenario.toml").write_text(text)
    argv = [sys.executable, "-m", "capra", "check", str(folder / "scenario.toml"), "--json"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=100, cwd="/")
    assert done.returncode == 0, done.stdout + done.stderr
    first = runs(done)[0]
    assert (first["status"], first["quality"]) == ("SUCCESS", 1.5)
    again = subprocess.run(shlex.split(first["command"]), capture_output=True, text=True, check=True, cwd="/")
    assert again.stdout == "1.5\n"
    (folder / "mine.py").write_text("def f(config, instance, seed, cutoff):\n    raise ValueError('unlucky')\n")
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=100, cwd="/")
    assert done.returncode == 3
    assert "ValueError: unlucky" in done.stdout


def test_names_are_not_markup(folder: Path) -> None:
    """Neither our console's nor a browser's."""
    (folder / "train" / "<script>[bold]x[ab].cnf").write_text("p cnf 1 1\n1 0\n")
    (folder / "scenario.toml").write_text(
        'target = ["sh", "-c", "cat $1", "x", "{instance}", "{params}"]\nspace = "parameters.pcs"\ninstances = "train"\ncutoff = 5\n'
    )
    argv = [sys.executable, "-m", "capra", "check", str(folder / "scenario.toml")]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stderr
    assert "train/<script>[bold]x[ab].cnf" in done.stdout


def test_what_the_engine_noticed_is_said(check: Checked) -> None:
    """A target that mostly waits, for runs measured by their CPU time."""
    done = check("sleep 0.15; echo s SATISFIABLE", "--json")
    [text] = [finding["text"] for finding in json.loads(done.stdout)["findings"] if finding["topic"] == "machine"]
    assert "CPU and wall time differ" in text
    assert done.returncode == 0
