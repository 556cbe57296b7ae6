"""The registry of experiments, and the page that is made of their results."""

from __future__ import annotations

import argparse
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

import pytest
from benchmarks import figures
from benchmarks.peers.install import install
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


def test_capra_bench_lists_and_runs() -> None:
    def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "capra", "bench", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
        )

    listed = bench("list")
    assert listed.returncode == 0, listed.stderr
    assert "peers" in listed.stdout
    unknown = bench("run", "nonsense")
    assert unknown.returncode == 2
    assert "nonsense" in unknown.stderr


def test_without_the_source_tree_capra_bench_says_so(tmp_path: Path) -> None:
    found = subprocess.run(
        [sys.executable, "-m", "capra", "bench"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert found.returncode == 2
    assert "source tree" in found.stderr
