"""The coordinator's connection to a Dask cluster. Everything that knows Dask's API is here and at the end of ``site.py``.

What happens on the cluster becomes news (``news.py``) in a queue, which one thread reads.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import itertools
import logging
import time
from collections.abc import Callable, Coroutine, Iterable
from queue import SimpleQueue
from typing import Any

from capra.engines import site
from capra.engines.news import Alive, Done, Ended, Gone, Joined, Key, Left, News, Refused
from capra.engines.site import Package
from capra.errors import InputError
from capra.runs import RunRequest

try:
    import dask.config
    from distributed import Client, Future, LocalCluster
except ImportError as error:
    raise InputError("the engine 'dask' needs Dask", hint="pip install 'capra[dask]'") from error

__all__ = ["Link"]

CONNECT = 30.0
"""Seconds to reach the scheduler, or a new worker."""
CENSUS = 6
"""Heartbeats between two looks at the list of workers, in case an event was lost."""


class Link:
    """Our own client of a cluster: ``cluster`` is somebody's ``Client``, a scheduler's address, or how many to start here.

    A cluster that we start listens on the loopback interface only.
    """

    def __init__(self, cluster: Client | str | int, package: Package) -> None:
        self.news: SimpleQueue[News] = SimpleQueue()
        self.package = package
        self._own = _started(cluster) if isinstance(cluster, int) else None
        self._opening: dict[str, asyncio.Future[None]] = {}
        self._refused: set[str] = set()
        self._heard: dict[str, float] = {}
        """Workers with a site of ours, and when they last said something."""
        self._tasks: set[asyncio.Future[None]] = set()
        self._changed = asyncio.Event()
        try:
            self._client = _connected(cluster if self._own is None else self._own)
        except BaseException:
            if self._own is not None:
                self._own.close()
            raise
        self.address = str(self._client.scheduler.address)
        self._loop = self._client.loop.asyncio_loop
        self._topics = {"all": self._cluster_event, f"{site.OP}-{package.session}": self._site_event}
        for topic, handler in self._topics.items():
            self._client.subscribe_topic(topic, handler)
        self._beating = self._do(self._beat())

    def open_present(self) -> None:
        """Open sites at all workers that are there now, and wait for that."""
        with contextlib.suppress(TimeoutError, OSError):
            self._do(self._open_all()).result(CONNECT)

    def submit(self, address: str, token: str, key: Key, request: RunRequest) -> Future:
        """Start a run there and nowhere else: a task that Dask moved or repeated would be a run that nobody asked for."""
        future = self._client.submit(
            site.run,
            self.package.session,
            token,
            key,
            request,
            key=f"{site.OP}-{self.package.session}-{key[0]}-{key[1]}",
            workers=[address],
            allow_other_workers=False,
            pure=False,
            retries=0,
        )

        def ended(done: Future) -> None:
            self.news.put(Ended(address, token, key, _reason(done), dropped=done.status == "cancelled"))

        future.add_done_callback(ended)
        return future

    def drop(self, futures: Iterable[Future]) -> None:
        """Whatever these are doing: Dask need not begin or repeat it."""
        if wanted := list(futures):
            self._do(self._client.cancel(wanted, asynchronous=True, force=True))

    def order(self, address: str, key: Key, order: float | None) -> None:
        """A smaller cutoff for a run under way; None stops it."""
        self._do(self._say([address], orders=[(*key, order)]))

    def end_sites(self) -> None:
        """Tell all workers to stop our runs."""
        self._beating.cancel()
        with contextlib.suppress(TimeoutError, OSError):
            self._do(self._say(list(self._heard), end=True)).result(self.package.silence)

    def close(self) -> None:
        """Hang up. Call ``end_sites`` first."""
        self._beating.cancel()
        with contextlib.suppress(TimeoutError, OSError):
            if self._client.status == "running":
                for topic in self._topics:  # or the scheduler would try to tell us that we left
                    self._client.unsubscribe_topic(topic)
            self._client.close(timeout=CONNECT)
        if self._own is not None:
            self._own.close(timeout=CONNECT)

    # --- in the client's event loop ---

    def _do(self, work: Coroutine[Any, Any, Any]) -> concurrent.futures.Future[Any]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def _beat(self) -> None:
        """Every now and then, and when the cluster changes: say that we are here, and see who is."""
        for beats in itertools.count():
            if self._client.status not in ("running", "connecting"):
                self.news.put(Gone())
                return
            # Not awaited: one worker that does not answer must not keep the others waiting.
            self._keep(self._say(self._talkative()))
            if self._changed.is_set() or beats % CENSUS == 0:
                self._changed.clear()
                self._keep(self._open_all())
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), self.package.heartbeat)

    def _talkative(self) -> list[str]:
        """Messages to those who are silent would only pile up; they are heard when they come back."""
        since = time.monotonic() - self.package.silence
        return [address for address, heard in self._heard.items() if heard >= since]

    def _keep(self, work: Coroutine[Any, Any, None]) -> None:
        """An event loop forgets tasks that nobody holds."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @property
    def _scheduler(self) -> Any:
        """How to speak to it; OSError if it is gone."""
        if self._client.scheduler is None:
            raise ConnectionError("the connection is closed")
        return self._client.scheduler

    async def _say(self, addresses: list[str], **words: Any) -> None:
        message = {"op": site.OP, "session": self.package.session, **words}
        try:
            answers = await self._scheduler.broadcast(msg=message, workers=addresses, on_error="ignore")
        except OSError:
            return
        for address, known in answers.items():
            if known is False:  # it had given us up
                self._leave(address)

    async def _open_all(self) -> None:
        """See who is there; when this ends, the sites of all of them are open. One worker never gets two."""
        try:
            identity = await self._scheduler.identity(n_workers=-1)
        except OSError:
            return
        present = {address: facts["nthreads"] for address, facts in identity["workers"].items()}
        for address in (self._heard.keys() | self._refused) - present.keys():
            self._leave(address)
        known = self._heard.keys() | self._refused | self._opening.keys()
        for address in present.keys() - known:
            self._opening[address] = asyncio.ensure_future(self._open_one(address, present[address]))
        await asyncio.gather(*self._opening.values())  # those, too, that another census began

    async def _open_one(self, address: str, seats: int) -> None:
        try:
            work = self._client.run(site.open_site, self.package, workers=[address], asynchronous=True)
            [facts] = (await asyncio.wait_for(work, CONNECT)).values()
        except Exception as error:  # noqa: BLE001 (whatever goes wrong there: that worker cannot be used)
            facts = {"trouble": f"{type(error).__name__}: {error}"}
        del self._opening[address]
        if "trouble" in facts:
            self._refused.add(address)
            self.news.put(Refused(address, facts["trouble"]))
        else:
            self._heard[address] = time.monotonic()
            self.news.put(Joined(address, seats=seats, **facts))

    def _leave(self, address: str) -> None:
        self._refused.discard(address)
        if self._heard.pop(address, None) is not None:
            self._changed.set()
            self.news.put(Left(address))

    def _cluster_event(self, event: tuple[float, Any]) -> None:
        match event[1]:
            case {"action": "remove-worker", "worker": address}:
                self._leave(address)
            case {"action": "add-worker"}:
                self._changed.set()

    def _site_event(self, event: tuple[float, dict[str, Any]]) -> None:
        answer = event[1]
        address, token = answer["worker"], answer["token"]
        if address in self._heard:
            self._heard[address] = time.monotonic()
        match answer:
            case {"kind": "alive", "runs": runs}:
                self.news.put(Alive(address, token, frozenset((run[0], run[1]) for run in runs)))
            case {"kind": "done", "key": (ticket, attempt)}:
                self.news.put(Done(address, token, (ticket, attempt), answer))


def _started(workers: int) -> LocalCluster:
    if workers < 1:
        raise InputError(f"a cluster needs at least one worker, not {workers}")
    # Dask's profiler looks at every thread 100 times a second: half of an idle worker's CPU time, beside what we measure.
    with dask.config.set({"distributed.worker.profile.enabled": False}):
        return LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        )


def _connected(cluster: Client | LocalCluster | str) -> Client:
    """A client of our own: what it subscribes to is nobody else's, and it is closed with the engine."""
    how: Callable[[], Client]
    if isinstance(cluster, Client):
        address, security = cluster.scheduler.address, cluster.security
        how = lambda: Client(address, security=security, timeout=CONNECT, set_as_default=False, name=site.OP)  # noqa: E731
    else:
        address = cluster if isinstance(cluster, str) else cluster.scheduler_address
        how = lambda: Client(cluster, timeout=CONNECT, set_as_default=False, name=site.OP)  # noqa: E731
    try:
        return how()
    except (OSError, ValueError) as error:
        hint = "start `dask scheduler` and give the address that it prints, such as tcp://10.0.0.1:8786"
        raise InputError(f"no Dask scheduler answers at {address}: {error}", hint=hint) from error


def _reason(future: Future) -> str:
    if future.status == "error":
        return f"the Dask task failed: {type(future.exception()).__name__}: {future.exception()}"
    return f"the Dask task is {future.status}, and its worker gave no answer"
