"""Runs in files that others read, and back."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capra.errors import FormatError, InputError
from capra.runs import Configuration, Outcome, Run, Status
from capra.runs.exchange import _cell, _value, add_runs, export_store, import_runs
from capra.runs.foreign import best_runs
from capra.runs.store import Store
from tests.runs.samples import FAST, META, SLOW, ask, run, solved, varied


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_nothing_is_lost(tmp_path: Path, kind: str) -> None:
    with varied(None) as store:
        runs = list(store.runs())
        export_store(store, tmp_path / "runs", kind)
    assert [entry.name for entry in tmp_path.iterdir()] == ["runs"]
    found = list(import_runs(tmp_path / "runs", kind))
    assert found == runs
    assert [repr(run.outcome) for run in found] == [repr(run.outcome) for run in runs]
    with Store.create(None, {}, durability="memory") as other:
        assert add_runs(other, found) == 8
        assert list(other.runs()) == runs


def test_jsonl_is_plain_json(tmp_path: Path) -> None:
    with varied(None) as store:
        export_store(store, tmp_path / "runs.jsonl", "jsonl")

    def refuse(word: str) -> None:
        raise AssertionError(word)

    lines = [json.loads(line, parse_constant=refuse) for line in (tmp_path / "runs.jsonl").read_text().splitlines()]
    assert lines[1] == {
        "order": 2,
        "config": dict(SLOW),
        "instance": "a.cnf",
        "seed": 1,
        "cutoff": 0.13,
        "asked_by": "race",
        "finished": 2.0,
        "outcome": {"status": "CAPPED", "time": 0.13, "cutoff": 0.13, "overshoot": 0.0, "reason": "cut", "continued": 0.0},
    }


def test_csv_is_flat(tmp_path: Path) -> None:
    with varied(None) as store:
        export_store(store, tmp_path / "runs.csv", "csv")
    with (tmp_path / "runs.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[1]["param:mode"] == "slow"
    assert rows[1]["param:alpha"] == ""
    assert (rows[1]["bound"], rows[1]["status"], rows[4]["instance"]) == ("0.13", "CAPPED", "")
    assert (rows[5]["instance"], rows[6]["instance"]) == ('"true"', '"12"')


@given(st.text(max_size=9) | st.integers() | st.floats(allow_nan=False) | st.booleans())
def test_cells(value: str | float) -> None:
    found = _value(_cell(value))
    assert (found, type(found)) == (value, type(value))


@settings(deadline=None, max_examples=200)
@given(st.data())
def test_damaged_lines_are_refused_by_place(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.mktemp("damaged") / "runs"
    kind = data.draw(st.sampled_from(["jsonl", "csv", "smac"]))
    with varied(None) as store:
        export_store(store, path, kind)
    text = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(text)
    try:
        runs = list(import_runs(path, kind))
    except FormatError as error:
        named = str(path) in str(error)
    else:
        named = all(isinstance(run, Run) for run in runs)
    assert named


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", ":1: is not a run"),
        ("{", ":1: is not a run"),
        ("[" * 100_000, ":1: is not a run"),
        ('{"config": {"x": [1]}, "instance": null, "seed": 1, "outcome": {}}', "value of the parameter x"),
        ('{"config": {}, "instance": null, "seed": 1.5, "outcome": {}}', "whole number, not 1.5"),
        ('\n{"config": {}}', ":2: is not a run: 'outcome' is missing"),
        ('{"config": {}, "outcome": {"tiem": 1}}', "unknown key 'tiem' of an outcome .did you mean 'time'"),
        (
            '{"config": {}, "instance": 3, "seed": 1, "cutoff": 1, "asked_by": "", "finished": 0, '
            '"outcome": {"status": "SUCCESS", "time": 1, "cutoff": 1}}',
            "expected text, not 3",
        ),
        (
            '{"config": {}, "instance": null, "seed": 1, "cutoff": 1, "asked_by": "", "finished": 0, '
            '"outcome": {"status": "SUCCESS", "time": -1, "cutoff": 1}}',
            "not negative",
        ),
        ("\udcff", "is not UTF-8"),
        ("x" * 4_000_001, "too long"),
    ],
)
def test_bad_lines(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(FormatError, match=message):
        list(import_runs(path, "jsonl"))


def test_unknown_kinds(tmp_path: Path) -> None:
    with varied(None) as store, pytest.raises(InputError, match="did you mean 'jsonl'"):
        export_store(store, tmp_path / "a", "json")
    with pytest.raises(InputError, match="hold no runs"):
        import_runs(tmp_path / "a", "trajectory")
    with pytest.raises(FormatError, match="cannot be read"):
        list(import_runs(tmp_path / "none", "csv"))


def test_an_export_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text("old")
    with Store.create(None, META, durability="memory") as store:
        run(store, ask(config=Configuration({"x": math.inf})), solved())
        with pytest.raises(ValueError, match="JSON"):
            export_store(store, path, "jsonl")
    assert path.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


# --- SMAC3 ---


def test_smac(tmp_path: Path) -> None:
    with varied(None) as store:
        export_store(store, tmp_path / "runhistory.json", "smac")
    data = json.loads((tmp_path / "runhistory.json").read_text())
    assert data["stats"] == {"submitted": 7, "finished": 7, "running": 0}, "capped, then run on: one cell"
    assert data["configs"] == {"1": dict(FAST), "2": dict(SLOW)}
    assert data["config_origins"] == {"1": "default", "2": "race"}
    first, second, third, *_ = data["data"]
    assert list(first) == (
        "config_id instance seed budget cost time cpu_time status starttime endtime additional_info".split()
    )
    assert (first["config_id"], first["cost"], first["cpu_time"], first["status"]) == (1, 0.1, 0.1, 1)
    assert (second["config_id"], second["cost"], second["status"]) == (2, 50.0, 3)
    assert (third["cost"], third["status"]) == (50.0, 4)
    capped = next(entry for entry in data["data"] if entry["instance"] == "12")
    assert (capped["cost"], capped["status"], capped["additional_info"]["capra"]["status"]) == (2.0, 3, "CAPPED")
    statuses = [run.outcome.status for run in import_runs(tmp_path / "runhistory.json", "smac")]
    assert [str(status) for status in statuses] == "SUCCESS TIMEOUT MEMOUT CRASHED WRONG CAPPED SUCCESS".split()


CONFIGS = {"1": {"a": 1, "b": None}, "2": {"a": 2, "b": "x"}}
OLD = [
    [[1, "i1", 3, 0.0], [1.5, 1.5, {"__enum__": "StatusType.SUCCESS"}, 100.0, 101.5, {}]],
    [[2, "i1", 3, 0.0], [0.7, 0.7, {"__enum__": "StatusType.CAPPED"}, 101.5, 102.0, {}]],
    [[2, "i2", 3, 0.0], [50.0, 5.1, {"__enum__": "StatusType.TIMEOUT"}, 102.0, 107.0, None]],
    [[2, "i3", 3, 0.0], [0.0, 0.0, {"__enum__": "StatusType.RUNNING"}, 102.0, 107.0, None]],
    [[2, None, 3, 0.0], [1e9, 0.1, {"__enum__": "StatusType.CRASHED"}, 107.0, 108.0, {"error": "x"}]],
]
MIDDLE = [
    [1, "i1", 3, None, 1.5, 1.5, 1, 100.0, 101.5, {}],
    [2, "i2", 3, None, 50.0, 5.1, 3, 102.0, 107.0, {}],
    [2, None, None, None, math.inf, 0.1, 2, 107.0, 108.0, {}],
    [2, None, None, None, 1.0, 0.0, 0, 107.0, 108.0, {}],
]


def smac_runs(tmp_path: Path, data: object, **options: float) -> list[Run]:
    path = tmp_path / "runhistory.json"
    path.write_text(json.dumps({"data": data, "configs": CONFIGS, "config_origins": {}}))
    return list(import_runs(path, "smac", **options))


def test_smac_1(tmp_path: Path) -> None:
    one, two = Configuration({"a": 1}), Configuration({"a": 2, "b": "x"})
    runs = smac_runs(tmp_path, OLD, cutoff=5.0)
    assert [run.request.config for run in runs] == [one, two, two, two]
    assert [run.order for run in runs] == [1, 2, 3, 4]
    assert [run.finished for run in runs] == [1.5, 2.0, 7.0, 8.0]
    assert [(str(run.outcome.status), run.outcome.time, run.request.cutoff) for run in runs] == [
        ("SUCCESS", 1.5, 5.0),
        ("CAPPED", 0.7, 0.7),
        ("TIMEOUT", 5.0, 5.0),
        ("CRASHED", 0.1, 5.0),
    ]
    assert runs[0].outcome == Outcome(Status.SUCCESS, 1.5, 5.0, 1.5, backend="smac")


def test_smac_2_0(tmp_path: Path) -> None:
    runs = smac_runs(tmp_path, MIDDLE)
    assert [(str(run.outcome.status), run.outcome.time, run.outcome.cutoff, run.outcome.quality) for run in runs] == [
        ("SUCCESS", 1.5, math.inf, 1.5),
        ("TIMEOUT", 5.1, 5.1, 50.0),
        ("CRASHED", 0.1, math.inf, math.inf),
    ]
    assert runs[2].request.seed == 0


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ([1, 2, 3], "entry 1 of data is not a run"),
        ([1, "i", 3, None, [1.0, 2.0], 1.5, 1, 0.0, 1.0, {}], "entry 1"),
        ([7, "i", 3, None, 1.0, 1.5, 1, 0.0, 1.0, {}], "entry 1"),
        ([1, "i", 3, None, 1.0, -3.0, 1, 0.0, 1.0, {}], "not negative"),
        ([1, "i", 3, None, 1.0, 1.0, 17, 0.0, 1.0, {}], "entry 1"),
    ],
)
def test_bad_run_histories(tmp_path: Path, entry: object, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        smac_runs(tmp_path, [entry])


def test_not_a_run_history(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    for text, message in (
        ("[1]", "not a run history"),
        ("{", "not JSON"),
        ('{"data": [], "configs": 3}', "not a run history"),
    ):
        path.write_text(text)
        with pytest.raises(FormatError, match=message):
            list(import_runs(path, "smac"))


# --- AClib, ASlib ---


def test_trajectory(tmp_path: Path) -> None:
    with varied(None) as store:
        export_store(store, tmp_path / "traj_aclib2.json", "trajectory")
    lines = [json.loads(line) for line in (tmp_path / "traj_aclib2.json").read_text().splitlines()]
    assert lines[1] == {
        "cpu_time": 21.5,
        "wallclock_time": 43.0,
        "evaluations": 2,
        "cost": 0.05,
        "incumbent": ["mode='fast'", "alpha='0.1'"],
        "origin": "2",
    }


def test_aslib_there_and_back(tmp_path: Path) -> None:
    features = {"names": ["size", "odd name"], "rows": {"a.cnf": [1.0, 2.5], "b c'.cnf": [3.0, math.nan]}}
    with Store.create(None, {**META, "features": features}, durability="memory") as store:
        run(store, ask(1), solved(0.25))
        run(store, ask(2), solved(0.5))
        run(store, ask(1, SLOW, "b c'.cnf"), Outcome(Status.TIMEOUT, 5.0, 5.0))
        run(store, ask(1, SLOW, "a.cnf", 1.0), Outcome(Status.CAPPED, 1.0, 1.0))
        export_store(store, tmp_path / "MINE", "aslib")
        with pytest.raises(InputError, match="exists already"):
            export_store(store, tmp_path / "MINE", "aslib")
    assert [entry.name for entry in tmp_path.iterdir()] == ["MINE"]
    lines = (tmp_path / "MINE" / "algorithm_runs.arff").read_text().splitlines()
    assert lines[-4:] == [
        f"a.cnf,1,{FAST.id},0.25,ok",
        f"a.cnf,2,{FAST.id},0.5,ok",
        f"'b c\\'.cnf',1,{SLOW.id},5.0,timeout",
        f"a.cnf,1,{SLOW.id},1.0,other",
    ]
    assert (tmp_path / "MINE" / "feature_values.arff").read_text().splitlines()[-1] == "'b c\\'.cnf',1,3.0,?"
    description = (tmp_path / "MINE" / "description.txt").read_text()
    assert 'performance_type: ["runtime"]\nalgorithm_cutoff_time: 5.0\n' in description
    assert f'"{FAST.id}": {{"configuration": "mode=fast alpha=0.1"' in description
    runs = list(import_runs(tmp_path / "MINE", "aslib"))
    assert [(run.request.instance, str(run.outcome.status), run.outcome.time) for run in runs] == [
        ("a.cnf", "SUCCESS", 0.25),
        ("a.cnf", "SUCCESS", 0.5),
        ("b c'.cnf", "TIMEOUT", 5.0),
        ("a.cnf", "CRASHED", 1.0),
    ]


@pytest.mark.parametrize("name", ["ASP-POTASSCO", "CPMP-2015", "MIP-2016", "SAT11-HAND"])
def test_real_aslib_scenarios(shared_data: Path, name: str) -> None:
    runs = list(import_runs(shared_data / "aslib" / name, "aslib"))
    algorithms = {run.request.config["algorithm"] for run in runs}
    instances = {run.request.instance for run in runs}
    assert len(runs) == len(algorithms) * len(instances)
    assert {Status.SUCCESS, Status.TIMEOUT} <= {run.outcome.status for run in runs}
    assert len({run.outcome.cutoff for run in runs}) == 1


def test_the_first_complete_run_of_a_cell_is_the_one_that_counts() -> None:
    with Store.create(None, META, durability="memory") as store:
        run(store, ask(1, cutoff=2.0), Outcome(Status.CAPPED, 2.0, 2.0))
        run(store, ask(1, cutoff=3.0), solved(2.5, 3.0))
        run(store, ask(1), solved(4.0), "repeat")
        assert [kept.outcome.time for kept in best_runs(store)] == [2.5]
