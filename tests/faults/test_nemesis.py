"""A tuning with real processes, here or on a Dask cluster, while a nemesis (``nemesis.py``) does what it can.

It kills and stops coordinators, supervisors and workers, fills the disk, turns the clock, overwrites pages of the store;
results and answers come twice and late. Afterwards only the store and /proc are looked at: the invariants of RELIABILITY §4.
Every way is tried at least once; CAPRA_NEMESIS sets how many seconds it goes on (`make faults` takes 30 minutes).
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from capra.budget import Meter
from capra.engines import SimulatedEngine
from capra.folder import milestones
from capra.keeper import Keeper
from capra.runs.store import Store
from capra.scenario import Scenario
from capra.strategies import Context, make_strategy
from capra.tune import Tuning
from tests.faults.clock import Clock
from tests.faults.nemesis import FOREVER
from tests.faults.real import CUTOFF, WORKERS, scenario
from tests.runs.checker import check
from tests.strategies.conformance import lognormal

SECONDS = float(os.environ.get("CAPRA_NEMESIS", "3"))
ROOT = Path(__file__).resolve().parents[2]
STORE = "history.sqlite"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A folder, if possible on a disk of its own that may be filled."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=32m", "none", str(folder)]
    mounted = shutil.which("mount") is not None and subprocess.run(command, capture_output=True).returncode == 0
    if not mounted:
        sys.stdout.write("the disk cannot be filled here: mounting a small file system is not permitted\n")
    yield folder
    if mounted:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def raged(engine: str, folder: Path, scratch: Path) -> dict[str, Any]:
    """Let it happen; what the nemesis did."""
    environment = {**os.environ, "TMPDIR": str(scratch)}
    try:
        environment |= Clock(folder.parent).environment
    except OSError as error:
        sys.stdout.write(f"the clock is not turned: {error}\n")
    command = [sys.executable, "-m", "tests.faults.nemesis", str(folder), engine, str(SECONDS)]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE) as nemesis:
        try:
            said, _ = nemesis.communicate()
        finally:
            nemesis.terminate()
    assert nemesis.returncode == 0, (folder.parent / "errors").read_text()[-5000:]
    return dict(json.loads(said))


@pytest.mark.parametrize("engine", ["local", "dask"])
def test_whatever_happens_the_history_is_sound(engine: str, disk: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    scratch = tmp_path_factory.mktemp("t")  # names of sockets are short
    report = raged(engine, disk, scratch)
    assert check(disk / STORE, budget=60.0 * report["minutes"] * WORKERS) == [], "no more time than there was"
    lines = (disk.parent / "said").read_text().splitlines()
    assert lines[-1] == "FINISHED"
    words = [line.split() for line in lines if " " in line]
    told = {first: second for first, second in words if first != "fenced"}
    with Store.read(disk / STORE) as store:
        kept = {str(run.order): repr(run.outcome.time) for run in store.runs()}
        assert {position: kept.get(position) for position in told} == told, "acknowledged, and not lost"
        losses = sum(1 for _ in store.losses())
        check_replay(store, scenario(disk, FOREVER))
    assert report.pop("left") == []
    assert list(scratch.glob("capra-run-*")) == []
    counts = [int(second) for first, second in words if first == "fenced"]
    ignored = sum(count for count, then in itertools.pairwise([*counts, 0]) if then <= count)  # each coordinator counts anew
    assert (engine == "dask") == (ignored > 0)
    made = f"{len(kept)} runs, {len(told)} acknowledged, {losses} losses, {ignored} answers ignored"
    sys.stdout.write(f"{engine}: {made}, {json.dumps(report)}\n")


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
