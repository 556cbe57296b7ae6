"""Two hosts in network namespaces, and the cable to one of them cut in the middle of a tuning."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from distributed import LocalCluster

from capra.engines.dask import DaskEngine
from capra.tune import Tuning, tune
from tests.engines.test_local import targets_alive, until
from tests.faults.test_cluster import small
from tests.runs.checker import check


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


class Host:
    """A network namespace with a cable to us, and one Dask worker in it."""

    def __init__(self, number: int) -> None:
        self.name = f"capra{os.getpid() % 100_000}-{number}"  # interfaces have at most 15 letters
        net = f"10.{100 + os.getpid() % 100}.{number}"  # what an interrupted test has left behind is not in the way
        self.ours, self.theirs = f"{net}.1", f"{net}.2"
        ip("netns", "add", self.name)
        try:
            ip("link", "add", self.name, "type", "veth", "peer", "name", "eth0", "netns", self.name)
            ip("addr", "add", f"{self.ours}/24", "dev", self.name)
            ip("link", "set", self.name, "up")
            for words in (["addr", "add", f"{self.theirs}/24", "dev", "eth0"], ["link", "set", "eth0", "up"]):
                ip("-n", self.name, *words)
            ip("-n", self.name, "link", "set", "lo", "up")
            ip("-n", self.name, "route", "add", "default", "via", self.ours)
        except BaseException:
            self.close()
            raise
        self.worker: subprocess.Popen[bytes] | None = None

    def start(self, scheduler: str) -> None:
        dask = [sys.executable, "-m", "distributed.cli.dask_worker", scheduler, "--nthreads", "1", "--no-nanny"]
        command = ["ip", "netns", "exec", self.name, *dask, "--no-dashboard", "--host", self.theirs]
        self.worker = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def cut(self) -> None:
        ip("link", "set", self.name, "down")

    def mend(self) -> None:
        ip("link", "set", self.name, "up")

    def close(self) -> None:
        if getattr(self, "worker", None) is not None:
            self.worker.kill()  # type: ignore[union-attr]
            self.worker.wait()  # type: ignore[union-attr]
        with contextlib.suppress(subprocess.CalledProcessError):
            ip("netns", "del", self.name)


@pytest.fixture
def hosts() -> Iterator[list[Host]]:
    if shutil.which("ip") is None:
        pytest.skip("no `ip` here: hosts cannot be made of network namespaces")
    found: list[Host] = []
    try:
        for number in (1, 2):
            found.append(Host(number))
    except subprocess.CalledProcessError as error:
        for host in found:
            host.close()
        pytest.skip(f"network namespaces are not permitted here: {error.stderr.decode().strip()}")
    yield found
    for host in found:
        host.close()


class Partition:
    """Cuts off a host while it has a run, until that was lost; then mends the cable and waits for the host."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.cut_at = self.mended_at = 0.0
        self.back = False

    def __call__(self, tuning: Tuning) -> None:
        engine = tuning.engine
        assert isinstance(engine, DaskEngine)
        there = [worker for worker in engine._crew if self.host.theirs in worker.address]
        if not self.cut_at and len(tuning.history) >= 5 and any(worker.taken for worker in there):
            self.host.cut()
            self.cut_at = time.monotonic()
        elif self.cut_at and not self.mended_at and (not there or there[0].silent):
            self.host.mend()
            self.mended_at = time.monotonic()
        self.back = bool(self.mended_at) and bool(there) and not there[0].silent


def test_a_partition_in_the_middle_of_a_tuning(hosts: list[Host], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("capra.engines.dask.HEARTBEAT", 0.5)
    with LocalCluster(n_workers=0, host=hosts[0].ours, protocol="tcp", dashboard_address=f"{hosts[0].ours}:0") as cluster:
        for host in hosts:
            host.start(cluster.scheduler_address)
        until(lambda: len(cluster.scheduler_info["workers"]) == 2)
        partition = Partition(hosts[0])
        result = tune(
            small(tmp_path, 60),
            engine="dask",
            client=str(cluster.scheduler_address),
            out=tmp_path / "run",
            overhead="ignore",
            watch=partition,
        )
    assert len(result.history) == 60
    assert partition.mended_at > partition.cut_at > 0.0
    assert check(tmp_path / "run" / "history.sqlite", workers=2) == []
    until(lambda: not targets_alive())
    sys.stdout.write(
        f"cut for {partition.mended_at - partition.cut_at:.1f} s; the host was back before the end: {partition.back}\n"
    )
