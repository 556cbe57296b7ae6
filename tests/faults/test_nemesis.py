"""A tuning with real processes while a nemesis does what it can: kills, stops, a full disk, results that come twice.

Afterwards only the store and /proc are looked at: the invariants of RELIABILITY §4. CAPRA_NEMESIS sets how many seconds of
tuning it lasts (`make faults` takes 30).
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from capra.budget import Meter
from capra.engines import SimulatedEngine
from capra.folder import milestones
from capra.keeper import Keeper
from capra.runs.store import Store
from capra.scenario import Scenario
from capra.strategies import Context, make_strategy
from capra.tune import Tuning
from tests.faults.real import CUTOFF, FULL, WORKERS, scenario
from tests.runs.checker import check
from tests.strategies.conformance import lognormal

SECONDS = float(os.environ.get("CAPRA_NEMESIS", "3"))
ROOT = Path(__file__).resolve().parents[2]
STORE = "history.sqlite"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[tuple[Path, bool]]:
    """A folder, and whether it is a disk of its own that may be filled."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=32m", "none", str(folder)]
    mounted = shutil.which("mount") is not None and subprocess.run(command, capture_output=True).returncode == 0
    if not mounted:
        sys.stdout.write("the disk cannot be filled here: mounting a small file system is not permitted\n")
    yield folder, mounted
    if mounted:
        subprocess.run(["umount", "-l", str(folder)], check=True)


class Nemesis:
    """Owns the coordinator, restarts it when it was killed, and does it harm."""

    def __init__(self, folder: Path, rng: random.Random) -> None:
        self.folder = folder
        self.rng = rng
        self.did: Counter[str] = Counter()
        self.said = folder.parent / "said"
        self.process = self.start()

    def start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "tests.faults.real", str(self.folder), str(SECONDS)]
        with self.said.open("ab") as file:
            return subprocess.Popen(command, cwd=ROOT, stdout=file)

    def supervisors(self) -> list[int]:
        """The coordinator's children."""
        try:
            tasks = list(Path("/proc", str(self.process.pid), "task").iterdir())
            return [int(pid) for task in tasks for pid in (task / "children").read_text().split()]
        except OSError:
            return []

    def kill_coordinator(self) -> None:
        self.process.kill()
        self.process.wait()
        self.process = self.start()

    def signal_supervisor(self, *numbers: signal.Signals) -> None:
        if victims := self.supervisors():
            victim = self.rng.choice(victims)
            for number in numbers:
                try:
                    os.kill(victim, number)
                except ProcessLookupError:
                    return
                time.sleep(self.rng.uniform(0.05, 0.4) if number is signal.SIGSTOP else 0.0)

    def fill_disk(self) -> None:
        ballast = self.folder / "ballast"
        try:
            with ballast.open("wb", buffering=0) as file:
                while True:
                    file.write(bytes(65536))
        except OSError:
            time.sleep(self.rng.uniform(0.1, 0.5))
        ballast.unlink()

    def strike(self, what: str) -> None:
        self.did[what] += 1
        match what:
            case "coordinator":
                self.kill_coordinator()
            case "supervisor":
                self.signal_supervisor(signal.SIGKILL)
            case "stop":
                self.signal_supervisor(signal.SIGSTOP, signal.SIGCONT)
            case _:
                self.fill_disk()

    def rage(self, ways: list[str]) -> None:
        """Until the tuning has come to its end all the same."""
        while True:
            try:
                code = self.process.wait(self.rng.uniform(0.2, 0.8))
            except subprocess.TimeoutExpired:
                self.strike(self.rng.choice(ways))
                continue
            assert code in (0, FULL), "it failed by itself"
            if code == 0:
                return
            self.process = self.start()


def targets_alive(folder: Path) -> list[str]:
    """Processes that got our target's command line, whoever is their parent."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            words = (process / "cmdline").read_bytes().split(b"\0") if process.name.isdigit() else []
            ours = os.fsencode(folder) in (process / "environ").read_bytes() if words else False
        except OSError:
            continue
        found += [process.name] if ours and any(b"lognormvariate" in word for word in words) else []
    return found


def test_whatever_happens_the_history_is_sound(disk: tuple[Path, bool], monkeypatch: pytest.MonkeyPatch) -> None:
    folder, can_be_filled = disk
    scratch = folder.parent / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    nemesis = Nemesis(folder, random.Random(int(SECONDS)))
    try:
        nemesis.rage(["coordinator", "supervisor", "stop", *(["disk"] if can_be_filled else [])])
    finally:
        nemesis.process.kill()
        nemesis.process.wait()
    assert check(folder / STORE, budget=SECONDS * WORKERS, workers=WORKERS) == []
    lines = nemesis.said.read_text().splitlines()
    assert lines[-1] == "FINISHED"
    told = dict(line.split() for line in lines if line != "FINISHED")
    with Store.read(folder / STORE) as store:
        kept = {str(run.order): repr(run.outcome.time) for run in store.runs()}
        assert {position: kept.get(position) for position in told} == told, "acknowledged, and not lost"
        check_replay(store, scenario(folder, SECONDS))
    assert targets_alive(scratch) == []
    assert list(scratch.iterdir()) == []
    sys.stdout.write(f"{len(kept)} runs in {SECONDS:g} s of tuning; the nemesis: {dict(nemesis.did)}\n")


def check_replay(store: Store, given: Scenario) -> None:
    """Whoever is told the runs in their order has the incumbents that were stored, when they were stored."""
    expected = {known: data["config"] for known, data in incumbents(store)}
    strategy = make_strategy("roar", Context(given, 0))
    with Store.create(None, {}, durability="memory") as nowhere:
        tuning = Tuning(given, strategy, SimulatedEngine(lognormal), Keeper(nowhere), Meter(given.budget, given.unit))
        for run in store.runs():
            tuning._tell(run)
            if run.order in expected:
                assert strategy.incumbent is not None
                assert dict(strategy.incumbent) == expected[run.order]
    assert strategy.incumbent == milestones(store)[-1].config
    assert all(run.outcome.cutoff <= CUTOFF for run in store.runs())


def incumbents(store: Store) -> list[tuple[int, dict[str, dict[str, float]]]]:
    rows = store._connection.execute("SELECT known, position FROM decisions WHERE kind = 'incumbent'").fetchall()
    by_position = {position: data for position, _, _, data in store.decisions("incumbent")}
    return [(known, by_position[position]) for known, position in rows]
