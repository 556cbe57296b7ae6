"""kill -9 of the coordinator: what was acknowledged is there, and the resumed tuning is the one that was never interrupted.

RELIABILITY row 13. CAPRA_KILLS sets the number of kills (`make faults` takes 200).
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

from capra.runs.store import Store
from tests.faults.coordinator import run
from tests.runs.checker import check
from tests.strategies.conformance import sequence

KILLS = int(os.environ.get("CAPRA_KILLS", "20"))
ROOT = Path(__file__).resolve().parents[2]


def start(folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.faults.coordinator", str(folder)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def test_a_killed_and_resumed_tuning_equals_an_uninterrupted_one(tmp_path: Path) -> None:
    whole = run(None)
    rng = random.Random(1)
    kills = attempts = 0
    while kills < KILLS:
        attempts += 1
        folder = tmp_path / str(attempts)
        while True:
            process = start(folder)
            try:
                output, _ = process.communicate(timeout=rng.uniform(0.3, 1.5))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                output, _ = process.communicate()
            if (folder / "history.sqlite").exists():
                assert check(folder / "history.sqlite") == []
            assert process.returncode in (0, -signal.SIGKILL), "it failed by itself"
            if process.returncode == 0:
                assert output == "FINISHED\n"
                break
            kills += 1
        with Store.read(folder / "history.sqlite") as store:
            assert sequence(list(store.runs())) == sequence(list(whole.history))
