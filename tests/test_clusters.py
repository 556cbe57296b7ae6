"""Many machines from the user's side: the command line, the page, and what is said when something is missing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import capra
from capra.engines import make_engine
from capra.errors import InputError, StoreError
from capra.overview import status_of
from tests.docs.test_pages import blocks
from tests.engines.test_local import until
from tests.runs.checker import check
from tests.strategies.conformance import scenario

SCENARIO = """
target = ["sh", "-c", "sleep 0.0$0", "{seed}", "{params}"]
space = "parameters.pcs"
cutoff = 5.0
unit = "wall"
seeds = [1, 2, 3]
budget = { runs = 12 }
"""


def command(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "capra", *arguments], cwd=folder, capture_output=True, text=True, timeout=500
    )


def test_tune_on_local_processes(folder: Path) -> None:
    (folder / "scenario.toml").write_text(SCENARIO)
    done = command("tune", "scenario.toml", "--engine", "dask", "--local", "2", "--calibrate", "--json", folder=folder)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert set(json.loads(done.stdout)["incumbent"]) == {"alpha", "mode"}
    assert check(folder / "runs" / "latest" / "history.sqlite", workers=2) == []


def test_ctrl_c_is_not_for_the_workers(folder: Path) -> None:
    """It reaches all processes of a terminal; the tuning ends in good order all the same."""
    (folder / "scenario.toml").write_text(SCENARIO.replace("12", "100000"))
    words = [sys.executable, "-m", "capra", "tune", "scenario.toml", "--engine", "dask", "--local", "1", "--json"]
    process = subprocess.Popen(
        words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    store = folder / "runs" / "latest" / "history.sqlite"
    until(lambda: store.exists() and status_of(store.parent)["runs"] >= 3, 300.0)
    os.killpg(process.pid, signal.SIGINT)
    said, complained = process.communicate(timeout=300)
    assert process.returncode == 130, complained
    assert complained.split() == "interrupted; to go on: capra resume runs/latest".split()
    assert json.loads(said)["interrupted"]
    assert check(store, workers=1) == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--engine", "dask"], "needs to know its cluster (--scheduler tcp://"),
        (["--local", "2"], "are for the engine 'dask' (set engine='dask'"),
        (["--engine", "dask", "--local", "2", "--scheduler", "tcp://127.0.0.1:1"], "name two clusters"),
        (["--engine", "dusk"], "did you mean 'dask'?"),
    ],
)
def test_clear_words(folder: Path, options: list[str], said: str) -> None:
    (folder / "scenario.toml").write_text(SCENARIO)
    done = command("tune", "scenario.toml", *options, folder=folder)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())
    assert not (folder / "runs").exists()


def test_without_dask_everything_else_works(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [
        name for name in sys.modules if name.startswith(("distributed", "capra.engines.link", "capra.engines.dask"))
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"needs Dask \(pip install 'capra\[dask\]'\)"):
        make_engine(scenario(), "dask", client="tcp://127.0.0.1:1")
    assert make_engine(scenario(), "local").free == 1


def test_a_damaged_store_is_refused_before_anybody_waits_for_a_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    monkeypatch.setattr("capra.engines.make_engine", lambda *_, **__: asked.append(1))
    how: dict[str, Any] = {"engine": "dask", "client": "tcp://127.0.0.1:1", "out": tmp_path}
    for name, action in {
        "history.sqlite": partial(capra.tune, scenario(), **how),
        "validation.sqlite": partial(capra.validate, scenario(), [scenario().default], "train", **how),
    }.items():
        (tmp_path / name).write_bytes(b"SQLite format 3\0" + bytes(4080))
        with pytest.raises(StoreError, match="damaged"):
            action()
    assert asked == []


def test_a_cluster_that_is_not_there_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("capra.engines.link.CONNECT", 0.3)
    given = capra.Scenario(target=["/bin/true", "{params}"], space=scenario().space, cutoff=1.0, budget={"runs": 1})
    with pytest.raises(InputError, match="no Dask scheduler answers"):
        capra.tune(given, engine="dask", client="tcp://127.0.0.1:9", out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_sizes_are_checked() -> None:
    with pytest.raises(InputError, match="is not a size"):
        make_engine(scenario(), "dask", client=1, stage="two")


def test_the_example_of_the_page(folder: Path) -> None:
    [code] = blocks("docs/clusters.md", "python")
    (folder / "example.py").write_text(code)
    done = subprocess.run([sys.executable, "example.py"], cwd=folder, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    assert "alpha" in done.stdout
    assert check(folder / "runs" / "cluster" / "history.sqlite", workers=2) == []


def test_the_commands_of_the_page_exist() -> None:
    """Every option that the page shows is one of the command."""
    shown = [line.split("#")[0].split() for line in blocks("docs/clusters.md", "sh")[0].splitlines()]
    for words in shown:
        assert words[0] == "capra"
        done = subprocess.run(
            [sys.executable, "-m", "capra", words[1], "--help"], capture_output=True, text=True, check=True
        )
        assert all(word in done.stdout for word in words if word.startswith("--"))


def test_the_version_is_one() -> None:
    """Workers compare the installed version, users see the package's."""
    from capra.engines.site import VERSION

    assert capra.__version__ == VERSION
