"""The wall clock jumps by a day, again and again (row 17): durations, budgets and leases do not care; labels may jump.

``clock.py`` turns the clock; the supervisor, whose environment is clean, is read instead.
"""

from __future__ import annotations

import ast
import itertools
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import capra
from capra.runs.store import Store
from tests.faults.clock import DAY, Clock
from tests.faults.real import WORKERS
from tests.runs.checker import check

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(capra.__file__).parent
STORE = "history.sqlite"


@pytest.fixture
def turned(tmp_path: Path) -> Iterator[dict[str, str]]:
    """An environment in which the date jumps forth and back by two days, ten times a second."""
    try:
        clock = Clock(tmp_path)
    except OSError as error:
        pytest.skip(str(error))
    over = threading.Event()

    def jump() -> None:
        for offset in itertools.cycle((DAY, -DAY)):
            clock.turn(offset)
            if over.wait(0.1):
                return

    jumping = threading.Thread(target=jump)
    jumping.start()
    yield {**os.environ, **clock.environment}
    over.set()
    jumping.join()


def test_the_clock_is_turned(turned: dict[str, str]) -> None:
    look = "import time\nseen = []\nwhile len(set(seen)) < 2: seen.append(round((time.time() - time.monotonic()) / 86400, 1))\nprint(max(seen) - min(seen))"
    said = subprocess.run([sys.executable, "-c", look], env=turned, capture_output=True, text=True, check=True, timeout=60)
    assert float(said.stdout) == pytest.approx(2.0)


def test_a_tuning_does_not_care_about_the_date(turned: dict[str, str], tmp_path: Path) -> None:
    """Killed in the middle and resumed, all under a clock that jumps."""
    folder, seconds = tmp_path / "run", 8.0
    folder.mkdir()
    command = [sys.executable, "-m", "tests.faults.real", str(folder), str(seconds)]
    first = subprocess.Popen(command, cwd=ROOT, env=turned, stdout=subprocess.PIPE)
    assert first.stdout is not None
    for _ in range(5):
        assert first.stdout.readline().strip() != b"FINISHED"
    first.send_signal(signal.SIGKILL)
    first.communicate()
    with Store.read(folder / STORE) as store:
        left = seconds - store.notes["spent"]["wall"]
    began = time.monotonic()
    second = subprocess.run(command, cwd=ROOT, env=turned, stdout=subprocess.PIPE, timeout=120, check=True)
    assert time.monotonic() - began >= left, "not at once"
    assert second.stdout.endswith(b"FINISHED\n")
    assert check(folder / STORE, budget=seconds * WORKERS, workers=WORKERS) == []
    with Store.read(folder / STORE) as store:
        runs, spent = list(store.runs()), store.notes["spent"]
    assert len(runs) > 5, "it went on"
    finished = [run.finished for run in runs]
    assert finished == sorted(finished)
    assert finished[0] > 0.0
    assert spent["wall"] <= seconds + 60.0, "nor a day later"
    assert all(run.outcome.wall is not None and 0.0 < run.outcome.wall < 10.0 for run in runs)
    raw = sqlite3.connect(folder / STORE)
    [(low, high)] = raw.execute("SELECT min(leased_at), max(leased_at) FROM leases")
    raw.close()
    assert high - low > DAY, "the label did jump"


def test_the_date_is_a_label_only() -> None:
    """The one place that asks for the date is the label of a lease; the native code never does."""
    asking = set()
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if re.fullmatch(
                r"time\.(time|time_ns|localtime|gmtime|ctime)|(datetime\.)?(datetime|date)\.\w*(now|today)", name
            ):
                asking.add(f"{file.relative_to(PACKAGE)}: {name}")
    assert asking == {"runs/store.py: time.time"}
    sources = "".join(file.read_text() for file in (PACKAGE / "targets" / "native").iterdir())
    assert "CLOCK_MONOTONIC" in sources
    assert not re.search(r"CLOCK_REALTIME|gettimeofday|system_clock|\btime\s*\((NULL|nullptr|0|&)", sources)
