"""The command line, as a user runs it: real processes, real exit codes."""

from __future__ import annotations

import errno
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import time
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from capra.report.words import count
from capra.scenario import Scenario
from capra.targets import SurrogateTarget

cli = import_module("capra.cli.app")  # `from capra.cli import app` gives the application
CAPRA = [sys.executable, "-m", "capra"]
SCENARIO = """
target = ["{program}", "{{instance}}", "{{params}}"]
space = "parameters.pcs"
instances = "train"
test_instances = "test"
cutoff = 10
"""


def capra(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*CAPRA, *map(str, arguments)], capture_output=True, text=True, cwd=cwd, check=False, timeout=60)


@pytest.fixture
def scenario(folder: Path) -> Path:
    path = folder / "scenario.toml"
    path.write_text(SCENARIO.format(program="sh"))
    return path


def test_check(scenario: Path) -> None:
    done = capra("check", scenario, "--static")
    assert done.returncode == 0, done.stderr
    assert "2 parameters" in done.stdout
    assert "3 training instances are few" in done.stdout
    assert "\x1b" not in done.stdout


def test_check_json(scenario: Path) -> None:
    done = capra("check", scenario, "--static", "--json")
    findings = json.loads(done.stdout)["findings"]
    assert {finding["level"] for finding in findings} == {"ok", "warning"}


def test_a_missing_program_exits_3(folder: Path) -> None:
    path = folder / "scenario.toml"
    path.write_text(SCENARIO.format(program="no-such-solver"))
    done = capra("check", path)
    assert done.returncode == 3
    assert "no-such-solver" in done.stderr


def test_bad_input_exits_2_with_one_line(scenario: Path) -> None:
    scenario.write_text(scenario.read_text().replace("cutoff", "cutof"))
    done = capra("check", scenario)
    assert done.returncode == 2
    assert done.stderr.strip().count("\n") == 0
    assert f"{scenario}:6: cutof: unknown option (did you mean 'cutoff'?)" in done.stderr


def test_errors_as_json(scenario: Path) -> None:
    scenario.write_text(scenario.read_text().replace("cutoff", "cutof"))
    done = capra("check", scenario, "--json")
    assert done.returncode == 2
    error = json.loads(done.stdout)["error"]
    assert (error["kind"], error["key"], error["line"]) == ("ScenarioError", "cutof", 6)
    assert not any(key.startswith("_") for key in error)


MISUSED = [
    (["tune", "scenario.toml", "--slack", "0.5"], "invalid value for '--slack'", "tune --help"),
    (["tune"], "missing argument", "tune --help"),
    (["status", "r1", "--fool"], "no such option: --fool", "status --help"),
    (["status", "r1", "--jsn"], "no such option: --jsn", "did you mean 'json'?"),
    (["tune", "scenario.toml", "--no-caping"], "no such option: --no-caping", "did you mean 'no-capping'?"),
    (["tnue", "scenario.toml"], "no such command: 'tnue'", "did you mean 'tune'?"),
    (["portfolio", "rnu"], "no such command: 'rnu'", "did you mean 'run'?"),
    (["tune", "scenario.toml", "--out", "parameters.pcs"], "parameters.pcs is a file", "choose another out"),
]


@pytest.mark.parametrize(("words", "message", "hint"), MISUSED)
def test_a_command_line_that_cannot_be_used_is_one_line_or_one_object(
    scenario: Path, words: list[str], message: str, hint: str
) -> None:
    done = capra(*words, cwd=scenario.parent)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {message}")
    assert done.stderr.count("\n") == 1
    assert hint in done.stderr
    done = capra(*words, "--json", cwd=scenario.parent)
    assert (done.returncode, done.stderr) == (2, "")
    error = json.loads(done.stdout)["error"]
    assert error["kind"] == "InputError"
    assert error["message"].startswith(message)
    assert hint in error["hint"]


@pytest.mark.parametrize(("words", "listed"), [([], "validate"), (["portfolio"], "evaluate")])
def test_no_words_at_all_print_the_help(words: list[str], listed: str) -> None:
    done = capra(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"\n  {listed} " in done.stderr


@pytest.mark.parametrize("as_json", [True, False])
def test_errors_of_the_system_are_printed_like_others(
    as_json: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def denied(**_: Any) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", "secret")

    monkeypatch.setattr(sys, "argv", ["capra", *(["--json"] if as_json else [])])
    monkeypatch.setattr(cli, "app", denied)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    said = capsys.readouterr()
    assert ended.value.code == 2
    if as_json:
        told = {"kind": "InputError", "message": "secret: Permission denied", "hint": cli.ADVICE[errno.EACCES]}
        assert json.loads(said.out)["error"] == told
    else:
        assert said.err == f"error: secret: Permission denied ({cli.ADVICE[errno.EACCES]})\n"


@pytest.mark.parametrize("as_json", [True, False])
def test_an_interrupt_is_said(folder: Path, as_json: bool) -> None:
    target = ["sh", "-c", "touch $1; sleep 60", "x", str(folder / "begun"), "{instance}", "{params}"]
    scenario = SCENARIO.replace('["{program}", "{{instance}}", "{{params}}"]', json.dumps(target))
    (folder / "scenario.toml").write_text(scenario)
    process = subprocess.Popen(
        [*CAPRA, "check", str(folder / "scenario.toml"), *(["--json"] if as_json else [])],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # whoever started the tests had it ignored
    )
    deadline = time.monotonic() + 60
    while not (folder / "begun").exists():
        assert time.monotonic() < deadline
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    if as_json:
        assert json.loads(output)["error"] == {"kind": "Interrupted", "message": "interrupted", "hint": None}
    else:
        assert errors == "error: interrupted\n"


def test_a_closed_pipe_is_no_error(scenario: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {sys.executable} -m capra show {scenario} --json | head -1"],
        check=False,
        timeout=60,
    )
    assert done.returncode == 0


def test_show_a_folder_that_is_no_tuning(tmp_path: Path, scenario: Path) -> None:
    for arguments in (("show", tmp_path), ("validate", scenario), ("resume", tmp_path)):
        done = capra(*arguments)
        assert done.returncode == 2
        assert "holds no tuning" in done.stderr


def test_show(scenario: Path) -> None:
    document = json.loads(capra("show", scenario, "--json").stdout)
    assert document["cutoff"] == 10.0
    assert "alpha, mode" in capra("show", scenario).stdout


@pytest.mark.parametrize("way", [("a.pcs", "b.json", "c.pcs"), ("a.pcs", "b.txt", "c.pcs")])
def test_convert_spaces_there_and_back(folder: Path, way: tuple[str, ...]) -> None:
    (folder / "a.pcs").write_text((folder / "parameters.pcs").read_text())
    for source, destination in pairwise(way):
        done = capra("convert", folder / source, folder / destination)
        assert done.returncode == 0, done.stderr
    first, last = ((folder / name).read_text().replace("0.0,", "0,").replace("1.0]", "1]") for name in ("a.pcs", "c.pcs"))
    assert first == last


def test_convert_scenarios(scenario: Path, tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("train/a.cnf\n")
    aclib = tmp_path / "aclib.txt"
    aclib.write_text(
        "algo = sh wrapper.sh\nparamfile = parameters.pcs\ninstance_file = list.txt\ncutoff_time = 3\nminR = 2\n"
    )
    done = capra("convert", aclib, tmp_path / "ours.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "minR" in done.stdout
    assert Scenario.load(tmp_path / "ours.toml").cutoff == 3.0
    done = capra("convert", tmp_path / "ours.toml", tmp_path / "back.txt", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "algo = sh wrapper.sh" in (tmp_path / "back.txt").read_text()


def test_converting_moves_relative_paths_along(scenario: Path, tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    assert capra("convert", scenario, tmp_path / "deep" / "moved.toml").returncode == 0
    text = (tmp_path / "deep" / "moved.toml").read_text()
    assert 'space = "../parameters.pcs"' in text
    with_pattern = scenario.with_name("pattern.toml")
    with_pattern.write_text(scenario.read_text().replace('"train"', '"train/*.cnf"').replace('"test"', '["test/d.cnf"]'))
    assert capra("convert", with_pattern, tmp_path / "deep" / "pattern.toml").returncode == 0
    moved = Scenario.load(tmp_path / "deep" / "pattern.toml")
    assert len(moved.instances) == 3
    assert len(moved.test_instances) == 1


def test_a_mistyped_scenario_is_not_taken_for_a_parameter_file(tmp_path: Path) -> None:
    (tmp_path / "s.txt").write_text("algo = ./w\nparamfil = p.pcs\ncutoff_time = 3\n")
    done = capra("convert", tmp_path / "s.txt", tmp_path / "s.toml")
    assert done.returncode == 2
    assert "did you mean 'paramfile'?" in done.stderr


def test_irace_3_gets_its_forbidden_clauses_in_a_file_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "p.pcs").write_text("a-b real [0, 0.00001] [0]\nc integer [0, 9] [1]\n{c = 3}\n")
    done = capra("convert", tmp_path / "p.pcs", tmp_path / "parameters.txt", "--to", "irace3", "--json")
    notes = json.loads(done.stdout)["notes"]
    assert "[" not in (tmp_path / "parameters.txt").read_text()
    assert (tmp_path / "parameters.forbidden.txt").read_text() == "c == 3\n"
    for words in ("configurationsFile", "a-b is a.b", 'forbiddenFile = "parameters.forbidden.txt"', "digits = 5"):
        assert any(words in note for note in notes), words
    (tmp_path / "parameters.txt").unlink()
    refused = capra("convert", tmp_path / "p.pcs", tmp_path / "parameters.txt", "--to", "irace3")
    assert "parameters.forbidden.txt is already there" in refused.stderr
    assert not (tmp_path / "parameters.txt").exists()


def test_convert_refuses_and_loses_nothing(folder: Path) -> None:
    (folder / "typed.json").write_text(
        '{"hyperparameters": [{"type": "categorical", "name": "n", "choices": [1, 2], "default_value": 1}]}'
    )
    done = capra("convert", folder / "typed.json", folder / "out.pcs")
    assert done.returncode == 2
    assert "n: PCS values are text" in done.stderr
    assert not list(folder.glob("out*"))
    done = capra("convert", folder / "typed.json", folder / "parameters.pcs")
    assert done.returncode == 2
    assert "--force" in done.stderr
    done = capra("convert", folder / "parameters.pcs", folder / "x.toml")
    assert done.returncode == 2


def test_init_by_flags_writes_a_scenario_that_loads(folder: Path) -> None:
    flags = ["--target", "sh", "--target", "{instance}", "--target", "{params}", "--space", "parameters.pcs"]
    flags += ["--instances", "train", "--cutoff", "5", "--budget", "1h"]
    done = capra("init", *flags, cwd=folder)
    assert done.returncode == 0, done.stderr
    scenario = Scenario.load(folder / "scenario.toml")
    assert scenario.target == ("sh", "{instance}", "{params}")
    assert scenario.budget.cpu == 3600.0
    assert len(scenario.test_instances) == 2 or len(scenario.instances) == 2
    text = (folder / "scenario.toml").read_text()
    assert "# memory = " in text
    assert "# Memory limit" in text
    assert capra("init", *flags, cwd=folder).returncode == 2


def test_init_writes_no_scenario_that_cannot_be_loaded(folder: Path) -> None:
    given = ["--target", "sh", "--space", "parameters.pcs", "--instances", "train", "--cutoff", "5", "--budget", "1h"]
    done = capra("init", *given, "--objective", "foo", cwd=folder)
    assert done.returncode == 2
    assert "unknown objective 'foo' (use par10" in done.stderr
    assert not (folder / "scenario.toml").exists()


def test_init_without_a_terminal_says_what_is_missing(folder: Path) -> None:
    done = subprocess.run(
        [*CAPRA, "init"], capture_output=True, text=True, cwd=folder, stdin=subprocess.DEVNULL, check=False
    )
    assert done.returncode == 2
    assert "--target is missing" in done.stderr


def test_init_asks_in_a_terminal(folder: Path) -> None:
    output = in_terminal(["init"], folder, ["sh {instance} {params}", "parameters.pcs", "train", "7", "2h"])
    assert "wrote scenario.toml" in output
    scenario = Scenario.load(folder / "scenario.toml")
    assert scenario.cutoff == 7.0
    assert scenario.target == ("sh", "{instance}", "{params}")


def test_an_interrupt_exits_130(folder: Path) -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # whoever started the tests in the background had it ignored
        os.execv(sys.executable, [*CAPRA, "init"])  # noqa: S606
    wait_for(terminal, b"What to run")
    assert os.waitstatus_to_exitcode(interrupted(pid, terminal)) == 130
    os.close(terminal)
    assert not (folder / "scenario.toml").exists()


def interrupted(pid: int, terminal: int) -> int:
    """How it ends by Ctrl-C. Python sees one that comes just before it reads only after the answer; so there may be another."""
    for _ in range(3):
        os.write(terminal, b"\x03")
        until = time.monotonic() + 10.0
        while time.monotonic() < until:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                return status
            time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    return os.waitpid(pid, 0)[1]


def in_terminal(arguments: list[str], cwd: Path, answers: list[str]) -> str:
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(cwd)
        os.execv(sys.executable, [*CAPRA, *arguments])  # noqa: S606
    output = b""
    for answer in answers:
        output += wait_for(terminal, b": ")
        os.write(terminal, answer.encode() + b"\n")
    try:
        while chunk := os.read(terminal, 4096):
            output += chunk
    except OSError:
        pass
    os.waitpid(pid, 0)
    os.close(terminal)
    return output.decode()


def wait_for(terminal: int, words: bytes) -> bytes:
    seen, deadline = b"", time.monotonic() + 30
    while words not in seen:
        assert time.monotonic() < deadline, seen
        seen += os.read(terminal, 4096)
    return seen


def test_help_begins_with_what_everybody_needs_first() -> None:
    said = capra("--help").stdout
    places = [said.index(f"\n  {name} ") for name in ("init", "check", "tune", "validate", "report", "importance")]
    assert places == sorted(places)


def test_help_of_every_command() -> None:
    for command in ("init", "check", "show", "convert", "tune", "resume", "status", "validate", "report", "serve", "demo"):
        done = capra(command, "--help")
        assert done.returncode == 0
        assert "--json" in done.stdout


def test_bench_outside_of_a_clone(tmp_path: Path) -> None:
    done = capra("bench", "--help", cwd=tmp_path)
    assert done.returncode == 0
    assert "In the source tree only" in done.stdout
    done = capra("bench", "list", "--json", cwd=tmp_path)
    assert done.returncode == 2
    assert "a clone of Capra" in json.loads(done.stdout)["error"]["hint"]


def test_bench_hands_on_what_follows_its_first_word() -> None:
    root = Path(__file__).resolve().parents[1]
    assert "usage: python -m benchmarks run" in capra("bench", "run", "--help", cwd=root).stdout
    assert json.loads(capra("bench", "list", "--json", cwd=root).stdout)


def test_version() -> None:
    assert capra("--version").stdout.startswith("capra ")


TUNED = """
target = ["sh", "-c", "case $1 in fast) exit 0;; *) i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done;; esac", "x", "{config.mode}", "{instance}"]
space = "parameters.pcs"
instances = "train"
test_instances = "test"
cutoff = 5
arguments = { alpha = "", mode = "" }
[budget]
runs = 40
"""


@pytest.fixture
def tuned(folder: Path) -> Path:
    """A tuning of a shell script: mode fast ends at once, the default loops for a while."""
    (folder / "parameters.pcs").write_text("alpha real [0, 1] [0.5]\nmode categorical {fast, slow} [slow]\n")
    (folder / "scenario.toml").write_text(TUNED)
    done = capra("tune", folder / "scenario.toml", "--out", folder / "run", "--workers", "2", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["incumbent"]["mode"] == "fast"
    assert document["cost"] < document["default_cost"]
    assert document["runs"] == 40
    return folder / "run"


def test_tune_status_resume_and_validate(tuned: Path) -> None:
    status = json.loads(capra("status", tuned, "--json").stdout)
    assert status["runs"] == 40
    assert status["incumbent"]["mode"] == "fast"
    again = json.loads(capra("resume", tuned, "--json").stdout)
    assert again["runs"] == 40  # the budget is used up: nothing is run again
    rows = json.loads(capra("validate", tuned, "--seeds", "2", "--workers", "2", "--json").stdout)["configurations"]
    assert [row["name"] for row in rows] == ["default", "incumbent"]
    assert rows[1]["cost"] < rows[0]["cost"]
    assert all(row["runs"] == 4 for row in rows)
    curve = capra("validate", tuned, "--seeds", "2", "--workers", "2", "--trajectory").stdout
    assert any(line.startswith("default   ") and set("●◉") & set(line) for line in curve.splitlines())
    assert f"training cost {rows[1]['training_cost']:.4g} on {count(rows[1]['training_pairs'], 'pair')}" in curve
    assert rows[1]["training_pairs"] == status["pairs"]


def test_more_budget(tuned: Path) -> None:
    run = tuned.parent / "more"
    shutil.copytree(tuned, run)
    assert capra("validate", run, "--seeds", "1").returncode == 0
    refused = capra("resume", run, "--budget", "runs=30")
    assert refused.returncode == 2
    assert "the budget for runs is 40, which is not less than 30" in refused.stderr
    assert json.loads(capra("resume", run, "--budget", "runs=45", "--json").stdout)["runs"] == 45
    assert json.loads(capra("resume", run, "--json").stdout)["runs"] == 45
    assert json.loads(capra("status", run, "--json").stdout)["budget"]["runs"] == 45
    assert capra("validate", run, "--seeds", "1").returncode == 0  # its runs are as good as before


def test_a_tuning_in_words(tuned: Path) -> None:
    words = dict(line.split("  ", 1) for line in capra("status", tuned).stdout.splitlines())
    assert words["runs"].startswith("40 (")
    assert "the budget is 40 runs" in words["spent"]
    assert re.search("times as fast as the default on the|too few to compare", words["incumbent"])
    assert "{" not in words["command"]
    assert words["command"].endswith("x fast INSTANCE")
    incumbent, default = (json.loads(capra("show", tuned, name, "--json").stdout) for name in ("incumbent", "default"))
    assert (incumbent["config"]["mode"], default["config"]["mode"]) == ("fast", "slow")
    shown = capra("show", tuned, "default").stdout.splitlines()
    assert sum(line.startswith("SUCCESS  ") for line in shown) == len(default["runs"])


def test_options_of_the_strategy(tuned: Path) -> None:
    scenario = tuned.parent / "scenario.toml"
    done = capra("tune", scenario, "--out", tuned.parent / "audited", "--set", "audit=1.0", "--set", "max_runs=5", "--json")
    assert done.returncode == 0, done.stderr
    status = json.loads(capra("status", tuned.parent / "audited", "--json").stdout)
    assert status["audited_rejections"]["checked"] > 0
    assert status["pairs"] <= 5
    for bad in ("max_rums=5", "slack='x'", "capping=information", "audit=7", "max_runs=0", "out=zz", "nonsense"):
        refused = capra("tune", scenario, "--strategy", "roar", "--out", tuned.parent / "no", "--set", bad)
        assert refused.returncode == 2, bad
        assert "Traceback" not in refused.stderr
        assert bad.partition("=")[0] in refused.stderr
    assert not (tuned.parent / "no").exists()


@pytest.mark.parametrize(("kind", "name"), [("jsonl", "runs.jsonl"), ("csv", "runs.csv"), ("smac", "runhistory.json")])
def test_runs_leave_and_come_back(tuned: Path, kind: str, name: str) -> None:
    file, copy = tuned / name, tuned.parent / "copy"
    assert capra("export", tuned, file, "--to", kind).returncode == 0
    done = capra("import", file, "--scenario", tuned.parent / "scenario.toml", "--out", copy, "--json")
    assert done.returncode == 0, done.stderr
    status, original = (json.loads(capra("status", run, "--json").stdout) for run in (copy, tuned))
    assert status["runs"] == json.loads(done.stdout)["runs"]
    assert status["pairs"] >= original["pairs"]  # the one with the most pairs is taken for the incumbent
    assert status["default_cost"] == pytest.approx(original["default_cost"])
    assert "imported runs" in capra("resume", copy).stderr


def test_a_warm_start(tuned: Path) -> None:
    scenario, new = tuned.parent / "scenario.toml", tuned.parent / "warm"
    done = capra("tune", scenario, "--out", new, "--strategy", "smac", "--warm-start", tuned, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["incumbent"]["mode"] == "fast"
    assert json.loads(capra("status", new, "--json").stdout)["warm_start"]["incumbents"] >= 1
    first = next(run for run in exported(new) if run["asked_by"] == "challenger 0")
    assert first["config"] == json.loads(capra("status", tuned, "--json").stdout)["incumbent"]
    assert json.loads(capra("resume", new, "--json").stdout)["runs"] == 40
    refused = capra("tune", scenario, "--out", tuned.parent / "no", "--warm-start", tuned.parent / "train")
    assert refused.returncode == 2
    assert "holds no tuning" in refused.stderr
    assert not (tuned.parent / "no").exists()


def exported(run: Path) -> list[dict[str, Any]]:
    assert capra("export", run, run / "runs.jsonl").returncode == 0
    return [json.loads(line) for line in (run / "runs.jsonl").read_text().splitlines()]


def test_a_surrogate_of_a_tuning(tuned: Path) -> None:
    assert capra("export", tuned, tuned / "model.npz", "--surrogate").returncode == 0
    surrogate = SurrogateTarget.load(tuned / "model.npz")
    fast, slow = ({"alpha": 0.5, "mode": mode} for mode in ("fast", "slow"))
    assert surrogate.costs(fast, surrogate.instances).mean() < surrogate.costs(slow, surrogate.instances).mean()


def test_runs_of_another_scenario_are_refused_and_nothing_is_left(tuned: Path) -> None:
    capra("export", tuned, tuned / "runs.jsonl")
    other = tuned.parent / "other.toml"
    (tuned.parent / "other.pcs").write_text("beta real [0, 1] [0.5]\n")
    other.write_text(
        TUNED.replace("parameters.pcs", "other.pcs")
        .replace("alpha", "beta")
        .replace(', mode = ""', "")
        .replace("config.mode", "config.beta")
    )
    done = capra("import", tuned / "runs.jsonl", "--scenario", other, "--out", tuned.parent / "copy")
    assert done.returncode == 2
    assert "run 1 is not of this scenario's space" in done.stderr
    assert not (tuned.parent / "copy").exists()


def test_a_file_of_runs_that_is_not_there(scenario: Path) -> None:
    done = capra("import", "nope", "--scenario", scenario, "--out", "copy", cwd=scenario.parent)
    assert done.returncode == 2
    assert "nope is not there" in done.stderr


SIMULATED = """
target = "quick_or_not:time"
space = "parameters.pcs"
instances = ["a", "b"]
test_instances = ["c"]
cutoff = 10
budget = { runs = 40 }
"""
QUICK_OR_NOT = """
def time(config, instance, seed, cutoff):
    if config["mode"] == "safe":
        raise ValueError("not safe at all")
    return 1.0 + config["alpha"]
"""


def test_a_function_named_in_a_file_runs_on_the_virtual_clock(folder: Path) -> None:
    (folder / "scenario.toml").write_text(SIMULATED)
    (folder / "quick_or_not.py").write_text(QUICK_OR_NOT)
    call = ("tune", folder / "scenario.toml", "--engine", "simulated", "--out", folder / "run", "--json")
    done = capra(*call, cwd=folder.parent)
    assert done.returncode == 0, done.stdout
    assert json.loads(done.stdout)["cost"] < 1.5
    outcomes = [run["outcome"] for run in exported(folder / "run")]
    assert {one["reason"] for one in outcomes if one["status"] == "CRASHED"} == {"ValueError: not safe at all"}
    done = capra("validate", folder / "run", "--engine", "simulated", "--json")
    assert done.returncode == 0, done.stdout


def test_a_folder_without_a_tuning(tmp_path: Path) -> None:
    done = capra("status", tmp_path)
    assert done.returncode == 2
    assert "holds no tuning" in done.stderr


def test_ctrl_c_stops_in_good_order_and_says_how_to_go_on(folder: Path) -> None:
    (folder / "parameters.pcs").write_text("alpha real [0, 1] [0.5]\nmode categorical {fast, slow} [slow]\n")
    (folder / "scenario.toml").write_text(TUNED.replace("runs = 40", "runs = 100000"))
    process = subprocess.Popen(
        [*CAPRA, "tune", str(folder / "scenario.toml"), "--out", str(folder / "run")], stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while not (folder / "run" / "history.sqlite").exists() or runs_in(folder / "run") < 5:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert f"capra resume {folder / 'run'}" in errors.replace("\n", "")
    before = runs_in(folder / "run")
    assert json.loads(capra("status", folder / "run", "--json").stdout)["under_way"] == 0
    assert before >= 5


def runs_in(run: Path) -> int:
    done = capra("status", run, "--json")
    return int(json.loads(done.stdout)["runs"]) if done.returncode == 0 else 0
