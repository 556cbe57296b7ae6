"""The registry of experiments, and the page that is made of their results."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

import pytest
from benchmarks import __main__ as bench
from benchmarks import figures, kept, machine
from benchmarks.figures.page import SECTIONS, _facts
from benchmarks.machine import PUBLISHED
from benchmarks.peers.install import install
from benchmarks.peers.problems import halves
from benchmarks.registry import EXPERIMENTS

ROOT = Path(__file__).resolve().parents[1]


class Parsed(Exception):
    """The words were understood: go no further."""


def parse(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start ``python -m benchmarks.COMMAND`` and stop where its words have been parsed. SystemExit if they are wrong."""
    name, *words = command.split()
    spec = find_spec(f"benchmarks.{name}")
    assert spec, command
    module = import_module(f"benchmarks.{name}.__main__" if spec.submodule_search_locations else f"benchmarks.{name}")
    if "argparse" not in vars(module):
        assert words == [], f"{name} takes no arguments"
        return
    original = argparse.ArgumentParser.parse_args

    def parse_args(*given: Any, **options: Any) -> NoReturn:
        raise Parsed(original(*given, **options))

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", parse_args)
    monkeypatch.setattr(sys, "argv", [name, *words])
    with pytest.raises(Parsed):
        module.main()
    monkeypatch.undo()


def test_wrong_words_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit):
        parse("peers run", monkeypatch)
    with pytest.raises(AssertionError):
        parse("gp --seeds 3", monkeypatch)


def test_the_environments_of_the_peers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made: list[list[str]] = []

    def run(words: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        if words[1] == "-m":
            made.append(words)
        if words[1:3] == ["-m", "venv"]:
            Path(words[3]).mkdir(parents=True)
        return subprocess.CompletedProcess(words, 1 if "library(irace)" in words else 0)

    monkeypatch.setattr(subprocess, "run", run)
    install(tmp_path)
    assert "r-cran-irace" in capsys.readouterr().out
    assert [words[-1] for words in made] == [
        str(tmp_path / "smac2"),
        "smac==2.4.1",
        str(tmp_path / "smac1"),
        "numpy<2",
        "scikit-learn<1.6",
    ]
    (tmp_path / "smac1" / "finished").unlink()
    made.clear()
    install(tmp_path)
    assert {word.split("/")[-3] for words in made for word in words[:1] if "smac" in word} == {"smac1"}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_can_be_run_and_is_explained(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment = EXPERIMENTS[name]
    for command in (*experiment.quick, *experiment.full):
        parse(command, monkeypatch)
    assert (ROOT / "docs" / experiment.page).is_file()


def test_every_script_is_in_the_registry() -> None:
    """One that measures ends with a call of main()."""
    known = {command.split()[0] for experiment in EXPERIMENTS.values() for command in (*experiment.quick, *experiment.full)}
    scripts = {path.stem for path in (ROOT / "benchmarks").glob("*.py") if "import argparse" in path.read_text()}
    packages = {path.parent.name for path in (ROOT / "benchmarks").glob("*/__main__.py")}
    assert (scripts | packages) - {"__main__"} <= known


def test_the_page_of_results_is_made_of_the_results() -> None:
    assert figures.PAGE.read_text() == figures.page(), "run: python -m benchmarks page"


@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if name != "store"])  # whose results are not there yet
def test_no_section_of_the_page_is_empty(name: str) -> None:
    rows = list(SECTIONS[name].rows())
    assert rows
    assert all(what and theirs and ours for what, theirs, ours in rows)
    assert all((figures.PAGE.parent / picture).is_file() for picture in SECTIONS[name].pictures)


def test_capra_bench_lists_and_runs() -> None:
    def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "capra", "bench", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
        )

    listed = bench("list")
    assert listed.returncode == 0, listed.stderr
    assert "peers" in listed.stdout
    assert json.loads(bench("--json").stdout).keys() == EXPERIMENTS.keys()
    unknown = bench("run", "nonsense")
    assert unknown.returncode == 2
    assert "nonsense" in unknown.stderr


def test_without_the_source_tree_capra_bench_says_so(tmp_path: Path) -> None:
    found = subprocess.run(
        [sys.executable, "-m", "capra", "bench"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert found.returncode == 2
    assert "source tree" in found.stderr


@pytest.mark.parametrize(("full", "place"), [(False, ROOT / "runs" / "quick"), (True, PUBLISHED)])
def test_only_full_sizes_write_what_is_published(full: bool, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, str]] = []

    def run(words: list[str], env: dict[str, str], **_: Any) -> subprocess.CompletedProcess[str]:
        seen.append((words[2], env["CAPRA_RESULTS"]))
        return subprocess.CompletedProcess(words, 0)

    monkeypatch.delenv("CAPRA_RESULTS", raising=False)
    monkeypatch.setattr(subprocess, "run", run)
    assert bench.run(["capping", "gp"], full=full) == 0
    assert seen == [("benchmarks.capping", str(place)), ("benchmarks.gp", str(place))]
    monkeypatch.setenv("CAPRA_RESULTS", str(ROOT / "elsewhere"))
    bench.run(["gp"], full=full)
    assert seen[-1] == ("benchmarks.gp", str(ROOT / "elsewhere"))


PLACES = """
import json, sys
from importlib import import_module
from pathlib import Path
names = sys.argv[1].split()
modules = [import_module(f"benchmarks.{name}") for name in names]
print(json.dumps({f"{module.__name__}.{name}": str(value) for module in modules for name, value in vars(module).items()
                  if isinstance(value, Path) and name not in ("ROOT", "HERE", "PUBLISHED", "PAGE")}))
"""


def test_no_module_knows_another_place_for_results(tmp_path: Path) -> None:
    sources = [path for path in (ROOT / "benchmarks").rglob("*.py") if "RESULTS" in path.read_text()]
    names = [str(path.relative_to(ROOT / "benchmarks").with_suffix("")).replace(os.sep, ".") for path in sources]
    told = subprocess.run(
        [sys.executable, "-c", PLACES, " ".join(name for name in names if not name.endswith("__main__"))],
        cwd=ROOT,
        env=os.environ | {"CAPRA_RESULTS": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    places = json.loads(told.stdout)
    assert places["benchmarks.saps.tuning.KEPT"] == str(tmp_path / "saps_tune.jsonl")
    published = (str(PUBLISHED), str(ROOT / "docs" / "images"))
    assert [name for name, place in places.items() if place.startswith(published)] == []


def test_without_recorded_data_an_experiment_fails_and_says_so(tmp_path: Path) -> None:
    environment = os.environ | {"CAPRA_DATA": str(tmp_path / "nothing"), "CAPRA_RESULTS": str(tmp_path)}
    found = subprocess.run(
        [sys.executable, "-m", "benchmarks", "run", "aslib"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 1
    assert "CAPRA_DATA" in found.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_list_for_machines(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["benchmarks", "list", "--json"])
    assert bench.main() == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed["aslib"]["needs"] == "ASlib scenarios"


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Results are written there."""
    for module in (kept, machine):
        monkeypatch.setattr(module, "RESULTS", tmp_path)
    return tmp_path


def test_kept_rows_are_gone_on_from(elsewhere: Path) -> None:
    first = kept.Kept("some", {"hours": 3}, "numpy")
    first.row(slack=1.3)["found"].append(7)
    first.write()
    assert kept.Kept("some", {"hours": 3}).row(slack=1.3) == {"slack": 1.3, "found": [7]}
    assert kept.Kept("some", {"hours": 4}).rows == []
    (elsewhere / "some.json").write_text(json.dumps({"hours": 3, "rows": [{"slack": 1.3, "costs": [7]}]}))
    assert kept.Kept("some", {"hours": 3}).rows == []


def test_what_an_experiment_starts_from_is_taken_from_the_published_results(elsewhere: Path) -> None:
    assert machine.kept_input("saps_instances.json") == PUBLISHED / "saps_instances.json"
    assert machine.kept_input("nothing.json") == elsewhere / "nothing.json"
    (elsewhere / "saps_instances.json").write_text("{}")
    assert machine.kept_input("saps_instances.json") == elsewhere / "saps_instances.json"


def test_facts_are_told_as_far_as_they_are_known() -> None:
    known = {
        "cpu": "Z80",
        "cores": 1,
        "memory_gb": 0.5,
        "python": "3.14",
        "numpy": "3",
        "date": "2030-01-01",
        "commit": "abc",
    }
    told = "*Z80, 1 core, 0.5 GB, Python 3.14, numpy 3, 4 seeds, 2030-01-01, commit abc.*"
    assert _facts({"machine": known, "seeds": 4}) == ["", told]
    assert _facts({"rows": [{"found": [1]}, {"found": [1, 2]}]}) == ["", "*1 to 2 repetitions.*"]
    assert _facts({"tables": {}}) == []
    assert {"cpu", "cores", "memory_gb", "python", "numpy", "date"} <= machine.machine("numpy").keys()


def test_every_seed_has_halves_of_its_own() -> None:
    names = [f"i{k}" for k in range(100)]
    train, test = halves(names, 3)
    assert (len(train), sorted(train + test)) == (50, sorted(names))
    assert halves(names, 3) == (train, test)
    assert set(halves(names, 4)[0]) != set(train)
