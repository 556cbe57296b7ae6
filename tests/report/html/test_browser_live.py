"""The live page in a real browser, with stores that are written behind it, and with real tunings."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from capra.folder import open_store
from capra.report import serve
from capra.report.html import write_report
from capra.report.serve import Server
from capra.runs import Outcome, RunRequest, Status
from tests.report.html.browser import NEEDS_CHROMIUM, Browser
from tests.report.html.runs import HOSTILE, given, named, real, tuned

pytestmark = NEEDS_CHROMIUM
RUNS = (
    "return [...document.querySelectorAll('.tile')].find((t) => t.firstChild.textContent === 'Runs').children[1].textContent"
)
SOLVER = """
import sys, time
alpha = float(sys.argv[1].partition("=")[2])
time.sleep(0.05)
print("steps", 1 + 100 * abs(alpha - 0.2) + len(sys.argv[2]))
"""


@pytest.fixture
def report(tmp_path: Path) -> Path:
    tuned(tmp_path / "other", budget={"runs": 60})
    return Path(write_report(tmp_path / "other")["report"])


def test_the_live_page_follows_a_tuning(
    browser: Browser, report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve, "LEAST", 0.1)
    monkeypatch.setattr(serve, "SHARE", 0.0)
    scenario = given(instances=named(HOSTILE))
    settings = {"strategy": "roar", "engine": "simulated", "options": {}}
    with open_store(scenario, settings, tmp_path, durability="full") as store, Server([tmp_path, report.parent]) as server:
        threading.Thread(target=server.serve).start()
        try:
            add(store, scenario, 0)
            browser.open(server.url)
            assert browser.until(lambda: browser.run(RUNS)) == "1"
            browser.run("window.mine = 'the page was not loaded again'")
            add(store, scenario, 1)
            browser.until(lambda: browser.run(RUNS) == "2")
            assert browser.run("return window.mine")
            browser.click(".runs button", "Compare")
            browser.until(lambda: browser.run("return document.querySelector('#plot-curves')?.dataset.marks"))
            assert browser.run("return document.querySelector('h1').textContent") == "Comparison"
            assert browser.run("return document.querySelector('.live').textContent") == "live"
            assert browser.complaints() == []
        finally:
            server.stop()


def add(store: Any, scenario: Any, seed: int) -> None:
    lease = store.lease(RunRequest(scenario.default, HOSTILE[seed], seed, 100.0), "incumbent")
    store.finish(lease.assignment, 1, Outcome(Status.SUCCESS, 2.0, 100.0), float(seed))


def test_a_real_tuning_is_followed_to_its_end(browser: Browser, tmp_path: Path) -> None:
    """``capra tune`` and ``capra serve`` in processes of their own."""
    runs, names = 80, [name for name in HOSTILE if name.isprintable()]
    real(tmp_path, SOLVER, "alpha real [0, 1] [0.9]\n", names, runs)
    tune = started(tmp_path, "tune", "scenario.toml", "--strategy", "roar", "--out", "run")
    try:
        browser.until(lambda: (tmp_path / "run" / "history.sqlite").is_file())
        page = started(tmp_path, "serve", "run")
        try:
            browser.open(page.stdout.readline().split()[0])
            browser.run("window.mine = 'the page was not loaded again'")
            early = int(browser.run(RUNS).split()[0])
            assert 0 <= early < runs
            browser.until(lambda: int(browser.run(RUNS).split()[0]) == runs, 120)
            assert browser.run("return window.mine")
            assert browser.marks("matrix") > early
            assert browser.run("return document.querySelector('.live').textContent") == "live"
            assert browser.complaints() == []
        finally:
            ended(page)
        assert tune.wait(60) == 0
    finally:
        ended(tune)


def started(folder: Path, *words: str) -> Any:
    command = [sys.executable, "-m", "capra", *words]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def ended(process: Any) -> None:
    process.terminate()
    process.wait(30)
    process.stdout.close()
