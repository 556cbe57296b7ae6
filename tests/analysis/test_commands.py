"""importance, ablation, compare, overtuning and the exports for dashboards, as commands."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from capra.analysis.compare import _shared, compare
from capra.analysis.overtuning import overtuning_of
from capra.cli import app
from capra.dashboards import export_run
from capra.errors import InputError
from capra.overview import load_history, load_scenario
from capra.runs import Configuration
from capra.runs.history import Pair
from tests.analysis.known import BEST, INSTANCES, seconds, stored


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("place")


@pytest.fixture(scope="module")
def run(place: Path) -> Path:
    return stored(place, "one", runs=200, validated=True)


@pytest.fixture(scope="module")
def other(place: Path) -> Path:
    return stored(place, "two", runs=80)


def invoke(*arguments: object) -> Any:
    done = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=True)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


# --- importance ---


def test_importance(place: Path, tmp_path: Path) -> None:
    run = stored(place, "uncapped", runs=200, capping=False)
    done = invoke("importance", run, "--pairs", "--local", "--csv", tmp_path / "a.csv", "--json")
    document = json.loads(done.stdout)
    assert {one["name"] for one in document["parameters"]} == set(BEST)
    assert document["parameters"][0]["name"] in ("restarts", "base")
    assert {curve["name"] for curve in document["curves"]} == set(BEST)
    assert all(len(curve["values"]) == len(curve["cost"]) for curve in document["curves"])
    assert {one["name"] for one in document["local"]} == set(BEST)
    assert len(document["pairs"]) == 15
    rows = rows_of(tmp_path / "a.csv")
    assert [row["kind"] for row in rows].count("together") == 15
    assert float(rows[0]["share"]) == document["parameters"][0]["share"]


def test_importance_as_text(run: Path) -> None:
    done = invoke("importance", run)
    assert "alone" in done.stdout
    assert "restarts" in done.stdout


# --- ablation ---


def test_ablation_by_a_model(run: Path, tmp_path: Path) -> None:
    document = json.loads(invoke("ablation", run, "--model", "--csv", tmp_path / "a.csv", "--json").stdout)
    assert document["kind"] == "model"
    (restarts,) = [step for step in document["steps"] if step["label"] == "restarts"]
    assert restarts["changes"]["base"] == {"from": None, "to": 5}
    assert [row["label"] for row in rows_of(tmp_path / "a.csv")] == [step["label"] for step in document["steps"]]
    assert "base inactive → 5" in invoke("ablation", run, "--model").stdout


def test_ablation_with_real_runs(place: Path) -> None:
    """``true`` takes no time at all: the path is chance, but it is walked, and kept."""
    run = stored(place, "real", runs=40)
    document = json.loads(invoke("ablation", run, "--pairs", 1, "--no-racing", "--json").stdout)
    assert document["finished"]
    assert document["steps"][-1]["config"] == BEST
    again = json.loads(invoke("ablation", run, "--json").stdout)
    assert again == document
    assert "on 1 pair" in invoke("ablation", run).stdout


# --- compare ---


def test_compare(run: Path, other: Path, tmp_path: Path) -> None:
    document = json.loads(invoke("compare", run, other, "--csv", tmp_path / "a.csv", "--json").stdout)
    assert [one["name"] for one in document["tunings"]] == ["one", "two"]
    scenario = load_scenario(run)
    history, trajectory = load_history(run, scenario)
    costs = history.record(trajectory[-1].config).costs
    by_instance = [[cost for pair, cost in costs.items() if pair[0] == name] for name in INSTANCES]
    known = [sum(group) / len(group) for group in by_instance if group]
    assert document["tunings"][0]["train"]["cost"] == pytest.approx(sum(known) / len(known))
    assert document["tunings"][0]["test"]["pairs"] == 3
    assert document["tunings"][1]["test"] is None
    assert document["comparisons"][0]["train"]["pairs"] > 0  # the same seed: the same pairs
    assert document["comparisons"][0]["train"]["p_value"] == 1.0  # the same incumbent
    assert document["comparisons"][0]["test"] is None
    assert len(rows_of(tmp_path / "a.csv")) == sum(len(one["curve"]) for one in document["tunings"])
    text = invoke("compare", run, other).stdout
    assert "shared pair" in text
    assert "cost of the incumbent from" in text


def test_only_shared_pairs_are_compared() -> None:
    """Eight differences of the same sign: of the 2⁸ ways to flip them, two are as extreme."""
    ours: dict[Pair, float] = {(f"i{k}", 0): 1.0 + k for k in range(8)} | {("mine", 0): 1000.0}
    theirs: dict[Pair, float] = {(f"i{k}", 0): 3.0 + 2 * k for k in range(8)} | {("theirs", 0): 0.0}
    found = _shared(ours, theirs, np.random.default_rng(0))
    assert found is not None
    assert (found["pairs"], found["one"], found["other"]) == (8, 4.5, 10.0)
    assert found["p_value"] == pytest.approx(2 / 2**8, rel=0.1)
    assert _shared({("a", 0): 1.0}, {("a", 1): 1.0}, np.random.default_rng(0)) is None


def test_what_cannot_be_compared(run: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="at least two"):
        compare([run])
    with pytest.raises(InputError, match="holds no tuning"):
        compare([run, tmp_path])


# --- overtuning ---


def row(name: str, cost: float | None, training: float, since: float | None) -> dict[str, Any]:
    return {
        "name": name,
        "cost": cost,
        "interval": [None, None] if cost is None else sorted([0.9 * cost, 1.1 * cost]),
        "training_cost": training,
        "incumbent_since": since,
    }


def test_overtuning() -> None:
    rows = [row("default", 9.0, 9.0, None), row("incumbent 1", 2.0, 3.0, 5.0), row("incumbent", 4.0, 1.0, 9.0)]
    found = overtuning_of(rows)
    assert (found["best"], found["last"], found["ratio"], found["gap"]) == ("incumbent 1", "incumbent", 2.0, 4.0)
    assert found["verdict"].startswith("overtuned: incumbent 1 costs 2")
    assert "chance" not in found["verdict"]
    assert "no overtuning" in overtuning_of(rows[:2])["verdict"]
    assert (
        "chance" in overtuning_of([rows[0], row("incumbent 1", 2.0, 3.0, 5.0), row("incumbent", 2.1, 1.0, 9.0)])["verdict"]
    )


def test_overtuning_where_costs_are_negative_or_infinite() -> None:
    """A quality may be both: its negative is given to maximise it, and a run without one has none."""
    first, last = row("incumbent 1", -10.0, -9.0, 5.0), row("incumbent", -10.0, -9.0, 9.0)
    assert "no overtuning" in overtuning_of([first, last])["verdict"]
    assert overtuning_of([first, row("incumbent", -3.0, -9.0, 9.0)])["verdict"].startswith("overtuned")
    found = overtuning_of([first, row("incumbent", None, -9.0, 9.0)])
    assert (found["best"], found["ratio"], found["gap"]) == ("incumbent 1", None, None)
    assert "the last inf" in found["verdict"]
    assert "nothing can be said" in overtuning_of([row("incumbent 1", None, 1.0, 5.0)])["verdict"]


def test_the_overtuning_command(place: Path, tmp_path: Path) -> None:
    run = stored(place, "overtuned", runs=30)
    document = json.loads(invoke("overtuning", run, "--seeds", 1, "--csv", tmp_path / "a.csv", "--json").stdout)
    assert document["configurations"][0]["name"] == "default"
    assert document["configurations"][-1]["config"] == BEST
    assert "verdict" in document
    assert len(rows_of(tmp_path / "a.csv")) == len(document["configurations"])
    assert "test" in invoke("overtuning", run, "--seeds", 1).stdout


# --- dashboards ---


def test_a_folder_that_deepcave_opens(run: Path, tmp_path: Path) -> None:
    """What its converter for SMAC3 2.x reads: three files, no instances, one seed. (DeepCAVE itself needs Python 3.9.)"""
    from ConfigSpace import Configuration as Theirs
    from ConfigSpace import ConfigurationSpace

    invoke("export", run, tmp_path / "dc", "--to", "deepcave")
    space = ConfigurationSpace.from_json(tmp_path / "dc" / "configspace.json")
    assert set(space) == set(BEST)
    scenario = json.loads((tmp_path / "dc" / "scenario.json").read_text())
    assert {"objectives", "seed"} <= set(scenario)
    history = json.loads((tmp_path / "dc" / "runhistory.json").read_text())
    assert {(entry["instance"], entry["seed"]) for entry in history["data"]} == {(None, 0)}
    assert len(list(history["data"][0])) == 11  # in the order in which it unpacks them
    ours, _ = load_history(run, load_scenario(run))
    assert len(history["data"]) == len(list(ours.configurations))
    for entry in history["data"]:
        config = Configuration(history["configs"][str(entry["config_id"])])
        Theirs(space, values=dict(config))  # raises if it is not legal
        record = ours.record(config)
        assert entry["status"] == (1 if record.costs else 3)
        if record.costs:
            assert entry["cost"] == record.mean
    with pytest.raises(InputError, match="already there"):
        export_run(run, tmp_path / "dc", "deepcave")


def test_a_study_that_optuna_opens(run: Path, tmp_path: Path) -> None:
    optuna = pytest.importorskip("optuna", reason="Optuna is not installed: its storage cannot be read")
    invoke("export", run, tmp_path / "study.db", "--to", "optuna")
    storage = optuna.storages.RDBStorage(f"sqlite:///{tmp_path / 'study.db'}")
    study = optuna.load_study(study_name=None, storage=storage)
    ours, _ = load_history(run, load_scenario(run))
    states = {trial.state.name for trial in study.trials}
    assert states == {"COMPLETE", "PRUNED"}
    assert len(study.trials) == len(list(ours.configurations))
    for trial in study.trials:
        record = ours.record(Configuration(trial.params))
        assert trial.user_attrs["pairs"] == len(record.costs)
        if record.costs:
            assert trial.value == pytest.approx(record.mean)
    best = min((ours.record(config).mean, config.id) for config in ours.configurations)
    assert study.best_trial.user_attrs["id"] == best[1]
    assert study.best_trial.distributions["base"] == optuna.distributions.IntDistribution(1, 5)
    storage.remove_session()
    storage.engine.dispose()


def test_unknown_formats(run: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="deepcave, optuna"):
        export_run(run, tmp_path / "x", "nonsense")


# --- every command ---


@pytest.mark.parametrize("command", ["importance", "ablation", "compare", "overtuning"])
def test_help_and_folders_that_are_none(command: str, tmp_path: Path) -> None:
    done = invoke(command, "--help")
    assert done.exit_code == 0
    assert "--json" in done.stdout
    assert "--csv" in done.stdout
    with pytest.raises(InputError, match="holds no tuning"):
        invoke(command, *[tmp_path] * (2 if command == "compare" else 1))


def test_the_known_function_is_what_was_stored(run: Path) -> None:
    history, _ = load_history(run, load_scenario(run))
    for told in history:
        if told.outcome.status == "SUCCESS":
            assert told.outcome.time == seconds(told.request.config, told.request.instance, told.request.seed, 200.0)
