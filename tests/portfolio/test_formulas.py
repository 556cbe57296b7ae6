"""``features = "cnf"`` from the scenario to the answer: a portfolio for formulas, with the time of features in its account."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from capra.cli import app
from capra.deploy import run_portfolio
from capra.evaluate import evaluate, evaluate_folder
from capra.features import COSTS, TABLE, described
from capra.formats.cnf import NAMES, features
from capra.formats.instances import read_features
from capra.portfolio.product import read_portfolio
from capra.portfolio.records import Records
from capra.portfolio.scores import single_best
from capra.scenario import Scenario

SOLVER = """
import sys, time
words = [line for line in open(sys.argv[1]) if line[0] not in "cp"][0].split()
if sys.argv[2] != f"-length={len(words) - 1}":
    time.sleep(30)
print("s SATISFIABLE")
sys.exit(10)
"""
"""Takes clauses of the length it was told, and no others."""
TRAIN, TEST = 12, 4


def formula(k: int) -> str:
    """Random clauses of two or three literals, all positive: satisfiable."""
    rng = np.random.default_rng(k)
    clauses = [rng.choice(np.arange(1, 31), 2 + k % 2, replace=False).tolist() for _ in range(40)]
    return "p cnf 30 40\n" + "".join(" ".join(map(str, [*clause, 0])) + "\n" for clause in clauses)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "solver.py").write_text(SOLVER)
    (tmp_path / "space.pcs").write_text("length categorical {2, 3} [2]\n")
    for role, numbers in (("train", range(TRAIN)), ("test", range(TRAIN, TRAIN + TEST))):
        (tmp_path / role).mkdir()
        for k in numbers:
            (tmp_path / role / f"{k:02}.cnf").write_text(formula(k))
    words = json.dumps(sys.executable)
    (tmp_path / "scenario.toml").write_text(
        f"""
target = [{words}, "-I", "{tmp_path}/solver.py", "{{instance}}", "{{params}}"]
style = "-{{name}}={{value}}"
features = "cnf"
space = "space.pcs"
instances = "train"
test_instances = "test"
unit = "wall"
cutoff = 3.0
deterministic = true
budget = {{ wall = "120s", runs = 40 }}
groups = {{ two = ["train/*[02468].cnf"], three = ["train/*[13579].cnf"] }}
[output]
codes = [10, 20]
solved = "^s SATISFIABLE$"
"""
    )
    return tmp_path


def choosing(folder: Path, out: Path) -> Path:
    """The portfolio in ``out`` with a selector that needs features in place of whatever these few instances proved."""
    document = json.loads((out / "portfolio.json").read_text())
    table = read_features(out / TABLE)
    names = sorted(name for name in table.rows if name.startswith("train/"))
    lengths = [int(str(member["length"])) for member in document["configurations"]]
    right = np.array([[length == 2 + int(Path(name).stem) % 2 for length in lengths] for name in names])
    records = Records.of([table.rows[name] for name in names], np.where(right, 0.1, 3.0), right, 3.0)
    selector = {"kind": "knn", "options": {"k": 3}, "records": records.to_dict()}
    document |= {"schedule": [], "selection": {"selector": selector, "presolve": [], "costs": None}}
    (out / "portfolio.json").write_text(json.dumps(document))
    return out / "portfolio.json"


def told(*call: str, code: int = 0) -> Any:
    result = CliRunner().invoke(app, [*call, "--json"])
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


def test_from_formulas_to_answers(folder: Path) -> None:
    """Built, run on fresh formulas and evaluated; every account has the time of features in it."""
    out = folder / "run"
    call = ["portfolio", "build", str(folder / "scenario.toml"), "--builder", "experts", "--strategy", "roar"]
    built = told(*call, "--repeat", "0", "--out", str(out))
    assert {member["length"] for member in built["members"]} == {"2", "3"}
    portfolio = read_portfolio(out / "portfolio.json")
    assert (portfolio.features, portfolio.names) == (("cnf",), NAMES)
    table, costs = read_features(out / TABLE), read_features(out / COSTS)
    assert len(table.rows) == len(costs.rows) == TRAIN + TEST
    assert table.rows["test/13.cnf"] == pytest.approx(tuple(features(folder / "test" / "13.cnf").values()))

    file = choosing(folder, out)
    for k in range(TRAIN, TRAIN + TEST):
        ran = told("portfolio", "run", str(file), str(folder / "test" / f"{k}.cnf"), code=10)  # the solver's own
        assert (ran["answered"], ran["configuration"], ran["runs"]) == (True, {"length": str(2 + k % 2)}, 1)
        assert ran["feature_time"] > 0.0
        assert ran["used"] == pytest.approx(ran["time"] + ran["feature_time"])

    paid = [costs.rows[f"test/{k}.cnf"][0] for k in range(TRAIN, TRAIN + TEST)]
    found = told("portfolio", "evaluate", str(out))
    assert found["feature_cost"] == pytest.approx(np.mean(paid))
    assert found["portfolio"]["par10"] == pytest.approx(found["virtual_best"]["par10"] + np.mean(paid))
    again = evaluate(read_portfolio(file), Scenario.load(folder / "scenario.toml"), out=out)
    assert again.to_dict() == evaluate_folder(out).to_dict() == found


def test_the_best_member_is_run_where_features_stood_in_a_table(folder: Path) -> None:
    """Nobody knows how to compute those of a new instance; that used to end in a traceback."""
    given, _ = described(Scenario.load(folder / "scenario.toml"), folder / "run")
    document = {
        "format": "capra-portfolio",
        "version": 1,
        "facts": {},
        "cutoff": 3.0,
        "configurations": [{"length": "2"}, {"length": "3"}],
        "schedule": [],
        "selection": None,
        "features": {"command": [], "names": list(NAMES)},
        "run": {name: given.given[name] for name in ("target", "style", "unit", "cutoff", "output", "deterministic")},
        "space": json.loads(space_of(given)),
        "bases": [str(folder)],
    }
    (folder / "run" / "portfolio.json").write_text(json.dumps(document))
    file = choosing(folder, folder / "run")
    selection = read_portfolio(file).selection
    assert selection is not None
    best = single_best(selection.selector.records)
    ran = run_portfolio(file, folder / "test" / f"{TRAIN + best}.cnf")
    assert (ran.answered, ran.member, ran.tried) == (True, best, 1)


def space_of(given: Scenario) -> str:
    from capra.space.json import write_json

    return write_json(given.space)


def test_features_cost_nothing_where_time_is_not_counted(folder: Path) -> None:
    text = (folder / "scenario.toml").read_text().replace('unit = "wall"', 'unit = "steps"')
    text = text.replace('wall = "120s", ', "") + "time = '^c steps (\\d+)$'\n"
    (folder / "steps.toml").write_text(text)
    found, costs = described(Scenario.load(folder / "steps.toml"), folder / "steps")
    assert costs == {}
    assert not any(math.isnan(value) for row in found.features.rows.values() for value in row)
