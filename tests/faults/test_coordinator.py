"""kill -9 of the coordinator: what was acknowledged is there, and the resumed tuning is the one that was never interrupted.

RELIABILITY row 13. CAPRA_KILLS sets the number of kills (`make faults` takes 200). Row 16: two coordinators, one store.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import capra
from capra.errors import StoreError
from capra.runs.store import Store
from capra.tune import Tuning
from tests.faults.coordinator import run
from tests.runs.checker import check
from tests.strategies.conformance import sequence

KILLS = int(os.environ.get("CAPRA_KILLS", "8"))
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
            assert process.stdout is not None
            assert process.stdout.readline() == "READY\n"  # however long Python takes to start on a busy machine
            try:
                output, _ = process.communicate(timeout=rng.uniform(0.0, 1.2) if kills < KILLS else None)
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
    sys.stdout.write(f"{kills} kills, {attempts} tunings, each as if it had never been interrupted\n")


def test_of_two_coordinators_only_one_can_write(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    command = [sys.executable, "-m", "tests.faults.real", str(folder), "60"]
    first = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert first.stdout is not None
    assert first.stdout.readline().startswith("1 ")
    with pytest.raises(StoreError, match=f"is being written by process {first.pid} .*--takeover"):
        capra.resume(folder)

    def until_five_more(tuning: Tuning) -> None:
        before.setdefault("runs", len(tuning.history))
        if len(tuning.history) >= before["runs"] + 5:
            tuning.stop()

    before: dict[str, int] = {}
    result = capra.resume(folder, watch=until_five_more, takeover=True)
    _, errors = first.communicate(timeout=60)
    assert first.returncode == 1
    assert "another process took over" in errors
    assert len(result.history) >= before["runs"] + 5
    assert check(folder / "history.sqlite") == []
