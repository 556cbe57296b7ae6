"""What a store survives: kill -9, a full disk, damage."""

from __future__ import annotations

import random
import re
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from capra.errors import StoreError, StoreFull
from capra.runs import place
from capra.runs.store import Lease, Store
from tests.runs.checker import check
from tests.runs.samples import META, ask, run, solved, varied

ROOT = Path(__file__).parents[2]
KILLS = 25


def killed_after(path: Path, delay: float) -> list[list[str]]:
    """The lines that the loop acknowledged before it was killed, ``delay`` seconds after it was ready."""
    command = [sys.executable, "-m", "tests.runs.loop", path]
    child = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    time.sleep(delay)
    child.kill()
    lines = child.stdout.read()  # not communicate(), which knows nothing of what readline() has read ahead
    child.wait(20)
    child.stdout.close()
    return [line.split() for line in lines.splitlines(keepends=True) if line.endswith("\n")]


def test_no_acknowledged_row_is_lost_by_kill_9(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    chance = random.Random(4)
    leased: set[tuple[int, int]] = set()
    told: dict[int, float] = {}
    for _ in range(KILLS):
        for word, first, second in killed_after(path, chance.uniform(0.0, 0.12)):
            if word == "lease":
                leased.add((int(first), int(second)))
            else:
                told[int(first)] = float(second)
        raw = sqlite3.connect(path)
        kept = dict(raw.execute("SELECT position, time FROM outcomes"))
        assert {position: kept.get(position) for position in told} == told
        assert leased <= set(raw.execute("SELECT assignment, attempt FROM leases"))
        raw.close()
        assert check(path) == []
    assert len(told) > KILLS
    with Store.open(path) as store:
        assert store.accepted - len(told) <= KILLS, "one at most was kept but not acknowledged, each time"


# --- a full disk ---


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 400 kB."""
    disk = tmp_path / "small"
    disk.mkdir()
    mount = shutil.which("mount")
    if (
        mount is None
        or subprocess.run([mount, "-t", "tmpfs", "-o", "size=400k", "none", disk], capture_output=True).returncode
    ):
        pytest.skip("mounting a small file system is not permitted here")
    yield disk
    subprocess.run(["umount", "-l", disk], check=True)


@pytest.mark.parametrize("durability", ["full", "batch"])
def test_a_full_disk_loses_nothing(small_disk: Path, durability: str) -> None:
    path, ballast = small_disk / "a.db", small_disk / "ballast"
    ballast.write_bytes(bytes(150_000))
    store = Store.create(path, META, durability=durability)  # type: ignore[arg-type]
    done, refused = [], []

    def insist(action: Callable[[], object]) -> object:
        try:
            return action()
        except StoreFull as full:
            refused.append(full)
            for _ in range(3):
                with pytest.raises(StoreFull):
                    action()
            assert len(refused) == 1, "there is space again, and yet it is full"
            ballast.unlink()
            return action()

    after = 0
    while after < 2:  # each commit adds some pages to the log, so 150 kB do not last long
        after += bool(refused)
        lease = insist(partial(store.lease, ask(len(done))))
        assert isinstance(lease, Lease)
        done.append(insist(partial(store.finish, lease.assignment, 1, solved(5.0 / (len(done) + 1)), 1.0)))
        insist(store.flush)
    assert list(store.runs()) == done
    store.close()
    assert check(path) == []
    with Store.open(path) as store:
        assert list(store.runs()) == done


def test_a_batch_that_failed_is_written_again(small_disk: Path) -> None:
    """What "batch" had acknowledged stays in memory when its commit fails."""
    path, ballast = small_disk / "a.db", small_disk / "ballast"
    store = Store.create(path, META, durability="batch")
    for n in range(50):
        run(store, ask(n), solved())
    ballast.write_bytes(bytes(place.free_space(small_disk)))
    with pytest.raises(StoreFull):
        store.close()
    ballast.unlink()
    run(store, ask(50), solved())
    store.close()
    with Store.open(path) as store:
        assert store.accepted == 51
    assert check(path) == []


# --- damage ---


def content(store: Store) -> list[object]:
    """All that can be read."""
    return [
        dict(store.meta), store.notes, list(store.runs()), store.open_leases(), list(store.losses()),
        list(store.decisions()), store.decision("incumbent", "1"), list(store.configs()), store.accepted,
    ]  # fmt: skip


def content_or_error(path: Path) -> list[object] | str:
    try:
        with Store.open(path) as store:
            return content(store)
    except StoreError as error:
        return str(error)


def flipped(data: bytes, used: list[int], chance: random.Random) -> bytes:
    damaged = bytearray(data)
    for _ in range(chance.choice([1, 1, 1, 2, 8])):
        damaged[chance.choice(used)] ^= 1 << chance.randrange(8)
    return bytes(damaged)


@pytest.mark.parametrize("seed", range(4))
def test_damage_is_found_or_without_effect(tmp_path: Path, seed: int) -> None:
    """Bits flip where something is written. What no check can find is in the docstring of ``capra.runs.rows``."""
    chance, path, refused = random.Random(seed), tmp_path / "a.db", 0
    with varied(path) as store:
        expected = content(store)
    data = path.read_bytes()
    used = [place for place, byte in enumerate(data) if byte]
    for _ in range(150):
        path.write_bytes(flipped(data, used, chance))
        for left in tmp_path.glob("a.db-*"):
            left.unlink()
        before = path.read_bytes()
        found = content_or_error(path)
        if isinstance(found, str):
            refused += 1
            assert found.startswith(f"{path}: "), "the file is named"
            if "PRAGMA" in found and not re.search("checksum|another id|missing|decode", found):
                assert path.read_bytes() == before, "found before anything was written"
        else:
            assert found == expected
    assert refused > 100


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("UPDATE configs SET json = replace(json, 'fast', 'fart')", "is damaged: its checksum"),
        ("UPDATE configs SET json = 'x' || json", "is damaged: its checksum"),
        ("DELETE FROM configs", "is missing"),
        ("UPDATE meta SET value = value || ' '", "meta scenario is damaged"),
        ("UPDATE notes SET value = '[]'", "notes wall is damaged"),
        ("UPDATE leases SET seed = seed + 1 WHERE assignment = 9", "lease of run 9 is damaged"),
        ("UPDATE leases SET instance = NULL WHERE assignment = 2", "run 2 is damaged"),
        ("DELETE FROM leases WHERE assignment = 2", "run 2 is damaged"),
        ("UPDATE outcomes SET time = time + 1e-15 WHERE position = 3", "run 3 is damaged"),
        ("UPDATE outcomes SET host = 'x' WHERE position = 3", "run 3 is damaged"),
        ("DELETE FROM outcomes WHERE position = 3", "missing after run 0"),
        ("UPDATE losses SET reason = NULL", "loss of run 8.1 is damaged"),
        ("UPDATE decisions SET data = '{}' WHERE position = 1", "decision incumbent 1 is damaged"),
    ],
)
def test_changed_values_are_found(tmp_path: Path, sql: str, message: str) -> None:
    path = tmp_path / "a.db"
    varied(path).close()
    with sqlite3.connect(path) as raw:
        raw.execute(sql)
    raw.close()
    assert message in str(content_or_error(path))


def test_damage_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    varied(path).close()
    data = bytearray(path.read_bytes())
    at = data.rindex(b"race") + 1
    data[at] ^= 1
    path.write_bytes(data)
    with Store.open(path) as store, pytest.raises(StoreError, match=r"run \d is damaged.*\.recover"):
        list(store.runs())
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(StoreError, match=r"is damaged.*nothing was changed.*\.recover"):
        Store.open(path)
    assert path.read_bytes() == data[: len(data) // 2]


def test_what_sqlite_says_of_damage_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    varied(path).close()
    data = bytearray(path.read_bytes())
    data[-4096 + 5] ^= 1  # where the cells of the last page begin
    path.write_bytes(data)
    with pytest.raises(StoreError, match=r"is damaged \(\*\*\* in database main \*\*\*; .* page") as raised:
        Store.open(path)
    assert "\n" not in str(raised.value)


def test_the_log_of_a_crash_is_checked(tmp_path: Path) -> None:
    """Damage in the middle of a log would drop acknowledged rows in silence; at its end it is like a crash."""
    path, log = tmp_path / "a.db", tmp_path / "a.db-wal"
    store = varied(path)
    copy = tmp_path / "copy"
    copy.mkdir()
    for file in (path, log):
        shutil.copy(file, copy / file.name)
    expected = content(store)
    store.close()
    data = (copy / log.name).read_bytes()
    for part, share in (("header", 0.0001), ("middle", 0.5), ("end", 0.9999)):
        damaged = bytearray(data)
        damaged[int(len(data) * share)] ^= 4
        (copy / log.name).write_bytes(damaged)
        if part != "end":
            with pytest.raises(StoreError, match="-wal"):
                Store.open(copy / path.name, takeover=True)
            assert (copy / log.name).read_bytes() == damaged
        else:
            assert not place.log_is_damaged(copy / path.name)
    (copy / log.name).write_bytes(data)
    (copy / "a.db-shm").unlink(missing_ok=True)
    with Store.open(copy / path.name, takeover=True) as store:
        assert content(store) == expected
