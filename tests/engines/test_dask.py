"""The Dask engine: the conformance suite on real worker processes, and what may happen to those.

Workers are processes of their own on this machine; some say that they are on another host. Nothing here looks at a clock, but
for leases that are meant to run out.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from distributed import LocalCluster

from capra.engines import Engine
from capra.engines.dask import DaskEngine
from capra.errors import InputError, TargetError
from capra.runs import Outcome, RunRequest, Status
from capra.testing import hostile
from tests.engines.conformance import LONG, SHORT, EngineConformance, finish, request
from tests.engines.test_local import PYTHON, WORK, private_directories, scenario_of, targets_alive, until

ROOT = Path(__file__).resolve().parents[2]
HEARTBEAT = 0.3
"""A worker is given up after six of these."""


class Cluster:
    """A scheduler in this process, and workers that can be started and killed."""

    def __init__(self) -> None:
        self.scheduler = LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address=None, protocol="tcp", processes=True)
        self.address = str(self.scheduler.scheduler_address)
        self.workers: list[subprocess.Popen[bytes]] = []

    def start(self, host: str = "here", path: str = "") -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "tests.engines.dask_worker", self.address, host, path]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.workers.append(process)
        return process

    def up(self, *workers: subprocess.Popen[bytes]) -> None:
        for worker in workers:
            assert worker.stdout is not None
            assert worker.stdout.readline().startswith(b"tcp://127.0.0.1")

    def close(self) -> None:
        for worker in self.workers:
            worker.kill()
        for worker in self.workers:
            worker.communicate()
        self.scheduler.close()


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """One without workers."""
    found = Cluster()
    yield found
    found.close()


@pytest.fixture(scope="module")
def pair() -> Iterator[Cluster]:
    """One with two workers, for those who do them no harm."""
    found = Cluster()
    found.up(found.start(), found.start())
    yield found
    found.close()


@pytest.fixture(autouse=True)
def _nothing_left() -> Iterator[None]:
    yield
    until(lambda: not targets_alive() and not private_directories())


def engine_of(cluster: Cluster, target: Sequence[str] = WORK, workers: int | None = None, **options: Any) -> DaskEngine:
    known = {key: options.pop(key) for key in ("calibrate", "stage", "heartbeat") if key in options}
    return DaskEngine(scenario_of(target, **options), cluster.address, workers, **({"heartbeat": HEARTBEAT} | known))


class TestConformance(EngineConformance):
    @pytest.fixture
    def make(self, pair: Cluster) -> Iterator[Callable[[int], Engine]]:
        engines: list[DaskEngine] = []

        def make(workers: int) -> Engine:
            engines.append(engine_of(pair, workers=workers, heartbeat=5.0))
            return engines[-1]

        yield make
        for engine in engines:
            engine.close()
