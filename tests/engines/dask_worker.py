"""Dask workers to be disturbed: processes with one thread and no nanny that say which host they are on.

They are forked from a server that has imported everything, since that takes longer than most tests.
"""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import signal
import socket
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from distributed import LocalCluster, Worker

from capra.engines import dask as _  # noqa: F401 (imported once, in the server)

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload([__name__])


def work(scheduler: str, host: str, path: str, told: Connection) -> None:
    """The life of a worker, which looks for programs in ``path`` first."""
    logging.disable()
    socket.gethostname = lambda: host
    os.environ["PATH"] = os.pathsep.join(filter(None, (path, os.environ["PATH"])))
    asyncio.run(_work(scheduler, told))


async def _work(scheduler: str, told: Connection) -> None:
    async with Worker(scheduler, nthreads=1, host="127.0.0.1", dashboard=False) as worker:
        told.send(worker.address)
        await worker.finished()


class Cluster:
    """A scheduler in this process, and workers that can be started, signalled and killed."""

    def __init__(self) -> None:
        self.scheduler = LocalCluster(
            n_workers=0, host="127.0.0.1", dashboard_address="127.0.0.1:0", protocol="tcp", processes=True
        )
        self.address = str(self.scheduler.scheduler_address)
        self.workers: dict[str, BaseProcess] = {}

    def start(self, *hosts: str, path: str = "") -> None:
        """A worker on each of these hosts; returns when they are up."""
        started = []
        for host in hosts:
            here, there = multiprocessing.Pipe()
            process = FORKS.Process(target=work, args=(self.address, host, path and f"{path}/{host}", there), daemon=True)
            process.start()
            there.close()
            started.append((process, here))
        for process, here in started:
            self.workers[here.recv()] = process

    def signal(self, address: str, number: signal.Signals) -> None:
        pid = self.workers[address].pid
        assert pid is not None
        os.kill(pid, number)

    def kill(self, address: str) -> None:
        worker = self.workers.pop(address)
        worker.kill()
        worker.join()

    def close(self) -> None:
        for address in list(self.workers):
            self.kill(address)
        self.scheduler.close()
