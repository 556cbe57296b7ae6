"""A tuning on a Dask cluster whose workers are killed, stopped and replaced while it runs, and whose answers come twice."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import capra
from capra.engines.dask import DaskEngine
from capra.engines.link import Link
from capra.errors import InputError, TargetError
from capra.runs.store import Store
from capra.tune import Tuning, resume, tune
from tests.engines.dask_worker import Cluster
from tests.engines.test_local import targets_alive, until
from tests.faults.real import scenario
from tests.runs.checker import check


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    monkeypatch.setattr("capra.engines.dask.HEARTBEAT", 0.5)
    monkeypatch.setattr("capra.engines.link.CONNECT", 5.0)
    found = Cluster()
    found.start("a", "b")
    yield found
    found.close()


def small(folder: Path, runs: int) -> capra.Scenario:
    return capra.Scenario(base=folder, **{**scenario(folder / "run", 1.0).given, "budget": {"runs": runs}})


class Nemesis:
    """Strikes at a certain number of runs; ``Tuning.run`` shows it the tuning whenever something happened."""

    def __init__(self, cluster: Cluster, blows: dict[int, str]) -> None:
        self.cluster = cluster
        self.blows = blows
        self.stopped = ""
        self.fenced = 0

    def __call__(self, tuning: Tuning) -> None:
        engine = tuning.engine
        assert isinstance(engine, DaskEngine)
        self.fenced = engine.fenced
        busy = [flight.worker.address for flight in engine._flights.under_way.values() if flight.worker is not None]
        if busy and self.blows and len(tuning.history) >= min(self.blows):
            self.strike(self.blows.pop(min(self.blows)), busy[0])

    def strike(self, what: str, address: str) -> None:
        match what:
            case "kill":
                self.cluster.kill(address)
                self.cluster.start("c")
            case "stop":
                self.cluster.signal(address, signal.SIGSTOP)
                self.stopped = address
            case "continue":
                self.cluster.signal(self.stopped, signal.SIGCONT)


def test_whatever_happens_to_the_workers_the_history_is_sound(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    once = Link._site_event

    def twice(self: Link, event: Any) -> None:
        once(self, event)
        once(self, event)

    monkeypatch.setattr(Link, "_site_event", twice)
    nemesis = Nemesis(cluster, {5: "kill", 10: "stop", 20: "continue", 25: "kill"})
    how: dict[str, Any] = {"engine": "dask", "client": cluster.address, "out": tmp_path / "run", "overhead": "ignore"}
    result = tune(small(tmp_path, 40), watch=nemesis, **how)
    assert (nemesis.blows, len(result.history)) == ({}, 40)
    assert nemesis.fenced >= 35  # all that came twice
    assert check(tmp_path / "run" / "history.sqlite", workers=3) == []
    with Store.read(tmp_path / "run" / "history.sqlite") as store:
        assert store.meta["settings"]["workers"] is None
    until(lambda: not targets_alive())


def test_a_resume_may_name_another_cluster(cluster: Cluster, tmp_path: Path) -> None:
    def stop(tuning: Tuning) -> None:
        if len(tuning.history) >= 5:
            tuning.stop()

    run = tmp_path / "run"
    first = tune(small(tmp_path, 12), engine="dask", client=cluster.address, out=run, overhead="ignore", watch=stop)
    assert 5 <= len(first.history) < 12
    other = Cluster()
    try:
        other.start("x")
        result = resume(run, client=other.address)
    finally:
        other.close()
    assert len(result.history) == 12
    assert {run.outcome.host for run in list(result.history)[len(first.history) :]} == {"x"}
    assert check(run / "history.sqlite", workers=2) == []
    with pytest.raises(InputError, match="no Dask scheduler answers"):  # the last one is remembered, and gone
        resume(run, budget={"runs": 20})


def test_the_scheduler_dies(cluster: Cluster, tmp_path: Path) -> None:
    def kill(tuning: Tuning) -> None:
        if len(tuning.history) == 5:
            cluster.scheduler.close()

    with pytest.raises(TargetError, match="scheduler is gone"):
        tune(small(tmp_path, 12), engine="dask", client=cluster.address, out=tmp_path / "run", watch=kill)
    until(lambda: not targets_alive())
    assert check(tmp_path / "run" / "history.sqlite", workers=2) == []
