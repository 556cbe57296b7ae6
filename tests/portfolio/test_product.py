"""The product: a file that survives a round trip and refuses nonsense, and a drop-in replacement for the solver."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from capra.build import build
from capra.cli import app
from capra.deploy import run_portfolio
from capra.errors import FormatError, InputError
from capra.evaluate import evaluate, portfolio_costs
from capra.features import TABLE, described, extract
from capra.portfolio.product import Portfolio, read_portfolio
from capra.portfolio.records import Records
from capra.runs import Configuration
from capra.scenario import Scenario
from tests.portfolio.test_builders import built, scenario

SOLVER = """
import sys, time
kind, _, wanted = open(sys.argv[1]).read().partition(" ")
mode = sys.argv[2].partition("=")[2]
print("c", kind, mode, sys.argv[3], flush=True)
if mode != kind.strip():
    time.sleep(30)
print("s SATISFIABLE")
print("to the other stream", file=sys.stderr)
sys.exit(10)
"""
FEATURES = """
import json, sys
text = open(sys.argv[1]).read()
if "broken" in text:
    sys.exit("no idea")
print("some words")
print(json.dumps({"is_a": float("a" in text), "size": len(text), "missing": None}))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A solver with two modes, each for one kind of instance, and a feature command that tells them apart."""
    (tmp_path / "solver.py").write_text(SOLVER)
    (tmp_path / "features.py").write_text(FEATURES)
    (tmp_path / "space.pcs").write_text("mode categorical {a, b} [a]\n")
    for role in ("train", "test"):
        (tmp_path / role).mkdir()
        for k in range(6):
            (tmp_path / role / f"{k}.txt").write_text("ab"[k % 2] + " " * k)
    words = json.dumps(sys.executable)
    (tmp_path / "scenario.toml").write_text(
        f"""
target = [{words}, "-I", "{tmp_path}/solver.py", "{{instance}}", "{{params}}", "{{seed}}"]
features = [{words}, "-I", "{tmp_path}/features.py", "{{instance}}"]
space = "space.pcs"
instances = "train"
test_instances = "test"
unit = "wall"
cutoff = 2.0
budget = {{ wall = "30s", runs = 24 }}
groups = {{ a = ["train/0.txt", "train/2.txt", "train/4.txt"], b = ["train/[135].txt"] }}
[output]
codes = [10, 20]
solved = "^s SATISFIABLE$"
"""
    )
    return tmp_path


def portfolio_of(folder: Path, **changes: Any) -> Path:
    """A portfolio as a builder would write it, without the time to build it."""
    given = Scenario.load(folder / "scenario.toml")
    options = {name: given.given[name] for name in ("target", "unit", "cutoff", "output")}
    members = (Configuration({"mode": "a"}), Configuration({"mode": "b"}))
    document = Portfolio(members, 2.0, schedule=(((0, 0.3), (1, float("inf"))),), options=options).to_dict()
    document["space"] = json.loads(_space(given))
    document |= changes
    (folder / "portfolio.json").write_text(json.dumps(document))
    return folder / "portfolio.json"


def _space(given: Scenario) -> str:
    from capra.space.json import write_json

    return write_json(given.space)


def selecting(folder: Path) -> Path:
    """The same with a selector that learnt from the feature is_a, and no presolving."""
    features = np.array([[float(k % 2 == 0), 1.0 + k, np.nan] for k in range(20)])
    right = np.arange(20)[:, None] % 2 == np.arange(2)[None, :]
    records = Records.of(features, np.where(right, 0.05, 2.0), right, 2.0)
    selector = {"kind": "knn", "options": {"k": 3}, "records": records.to_dict()}
    command = [sys.executable, "-I", str(folder / "features.py"), "{instance}"]
    return portfolio_of(
        folder,
        schedule=[],
        selection={"selector": selector, "presolve": [], "costs": None},
        features={"command": command, "names": ["is_a", "size", "missing"]},
    )


# --- running ---


def test_a_schedule_is_run_slot_by_slot(folder: Path) -> None:
    ran = run_portfolio(portfolio_of(folder), folder / "test" / "1.txt")
    assert ran.answered
    assert (ran.member, ran.tried) == (1, 2)
    assert ran.facts is not None
    assert ran.facts.exit_code == 10


@pytest.mark.parametrize("k", [0, 1])
def test_features_choose_the_configuration(folder: Path, k: int) -> None:
    ran = run_portfolio(selecting(folder), folder / "test" / f"{k}.txt")
    assert (ran.answered, ran.member, ran.tried) == (True, k, 1)
    assert ran.feature_time > 0.0


def test_without_features_the_best_member_is_run(folder: Path) -> None:
    (folder / "odd.txt").write_text("broken")
    ran = run_portfolio(selecting(folder), folder / "odd.txt", cutoff=0.5)
    assert (ran.answered, ran.member, ran.tried) == (False, 0, 1)


def test_several_cores_and_the_first_answer(folder: Path) -> None:
    """Nobody computes features here: the second core has the answer while the first one sleeps."""
    file = portfolio_of(folder, schedule=[[[0, None]], [[1, None]]])
    ran = run_portfolio(file, folder / "test" / "1.txt", cores=2)
    assert (ran.answered, ran.member, ran.tried) == (True, 1, 2)
    assert not run_portfolio(file, folder / "test" / "1.txt", cores=1, cutoff=0.5).answered


def test_the_command_is_a_drop_in_replacement(folder: Path) -> None:
    call = ["portfolio", "run", str(portfolio_of(folder)), str(folder / "test" / "1.txt"), "--seed", "7"]
    result = CliRunner().invoke(app, call)
    assert result.exit_code == 10
    assert result.stdout == "c b b 7\ns SATISFIABLE\n"
    assert result.stderr == "to the other stream\n"
    result = CliRunner().invoke(app, [*call, "--json"])
    assert result.exit_code == 10
    told = json.loads(result.stdout)
    assert told["answered"]
    assert (told["exit_code"], told["configuration"], told["runs"]) == (10, {"mode": "b"}, 2)


def test_no_answer_has_an_exit_code_of_its_own(folder: Path) -> None:
    call = ["portfolio", "run", str(portfolio_of(folder)), str(folder / "test" / "1.txt"), "--cutoff", "0.2"]
    result = CliRunner().invoke(app, call)
    assert result.exit_code == 124
    assert "s SATISFIABLE" not in result.stdout
    result = CliRunner().invoke(app, [*call, "--json"])
    assert result.exit_code == 124
    assert not json.loads(result.stdout)["answered"]


def test_what_cannot_be_run_is_said(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        run_portfolio(portfolio_of(folder), folder / "nowhere.txt")
    with pytest.raises(InputError, match="how to run the target"):
        run_portfolio(portfolio_of(folder, run={}), folder / "test" / "1.txt")


# --- the file ---


def test_a_portfolio_comes_back_as_it_was(tmp_path: Path) -> None:
    found = built("hydra").portfolio
    found.save(tmp_path / "p.json")
    again = read_portfolio(tmp_path / "p.json")
    assert again.to_dict() == found.to_dict()
    rows = np.array(list(scenario().features.rows.values()))
    assert [again.plan(row[None, :]) for row in rows] == [found.plan(row[None, :]) for row in rows]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": "something"}, "is not a portfolio"),
        ({"version": 2}, "version 2; this Capra reads version 1"),
        ({"configurations": []}, "1 to 1000 configurations, not 0"),
        ({"configurations": [3]}, "expected a table"),
        ({"cutoff": -1}, "no positive time"),
        ({"cutoff": True}, "no positive time"),
        ({"schedule": [[[5, 1.0]]]}, "configuration 5, which is not there"),
        ({"schedule": []}, "neither a selection nor a schedule"),
        ({"schedule": 3}, "damaged"),
        ({"features": {"command": [1], "names": []}}, "is no text"),
        ({"selection": {"selector": {"kind": "os.system", "records": {}}, "presolve": []}}, "unknown selector"),
    ],
)
def test_damaged_files_are_refused(folder: Path, change: dict[str, Any], words: str) -> None:
    with pytest.raises(FormatError, match=words):
        read_portfolio(portfolio_of(folder, **change))


def test_what_is_no_json_is_refused(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text("{")
    with pytest.raises(FormatError, match="is not JSON"):
        read_portfolio(tmp_path / "p.json")


# --- features ---


def test_features_are_computed_once(folder: Path) -> None:
    given = Scenario.load(folder / "scenario.toml")
    found, costs = described(given, folder / "run")
    assert found.features.names == ("is_a", "size", "missing")
    assert found.features.rows["train/0.txt"][:2] == (1.0, 1.0)
    assert np.isnan(found.features.rows["train/0.txt"][2])
    assert len(costs) == 12
    assert min(costs.values()) > 0.0
    (folder / "features.py").write_text("raise SystemExit('not again')")
    again, _ = described(given, folder / "run")
    assert str(again.features) == str(found.features)
    (folder / "run" / TABLE).unlink()
    with pytest.raises(Exception, match="not again"):
        described(given, folder / "run")


def test_a_command_that_prints_nonsense_is_refused(folder: Path) -> None:
    given = Scenario.load(folder / "scenario.toml")
    for text, words in (("[1]", "no JSON object"), ('{"x": "y"}', "no finite number"), ("{}", "there are no features")):
        (folder / "features.py").write_text(f"print({text!r})")
        with pytest.raises(Exception, match=words):
            extract(given, given.path_of("train/0.txt"))


def test_a_feature_command_needs_the_instance(folder: Path) -> None:
    text = (folder / "scenario.toml").read_text()
    (folder / "other.toml").write_text(text.replace('features.py", "{instance}"', 'features.py"'))
    with pytest.raises(InputError, match=r"needs \{instance\}"):
        Scenario.load(folder / "other.toml")


# --- building and evaluating for real ---


def test_built_resumed_and_evaluated_from_the_command_line(folder: Path) -> None:
    out = str(folder / "run")
    call = ["portfolio", "build", str(folder / "scenario.toml"), "--builder", "experts", "--strategy", "roar", "--out", out]
    result = CliRunner().invoke(app, [*call, "--repeat", "0", "--json"])
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["builder"] == "experts"
    assert {member["mode"] for member in told["members"]} == {"a", "b"}
    again = json.loads(CliRunner().invoke(app, ["resume", out, "--json"]).stdout)
    assert again["members"] == told["members"]
    shown = CliRunner().invoke(app, [*call[:-1], str(folder / "shown"), "--repeat", "0"])  # with its progress
    assert shown.exit_code == 0, shown.output
    found = json.loads(CliRunner().invoke(app, ["portfolio", "evaluate", out, "--json"]).stdout)
    assert found["instances"] == 6
    assert found["virtual_best"]["par10"] <= found["portfolio"]["par10"]
    tests = [str(folder / "test" / f"{k}.txt") for k in (0, 1)]
    ran = [CliRunner().invoke(app, ["portfolio", "run", f"{out}/portfolio.json", test]) for test in tests]
    assert 10 in {result.exit_code for result in ran}  # with six instances no selector can prove itself


def test_tune_says_where_portfolios_are_built(folder: Path) -> None:
    result = CliRunner().invoke(app, ["tune", str(folder / "scenario.toml"), "--strategy", "hydra"])
    assert isinstance(result.exception, InputError)
    assert "capra portfolio build" in str(result.exception)


def test_evaluation_is_arithmetic_on_all_members() -> None:
    names = [f"i{k}" for k in range(48)]
    given = dict(scenario(6000.0).given)
    whole = scenario(instances=48)
    given |= {"features": whole.features, "test_instances": names[24:]}
    found = build(Scenario(**given), "hydra", engine="simulated", overhead="ignore", inner="roar", rounds=3)
    told = evaluate(found.portfolio, Scenario(**given), engine="simulated")
    assert told.instances == 24
    assert told.virtual.par10 <= told.portfolio.par10 <= 1.001 * told.single.par10
    assert told.virtual.npar10 == pytest.approx(0.0)
    assert told.single.npar10 == pytest.approx(1.0)
    assert told.to_dict()["closed_gap"] == pytest.approx(1.0 - (told.portfolio.npar10 or 0.0))


def test_costs_of_a_schedule() -> None:
    records = Records.of(np.zeros((3, 0)), [[1.0, 9.0], [7.0, 2.0], [50.0, 50.0]], [[1, 1], [1, 1], [0, 0]], 10.0)
    members = (Configuration({"x": 1}), Configuration({"x": 2}))
    portfolio = Portfolio(members, 10.0, schedule=(((0, 3.0), (1, float("inf"))),))
    assert portfolio_costs(portfolio, records).tolist() == [1.0, 5.0, 100.0]
