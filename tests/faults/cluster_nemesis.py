"""The nemesis of a tuning on a Dask cluster: everything that happens to a local one, and harm to the workers."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from multiprocessing import forkserver, resource_tracker
from pathlib import Path

from tests.engines.dask_worker import Cluster
from tests.faults.nemesis import Nemesis, children
from tests.faults.real import WORKERS

__all__ = ["ClusterNemesis"]


class ClusterNemesis(Nemesis):
    """The same with a Dask cluster, whose scheduler is here and whose workers it kills, stops and replaces."""

    PACE = (0.4, 1.6)
    SPARE = 1

    def __init__(self, folder: Path, seconds: float, rng: random.Random) -> None:
        self.cluster = Cluster()
        self._hosts = 0
        self._stopped: dict[str, float] = {}
        """Workers that will go on at a certain time."""
        self.add_workers(WORKERS + self.SPARE)
        super().__init__(folder, seconds, rng)
        self.ways["worker killed"] = self.kill_worker
        self.ways["worker stopped"] = self.stop_worker

    def start(self) -> subprocess.Popen[bytes]:
        if self._command[-1] != self.cluster.address:
            self._command.append(self.cluster.address)
        return super().start()

    def add_workers(self, number: int) -> None:
        names = [f"host{self._hosts + k}" for k in range(number)]
        self._hosts += number
        self.cluster.start(*names)

    def tend(self) -> None:
        """Who was stopped goes on after a while, who died (Dask ends workers when the clock jumps) is replaced."""
        super().tend()
        now = time.monotonic()
        for address in [address for address, until in self._stopped.items() if until < now]:
            del self._stopped[address]
            if address in self.cluster.workers:
                self.cluster.signal(address, signal.SIGCONT)
        dead = [address for address, process in self.cluster.workers.items() if not process.is_alive()]
        for address in dead:
            del self.cluster.workers[address]
        self.did["worker ended by Dask"] += len(dead)
        self.add_workers(len(dead))

    def known(self) -> set[int]:
        helpers = forkserver._forkserver._forkserver_pid, resource_tracker._resource_tracker._pid  # type: ignore[attr-defined]
        return {*super().known(), *filter(None, helpers)}

    def supervisors(self) -> list[int]:
        return sorted(pid for worker in self.cluster.workers.values() for pid in children(worker.pid or 0))

    def kill_worker(self) -> bool:
        self.cluster.kill(self.rng.choice(list(self.cluster.workers)))
        self.add_workers(1)
        return True

    def stop_worker(self) -> bool:
        """Sometimes for longer than it takes to be given up: what it says afterwards is late."""
        running = [address for address in self.cluster.workers if address not in self._stopped]
        if not running:
            return False
        address = self.rng.choice(running)
        self._stopped[address] = time.monotonic() + self.rng.uniform(0.5, 8.0)
        self.cluster.signal(address, signal.SIGSTOP)
        return True

    def end(self) -> list[str]:
        self.process.kill()
        self.cluster.close()
        return super().end()
