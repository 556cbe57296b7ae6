"""The Dask engine: the conformance suite on real worker processes, and what may happen to those.

Workers are processes of their own on this machine; some say that they are on another host. Nothing here looks at a clock, but
for leases that are meant to run out.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import pytest

from capra.engines import Engine, Ticket
from capra.engines.dask import DaskEngine
from capra.engines.link import Link
from capra.engines.news import Joined
from capra.engines.site import Package
from capra.engines.speed import loop_seconds
from capra.errors import InputError, TargetError
from capra.runs import Outcome, RunRequest, Status
from capra.scenario import Scenario
from capra.space import Real, Space
from tests.engines.conformance import KAPPA, LONG, SHORT, EngineConformance, LossConformance, Strike, finish, request
from tests.engines.dask_worker import Cluster
from tests.engines.test_local import SPACE, WORK, private_directories, scenario_of, targets_alive, until

ROOT = Path(__file__).resolve().parents[2]
HEARTBEAT = 0.5
"""A worker is given up after six of these."""


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """One without workers."""
    found = Cluster()
    yield found
    found.close()


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Cluster, Path]]:
    """Two workers on the host "bad" and one on "good", each host with a ``work`` of its own; nobody is to kill them."""
    folder = tmp_path_factory.mktemp("hosts")
    for host in ("bad", "good"):
        (folder / host).mkdir()
        mend(folder / host / "work")
    found = Cluster()
    found.start("bad", "bad", "good", path=str(folder))
    yield found, folder
    found.close()


def mend(program: Path) -> None:
    program.write_text(f"#!/bin/sh\nexec {sys.executable} -E -S -c 'import sys; sys.exit(int(sys.argv[2]))' \"$@\"\n")
    program.chmod(0o755)


@pytest.fixture
def shared(hosts: tuple[Cluster, Path]) -> Cluster:
    return hosts[0]


@pytest.fixture(autouse=True)
def _nothing_left() -> Iterator[None]:
    yield
    until(lambda: not targets_alive() and not private_directories())


def engine_of(cluster: Cluster, target: Sequence[str] = WORK, workers: int | None = None, **options: Any) -> DaskEngine:
    known = {key: options.pop(key) for key in ("calibrate", "stage", "heartbeat") if key in options}
    return DaskEngine(scenario_of(target, **options), cluster.address, workers, **({"heartbeat": HEARTBEAT} | known))


class TestConformance(EngineConformance):
    @pytest.fixture
    def make(self, shared: Cluster) -> Iterator[Callable[[int], Engine]]:
        engines: list[DaskEngine] = []

        def make(workers: int) -> Engine:
            engines.append(engine_of(shared, workers=workers, heartbeat=5.0))
            until(lambda: engines[-1].free == workers)  # on a busy machine workers join one after the other
            return engines[-1]

        yield make
        for engine in engines:
            engine.close()


class TestLossConformance(LossConformance):
    @pytest.fixture
    def engines(self, cluster: Cluster) -> Iterator[list[DaskEngine]]:
        cluster.start("a", "b")
        with engine_of(cluster) as engine:
            yield [engine]

    @pytest.fixture
    def make(self, engines: list[DaskEngine]) -> Callable[[int], Engine]:
        return lambda _: engines[0]

    @pytest.fixture
    def strike(self, cluster: Cluster, engines: list[DaskEngine]) -> Strike:
        struck: dict[Ticket, str] = {}

        def strike(ticket: Ticket, number: signal.Signals) -> None:
            if ticket not in struck:
                struck[ticket] = address_of(engines[0], ticket)
                until(lambda: (engines[0].wait(0.05), targets_alive())[1])
            cluster.signal(struck[ticket], number)

        return strike


# --- workers come and go ---


def address_of(engine: DaskEngine, ticket: Any) -> str:
    """The worker that has this run; waits for one."""
    return until(lambda: (engine.wait(0.05), engine._flights.under_way[ticket].worker)[1]).address


def started(engine: DaskEngine, seconds: float) -> tuple[Any, str]:
    """A run whose target is alive, and its worker."""
    ticket = engine.submit(request(seconds))
    address = address_of(engine, ticket)
    until(lambda: (engine.wait(0.05), targets_alive())[1])
    return ticket, address


def test_a_worker_that_is_killed(cluster: Cluster) -> None:
    """First the run goes on at the other worker, and when that is killed as well it waits for a third, which joins later."""
    cluster.start("a", "b")
    with engine_of(cluster) as engine:
        assert engine.free == 2
        ticket, first = started(engine, 0.5)
        cluster.kill(first)
        second = until(lambda: (address_of(engine, ticket) != first) and address_of(engine, ticket))
        cluster.kill(second)
        until(lambda: (engine.wait(0.05), "no worker has joined" in " ".join(engine.warnings()))[1])
        cluster.start("c")
        [outcome] = finish(engine, ticket)
        assert (outcome.status, outcome.host) == (Status.SUCCESS, "c")
        assert (engine.free, engine.fenced) == (1, 0)
        assert engine.warnings() == []


def test_lost_three_times_is_lost(cluster: Cluster) -> None:
    cluster.start("a")
    with engine_of(cluster, heartbeat=5.0) as engine:  # a worker that is slow is not to be given up meanwhile
        ticket = engine.submit(request(LONG))
        for attempt in (1, 2, 3):
            address = until(
                lambda wanted=attempt: (engine.wait(0.05), engine._flights.under_way[ticket])[1].attempt == wanted
            ) and address_of(engine, ticket)
            if attempt < 3:
                cluster.start("a")
            cluster.kill(address)
        [outcome] = finish(engine, ticket)
        assert outcome.status is Status.LOST
        assert "is gone" in str(outcome.reason)


def test_a_worker_that_stops_beyond_its_lease(cluster: Cluster) -> None:
    """Its answer comes late and is ignored; what it still runs for us then is stopped."""
    cluster.start("a", "b")
    with engine_of(cluster) as engine:
        ticket, first = started(engine, 0.3)
        cluster.signal(first, signal.SIGSTOP)
        [outcome] = finish(engine, ticket)
        assert outcome.status is Status.SUCCESS
        assert engine.free == 1
        cluster.signal(first, signal.SIGCONT)
        until(lambda: (engine.free, engine.fenced)[1])
        assert until(lambda: engine.free == 2)
        assert engine.wait() == []


def test_what_a_stopped_worker_still_runs_is_stopped(cluster: Cluster) -> None:
    cluster.start("a", "b")
    with engine_of(cluster) as engine:
        ticket, first = started(engine, LONG)
        cluster.signal(first, signal.SIGSTOP)
        until(lambda: address_of(engine, ticket) != first)
        until(lambda: (engine.wait(0.05), len(targets_alive()) == 2)[1])
        cluster.signal(first, signal.SIGCONT)
        until(lambda: (engine.wait(0.05), len(targets_alive()) == 1)[1])
        engine.tighten(ticket, 0.0)
        [outcome] = finish(engine, ticket)
        assert outcome.status is Status.CAPPED
        assert until(lambda: engine.free == 2)


def test_answers_that_come_twice(shared: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    once = Link._site_event

    def twice(self: Link, event: Any) -> None:
        once(self, event)
        once(self, event)

    monkeypatch.setattr(Link, "_site_event", twice)
    with engine_of(shared) as engine:
        for seed in range(3):
            [outcome] = finish(engine, engine.submit(request(SHORT, seed=seed)))
            assert outcome.status is Status.SUCCESS
        assert until(lambda: engine.free == 3)
        assert engine.fenced == 3


def test_two_looks_at_once_open_one_site(shared: Cluster) -> None:
    """The second site would end the first, and with it the run that was given to it meanwhile."""
    link = Link(shared.address, Package(uuid.uuid4().hex, scenario_of(WORK), heartbeat=5.0, silence=30.0))

    async def look_twice() -> None:
        present = await link._scheduler.identity(n_workers=-1)
        link._client.scheduler.identity = AsyncMock(return_value=present)  # answers both within one turn of the loop
        await asyncio.gather(link._open_all(), link._open_all())

    try:
        link._do(look_twice()).result(60.0)
        joined = [link.news.get(timeout=60.0) for _ in shared.workers]
        assert {news.address for news in joined if isinstance(news, Joined)} == set(shared.workers)
        assert link.news.empty()
    finally:
        link.end_sites()
        link.close()


def test_a_task_that_says_nothing_is_lost(shared: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its answers are held back: the end of the Dask task shows that there was none."""
    heard = Link._site_event

    def deaf(self: Link, event: Any) -> None:
        if event[1]["kind"] != "done":
            heard(self, event)

    monkeypatch.setattr(Link, "_site_event", deaf)
    with engine_of(shared) as engine:
        [outcome] = finish(engine, engine.submit(request(SHORT)))
        assert outcome.status is Status.LOST
        assert "no answer" in str(outcome.reason)


COORDINATOR = """
import sys
from capra.engines.dask import DaskEngine
from capra.engines.link import Link
from capra.engines.site import Package
from capra.engines.speed import loop_seconds
from tests.engines.conformance import LONG, request
from tests.engines.test_local import WORK, scenario_of
engine = DaskEngine(scenario_of(WORK), sys.argv[1], heartbeat=float(sys.argv[2]))
engine.submit(request(LONG))
engine.wait()
"""


def test_a_coordinator_that_is_killed_leaves_nothing(shared: Cluster) -> None:
    process = subprocess.Popen([sys.executable, "-c", COORDINATOR, shared.address, str(HEARTBEAT)], cwd=ROOT)
    until(targets_alive)
    process.kill()
    process.wait()
    until(lambda: not targets_alive())
    with engine_of(shared) as engine:  # and its workers are there for the next one
        [outcome] = finish(engine, engine.submit(request(SHORT)))
        assert outcome.status is Status.SUCCESS


def test_the_scheduler_is_gone(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("capra.engines.link.CONNECT", 5.0)
    cluster.start("a")
    with engine_of(cluster) as engine:
        engine.submit(request(LONG))
        cluster.scheduler.close()
        with pytest.raises(TargetError, match="scheduler is gone"):
            engine.wait()


# --- hosts ---


CALL = ["work", "{config.seconds}", "{seed}"]


def many(engine: DaskEngine, seeds: Sequence[int]) -> list[Outcome]:
    """Outcomes of runs that end with these exit codes."""
    waiting, asked, found = list(seeds), [], {}
    while waiting or len(found) < len(asked):
        while waiting and engine.free:
            asked.append(engine.submit(request(1.0, seed=waiting.pop(0))))
        found |= dict(engine.wait(60.0))
    return [found[ticket] for ticket in asked]


def test_a_host_without_the_program_is_quarantined(hosts: tuple[Cluster, Path]) -> None:
    cluster, folder = hosts
    with engine_of(cluster, CALL, heartbeat=5.0) as engine:
        assert {outcome.host for outcome in many(engine, [0] * 9)} == {"bad", "good"}
        (folder / "bad" / "work").unlink()
        assert [outcome.status for outcome in many(engine, [0] * 20)] == [Status.SUCCESS] * 20
        assert engine.free == 1
        assert "no more runs go to bad" in engine.warnings()[0]
        assert {outcome.host for outcome in many(engine, [0] * 3)} == {"good"}
    mend(folder / "bad" / "work")


def test_a_host_where_everything_crashes_is_quarantined(hosts: tuple[Cluster, Path]) -> None:
    cluster, folder = hosts
    (folder / "bad" / "work").write_text("#!/bin/sh\nexit 1\n")
    with engine_of(cluster, CALL, heartbeat=5.0) as engine:
        assert [outcome.status for outcome in many(engine, [0] * 20)] == [Status.SUCCESS] * 20
        assert list(engine._crew.hosts.quarantined) == ["bad"]
    mend(folder / "bad" / "work")


def test_parameters_that_crash_everywhere_are_no_hosts_fault(hosts: tuple[Cluster, Path]) -> None:
    cluster, _ = hosts
    with engine_of(cluster, CALL, heartbeat=5.0) as engine:
        assert {outcome.status for outcome in many(engine, [1] * 20)} == {Status.CRASHED}
        assert engine._crew.hosts.quarantined == {}


def test_one_host_alone_is_not_quarantined(cluster: Cluster, tmp_path: Path) -> None:
    program = tmp_path / "work"
    mend(program)
    cluster.start("a", "a")
    with engine_of(cluster, [str(program), *CALL[1:]]) as engine:
        program.unlink()
        outcomes = many(engine, [0] * 4)
        assert {outcome.status for outcome in outcomes} == {Status.LOST}
        assert "could not be started" in str(outcomes[0].reason)
        assert engine.free == 2


# --- before it begins, and what comes along ---


def test_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("capra.engines.link.CONNECT", 0.3)
    with pytest.raises(InputError, match="no Dask scheduler answers at tcp"):
        DaskEngine(scenario_of(WORK), "tcp://127.0.0.1:9")


def test_workers_with_another_version(shared: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("capra.engines.dask.Package", partial(Package, version="0.0"))
    with pytest.raises(TargetError, match="cannot be used: it has Capra"):
        engine_of(shared)


def test_workers_without_the_program(shared: Cluster) -> None:
    with pytest.raises(TargetError, match="'no-such-program' is not there"):
        engine_of(shared, ["no-such-program"])


def test_requests_that_cannot_be_run_anywhere(shared: Cluster) -> None:
    space = Space([Real("seconds", 0.0, 1.0, 1.0), Real("other", 0.0, 1.0, 1.0)])
    with engine_of(shared, [*WORK[:-1], "{config.other}"], space=space) as engine:
        engine.submit(request(SHORT))
        with pytest.raises(InputError, match="inactive"):
            engine.wait()


def test_an_empty_cluster_is_waited_for(cluster: Cluster) -> None:
    with engine_of(cluster) as engine:
        assert engine.free == 1
        stopped, cancelled = engine.submit(request(LONG)), None
        assert engine.free == 0
        assert "no worker has joined" in engine.warnings()[0]
        engine.tighten(stopped, 0.0)
        [outcome] = finish(engine, stopped)
        assert outcome.status is Status.CAPPED
        cancelled = engine.submit(request(LONG))
        engine.cancel(cancelled)
        [outcome] = finish(engine, cancelled)
        assert outcome.status is Status.LOST


def test_functions(shared: Cluster) -> None:
    with DaskEngine(Scenario(target=double, space=SPACE, cutoff=KAPPA), shared.address) as engine:
        [outcome] = finish(engine, engine.submit(request(2.0)))
    assert (outcome.status, outcome.reported) == (Status.SUCCESS, 4.0)


def double(config: dict[str, Any], instance: str | None, seed: int, cutoff: float) -> float:
    return 2.0 * float(config["seconds"])


def test_instances_are_read_from_a_copy(shared: Cluster, tmp_path: Path) -> None:
    name = "a b;$(id).cnf"
    (tmp_path / name).write_text("p cnf 1 1\n1 0\n")
    target = ["sh", "-c", 'echo "$1"; cat "$1"', "sh", "{instance}"]
    options = {"instances": [name], "base": tmp_path, "output": {"answer": "^(/.*)$", "solved": "^1 0"}}
    with engine_of(shared, target, stage=10**6, **options) as engine:
        for seed in (1, 2):
            [outcome] = finish(engine, engine.submit(RunRequest(SPACE.default, name, seed, KAPPA)))
            assert outcome.status is Status.SUCCESS
            assert Path(str(outcome.answer)).name == name
            assert "capra-stage-" in str(outcome.answer)
        assert engine.warnings() == []
    with engine_of(shared, target, stage=5, **options) as engine:
        [outcome] = finish(engine, engine.submit(RunRequest(SPACE.default, name, 1, KAPPA)))
        assert outcome.answer == str(tmp_path / name)
        assert "is larger than the space for local copies" in engine.warnings()[0]


def test_calibrated_hosts(shared: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine is said to be ten times as fast as its workers are: their cutoffs are longer, their times shorter."""
    monkeypatch.setattr("capra.engines.dask.loop_seconds", lambda: loop_seconds() / 10.0)
    with engine_of(shared, calibrate=True) as engine:
        [outcome] = finish(engine, engine.submit(request(LONG, cutoff=0.02)))
        assert (outcome.status, outcome.time, outcome.cutoff) == (Status.CAPPED, 0.02, 0.02)
        assert outcome.cpu is not None
        assert outcome.cpu > 0.06
        ticket = engine.submit(request(0.1))
        [outcome] = finish(engine, ticket)
        assert outcome.cpu is not None
        assert outcome.status is Status.SUCCESS
        assert outcome.time < outcome.cpu / 2
        assert "slowness: bad" in engine.warnings()[0]
    with pytest.raises(InputError, match="steps are the same on every machine"):
        engine_of(shared, calibrate=True, unit="steps", output={"time": "(.*)"})
