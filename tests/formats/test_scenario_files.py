"""AClib/SMAC and irace scenario files: every key and alias, real files, round trips, hostile input."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from capra.errors import CapraError, FormatError, InputError, ScenarioError
from capra.formats.aclib import ALIASES
from capra.formats.scenarios import read_options, write_options
from capra.scenario import Budget, Scenario

ACLIB = """
algo = python wrapper.py --x=1 "two words"   # the value keeps its '='
execdir = .
deterministic = 1
run_obj = RUNTIME
overall_obj = mean10
cutoff_time = 5.5
memory_limit = 512
tuner-timeout = 1000
wallclock_limit 600
runcount_limit = 300
paramfile = parameters.pcs
instance_file = train.txt
test_instance_file = test.txt
feature_file = features.csv
cutoff_length = max
rf_num_trees = 10
minR = 1
"""

IRACE = """
## comment
parameterFile = "./parameters.txt"
targetRunner <- './runner'
trainInstancesDir = "./train"
testInstancesDir = ""
maxTime = 1800   # seconds
boundMax = 60
boundPar = 10
deterministic = TRUE
seed = 1234567
"""


def options(folder: Path, text: str) -> dict[str, object]:
    path = folder / "scenario.txt"
    path.write_text(text)
    return read_options(path).options


def test_aclib_keys_become_ours(folder: Path) -> None:
    assert options(folder, ACLIB) == {
        "target": ["python", "wrapper.py", "--x=1", "two words"],
        "directory": ".",
        "deterministic": True,
        "objective": "par10",
        "cutoff": 5.5,
        "memory": 512.0,
        "budget": {"cpu": 1000.0, "wall": 600.0, "runs": 300},
        "space": "parameters.pcs",
        "instances": "train.txt",
        "test_instances": "test.txt",
        "features": "features.csv",
        "dialect": "paramils",
    }
    notes = " ".join(read_options(folder / "scenario.txt").notes)
    assert "cutoff_length" in notes
    assert "rf_num_trees" in notes
    assert "minR" in notes


@pytest.mark.parametrize("alias", [alias for aliases in ALIASES.values() for alias in aliases])
def test_every_alias_means_its_key(folder: Path, alias: str) -> None:
    key = next(key for key, aliases in ALIASES.items() if alias in aliases)
    values = {"run_obj": "quality", "overall_obj": "par5", "deterministic": "0", "algo": "./w"}
    value = values.get(key, "7")
    rest = "" if key == "algo" else "algo = ./w\n"
    assert options(folder, f"{rest}{alias} = {value}\n") == options(folder, f"{rest}{key} = {value}\n")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("cutof_time = 3", "did you mean 'cutoff_time'"),
        ("cutoff_time = three", "not a number"),
        ("cutoff_time = 3\ncutoff = 4", "set twice"),
        ("deterministic = maybe", "neither 0 nor 1"),
        ("run_obj = speed", "runtime nor quality"),
        ("overall_obj = median", "PARk"),
        ("algo = 'unclosed", "quotation"),
        ("just_a_word", "key = value"),
        ("instance_seed_file = x.txt", "list the instances alone"),
        ("runcount_limit = inf", "whole number"),
        ("runcount_limit = nan", "whole number"),
        ("cutoff_time = 3; import os", "not a number"),
    ],
)
def test_broken_aclib_lines(folder: Path, line: str, words: str) -> None:
    with pytest.raises(FormatError, match=words) as caught:
        options(folder, "paramfile = p.pcs\n" + line + "\n")
    assert caught.value.line in (2, 3)


def test_aclib_without_algo(folder: Path) -> None:
    with pytest.raises(ScenarioError, match="algo"):
        options(folder, "paramfile = p.pcs\n")


def test_an_aclib_scenario_loads(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (folder / "train.txt").write_text("train/a.cnf 0\ntrain/b.cnf SAT\n")
    (folder / "test.txt").write_text("test/d.cnf\n")
    (folder / "scenario.txt").write_text(ACLIB)
    scenario = Scenario.load("scenario.txt")
    assert scenario.budget == Budget(1000.0, 600.0, 300)
    assert scenario.memory == 512 * 1024**2
    assert scenario.instances[1].specific == "SAT"
    assert scenario.directory == folder.resolve()
    assert str(scenario.objective) == "par10"


def test_irace_keys_become_ours(folder: Path) -> None:
    assert options(folder, IRACE) == {
        "target": ["./runner"],
        "space": "./parameters.txt",
        "directory": ".",
        "dialect": "irace",
        "cutoff": 60,
        "instances": "./train/**/*",
        "budget": {"cpu": 1800},
        "objective": "par10",
        "deterministic": True,
    }
    assert any("seed" in note for note in read_options(folder / "scenario.txt").notes)


def test_irace_without_bound_minimises_quality(folder: Path) -> None:
    text = 'trainInstancesDir = "./train"\nmaxExperiments = 500\n'
    assert options(folder, text)["objective"] == "quality"
    assert options(folder, text)["target"] == ["./target-runner"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("maxExperiment = 3", "did you mean 'maxExperiments'"),
        ("maxExperiments = 10 * 100", "unexpected text"),
        ('maxExperiments = system("rm -rf /")', "R code is not run|unexpected text"),
        ("maxTime = 1; import os", "unexpected text|not run"),
        ("targetRunner = function(x) x", "R code is not run"),
        ('targetCmdline = "{seed}"', "not supported .*targetRunner"),
        ('forbiddenFile = "f.txt"', r"not supported .*below \[forbidden\]"),
        ("maxTime = 3\nmaxTime = 4", "set twice"),
        ("maxTime", "'=' or '<-'"),
        ('maxExperiments = "abc"', "whole number"),
        ("maxExperiments = 1e999", "whole number"),
        ('boundMax = 3\nboundPar = "x"', "whole number"),
        ('deterministic = "no"', "deterministic is 0 or 1"),
        ("aclib = 2", "aclib is 0 or 1"),
    ],
)
def test_broken_irace_lines(folder: Path, line: str, words: str) -> None:
    with pytest.raises(FormatError, match=words) as caught:
        options(folder, 'parameterFile = "p.txt"\n' + line + "\n")
    assert caught.value.line in (2, 3)


def test_an_irace_scenario_loads(folder: Path) -> None:
    (folder / "parameters.txt").write_text('alpha "--alpha " r (0, 1)\nmode "--" c (fast, safe)\n')
    (folder / "scenario.txt").write_text(IRACE)
    scenario = Scenario.load(folder / "scenario.txt")
    assert scenario.renderer.tokens({"alpha": 0.5, "mode": "safe"}) == ["--alpha", "0.5", "--safe"]
    assert [instance.name for instance in scenario.instances] == ["train/a.cnf", "train/b.cnf", "train/c.cnf"]


@pytest.mark.parametrize(("value", "is_aclib"), [("1", True), ("TRUE", True), ("'1'", True), ("0", False), ("'0'", False)])
def test_irace_for_aclib_wrappers(folder: Path, value: str, is_aclib: bool) -> None:
    given = options(folder, f'parameterFile = "p.txt"\naclib = {value}\n')
    assert given["dialect"] == ("aclib" if is_aclib else "irace")
    assert options(folder, write_options(given, "irace")) == given | {"deterministic": False}


@pytest.mark.parametrize(("value", "flag"), [('"0"', False), ("0", False), ("FALSE", False), ('"1"', True), ("1", True)])
def test_irace_flags(folder: Path, value: str, flag: bool) -> None:
    assert options(folder, f"boundMax = 3\ndeterministic = {value}\n")["deterministic"] is flag


def test_a_folder_of_irace_means_all_that_is_in_it(folder: Path) -> None:
    (folder / "parameters.txt").write_text('mode "--" c (fast, safe)\n')
    for place in ("train/hard/z.cnf", "train/hard/.hidden", "train/.git/config", "set [1]/y.cnf"):
        (folder / place).parent.mkdir(exist_ok=True)
        (folder / place).write_text("")
    (folder / "scenario.txt").write_text('trainInstancesDir = "train/"\ntestInstancesDir = "set [1]"\nmaxExperiments = 5\n')
    scenario = Scenario.load(folder / "scenario.txt")
    assert [i.name for i in scenario.instances] == ["train/a.cnf", "train/b.cnf", "train/c.cnf", "train/hard/z.cnf"]
    assert [i.name for i in scenario.test_instances] == ["set [1]/y.cnf"]


def test_names_in_a_list_of_irace_are_of_its_own_folder(folder: Path) -> None:
    (folder / "parameters.txt").write_text('mode "--" c (fast, safe)\n')
    (folder / "train.txt").write_text("one.cnf --extra 4\ntwo.cnf\n")
    (folder / "test.txt").write_text("one.cnf\n")
    for place in ("train/one.cnf", "train/two.cnf", "test/one.cnf", "one.cnf"):
        (folder / place).write_text("")
    text = (
        'trainInstancesDir = "./train"\ntrainInstancesFile = "train.txt"\n'
        'testInstancesDir = "test"\ntestInstancesFile = "test.txt"\nmaxExperiments = 5\n'
    )
    given = options(folder, text)
    scenario = Scenario.load(folder / "scenario.txt")
    assert [(i.name, i.specific) for i in scenario.instances] == [("train/one.cnf", "--extra 4"), ("train/two.cnf", "")]
    assert scenario.path_of(scenario.test_instances[0].name) == str(folder / "test/one.cnf")
    (folder / "scenario.toml").write_text(write_options(given, "toml"))
    assert Scenario.load(folder / "scenario.toml") == scenario
    assert options(folder, write_options(read_options(folder / "scenario.toml").options, "irace")) == given | {
        "deterministic": False
    }


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"file": "list.txt", "folder": 1}, "expected text, not 1"),
        ({"file": 1, "folder": "train"}, "expected a path, not 1"),
        ({"file": "list.txt"}, "a table with file and folder"),
    ],
)
def test_broken_tables_of_instances(folder: Path, table: dict[str, object], words: str) -> None:
    (folder / "list.txt").write_text("a.cnf\n")
    with pytest.raises(ScenarioError, match=words):
        Scenario(base=folder, target=["./w", "{instance}"], space="parameters.pcs", cutoff=1, instances=table)


def test_without_execdir_runs_are_where_the_paths_are(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SMAC's default is the current folder; irace's file is found beside its own paths."""
    (folder / "parameters.txt").write_text('mode "--" c (fast, safe)\n')
    texts = {
        "aclib": "algo = python3 ./wrapper.py\nparamfile = parameters.pcs\ncutoff_time = 5\n",
        "irace": 'targetRunner = "./runner"\nmaxExperiments = 5\n',
    }
    for kind, text in texts.items():
        monkeypatch.chdir(folder if kind == "aclib" else "/")
        given = options(folder, text)
        scenario = Scenario.load(folder / "scenario.txt")
        assert scenario.directory == folder.resolve()
        (folder / "scenario.toml").write_text(write_options(given, "toml"))
        assert Scenario.load(folder / "scenario.toml") == scenario
        assert options(folder, write_options(given, kind))["directory"] == "."


@pytest.mark.parametrize("target", [["./w", "a#b"], ["./w", "two  blanks"], ["./w#"]])
def test_what_aclib_would_read_differently_is_refused(target: list[str]) -> None:
    with pytest.raises(InputError, match=r"cannot say algo = .*'#' begins a comment"):
        write_options({"target": target, "space": "p.pcs", "dialect": "paramils"}, "aclib")


@pytest.mark.parametrize("kind", ["aclib", "irace"])
@pytest.mark.parametrize(("cutoff", "seconds"), [("5m", 300), (2.5, 2.5), ("1234567s", 1234567)])
def test_written_numbers_keep_their_value(folder: Path, kind: str, cutoff: object, seconds: float) -> None:
    dialect = {"aclib": "paramils", "irace": "irace"}[kind]
    given = {"target": ["./w"], "space": "p.pcs", "dialect": dialect, "cutoff": cutoff, "budget": {"cpu": "7654321s"}}
    back = options(folder, write_options(given, kind))
    assert (back["cutoff"], back["budget"], back["objective"]) == (seconds, {"cpu": 7654321}, "par10")


@pytest.mark.parametrize(("text", "kind"), [(ACLIB, "aclib"), (IRACE, "irace")])
def test_scenarios_survive_the_way_through_toml(folder: Path, text: str, kind: str) -> None:
    first = options(folder, text)
    (folder / "x.toml").write_text(write_options(first, "toml"))
    through_toml = read_options(folder / "x.toml").options
    assert through_toml == first
    assert options(folder, write_options(through_toml, kind)) == first


@pytest.mark.parametrize(
    ("kind", "extra", "words"),
    [
        ("aclib", {"verifier": "sat"}, "'verifier'"),
        ("aclib", {"dialect": "native"}, "wrapper"),
        ("aclib", {"dialect": "aclib"}, "paramils"),
        ("irace", {"dialect": "irace", "instances": "x/*.cnf"}, "pattern"),
        ("aclib", {"instances": ["a", "b"]}, "file for 'instances'"),
        ("aclib", {"features": "cnf"}, "cannot have them computed"),
        ("aclib", {"features": ["./features", "{instance}"]}, "cannot have them computed"),
        ("irace", {"dialect": "native"}, "target-runner"),
        ("irace", {"dialect": "irace", "budget": {"wall": 5}}, "budget.wall"),
        ("irace", {"dialect": "irace", "features": "f.csv"}, "'features'"),
        ("irace", {"dialect": "irace", "instances": {"file": "list.txt"}}, "file or folder for 'instances'"),
        ("irace", {"dialect": "irace", "objective": "quality", "cutoff": 5}, "cutoff beside the objective quality"),
    ],
)
def test_what_a_format_cannot_say_is_named(kind: str, extra: dict[str, object], words: str) -> None:
    given = {"target": ["./w"], "space": "p.pcs", "dialect": "paramils"} | extra
    with pytest.raises(InputError, match=words):
        write_options(given, kind)


def test_real_aclib_scenarios_load(shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each real scenario, with the files it names laid out where it expects them."""
    monkeypatch.chdir(tmp_path)
    spaces = {"saps": "probsat.pcs", "spear": "spear.pcs", "clasp_queens": "clasp-3.1.4.pcs", "cplex_rcw": "cplex12.6.pcs"}
    files = sorted((shared_data / "aclib").glob("scenario-*.txt"))
    assert len(files) == 4
    for file in files:
        given = read_options(file).options
        _lay_out(tmp_path, given, shared_data / "aclib" / spaces[file.stem.removeprefix("scenario-")])
        scenario = Scenario.load(file)
        assert scenario.dialect == "paramils"
        assert len(scenario.instances) == 2
        assert scenario.cutoff == {"saps": 5, "spear": 1, "clasp_queens": 300, "cplex_rcw": 10000}[file.stem[9:]]


def _lay_out(root: Path, given: dict[str, object], space: Path) -> None:
    place = root / str(given["space"])
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(space, place)
    names = {"instances": ["1.x", "2.x"], "test_instances": ["3.x"]}
    for key, listed in names.items():
        target = root / str(given[key])
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("".join(f"{name}\n" for name in listed))
    for listed in names.values():
        for name in listed:
            (root / str(given.get("directory", "."))).mkdir(parents=True, exist_ok=True)
            (root / str(given.get("directory", ".")) / name).write_text("")
    if "features" in given:
        (root / str(given["features"])).write_text("instance,f\n1.x,1\n2.x,2\n3.x,3\n")


def test_real_irace_scenarios_load(shared_data: Path, tmp_path: Path) -> None:
    for file in sorted((shared_data / "irace").glob("*-scenario.txt")):
        folder = tmp_path / file.stem
        folder.mkdir()
        shutil.copy(file, folder / "scenario.txt")
        given = read_options(folder / "scenario.txt").options
        parameters = next((shared_data / "irace").glob(file.stem.removesuffix("scenario") + "parameters*"))
        shutil.copy(parameters, folder / str(given["space"]))
        (folder / str(given["directory"])).mkdir(exist_ok=True)
        for key in ("instances", "test_instances"):
            if key in given:
                place = folder / str(given[key]).removesuffix("/**/*")
                place.mkdir()
                (place / key).write_text("")
        scenario = Scenario.load(folder / "scenario.txt")
        assert scenario.objective.kind == "quality"
        assert scenario.budget.runs in (5000, 10000)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_mutated_scenarios_are_read_or_refused(tmp_path: Path, data: st.DataObject) -> None:
    text = data.draw(st.sampled_from([ACLIB, IRACE, "target = ['a']\nspace = 'b'\n[budget]\ncpu = 1\n"]))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        cut = data.draw(st.integers(0, 5))
        noise = data.draw(st.text(max_size=4) | st.sampled_from(["\0", "=", "'", '"', "#", "\n", "; import os", "9" * 400]))
        text = text[:at] + noise + text[at + cut :]
    path = tmp_path / data.draw(st.sampled_from(["s.txt", "s.toml"]))
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with contextlib.suppress(CapraError):
        read_options(path)


@pytest.mark.parametrize("content", [b"algo = x\0y\n", b"algo = \xff\xfe\n", b"algo = " + b"x" * 10_000_000])
@pytest.mark.parametrize("name", ["s.txt", "s.toml"])
def test_hostile_bytes_are_refused_with_a_line(tmp_path: Path, content: bytes, name: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FormatError) as caught:
        read_options(tmp_path / name)
    assert caught.value.line == 1
