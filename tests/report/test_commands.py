"""``capra report`` and ``capra serve`` as a user runs them."""

from __future__ import annotations

import json
import signal
import subprocess
import urllib.request
from pathlib import Path

import pytest

from tests.report.html.runs import tuned
from tests.test_cli import CAPRA


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tuning")
    tuned(folder, budget={"runs": 30})
    return folder


def capra(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Patient: a report loads most of the house, and the machine may be busy."""
    return subprocess.run([*CAPRA, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=300)


def test_report(run: Path, tmp_path: Path) -> None:
    done = capra("report", run)
    assert done.returncode == 0, done.stderr
    assert str(run / "report.html") in done.stdout
    done = capra("report", run / "history.sqlite", "--out", tmp_path / "x.html", "--json")
    told = json.loads(done.stdout)
    assert told["report"] == str(tmp_path / "x.html")
    assert told["bytes"] == (tmp_path / "x.html").stat().st_size
    assert told["runs"] == 30


def test_a_folder_is_no_place_for_a_report(run: Path, tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    done = capra("report", run, "--out", tmp_path / "pages")
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {tmp_path / 'pages'} is a folder (give the name of a file: ")
    assert list((tmp_path / "pages").iterdir()) == []


def test_no_tuning(tmp_path: Path) -> None:
    for command in ("report", "serve"):
        done = capra(command, tmp_path)
        assert done.returncode == 2
        assert "holds no tuning" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_serve_until_somebody_ends_it(run: Path, number: int) -> None:
    with subprocess.Popen([*CAPRA, "serve", str(run), "--json"], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        lines = []
        while not lines or lines[-1] != "}\n":
            lines.append(server.stdout.readline())
        url = json.loads("".join(lines))["url"]
        with urllib.request.urlopen(f"{url}data/0.json", timeout=300) as answer:  # noqa: S310 (our own server)
            assert json.load(answer)["state"].endswith("30 runs")
        server.send_signal(number)
        assert server.wait(300) == 0
