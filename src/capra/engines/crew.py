"""Who works for us: Dask workers, their seats, and the hosts that they run on. Bookkeeping only; knows nothing of Dask."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from capra.engines.hosts import Hosts
from capra.engines.news import Joined, Key

__all__ = ["Crew", "Worker"]


@dataclass
class Worker:
    """A worker process. A seat is one run at a time: a thread of it."""

    address: str
    token: str
    host: str
    seats: int
    slowness: float
    heard: float
    """When it last said something, on our monotonic clock."""
    taken: set[Key] = field(default_factory=set)
    """Runs that are there, those included that were given up and may not have ended yet."""
    silent: bool = False

    @property
    def free(self) -> int:
        """Seats for another run."""
        return 0 if self.silent else max(0, self.seats - len(self.taken))


class Crew:
    """All workers that have joined and not left. What happens to one is told here, not to the worker: a seat is found
    without looking at all of them, however many there are.
    """

    def __init__(self) -> None:
        self.hosts = Hosts()
        self.free = 0
        """Seats for another run, on hosts that may be used."""
        self._workers: dict[str, Worker] = {}
        self._reachable: dict[str, set[str]] = {}
        """Hosts that may be used, and the workers there that are heard of."""
        self._open: dict[int, dict[str, Worker]] = {}
        """Those of them that have free seats, by how many."""
        self._filed: dict[str, int] = {}
        """Free seats that each of them is filed under."""
        self._slowness: str | None = ""
        """What is to be said of it; None if that has changed."""

    def __iter__(self) -> Iterator[Worker]:
        return iter(list(self._workers.values()))

    def __len__(self) -> int:
        return len(self._workers)

    @property
    def slowness(self) -> str:
        """The hosts that are slower or faster than this machine, in words; asked for after every run."""
        if self._slowness is None:
            slow = {worker.host: worker.slowness for worker in self if worker.slowness != 1.0}
            self._slowness = ", ".join(f"{host} {slowness:.2f}" for host, slowness in sorted(slow.items()))
        return self._slowness

    def known(self, address: str, token: str) -> Worker | None:
        """The worker, if this is still the same process of it."""
        worker = self._workers.get(address)
        return worker if worker is not None and worker.token == token else None

    # --- what happens to workers ---

    def join(self, news: Joined, now: float) -> Worker:
        self.leave(news.address)
        worker = Worker(news.address, news.token, news.host, news.seats, news.slowness, now)
        self._workers[news.address] = worker
        self._slowness = None
        self._file(worker)
        return worker

    def leave(self, address: str) -> Worker | None:
        worker = self._workers.pop(address, None)
        if worker is not None:
            self._slowness = None
            self._file(worker)
        return worker

    def take(self, worker: Worker, key: Key) -> None:
        """A run begins there."""
        worker.taken.add(key)
        self._file(worker)

    def release(self, worker: Worker, keys: Iterable[Key]) -> None:
        """These runs are not there, or no more."""
        worker.taken.difference_update(keys)
        self._file(worker)

    def hear(self, worker: Worker, now: float) -> None:
        """It said something."""
        worker.heard = now
        if worker.silent:
            worker.silent = False
            self._file(worker)

    def give_up(self, worker: Worker) -> None:
        """It has not been heard of for too long."""
        worker.silent = True
        self._file(worker)

    def retire_seat(self, worker: Worker) -> None:
        """For good: something there cannot be killed."""
        worker.seats -= 1
        self._file(worker)

    def blame(self, host: str, reason: str) -> bool:
        """The host was at fault. Is it quarantined now?"""
        if not self.hosts.faulted(host, reason, self.has_others(host)):
            return False
        for worker in self:
            if worker.host == host:
                self._file(worker)
        return True

    def _file(self, worker: Worker) -> None:
        """Put it where it is looked for."""
        address, host = worker.address, worker.host
        before = self._filed.pop(address, 0)
        if before:
            self.free -= before
            self._open[before].pop(address)
            if not self._open[before]:
                del self._open[before]
        here = self._workers.get(address) is worker and not worker.silent and host not in self.hosts.quarantined
        if here:
            self._reachable.setdefault(host, set()).add(address)
        elif host in self._reachable:
            self._reachable[host].discard(address)
            if not self._reachable[host]:
                del self._reachable[host]
        if here and worker.free:
            self.free += worker.free
            self._filed[address] = worker.free
            self._open.setdefault(worker.free, {})[address] = worker

    # --- where to run next ---

    def has_others(self, host: str) -> bool:
        """Is there another host that may be used?"""
        return any(other != host for other in self._reachable)

    def seat(self, avoid: Collection[str]) -> Worker | None:
        """Where to run next: the worker with most free seats, on a host that is not to be avoided, if there is any such.

        None also if those hosts are busy just now.
        """
        if all(host in avoid for host in self._reachable):
            avoid = ()
        for seats in sorted(self._open, reverse=True):
            for worker in self._open[seats].values():
                if worker.host not in avoid:
                    return worker
        return None
