"""ASlib scenarios: what others write is read, what is wrong is said with its place, what we write comes back."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capra.errors import FormatError, InputError
from capra.portfolio.aslib import AslibScenario, read_aslib, write_aslib
from capra.portfolio.description import read_description
from capra.portfolio.records import Records
from capra.runs.arff import arff_cell, arff_head, read_arff

DESCRIPTION = """\
# a comment
scenario_id: TINY   # another
performance_measures: runtime
maximize: false
performance_type: runtime
algorithm_cutoff_time: 100
algorithm_cutoff_memory: '?'
default_steps:
- cheap
- dear
feature_steps:
  cheap:
    provides:
    - size
  dear:
    provides: [depth, 'odd name']
    requires:
      - cheap
  unused:
    provides:
    - never
metainfo_algorithms:
  one/1.0:
    configuration: '--fast --x=''1'''
    deterministic: true
  two: {configuration: "", deterministic: false}
"""
RUNS = """\
@RELATION runs
% a comment
@attribute instance_id string
@ATTRIBUTE repetition NUMERIC
@ATTRIBUTE algorithm STRING
@ATTRIBUTE runtime NUMERIC
@ATTRIBUTE runstatus {ok , timeout , memout , not_applicable , crash , other}
@DATA,

a,1,one/1.0,1.5,ok
a,1,two,100,timeout
'b c',1,one/1.0,?,crash
'b c',1,two,7,ok
'b c',2,two,99,ok
c,1,one/1.0,250,ok
c,1,two,3,memout
"""
VALUES = """\
@RELATION values
@ATTRIBUTE instance_id STRING
@ATTRIBUTE repetition NUMERIC
@ATTRIBUTE size NUMERIC
@ATTRIBUTE never NUMERIC
@ATTRIBUTE depth NUMERIC
@ATTRIBUTE 'odd name' NUMERIC
@DATA
a,1,1,9,10,0.5
a,2,3,9,?,0.5
'b c',1,5,9,?,?
c,1,7,9,30,1e3
stranger,1,7,9,30,1e3
"""
STATUS = """\
@RELATION status
@ATTRIBUTE instance_id STRING
@ATTRIBUTE repetition NUMERIC
@ATTRIBUTE unused {ok,presolved}
@ATTRIBUTE dear {ok,presolved}
@ATTRIBUTE cheap {ok,presolved}
@DATA
a,1,presolved,ok,ok
'b c',1,ok,timeout,ok
c,1,ok,ok,presolved
"""
COSTS = """\
@RELATION costs
@ATTRIBUTE instance_id STRING
@ATTRIBUTE repetition NUMERIC
@ATTRIBUTE dear NUMERIC
@ATTRIBUTE unused NUMERIC
@ATTRIBUTE cheap NUMERIC
@DATA
a,1,2,1000,0.5
'b c',1,?,1000,0.25
c,1,4,1000,0.125
"""
FOLDS = """\
@relation cv
@attribute instance_id string
@attribute repetition numeric
@attribute fold numeric
@data
a,1,1
'b c',1,2
c,1,1
a,2,2
'b c',2,1
c,2,2
"""
FILES = {
    "description.txt": DESCRIPTION,
    "algorithm_runs.arff": RUNS,
    "feature_values.arff": VALUES,
    "feature_runstatus.arff": STATUS,
    "feature_costs.arff": COSTS,
    "cv.arff": FOLDS,
}


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_scenario_with_all_traps(tiny: Path) -> None:
    scenario = read_aslib(tiny)
    assert (scenario.name, scenario.instances, scenario.algorithms) == ("TINY", ("a", "b c", "c"), ("one/1.0", "two"))
    records = scenario.records
    assert records.cutoff == 100.0
    assert records.solved.tolist() == [[True, False], [False, True], [False, False]]  # beyond the cutoff is not solved
    assert records.costs.tolist() == [[1.5, 1000.0], [1000.0, 7.0], [1000.0, 1000.0]]  # the first repetition
    assert scenario.features == ("size", "depth", "odd name")  # of default steps alone
    np.testing.assert_array_equal(records.features, [[2, 10, 0.5], [5, np.nan, np.nan], [7, 30, 1000]])
    assert records.presolved.tolist() == [False, False, True]
    assert records.feature_cost.tolist() == [2.5, 0.25, 0.125]  # c was solved before the dear step
    assert scenario.folds.tolist() == [1, 2, 1]
    assert read_aslib(tiny, repetition=2).folds.tolist() == [2, 1, 2]
    assert scenario.commands == {"one/1.0": "--fast --x='1'", "two": ""}


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("description.txt", "performance_type: runtime", "performance_type: [solution_quality]", "scenarios of runtime"),
        ("description.txt", "maximize: false", "maximize: [true]", "maximised"),
        ("description.txt", "algorithm_cutoff_time: 100", "algorithm_cutoff_time: '?'", "algorithm_cutoff_time"),
        ("description.txt", "- cheap\n", "- cheapest\n", "'cheapest' is not among"),
        ("description.txt", "scenario_id: TINY", "scenario_id: &a TINY", "description.txt:2: '&'"),
        ("description.txt", "scenario_id: TINY", "scenario_id", "description.txt:2: expected `key: value`"),
        ("description.txt", "maximize: false", "scenario_id: x", "twice"),
        ("description.txt", "[depth, 'odd name']", "[depth, 'odd name'", "description.txt:16: a bracket is not closed"),
        ("algorithm_runs.arff", "1.5,ok", "1.5,good", "algorithm_runs.arff:10: unknown runstatus 'good'"),
        ("algorithm_runs.arff", "1.5,ok", "fast,ok", "algorithm_runs.arff:10: 'fast' is not a number"),
        ("algorithm_runs.arff", "1.5,ok", "-1,ok", "algorithm_runs.arff:10: a run of -1"),
        ("algorithm_runs.arff", "1.5,ok", "1.5,ok,ok", "algorithm_runs.arff:10: the row has 6 cells"),
        ("algorithm_runs.arff", "a,1,one/1.0,1.5,ok", "{0 a, 1 1}", "sparse"),
        ("algorithm_runs.arff", "a,1,one/1.0,1.5,ok", "'a,1,one/1.0,1.5,ok", "algorithm_runs.arff:10:1: is not a row"),
        ("algorithm_runs.arff", "@DATA,", "@DOTA", "expected @RELATION"),
        ("algorithm_runs.arff", "@ATTRIBUTE algorithm STRING", "@ATTRIBUTE runstatus STRING", "same name"),
        ("feature_values.arff", "@ATTRIBUTE repetition", "@ATTRIBUTE again", "has no column repetition"),
        ("feature_runstatus.arff", "c,1,ok,ok", "c,1,ok,fine", "unknown runstatus 'fine'"),
        ("cv.arff", "c,1,1", "c,1,x", "not a number"),
        ("cv.arff", "c,1,1", "c,1,0.5", "whole number"),
        ("cv.arff", "c,1,1", "a,1,2", "two folds"),
        ("cv.arff", "c,1,1\n", "", "c is in no fold"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tiny: Path, name: str, old: str, new: str, message: str) -> None:
    assert old in FILES[name]
    (tiny / name).write_text(FILES[name].replace(old, new, 1))
    with pytest.raises(FormatError) as caught:
        read_aslib(tiny)
    assert message in str(caught.value)


def test_a_folder_that_is_no_scenario(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not an ASlib scenario"):
        read_aslib(tmp_path)


def test_costs_status_and_folds_may_be_missing(tiny: Path) -> None:
    for name in ("feature_costs.arff", "feature_runstatus.arff", "cv.arff"):
        (tiny / name).unlink()
    scenario = read_aslib(tiny)
    assert not scenario.folds.any()
    assert not scenario.records.presolved.any()
    assert not scenario.records.feature_cost.any()


def test_there_and_back(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    features = rng.normal(size=(12, 3))
    features[2, 1] = np.nan
    solved = rng.random((12, 2)) < 0.7
    records = Records.of(
        features, rng.random((12, 2)) * 9, solved, 9.0, feature_cost=rng.random(12), presolved=rng.random(12) < 0.2
    )
    names = tuple(f"it's, \\{i} %" for i in range(12))
    scenario = AslibScenario(
        "X", names, ("a b", "c"), ("f{1}", "g", "h"), records, np.arange(12) % 3 + 1, {"a b": "-x 'y'", "c": ""}
    )
    write_aslib(scenario, tmp_path / "X")
    back = read_aslib(tmp_path / "X")
    assert (back.name, back.instances, back.algorithms, back.features) == ("X", names, ("a b", "c"), ("f{1}", "g", "h"))
    assert back.commands == scenario.commands
    np.testing.assert_array_equal(back.folds, scenario.folds)
    for part in ("features", "times", "cutoffs", "solved", "feature_cost", "presolved"):
        np.testing.assert_array_equal(getattr(back.records, part), getattr(records, part))
    with pytest.raises(InputError, match="exists already"):
        write_aslib(scenario, tmp_path / "X")


@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"], exclude_characters="\x85")), min_size=1))
def test_any_text_survives_a_table(tmp_path_factory: pytest.TempPathFactory, cells: list[str]) -> None:
    path = tmp_path_factory.mktemp("arff") / "x.arff"
    path.write_text(arff_head("x", [f"c{i} STRING" for i in range(len(cells))]) + ",".join(map(arff_cell, cells)) + "\n")
    if any(cells):
        assert read_arff(path).rows == [cells]


@given(st.binary(max_size=200))
def test_any_bytes_are_data_or_a_format_error(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("bytes") / "x"
    path.write_bytes(data)
    for read in (read_arff, read_description):
        with suppress(FormatError):
            assert read(path) is not None


YAML = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-1000, 1000)
    | st.sampled_from(["?", "a b", "clasp/2.1", "x#y", "it's", '"', "a: b", "-1x", "- z", "", "#"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["k", "a/b", "two words", "1"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["scenario_id", "b", "c d"]), YAML, min_size=1), st.booleans())
def test_descriptions_are_read_as_yaml_reads_them(
    tmp_path_factory: pytest.TempPathFactory, document: dict[str, object], flow: bool
) -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML, the oracle, is not installed")
    path = tmp_path_factory.mktemp("yaml") / "description.txt"
    parts = [yaml.safe_dump({key: value}, default_flow_style=False, width=10_000) for key, value in document.items()]
    if flow:
        parts = [f"{key}: {yaml.safe_dump(value, default_flow_style=True, width=10_000)}" for key, value in document.items()]
    path.write_text("".join(part.removesuffix("...\n") for part in parts))
    assert read_description(path) == yaml.safe_load(path.read_text())


@pytest.mark.parametrize("name", ["ASP-POTASSCO", "CPMP-2015", "MAXSAT12-PMS", "MIP-2016", "SAT11-HAND"])
def test_real_scenarios(shared_data: Path, name: str) -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML, the oracle, is not installed")
    path = shared_data / "aslib" / name
    assert read_description(path / "description.txt") == yaml.safe_load((path / "description.txt").read_text())
    scenario = read_aslib(path)
    assert scenario.name == name
    assert set(scenario.folds.tolist()) == set(range(1, 11))
    assert 0.0 < scenario.records.solved.mean() < 1.0
