"""What the Dask engine is made of, each by itself and without Dask: hosts, speed, staging, and a worker's site."""

from __future__ import annotations

import fcntl
import os
import queue
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capra.engines import site as site_module
from capra.engines.hosts import FAULTS, Hosts
from capra.engines.site import Package, Site, hear
from capra.engines.speed import loop_seconds, on_host, on_reference
from capra.engines.staging import Stage
from capra.runs import Outcome, Status
from tests.engines.conformance import KAPPA, LONG, SHORT, request
from tests.engines.test_local import WORK, scenario_of, targets_alive, until

# --- hosts ---


def crash(reason: str = "exit code 1", code: int = 1) -> Outcome:
    return Outcome(Status.CRASHED, 1.0, KAPPA, exit_code=code, reason=reason)


def test_a_new_crash_needs_a_second_opinion_until_it_is_confirmed() -> None:
    hosts = Hosts()
    assert hosts.crashed("a", crash("line 17"))
    hosts.confirmed(crash("line 18"))  # figures do not count
    asked = [hosts.crashed("a", crash("line 19")) for _ in range(5)]
    assert asked == [False] * 4 + [True]
    hosts.confirmed(crash("line 20"))
    assert [hosts.crashed("a", crash("line 1")) for _ in range(10)] == [False] * 9 + [True]
    assert hosts.crashed("a", crash("another"))
    assert hosts.crashed("a", crash("line 1", code=2))


def test_faults_in_a_row_quarantine_a_host_but_never_the_last() -> None:
    hosts = Hosts()
    for _ in range(FAULTS - 1):
        assert not hosts.faulted("a", "gone", others=True)
    hosts.succeeded("a")
    assert [hosts.faulted("a", "gone", others=True) for _ in range(FAULTS)] == [False] * (FAULTS - 1) + [True]
    assert hosts.quarantined == {"a": "gone"}
    assert not any(hosts.faulted("b", "gone", others=False) for _ in range(10))


# --- speed ---

slowness = st.floats(0.1, 10.0)
seconds = st.floats(1e-3, KAPPA)


@settings(deadline=None)
@given(seconds, slowness)
def test_a_run_cut_on_a_slow_host_stands_as_its_cutoff(cutoff: float, slow: float) -> None:
    bound = on_host(request(LONG, cutoff), slow).cutoff
    assert bound == pytest.approx(cutoff * slow)
    cut = on_reference(Outcome(Status.CAPPED, bound, bound), cutoff, slow, KAPPA)
    assert (cut.status, cut.time, cut.cutoff) == (Status.TIMEOUT if cutoff == KAPPA else Status.CAPPED, cutoff, cutoff)


@settings(deadline=None)
@given(seconds, slowness, st.floats(0.0, 1.0))
def test_other_outcomes_are_scaled_and_stay_below_the_cutoff(cutoff: float, slow: float, share: float) -> None:
    bound = cutoff * slow
    done = on_reference(Outcome(Status.SUCCESS, share * bound, bound, cpu=share * bound), cutoff, slow, KAPPA)
    assert done.time == pytest.approx(share * cutoff)
    assert done.time <= done.cutoff == cutoff
    assert done.cpu == share * bound
    used = max(share, 0.01) * bound  # stopped by order: its cutoff is what it had used
    stopped = on_reference(Outcome(Status.CAPPED, used, used), cutoff, slow, 2 * KAPPA)
    assert stopped.time == stopped.cutoff <= cutoff
    assert stopped.time == pytest.approx(used / slow)


def test_the_loop_takes_some_time() -> None:
    assert loop_seconds() > 0.0
    same = Outcome(Status.SUCCESS, 1.0, 2.0)
    assert on_reference(same, 2.0, 1.0, KAPPA) is same


# --- staging ---


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "far"
    folder.mkdir()
    return folder


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    near = tmp_path / "near"
    near.mkdir()
    return Stage(100, near)


def copies(stage: Stage) -> list[str]:
    return sorted(path.name for path in stage.folder.glob("*/*"))


@pytest.mark.parametrize("name", ["a b;$(id).cnf", "-rf", "..cnf", "ä\udcff.cnf", "x" * 200])
def test_copied_once_under_its_name(stage: Stage, source: Path, name: str) -> None:
    (source / name).write_bytes(b"p cnf")
    with stage.held(str(source / name)) as first, stage.held(str(source / name)) as second:
        assert first == second
        assert Path(first).read_bytes() == b"p cnf"
        assert Path(first).parent.parent == stage.folder
        number = os.stat(first).st_ino
    with stage.held(str(source / name)) as third:
        assert os.stat(third).st_ino == number
    assert copies(stage) == [name]
    assert not stage.troubles


def test_a_file_that_changed_is_copied_again(stage: Stage, source: Path) -> None:
    file = source / "a"
    for text in ("one", "two"):
        file.write_text(text)
        os.utime(file, ns=(0, len(copies(stage))))
        with stage.held(str(file)) as place:
            assert Path(place).read_text() == text
    assert copies(stage) == ["a", "a"]


def test_the_least_recently_used_makes_room_unless_it_is_in_use(stage: Stage, source: Path) -> None:
    for name in "abcd":
        (source / name).write_bytes(bytes(40))
    with stage.held(str(source / "a")):
        for name in "bc":
            with stage.held(str(source / name)):
                pass
        assert copies(stage) == ["a", "c"]
    with stage.held(str(source / "d")):
        assert copies(stage) == ["c", "d"]


def test_what_does_not_fit_or_is_not_there_is_used_where_it_is(stage: Stage, source: Path) -> None:
    (source / "large").write_bytes(bytes(101))
    with stage.held(str(source / "large")) as place:
        assert place == str(source / "large")
    with stage.held(str(source / "gone")) as place:
        assert place == str(source / "gone")
    assert len(stage.troubles) == 2
    assert copies(stage) == []


def test_a_folder_of_somebody_else_is_not_used(tmp_path: Path, source: Path) -> None:
    planted = tmp_path / f"capra-stage-{os.getuid()}"
    planted.symlink_to(source)
    stage = Stage(100, tmp_path)
    assert stage.folder != planted
    planted.unlink()
    planted.mkdir(mode=0o700)
    planted.chmod(0o777)
    assert Stage(100, tmp_path).folder not in (planted, stage.folder)


def test_locks_of_the_dead_do_not_count(stage: Stage, source: Path) -> None:
    (source / "a").write_bytes(bytes(60))
    (source / "b").write_bytes(bytes(60))
    with stage.held(str(source / "a")) as place:
        holder = os.open(Path(place).parent, os.O_RDONLY)
    fcntl.flock(holder, fcntl.LOCK_SH)
    with stage.held(str(source / "b")):
        assert copies(stage) == ["a", "b"]  # over the limit rather than without what is in use
    os.close(holder)
    with stage.held(str(source / "b")):
        pass
    (source / "c").write_bytes(bytes(60))
    with stage.held(str(source / "c")):
        assert copies(stage) == ["c"]


# --- a site ---


class Post:
    """Takes a site's messages."""

    def __init__(self) -> None:
        self.all: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()

    def done(self) -> dict[str, Any]:
        while (message := self.all.get(timeout=60.0))["kind"] != "done":
            continue
        return message


@pytest.fixture
def post() -> Post:
    return Post()


@pytest.fixture
def make(post: Post, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    sites: list[Site] = []

    def make(heartbeat: float = 60.0, silence: float = 60.0, alive: Any = lambda: True) -> Site:
        package = Package("s", scenario_of(WORK), heartbeat, silence)
        sites.append(Site(package, post.all.put, alive=alive))
        monkeypatch.setitem(site_module._SITES, "s", sites[-1])
        return sites[-1]

    yield make
    for site in sites:
        site.end("the test is over")


def begin(site: Site, seconds: float = LONG) -> threading.Thread:
    thread = threading.Thread(target=site.carry, args=((1, 1), request(seconds)))
    thread.start()
    return thread


def test_orders_may_come_before_their_run(make: Any, post: Post) -> None:
    site = make()
    assert hear("s", [(1, 1, 5.0), (1, 1, 0.05), (2, 1, None)])
    site.carry((1, 1), request(LONG))
    message = post.done()
    assert (message["key"], message["token"], message["outcome"]["status"]) == ((1, 1), site.token, "CAPPED")
    assert message["outcome"]["time"] == 0.05
    site.carry((2, 1), request(LONG))
    assert post.done()["outcome"]["status"] == "LOST"
    site.carry((3, 1), request(SHORT))
    assert post.done()["outcome"]["status"] == "SUCCESS"


def test_orders_for_nobody_are_forgotten(make: Any) -> None:
    site = make()
    for ticket in range(3000):
        site.order((ticket, 1), None)
    assert len(site._early) == site_module.EARLY


def test_a_silent_coordinator(make: Any, post: Post) -> None:
    site = make(heartbeat=0.05, silence=0.3)
    thread = begin(site)
    message = post.done()
    thread.join()
    assert message["outcome"]["status"] == "LOST"
    assert "coordinator" in message["outcome"]["reason"]
    until(lambda: site.ended)
    assert not hear("s")
    assert not targets_alive()


def test_a_coordinator_that_is_heard(make: Any, post: Post) -> None:
    site = make(heartbeat=0.05, silence=20.0)
    thread = begin(site)
    until(lambda: post.all.get(timeout=60.0).get("runs") == [(1, 1)])
    assert hear("s", [(1, 1, 0.0)])
    assert post.done()["outcome"]["status"] == "CAPPED"
    thread.join()
    assert hear("s", end=True)
    assert (site.ended, hear("s")) == (True, False)


def test_a_worker_that_closes_stops_its_runs(make: Any, post: Post) -> None:
    open_ = [True]
    site = make(heartbeat=0.05, alive=lambda: open_[0])
    thread = begin(site)
    until(targets_alive)
    open_[0] = False
    assert "closing" in post.done()["outcome"]["reason"]
    thread.join()


def test_a_run_of_another_time_is_not_made(make: Any, post: Post) -> None:
    """Dask begins a task again in a process that took the place of another."""
    site = make()
    site_module.run("s", "another token", (1, 1), request(LONG))
    site_module.run("another session", site.token, (1, 1), request(LONG))
    assert post.all.empty()
    site_module.run("s", site.token, (1, 1), request(SHORT))
    assert post.done()["outcome"]["status"] == "SUCCESS"
