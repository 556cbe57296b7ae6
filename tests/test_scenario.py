"""Scenario: what it accepts, what it refuses, and how clearly."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path

import pytest

import capra
from capra.errors import FormatError, ScenarioError
from capra.scenario import Budget, Scenario

BASIC = """
target = ["solver", "{instance}", "--seed={seed}", "{params}"]
space = "parameters.pcs"
instances = "train"
test_instances = "test"
cutoff = 10
[budget]
cpu = "1h"
"""


def load(folder: Path, text: str) -> Scenario:
    path = folder / "scenario.toml"
    path.write_text(text)
    return Scenario.load(path)


def test_a_toml_scenario_is_resolved(folder: Path) -> None:
    scenario = load(folder, BASIC + 'wall = "90s"\nruns = 500\n')
    assert [instance.name for instance in scenario.instances] == ["train/a.cnf", "train/b.cnf", "train/c.cnf"]
    assert scenario.path_of("test/d.cnf") == str((folder / "test/d.cnf").resolve())
    assert scenario.budget == Budget(cpu=3600.0, wall=90.0, runs=500)
    assert scenario.space.names == ("alpha", "mode")
    assert str(scenario.objective) == "par10"
    assert scenario.cutoff == 10.0


def test_python_and_toml_say_the_same(folder: Path) -> None:
    from_python = Scenario(
        base=folder,
        target=["solver", "{instance}", "--seed={seed}", "{params}"],
        space="parameters.pcs",
        instances="train",
        test_instances="test",
        cutoff=10,
        budget={"cpu": 3600.0},
    )
    assert from_python == load(folder, BASIC)


def test_a_scenario_is_frozen(folder: Path) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        load(folder, BASIC).cutoff = 1.0  # type: ignore[misc]


@pytest.mark.parametrize("source", ["train/*.cnf", "train", "list.txt"])
def test_instances_from_pattern_folder_and_file(folder: Path, source: str) -> None:
    (folder / "list.txt").write_text("# comment\ntrain/a.cnf SAT known\ntrain/b.cnf\ntrain/c.cnf\n")
    scenario = load(folder, BASIC.replace('instances = "train"', f'instances = "{source}"', 1))
    assert [instance.name for instance in scenario.instances] == ["train/a.cnf", "train/b.cnf", "train/c.cnf"]
    if source == "list.txt":
        assert scenario.instances[0].specific == "SAT known"


def test_split_by_share_and_seed(folder: Path) -> None:
    text = BASIC.replace('test_instances = "test"', "split = 0.67").replace('"train"', '"t*/*.cnf"')
    first = load(folder, text)
    assert len(first.instances) == 3
    assert len(first.test_instances) == 2
    assert load(folder, text) == first
    seeds = {load(folder, text.replace("split =", f"split_seed = {seed}\nsplit =")).test_instances for seed in range(10)}
    assert len(seeds) > 1


def test_python_function_targets_need_no_instance_files() -> None:
    def solve(config: dict[str, object], instance: str, seed: int, cutoff: float) -> float:
        return 1.0

    space = capra.Space([capra.space.Real("x", 0, 1, 0.5)])
    scenario = Scenario(target=solve, space=space, instances=["one", "two"], cutoff=5.0, unit="steps", budget={"cpu": 100})
    assert scenario.path_of("one") == "one"


def test_configurations_and_initial(folder: Path) -> None:
    (folder / "pool.txt").write_text('alpha mode\n0.25 "fast"\n1 safe\n1.0 safe\n')
    (folder / "first.json").write_text('[{"alpha": 1.0, "mode": "safe"}]')
    (folder / "pool.csv").write_text("alpha, mode\n0.25, fast\n")
    scenario = load(folder, 'configurations = "pool.txt"\ninitial = "first.json"\n' + BASIC)
    assert [dict(config) for config in scenario.configurations] == [
        {"alpha": 0.25, "mode": "fast"},
        {"alpha": 1.0, "mode": "safe"},
    ]
    assert dict(scenario.initial[0]) == {"alpha": 1.0, "mode": "safe"}
    assert len(load(folder, 'configurations = "pool.csv"\n' + BASIC).configurations) == 1


REFUSED = {
    "unknown key": (BASIC.replace("cutoff =", "cutof ="), "cutof", "did you mean 'cutoff'?"),
    "missing target": (BASIC.replace("target =", "name = \"x\"\n#"), "target", "is missing"),
    "shell line": (BASIC.replace('["solver", "{instance}", "--seed={seed}", "{params}"]', '"solver {instance}"'), "target", "never a shell"),
    "unknown placeholder": (BASIC.replace("{seed}", "{sed}"), "target", "did you mean 'seed'?"),
    "params inside": (BASIC.replace('"{params}"', '"x{params}"'), "target", "one of its own"),
    "no instance": (BASIC.replace('"{instance}", ', ""), "target", "has no {instance}"),
    "missing space": (BASIC.replace("parameters.pcs", "nowhere.pcs"), "space", "no such file: nowhere.pcs"),
    "missing instances": (BASIC.replace('"train"', '"nowhere"'), "instances", "nowhere"),
    "missing instance file": (BASIC.replace('"train"', '["train/a.cnf", "train/z.cnf"]'), "instances", "no such file: train/z.cnf"),
    "twice": (BASIC.replace('"train"', '["train/a.cnf", "train/a.cnf"]'), "instances", "stands twice"),
    "empty set": (BASIC.replace('"train"', "[]"), "instances", "no instance was found"),
    "split of an empty set": ("split = 0.5\n" + BASIC.replace('"train"', "[]").replace('test_instances = "test"\n', ""), "instances", "no instance was found"),
    "overlap": (BASIC.replace('"test"', '["train/a.cnf"]'), "test_instances", "may not overlap"),
    "split and test": ("split = 0.5\n" + BASIC, "split", "keep one"),
    "split of nothing": ("split = 0.01\n" + BASIC.replace('test_instances = "test"\n', ""), "split", "no instance for training"),
    "cutoff 0": (BASIC.replace("cutoff = 10", "cutoff = 0"), "cutoff", "positive"),
    "cutoff negative": (BASIC.replace("cutoff = 10", "cutoff = -1.5"), "cutoff", "positive"),
    "cutoff nan": (BASIC.replace("cutoff = 10", "cutoff = nan"), "cutoff", "positive"),
    "cutoff missing": (BASIC.replace("cutoff = 10", ""), "cutoff", "is missing"),
    "budget key": (BASIC.replace("cpu =", "cpus ="), "budget", "did you mean 'cpu'?"),
    "budget words": (BASIC.replace('"1h"', '"one hour"'), "budget", "not a duration"),
    "budget too small": (BASIC.replace('"1h"', '"5s"'), "budget", "less than one run"),
    "objective": ('objective = "par0"\n' + BASIC, "objective", "par10"),
    "dialect": ('dialect = "smack3"\n' + BASIC, "dialect", "did you mean 'smac3'?"),
    "style in a dialect": ('dialect = "aclib"\nstyle = "-{name}"\n' + BASIC, "style", "fixes it"),
    "template of nobody": (BASIC + '[arguments]\nalfa = ""\n', "arguments", "did you mean 'alpha'?"),
    "template of no value": (BASIC + '[arguments]\nmode = { fast = "-f", save = "-s" }\n', "arguments", "'safe'"),
    "template placeholder": (BASIC + '[arguments]\nmode = "-m {valu}"\n', "arguments", "did you mean 'value'?"),
    "memory": ('memory = "lots"\n' + BASIC, "memory", "2GB"),
    "seeds": ("deterministic = true\nseeds = [1, 2]\n" + BASIC, "seeds", "one seed"),
    "seed twice": ("seeds = [1, 1]\n" + BASIC, "seeds", "different"),
    "duration in steps": ('unit = "steps"\n' + BASIC, "budget", "the unit is steps"),
    "flag": ('deterministic = "yes"\n' + BASIC, "deterministic", "true or false"),
    "verifier": ('verifier = "sta"\n' + BASIC, "verifier", "did you mean 'sat'?"),
    "directory": ('directory = "parameters.pcs"\n' + BASIC, "directory", "not a folder"),
    "path is no path": ("features = 5\n" + BASIC, "features", "expected a path"),
    "directory is no path": ("directory = 3\n" + BASIC, "directory", "expected a path"),
    "wall limit": ('wall_limit = "3s"\n' + BASIC, "wall_limit", "less than the cutoff"),
    "overlap by spelling": (BASIC.replace('"test"', '["./train/a.cnf"]'), "test_instances", "may not overlap"),
    "output of a dialect": ('dialect = "aclib"\noutput = { codes = [0] }\n' + BASIC, "output", "fixes it"),
    "style without value": ('style = "-x"\n' + BASIC, "style", "has no {value}"),
    "answers that nobody reads": ('verifier = "answers"\noutput = { solved = "^s" }\n' + BASIC, "verifier", "output = { answer"),
    "long path": (f'features = "{"x" * 400}"\n' + BASIC, "features", "no such file"),
    "long folder": (f'directory = "{"x" * 5000}"\n' + BASIC, "directory", "no such file"),
    "long instances": (BASIC.replace('"train"', f'"{"x" * 400}"'), "instances", "no such file, folder or pattern"),
    "long pattern": (BASIC.replace('"train"', f'"{"x" * 400}/*"'), "instances", "xxx/*"),
    "long instance": (BASIC.replace('"train"', f'["{"x" * 400}"]'), "instances", "no such file"),
    "no pattern": (BASIC.replace('"train"', '"a**b"'), "instances", "a**b"),
    "path on two lines": (BASIC.replace('"train"', '"a\\nb"'), "instances", "control characters"),
    "space on two lines": (BASIC.replace("parameters.pcs", "a\\nb"), "space", "control characters"),
    "control characters": ('name = "a\\nb"\n' + BASIC, "name", "control characters"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_contradictions_are_refused_with_key_and_line(folder: Path, case: str) -> None:
    text, key, words = REFUSED[case]
    with pytest.raises(ScenarioError) as caught:
        load(folder, text)
    assert caught.value.key == key
    assert words in str(caught.value)
    assert caught.value.path == str(folder / "scenario.toml")
    if f"\n{key} =" in "\n" + text or f"[{key}]" in text:
        assert caught.value.line is not None
        assert key in text.splitlines()[caught.value.line - 1]


@pytest.mark.parametrize("rule", ['answer = "^s (.*)"', 'quality = "o (.*)"', "json = true"])
def test_answers_can_be_compared(folder: Path, rule: str) -> None:
    assert load(folder, f'verifier = "answers"\noutput = {{ {rule} }}\n' + BASIC).verifier == "answers"
    assert load(folder, 'dialect = "paramils"\nverifier = "answers"\n' + BASIC).verifier == "answers"


HUGE = ["1" + "0" * 400, "1" + "0" * 5000, "0x1" + "0" * 5000, "-9223372036854775809"]


@pytest.mark.parametrize("number", HUGE, ids=[f"{len(number)} characters" for number in HUGE])
@pytest.mark.parametrize("option", ["cutoff", "memory", "crash_cost", "wall_limit", "budget.cpu", "groups.a.b"])
def test_endless_numbers(folder: Path, option: str, number: str) -> None:
    with pytest.raises(FormatError, match="more than 64 bits") as caught:
        load(folder, f"space = 'parameters.pcs'\n{option} = [1, {number}]\n")
    assert caught.value.line == 2


def test_endless_numbers_from_python() -> None:
    given = {"target": ["solver"], "space": capra.Space([capra.space.Real("x", 0, 1, 0.5)]), "cutoff": 1}
    for key in ("cutoff", "memory", "crash_cost", "wall_limit"):
        with pytest.raises(ScenarioError, match="too large"):
            Scenario(**(given | {key: 10**400}))


def test_a_key_on_two_lines_is_named_on_one(folder: Path) -> None:
    with pytest.raises(FormatError, match="cannot be the name of an option") as caught:
        load(folder, '"a\\nb" = 1\n' + BASIC)
    assert "\n" not in str(caught.value)


def test_a_folder_that_cannot_be_listed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> list[Path]:
        raise OSError(22, "Invalid argument", "/proc/1/x")

    monkeypatch.setattr(Path, "glob", fail)
    with pytest.raises(ScenarioError, match=r"cannot be searched: .*Invalid argument"):
        load(folder, BASIC.replace('"train"', '"train/*"'))


@pytest.mark.parametrize("line", ["train/a.cnf\tSAT 3", "train/a.cnf SAT\t3", "  train/a.cnf \t SAT  3 # known"])
def test_any_white_space_ends_a_name(folder: Path, line: str) -> None:
    (folder / "list.txt").write_text(line + "\n")
    (found,) = load(folder, BASIC.replace('"train"', '"list.txt"', 1)).instances
    assert (found.name, found.specific) == ("train/a.cnf", "SAT 3")


def test_patterns_do_not_go_into_hidden_folders(folder: Path) -> None:
    for place in (".cache/x.cnf", ".cache/.more/y.cnf"):
        (folder / place).parent.mkdir(exist_ok=True)
        (folder / place).write_text("")
    names = [i.name for i in load(folder, BASIC.replace('"train"', '"**/[abcx].cnf"', 1)).instances]
    assert names == ["train/a.cnf", "train/b.cnf", "train/c.cnf"]
    hidden = load(folder, BASIC.replace('"train"', '".cache/**/*.cnf"', 1))
    assert [i.name for i in hidden.instances] == [".cache/x.cnf"]


def test_broken_toml_has_line_and_column(folder: Path) -> None:
    with pytest.raises(FormatError) as caught:
        load(folder, BASIC + "wall = = 3\n")
    assert caught.value.line == len(BASIC.splitlines()) + 1
    assert caught.value.column is not None


def test_an_error_in_the_space_names_its_own_file_and_line(folder: Path) -> None:
    (folder / "parameters.pcs").write_text("alpha real [0, 1] [0.5]\nmode categorical {fast, safe} [fats]\n")
    with pytest.raises(ScenarioError, match=r"parameters\.pcs:2: mode: .*did you mean 'fast'\?"):
        load(folder, BASIC)


def test_features_must_cover_every_instance(folder: Path) -> None:
    scenario = load(folder, 'features = "features.csv"\n' + BASIC)
    assert scenario.features.names == ("size", "depth")
    assert scenario.features.rows["train/b.cnf"] == (1.0, 2.0)
    (folder / "features.csv").write_text("instance,size\ntrain/a.cnf,1\n")
    with pytest.raises(ScenarioError, match=r"no row for the instance train/b\.cnf"):
        load(folder, 'features = "features.csv"\n' + BASIC)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "empty"),
        ("instance\n", 1, "header"),
        ("instance,a,a\n", 1, "twice"),
        ("instance,a\nx,1\nx,2\n", 3, "twice"),
        ("instance,a\nx,1,2\n", 2, "3 columns"),
        ("instance,a\nx,one\n", 2, "not a number"),
        ("instance,a\nx,inf\n", 2, "finite"),
        ('instance,a\n"x,1\n', 2, "unexpected end"),
    ],
)
def test_broken_feature_files(folder: Path, text: str, line: int, words: str) -> None:
    from capra.formats.instances import read_features

    (folder / "broken.csv").write_text(text)
    with pytest.raises(FormatError, match=words) as caught:
        read_features(folder / "broken.csv")
    assert caught.value.line == line


def test_missing_features_are_nan(folder: Path) -> None:
    from capra.formats.instances import read_features

    (folder / "gaps.csv").write_text("instance,a,b\nx,,?\n")
    assert all(math.isnan(value) for value in read_features(folder / "gaps.csv").rows["x"])


def test_the_resolved_scenario_is_plain_json(folder: Path) -> None:
    document = json.loads(json.dumps(load(folder, 'features = "features.csv"\n' + BASIC).to_dict()))
    assert document["budget"] == {"cpu": 3600.0, "wall": None, "runs": None}
    assert [p["name"] for p in document["space"]["parameters"]] == ["alpha", "mode"]
    assert document["test_instances"][0] == {"name": "test/d.cnf", "specific": ""}


def test_a_configspace_object_is_taken_as_space() -> None:
    from ConfigSpace import ConfigurationSpace

    space = ConfigurationSpace({"x": (0.0, 1.0), "mode": ["a", "b"]})
    scenario = Scenario(target="module:function", space=space, cutoff=1.0)
    assert set(scenario.space.names) == {"x", "mode"}


def test_a_conditional_parameter_cannot_stand_in_the_target(folder: Path) -> None:
    (folder / "parameters.pcs").write_text("mode categorical {a, b} [a]\nx real [0, 1] [0.5]\nx | mode == a\n")
    with pytest.raises(ScenarioError, match="not always active"):
        load(folder, BASIC.replace('"{params}"', '"{config.x}"'))
