"""Who works for us: Dask workers, their seats, and the hosts that they run on. Bookkeeping only; knows nothing of Dask."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
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
    """All workers that have joined and not left."""

    def __init__(self) -> None:
        self.hosts = Hosts()
        self._workers: dict[str, Worker] = {}

    def join(self, news: Joined, now: float) -> Worker:
        worker = Worker(news.address, news.token, news.host, news.seats, news.slowness, now)
        self._workers[news.address] = worker
        return worker

    def leave(self, address: str) -> Worker | None:
        return self._workers.pop(address, None)

    def known(self, address: str, token: str) -> Worker | None:
        """The worker, if this is still the same process of it."""
        worker = self._workers.get(address)
        return worker if worker is not None and worker.token == token else None

    def __iter__(self) -> Iterator[Worker]:
        return iter(list(self._workers.values()))

    @property
    def free(self) -> int:
        """Seats for another run, on hosts that may be used."""
        return sum(worker.free for worker in self._usable(lambda _: True))

    def has_others(self, host: str) -> bool:
        """Is there another host that may be used?"""
        return any(not worker.silent for worker in self._usable(lambda worker: worker.host != host))

    def seat(self, avoid: Collection[str]) -> Worker | None:
        """Where to run next: the worker with most free seats, on a host that is not to be avoided, if there is any such.

        None also if those hosts are busy just now.
        """
        others = self._usable(lambda worker: worker.host not in avoid)
        wanted = [worker for worker in others if not worker.silent] or self._usable(lambda _: True)
        best = max(wanted, key=lambda worker: worker.free, default=None)
        return best if best is not None and best.free else None

    def _usable(self, wanted: Callable[[Worker], bool]) -> list[Worker]:
        return [w for w in self._workers.values() if w.host not in self.hosts.quarantined and wanted(w)]
