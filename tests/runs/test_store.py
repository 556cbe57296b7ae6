"""A store keeps what it was told, exactly, once, and from one writer."""

from __future__ import annotations

import errno
import itertools
import math
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capra.errors import InputError, StoreError
from capra.runs import Configuration, Outcome, Run, RunRequest, Status, place
from capra.runs import owner as owners
from capra.runs.rows import FIELDS
from capra.runs.store import Lease, Store, free_space
from tests.runs.checker import check
from tests.runs.samples import FAST, META, SLOW, ask, lost, run, solved, varied


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a run's #1?.db"


# --- runs ---


def test_a_run_is_leased_then_finished_once(path: Path) -> None:
    with Store.create(path, META) as store:
        lease = store.lease(ask(), "why not")
        assert lease == Lease(1, 1, ask(), "why not")
        assert store.open_leases() == [lease]
        done = store.finish(1, 1, solved(), 2.5)
        assert done == Run(ask(), solved(), "why not", 1, 2.5)
        assert store.open_leases() == []
        assert store.finish(1, 1, solved(3.0), 3.5) is None
        assert list(store.runs()) == [done]
    assert check(path) == []


def test_all_is_there_after_reopening(path: Path) -> None:
    with varied(path) as store:
        runs, leases = list(store.runs()), store.open_leases()
        decisions, losses = list(store.decisions()), list(store.losses())
    assert [run.order for run in runs] == list(range(1, 9))
    assert len(leases) == 1
    assert losses == [(8, 1, lost())]
    for store in (Store.open(path), Store.read(path)):
        with store:
            assert list(store.runs()) == runs
            assert store.open_leases() == leases
            assert list(store.decisions()) == decisions
            assert list(store.losses()) == losses
            assert store.notes == {"wall": [1.5, 2.5]}
            assert store.meta == META
            assert store.accepted == 8
            assert list(store.configs()) == [FAST, SLOW]
    assert check(path) == []


def test_equal_configurations_are_one_object(path: Path) -> None:
    with varied(path) as store:
        pass
    with Store.read(path) as store:
        assert len({id(run.request.config) for run in store.runs()}) == 2


def test_runs_after(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with varied(path) as store:
        everything = list(store.runs())
        for chunk, after in itertools.product((1, 3, 8, 9), range(10)):
            monkeypatch.setattr("capra.runs.reader.CHUNK", chunk)
            assert list(store.runs(after)) == everything[after:]


def test_results_of_earlier_attempts_are_ignored(path: Path) -> None:
    with Store.create(path, META) as store:
        first = store.lease(ask())
        second = store.release(first)
        assert (second.assignment, second.attempt) == (1, 2)
        assert store.finish(1, 1, solved(), 1.0) is None
        assert store.open_leases() == [second]
        assert store.finish(1, 2, solved(), 2.0) is not None
        assert store.finish(1, 1, solved(), 3.0) is None
        with pytest.raises(StoreError, match="is over"):
            store.release(second)
        assert store.accepted == 1
    assert check(path) == []


def test_a_lost_run_may_be_tried_again(path: Path) -> None:
    with Store.create(path, META) as store:
        lease = store.lease(ask())
        assert store.finish(1, 1, lost(), 1.0) is None
        assert store.open_leases() == []
        assert store.finish(1, 1, solved(), 1.5) is None, "it was given up"
        assert store.release(lease).attempt == 2
        done = store.finish(1, 2, solved(), 2.0)
        assert done is not None
        assert done.order == 1
    assert check(path) == []


def test_what_was_never_leased_is_refused(path: Path) -> None:
    with Store.create(path, META) as store:
        store.lease(ask())
        for assignment, attempt in ((2, 1), (0, 1), (1, 2)):
            with pytest.raises(StoreError, match="never leased"):
                store.finish(assignment, attempt, solved(), 1.0)
        with pytest.raises(StoreError, match="never leased"):
            store.finish_many([(1, 1, solved(), 1.0), (7, 1, solved(), 1.0)])
        assert store.accepted == 0


def test_many_at_once(path: Path) -> None:
    with Store.create(path, META) as store:
        leases = store.lease_many([(ask(n), "") for n in range(5)])
        results = [(lease.assignment, 1, solved(lease.assignment / 10), 1.0) for lease in reversed(leases)]
        done = store.finish_many([*results, results[0]])
        assert [run.order if run else None for run in done] == [1, 2, 3, 4, 5, None]
        assert [run.request.seed for run in store.runs()] == [4, 3, 2, 1, 0]
        assert store.lease_many([]) == []
        assert store.finish_many([]) == []
    assert check(path) == []


@pytest.mark.parametrize("write", [lambda store: store.lease(ask(9)), Store.catch_up], ids=["lease", "catch_up"])
def test_an_outcome_may_wait_for_what_is_written_next(path: Path, write: Callable[[Store], object]) -> None:
    """What a reader sees is what is left should we be killed."""
    with Store.create(path, META) as store:
        leases = store.lease_many([(ask(n), "") for n in range(2)])
        done = store.finish(1, 1, solved(), 1.0, {"wall": [1.0]}, at_once=False)
        assert done is not None
        assert store.finish(1, 1, solved(3.0), 1.5, at_once=False) is None, "once, written or not"
        with Store.read(path) as seen:
            assert (list(seen.runs()), seen.open_leases(), seen.notes) == ([], leases, {})
        write(store)
        with Store.read(path) as seen:
            assert (list(seen.runs()), seen.notes) == ([done], {"wall": [1.0]})
            assert seen.open_leases()[0] == leases[1]
        last = store.finish(2, 1, solved(), 2.0, at_once=False)
    with Store.read(path) as seen:
        assert list(seen.runs()) == [done, last], "closing writes the rest"
    assert check(path) == []


def test_a_crash_leaves_open_leases(path: Path) -> None:
    with Store.create(path, META) as store:
        leases = store.lease_many([(ask(n), "") for n in range(3)])
        store.finish(1, 1, solved(), 1.0)
    with Store.open(path) as store:
        assert store.open_leases() == leases[1:]
        assert store.abandon_open_leases("the coordinator was killed") == 2
        assert store.open_leases() == []
        assert store.finish(2, 1, solved(), 2.0) is None
        assert store.release(leases[1]).attempt == 2
    with Store.open(path) as store:
        assert [lease.attempt for lease in store.open_leases()] == [2]
        assert store.lease(ask(8)).assignment == 4
    assert check(path) == []


floats = st.floats(allow_nan=False)
positive = st.floats(min_value=0, exclude_min=True, allow_nan=False)
finite = st.floats(min_value=0, allow_nan=False, allow_infinity=False)
texts = st.none() | st.text(st.characters(codec="utf-8"), max_size=9)
whole = st.none() | st.integers(-(2**63), 2**63 - 1)
values = st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5)
outcomes = st.builds(
    Outcome, st.sampled_from([Status.SUCCESS, Status.CRASHED]), finite, positive, st.none() | floats, st.none() | floats,
    st.none() | floats, whole, floats, whole, whole, st.none() | floats, texts, texts, texts, texts,
)  # fmt: skip
requests = st.builds(
    RunRequest, st.builds(Configuration, st.dictionaries(st.text(max_size=5), values, max_size=4)), texts,
    st.integers(-(2**63), 2**63 - 1), positive,
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(requests, outcomes, floats), max_size=4))
def test_every_value_comes_back(wanted: list[tuple[RunRequest, Outcome, float]]) -> None:
    with Store.create(None, {}, durability="memory") as store:
        for n, (request, outcome, finished) in enumerate(wanted, start=1):
            store.finish(store.lease(request, "é").assignment, 1, outcome, finished)
            found = list(store.runs())[-1]
            assert found == Run(request, outcome, "é", n, finished)
            assert [repr(getattr(found.outcome, name)) for name in FIELDS] == [
                repr(0.0 if value == 0.0 and isinstance(value, float) else value)
                for value in (getattr(outcome, name) for name in FIELDS)
            ]
            assert found.request.config.id == request.config.id


def test_what_cannot_be_kept_is_said() -> None:
    with Store.create(None, {}, durability="memory") as store:
        with pytest.raises(InputError, match="64 bits"):
            store.lease(ask(2**63))
        with pytest.raises(InputError, match="not valid text"):
            store.lease(ask(instance="\udcff.cnf"))
        with pytest.raises(InputError, match="cannot be kept"):
            store.decide("a", "b", object())
        run(store, ask(), replace(solved(), answer="\udcff", reported=math.nan))
        (found,) = store.runs()
        assert (found.outcome.answer, found.outcome.reported) == ("\\udcff", None)
    with pytest.raises(InputError, match="durability"):
        Store.create(None, {}, durability="none")  # type: ignore[arg-type]


# --- decisions ---


def test_the_first_word_of_a_decision_stands(path: Path) -> None:
    with Store.create(path, META) as store:
        store.decide("proposal", "1", {"p": [1, 2.5, None]})
        store.decide("proposal", "1", {"p": "other"})
        store.decide_many([("fit", "1", 0.1), ("proposal", "2", math.inf)])
        assert store.decision("proposal", "1") == {"p": [1, 2.5, None]}
        assert store.decision("proposal", "3") is None
        assert [key for _, _, key, _ in store.decisions("proposal")] == ["1", "2"]
        assert list(store.decisions())[1] == (2, "fit", "1", 0.1)
        store.note("state", "running")
        store.note("state", "drained")
        assert store.notes == {"state": "drained"}


def test_notes_of_a_run_are_kept_with_it_or_not_at_all(path: Path) -> None:
    with Store.create(path, META) as store:
        lease = store.lease(ask())
        with pytest.raises(StoreError, match="never leased"):
            store.finish(7, 1, solved(), 1.0, {"spent": 1.5})
        assert store.notes == {}
        store.finish(lease.assignment, 1, solved(), 1.0, {"spent": 2.5})
        store.finish(lease.assignment, 1, solved(), 1.0, {"spent": 3.5})  # a second result: not a run, yet it was seen
        assert store.notes == {"spent": 3.5}


# --- who may write ---


def test_one_writer(path: Path) -> None:
    with Store.create(path, META) as first:
        with pytest.raises(StoreError, match="is being written by this process"):
            Store.open(path)
        with Store.open(path, takeover=True) as second:
            second.lease(ask())
            with pytest.raises(StoreError, match="another process took over"):
                first.lease(ask())
            with pytest.raises(StoreError, match="took over"):
                first.decide("a", "b", 1)
        assert first.accepted == 0
    with Store.open(path) as third:
        assert third.lease(ask()).assignment == 2


def test_another_process_is_refused_until_it_has_ended(path: Path) -> None:
    code = (
        "import sys; from capra.runs.store import Store; s = Store.create(sys.argv[1], {}); print('.', flush=True); input()"
    )
    child = subprocess.Popen([sys.executable, "-c", code, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b".\n"
    with pytest.raises(StoreError, match=f"process {child.pid} on"):
        Store.open(path)
    with Store.read(path) as reader:
        assert reader.in_use
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # dead, not yet reaped
        assert not reader.in_use
    Store.open(path).close()
    child.communicate()


def test_owners_of_elsewhere() -> None:
    me = owners.this_process()
    assert me.may_live(me)
    assert not replace(me, started=me.started + 1).may_live(me), "the number was given out again"
    assert not replace(me, pid=2**22 + 1).may_live(me)
    assert not replace(me, boot="before").may_live(me), "the machine was started anew"
    assert replace(me, boot="before", host="other").may_live(me), "another machine cannot be looked at"
    assert replace(me, namespace="pid:[1]", pid=2**22 + 1).may_live(me), "nor another container"


def test_reading_beside_the_writer(path: Path) -> None:
    with Store.create(path, META) as store, Store.read(path) as reader:
        for n in range(1, 4):
            run(store, ask(n), solved())
            assert len(list(reader.runs())) == n == reader.accepted
        with pytest.raises(StoreError, match="reading only"):
            reader.lease(ask())
        halfway = reader.runs()
        next(halfway)
        run(store, ask(4), solved())
        reader.close()


# --- durability, place ---


def test_batches_become_durable_together(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("capra.runs.writer.BATCH_ROWS", 7)
    store = Store.create(path, META, durability="batch")
    seen = []
    with Store.read(path) as reader:
        for n in range(6):
            run(store, ask(n), solved())
            seen.append(reader.accepted)
        assert len(list(store.runs())) == 6
        store.flush()
        assert reader.accepted == 6
    assert seen == [0, 0, 3, 3, 3, 3]
    run(store, ask(7), solved())
    store.close()
    with Store.open(path) as store:
        assert store.accepted == 7
    assert check(path) == []


def test_memory_has_no_file(tmp_path: Path) -> None:
    with varied(None) as store:
        assert store.accepted == 8
        store.backup(tmp_path / "kept.db")
    assert [entry.name for entry in tmp_path.iterdir()] == ["kept.db"]
    assert check(tmp_path / "kept.db") == []


def test_backup_can_be_opened_beside_its_origin(path: Path) -> None:
    copy = path.with_name("copy.db")
    with varied(path) as store:
        store.backup(copy)
        run(store, ask(77), solved())
        store.backup(copy)
        with Store.open(copy) as other:
            assert list(other.runs()) == list(store.runs())


def test_network_file_systems_are_said(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def mode() -> str:
        with sqlite3.connect(path) as raw:
            found = raw.execute("PRAGMA journal_mode").fetchone()[0]
        raw.close()
        return str(found)

    varied(path).close()
    assert mode() == "wal"
    with monkeypatch.context() as patch:
        patch.setattr(place, "filesystem", lambda _: "nfs4")
        with Store.open(path) as store, Store.read(path) as reader:
            assert "network file system (nfs4)" in store.warnings[0]
            run(store, ask(50), solved())
            assert reader.accepted == 9
        assert mode() == "delete"
    with Store.open(path) as store:
        assert store.warnings == []
        assert store.accepted == 9
    assert mode() == "wal"


def test_file_systems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert place.filesystem("/proc/self") == "proc"
    assert not place.shared_by_machines(place.filesystem(tmp_path / "new.db"))
    assert all(map(place.shared_by_machines, ("nfs", "cifs", "fuse.sshfs", "lustre")))
    assert not any(map(place.shared_by_machines, ("ext4", "tmpfs", "fuseblk", "overlay", "")))
    monkeypatch.setattr(place, "MOUNTS", tmp_path / "none")
    assert place.filesystem(tmp_path) == ""
    assert free_space(tmp_path / "not" / "yet") > 0


# --- files that are not our stores ---


def test_a_new_store_overwrites_nothing(path: Path) -> None:
    varied(path).close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="exists already"):
        Store.create(path, META)
    assert path.read_bytes() == before
    assert list(path.parent.glob(".*")) == []
    path.write_bytes(b"")
    with pytest.raises(StoreError, match="interrupted"):
        Store.open(path)


def test_a_store_is_there_when_it_is_whole(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also on file systems without hard links, and whatever stops the creation."""

    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "no hard links here")

    with monkeypatch.context() as patch:
        patch.setattr("capra.runs.schema.os.link", refuse)
        with Store.create(path, META) as store:
            assert store.meta == META
    path.unlink()
    monkeypatch.setattr("capra.runs.schema._publish", refuse)
    with pytest.raises(OSError, match="no hard links"):
        Store.create(path, META)
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize("method", [Store.open, Store.read])
def test_other_files_are_refused(path: Path, method: object) -> None:
    assert callable(method)
    with pytest.raises(StoreError, match="no such store"):
        method(path)
    path.write_text("this is not a database, but it is long enough to be looked at" * 20)
    with pytest.raises(StoreError, match="damaged"):
        method(path)
    path.unlink()
    for sql, message in (
        ("CREATE TABLE a (b)", "not a Capra store"),
        ("PRAGMA application_id = 1130459250", "not those of a store"),
        ("PRAGMA user_version = 99", "made by a newer Capra"),
    ):
        with sqlite3.connect(path) as raw:
            raw.execute(sql)
        raw.close()
        with pytest.raises(StoreError, match=message) as caught:
            method(path)
        assert caught.value.exit_code == 2
        assert str(path) in str(caught.value)


def test_other_tables_are_refused(path: Path) -> None:
    varied(path).close()
    with sqlite3.connect(path) as raw:
        raw.execute("ALTER TABLE outcomes ADD COLUMN more TEXT")
    raw.close()
    with pytest.raises(StoreError, match="not those of a store"):
        Store.open(path)


# --- taking back ---


def test_the_last_runs_can_be_taken_back(path: Path) -> None:
    """A run that was leased earlier and came later stays; what was decided meanwhile is forgotten."""
    with Store.create(path, META) as store:
        leases = store.lease_many([(ask(seed), "race") for seed in range(6)])
        store.decide("choice", "0", "before")
        for lease in leases[:2]:
            store.finish(lease.assignment, 1, solved(), 1.0)
        store.decide("choice", "1", "kept")
        crashed = Outcome(Status.CRASHED, 0.5, 5.0, exit_code=127, reason="gone")
        store.finish(leases[3].assignment, 1, crashed, 2.0)
        store.decide("choice", "2", "dropped")
        store.finish(leases[2].assignment, 1, solved(2.0), 3.0)
        store.finish(leases[4].assignment, 1, crashed, 4.0)
        gone = [(lease, run) for lease, run in store.latest() if run.outcome.status is Status.CRASHED]
        assert [lease.assignment for lease, _ in gone] == [5, 4]
        with pytest.raises(StoreError, match="leased last"):
            store.take_back(gone[1:], "the machine was broken")
        store.take_back(gone, "the machine was broken")
        assert [run.request.seed for run in store.runs()] == [0, 1, 2]
        assert [data for _, _, _, data in store.decisions()] == ["before", "kept"]
        store.decide("choice", "2", "taken again")
        assert store.finish(leases[5].assignment, 1, solved(), 5.0) is not None
        assert store.finish(leases[4].assignment, 1, solved(), 5.0) is None, "it is over"
    with Store.open(path) as store:
        assert [run.request.seed for run in store.runs()] == [0, 1, 2, 5]
        assert [outcome.reason for _, _, outcome in store.losses()] == ["the machine was broken"] * 2
        assert [outcome.exit_code for _, _, outcome in store.losses()] == [127, 127]
        assert store.decision("choice", "2") == "taken again"
        store.take_back([], "nothing")
        assert store.accepted == 4
    assert check(path) == []
