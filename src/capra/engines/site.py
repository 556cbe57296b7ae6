"""The worker's side of the Dask engine: runs under our supervisor, in the process of a Dask worker.

A *site* is one tuning's place in one worker process. Dask carries ``run`` to one of the worker's threads, which drives a
local engine with one slot, so that measuring, judging and cleaning up are those of local runs. What concerns a run under way
(smaller cutoffs, stopping it) and the coordinator's heartbeat come by ``hear``, which the worker's event loop calls although
all threads are busy; answers go out as events on the session's topic. Both are plain data. If the coordinator falls silent,
the site stops its runs; if this process dies, the supervisors do.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
import select
import signal
import socket
import tempfile
import threading
import time
import uuid
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

from capra.engines.base import Ticket
from capra.engines.local import LocalEngine
from capra.engines.news import Key
from capra.engines.speed import loop_seconds, on_host, on_reference
from capra.engines.staging import Stage
from capra.errors import CapraError, InputError
from capra.runs import Outcome, RunRequest, Status
from capra.runs.place import filesystem, shared_by_machines
from capra.scenario import Scenario
from capra.targets import make_target

__all__ = ["OP", "Package", "hear", "open_site", "run"]

OP = "capra"
"""The name of our messages among Dask's."""
EARLY = 1000
"""Orders kept for runs that have not begun."""
LOOK = 1.0
"""Seconds after which a run is looked at although nothing happened: its supervisor may have been silent for too long."""
VERSION = version("capra")
CLOSING = ("closing", "closed", "failed")

Order = float | None
"""A smaller cutoff, or None: stop it."""


@dataclass(frozen=True)
class Package:
    """What a worker must know to run a scenario's target."""

    session: str
    scenario: Scenario
    heartbeat: float
    silence: float
    """Seconds without a word from the coordinator after which its runs are stopped."""
    reference: float | None = None
    """CPU seconds of the calibration loop on the reference host, if times are to be scaled."""
    stage: int | None = None
    """Bytes for local copies of instances, if they are to be copied."""
    shielded: bool = False
    """Ctrl-C is for the coordinator, although it reaches all processes of its terminal."""
    version: str = VERSION


@dataclass
class _Mailbox:
    """Orders for one run; ``file`` becomes readable when there is one."""

    file: int = field(default_factory=lambda: os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC))
    orders: deque[Order] = field(default_factory=deque)

    def put(self, order: Order) -> None:
        self.orders.append(order)
        os.eventfd_write(self.file, 1)

    def take(self) -> Iterator[Order]:
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self.file)
        while self.orders:
            yield self.orders.popleft()


class Site:
    """One tuning's place in this process. ``send`` takes plain data to the coordinator, from any thread."""

    def __init__(
        self, package: Package, send: Callable[[dict[str, Any]], None], *, slowness: float = 1.0, alive: Callable[[], bool]
    ) -> None:
        self.token = uuid.uuid4().hex
        self.slowness = slowness
        self.stage = None if package.stage is None else Stage(package.stage)
        self._scenario = package.scenario
        self._places: dict[str, str] = {}
        self._target = make_target(package.scenario, self._path_of)
        self._package = package
        self._send = send
        self._alive = alive
        self._heard = time.monotonic()
        self._lock = threading.Lock()
        self._runs: dict[Key, _Mailbox] = {}
        self._early: OrderedDict[Key, list[Order]] = OrderedDict()
        self._engines: list[LocalEngine] = []
        self._ended = threading.Event()
        self._why = "stopped by us"
        threading.Thread(target=self._watch, name="capra-site", daemon=True).start()

    @property
    def ended(self) -> bool:
        """Is nothing more to be run here?"""
        return self._ended.is_set()

    def _tell(self, message: dict[str, Any]) -> None:
        self._send({**message, "token": self.token})

    def _path_of(self, instance: str) -> str:
        return self._places.get(instance) or self._scenario.path_of(instance)

    # --- what the coordinator says ---

    def beat(self) -> None:
        """The coordinator is alive."""
        self._heard = time.monotonic()

    def order(self, key: Key, order: Order) -> None:
        """For a run that is under way, or may come."""
        with self._lock:
            if (mailbox := self._runs.get(key)) is not None:
                mailbox.put(order)
                return
            self._early.setdefault(key, []).append(order)
            while len(self._early) > EARLY:
                self._early.popitem(last=False)

    def end(self, why: str) -> None:
        """Stop everything, for good."""
        self._ended.set()
        self._stop_runs(why)

    def _stop_runs(self, why: str) -> None:
        with self._lock:
            self._why = why
            for mailbox in self._runs.values():
                mailbox.put(None)

    def _watch(self) -> None:
        """Say that we are here, and mind that the coordinator is."""
        while not self._ended.wait(self._package.heartbeat):
            self._tell({"kind": "alive", "runs": list(self._runs)})
            silent = time.monotonic() - self._heard
            if not self._alive():
                self.end("the Dask worker is closing")
            elif silent > 2.0 * self._package.silence:
                self.end("the coordinator is gone")
            elif silent > self._package.silence:
                self._stop_runs(f"the coordinator was not heard of for {silent:.0f} s")

    # --- one run ---

    def carry(self, key: Key, request: RunRequest) -> None:
        """Run it to its end in this thread, and say what came of it."""
        mailbox = _Mailbox()
        with self._lock:
            self._runs[key] = mailbox
            for order in self._early.pop(key, ()):
                mailbox.put(order)
        try:
            answer = self._answer(mailbox, request)
        finally:
            with self._lock:
                del self._runs[key]
                os.close(mailbox.file)
        self._tell({"kind": "done", "key": key, **answer})

    def _answer(self, mailbox: _Mailbox, request: RunRequest) -> dict[str, Any]:
        engine = self._engine()
        try:
            with self._staged(request.instance):
                outcome = self._drive(engine, mailbox, request)
        except InputError as error:  # the same everywhere: the tuning cannot go on
            return {"refused": str(error)}
        except (CapraError, OSError) as error:
            outcome = Outcome(Status.LOST, 0.0, request.cutoff, reason=str(error), host=socket.gethostname())
        finally:
            noted = self._give_back(engine)
        if outcome.status is Status.LOST and outcome.reason == "stopped by us":
            outcome = dataclasses.replace(outcome, reason=self._why)
        notes = [] if self.stage is None else sorted(self.stage.troubles)
        return {"outcome": _plain(outcome), **noted, "notes": notes}

    @contextlib.contextmanager
    def _staged(self, instance: str | None) -> Iterator[None]:
        if self.stage is None or instance is None or not self._scenario.instances_are_files:
            yield
            return
        with self.stage.held(self._scenario.path_of(instance)) as place:
            self._places[instance] = place
            yield

    def _drive(self, engine: LocalEngine, mailbox: _Mailbox, request: RunRequest) -> Outcome:
        ticket, bound = engine.submit(on_host(request, self.slowness)), request.cutoff
        while True:
            for order in mailbox.take():
                bound = _obey(engine, ticket, order, self.slowness, bound)
            for _, outcome in engine.wait(0.0):
                return on_reference(outcome, bound, self.slowness, self._scenario.cutoff)
            poll = select.poll()
            for file in (mailbox.file, *engine.files):
                poll.register(file, select.POLLIN)
            poll.poll(1000.0 * LOOK)

    def _engine(self) -> LocalEngine:
        """One that is idle. It does not pin: whoever started the worker has said which cores are its own."""
        with self._lock:
            if self._engines:
                return self._engines.pop()
        return LocalEngine(self._scenario, 1, pin=False, target=self._target, attempts=1)

    def _give_back(self, engine: LocalEngine) -> dict[str, Any]:
        """What it noted; it is used again unless it lost its slot to a process that cannot be killed."""
        noted = {name: getattr(engine, name) for name in ("measured", "disturbed", "straggling")}
        engine.measured = engine.disturbed = engine.straggling = 0
        if engine.free:
            with self._lock:
                self._engines.append(engine)
        else:
            engine.close()
        return {**noted, "sick": list(engine.sick)}


def _obey(engine: LocalEngine, ticket: Ticket, order: Order, slowness: float, bound: float) -> float:
    """The bound of the run after an order, on the reference's clock."""
    if order is None:
        engine.cancel(ticket)
        return bound
    engine.tighten(ticket, order * slowness)
    return min(bound, order) if order > 0.0 else bound


def _plain(outcome: Outcome) -> dict[str, Any]:
    return {**dataclasses.asdict(outcome), "status": str(outcome.status)}


# --- called by Dask ---

_SITES: dict[str, Site] = {}


async def open_site(package: Package, dask_worker: Any) -> dict[str, Any]:
    """Make a site for a session in this process, instead of the one that it may have had. By ``Client.run``."""
    if package.version != VERSION:
        return {"trouble": f"it has Capra {VERSION}, not {package.version}"}
    topic, address = f"{OP}-{package.session}", dask_worker.address
    slowness = 1.0 if package.reference is None else await asyncio.to_thread(loop_seconds) / package.reference

    def send(message: dict[str, Any]) -> None:
        dask_worker.log_event(topic, {**message, "worker": address})

    try:
        site = Site(package, send, slowness=slowness, alive=lambda: dask_worker.status.name not in CLOSING)
    except (CapraError, OSError) as error:
        return {"trouble": str(error)}
    _forget_the_ended()
    if (before := _SITES.get(package.session)) is not None:
        before.end("opened again")
    _SITES[package.session] = site
    dask_worker.handlers[OP] = hear
    if package.shielded:
        with contextlib.suppress(ValueError):  # not in the main thread: then nobody interrupts us either
            signal.signal(signal.SIGINT, lambda *_: None)  # not ignored: targets would inherit that
    return {"token": site.token, "host": socket.gethostname(), "slowness": slowness, "warning": _warning()}


def _forget_the_ended() -> None:
    for session in [session for session, site in _SITES.items() if site.ended]:
        del _SITES[session]


def _warning() -> str:
    """Private directories are made and removed with every run: that should not go over the network."""
    place = tempfile.gettempdir()
    kind = filesystem(place)
    return f"private directories lie in {place}, which is {kind}: set TMPDIR" if shared_by_machines(kind) else ""


def hear(session: str, orders: list[tuple[int, int, Order]] | None = None, end: bool = False) -> bool:
    """The coordinator's word, in the worker's event loop: a heartbeat, and orders for runs. Is the session known here?"""
    site = _SITES.get(session)
    if site is None or site.ended:
        return False
    site.beat()
    for ticket, attempt, order in orders or ():
        site.order((ticket, attempt), order)
    if end:
        site.end("the tuning is over")
        del _SITES[session]
    return True


def run(session: str, token: str, key: Key, request: RunRequest) -> None:
    """One run, as a Dask task. One that Dask began again in another process is not made: it was given up there."""
    site = _SITES.get(session)
    if site is not None and site.token == token and not site.ended:
        site.carry(key, request)
