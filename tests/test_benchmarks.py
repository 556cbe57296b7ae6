"""The registry of experiments, and the page that is made of their results."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from benchmarks import figures
from benchmarks.registry import EXPERIMENTS

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_can_be_run_and_is_explained(name: str) -> None:
    experiment = EXPERIMENTS[name]
    for command in (*experiment.quick, *experiment.full):
        assert find_spec(f"benchmarks.{command.split()[0]}"), command
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
