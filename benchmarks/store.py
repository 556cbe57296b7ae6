"""What the store costs beside bare SQLite: ``python -m benchmarks.store [--full]``.

The same rows are written with ``executemany`` and read with ``fetchall`` on a bare connection (WAL, synchronous FULL), in the
same process: the ratio is the price of leases, epochs, checksums and objects. 100,000 runs; a million with --full. Results:
benchmarks/results/store.json.
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.machine import machine, write_results
from capra.runs import Configuration, Outcome, RunRequest, Status
from capra.runs.store import Store

CUTOFF = 5.0
CHUNK = 1000
COLUMNS = 25
Pair = tuple[RunRequest, Outcome]


class Spent(NamedTuple):
    """Seconds. CPU time is what is compared: it depends less on what else the machine does."""

    wall: float
    cpu: float


def timed(action: Callable[[], object]) -> Spent:
    wall, cpu = time.perf_counter(), time.process_time()
    action()
    return Spent(time.perf_counter() - wall, time.process_time() - cpu)


def pairs(count: int) -> Iterator[list[Pair]]:
    """Chunks of runs: 20 per configuration of ten parameters, 100 instances, half of them capped."""
    chance = random.Random(1)  # noqa: S311
    configs = [Configuration({f"p{j}": chance.random() for j in range(10)}) for _ in range(max(1, count // 20))]
    for start in range(0, count, CHUNK):
        chunk = []
        for n in range(start, start + CHUNK):
            request = RunRequest(configs[n // 20], f"instances/uf250-{n % 100:03}.cnf", n, CUTOFF)
            bound = chance.uniform(0.01, CUTOFF)
            capped = Outcome(Status.CAPPED, bound, bound, backend="table")
            chunk.append((request, capped if n % 2 else Outcome(Status.SUCCESS, bound, CUTOFF, backend="table")))
        yield chunk


def fill(store: Store, chunk: list[Pair], start: int) -> None:
    leases = store.lease_many((request, "challenger") for request, _ in chunk)
    store.finish_many(
        (lease.assignment, 1, outcome, start + n / CHUNK)
        for n, (lease, (_, outcome)) in enumerate(zip(leases, chunk, strict=True))
    )


def bare_write(path: Path, rows: list[tuple[object, ...]]) -> None:
    """The columns of a run in one table, a thousand rows per transaction."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"CREATE TABLE runs ({', '.join(f'c{n}' for n in range(COLUMNS))})")
        for start in range(0, len(rows), CHUNK):
            with connection:
                connection.executemany(f"INSERT INTO runs VALUES ({', '.join('?' * COLUMNS)})", rows[start : start + CHUNK])  # noqa: S608


def bare_read(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        cursor = connection.execute("SELECT * FROM runs")
        while cursor.fetchmany(4096):
            pass


def plain_rows(path: Path) -> list[tuple[object, ...]]:
    """What the store reads for its runs."""
    with closing(sqlite3.connect(path)) as connection:
        sql = "SELECT position, l.*, o.* FROM outcomes o JOIN leases l USING (assignment, attempt)"
        return [row[:COLUMNS] for row in connection.execute(sql)]


def one_by_one(folder: Path, count: int) -> dict[str, dict[str, float]]:
    """Every lease and every outcome a transaction of its own, as in a tuning of a real target: microseconds of a run."""
    print(f"\n{count} runs, leased and finished one by one")
    found = {}
    for durability in ("full", "batch", "memory"):
        with Store.create(folder / f"{durability}.db", {}, durability=durability) as store:
            chunk = next(pairs(CHUNK))[:count]

            def loop(store: Store = store, chunk: list[Pair] = chunk) -> None:
                for request, outcome in chunk:
                    store.finish(store.lease(request).assignment, 1, outcome, 1.0)

            spent = timed(loop)
            found[durability] = {"wall_us": 1e6 * spent.wall / count, "cpu_us": 1e6 * spent.cpu / count}
            print(
                f"{durability:>10}{found[durability]['wall_us']:10.0f} µs per run, {found[durability]['cpu_us']:.0f} of CPU"
            )
    return found


def many(folder: Path, count: int) -> dict[str, Any]:
    path, bare = folder / "store.db", folder / "bare.db"
    print(f"{count} runs, {CHUNK} per transaction{'':6}{'wall s':>8}{'CPU s':>8}{'µs/run':>8}{'bare':>8}{'ratio':>7}")
    spent = Spent(0.0, 0.0)
    with Store.create(path, {"seed": 1}) as store:
        for number, chunk in enumerate(pairs(count)):
            more = timed(partial(fill, store, chunk, number))
            spent = Spent(spent.wall + more.wall, spent.cpu + more.cpu)
    found = {"lease and finish": line("lease and finish", spent, count, timed(partial(bare_write, bare, plain_rows(path))))}
    opened: list[Store] = []
    found["open"] = line("open, check all", timed(lambda: opened.append(Store.open(path))), count, None)
    with opened[0] as store:
        read = timed(lambda: sum(1 for _ in store.runs()))
    found["iterate"] = line("iterate", read, count, timed(lambda: bare_read(bare)))
    size = path.stat().st_size
    print(f"{size / 1e6:.0f} MB, {size / count:.0f} bytes per run")
    return {"runs": count, "bytes_per_run": size / count, "steps": found}


def line(name: str, spent: Spent, count: int, bare: Spent | None) -> dict[str, float]:
    """Printed, and as it is kept: CPU seconds, those of bare SQLite, and their ratio."""
    beside = "" if bare is None else f"{bare.cpu:8.2f}{spent.cpu / bare.cpu:7.1f}"
    print(f"{name:<34}{spent.wall:10.2f}{spent.cpu:8.2f}{1e6 * spent.cpu / count:8.1f}{beside}")
    peer = {} if bare is None else {"bare_cpu_s": bare.cpu, "ratio": spent.cpu / bare.cpu}
    return {"wall_s": spent.wall, "cpu_s": spent.cpu, **peer}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="a million runs")
    full = parser.parse_args().full
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        found = many(Path(folder), 1_000_000 if full else 100_000)
        found["one_by_one"] = one_by_one(Path(folder), 500)
    write_results("store", {"machine": machine("capra"), **found})


if __name__ == "__main__":
    main()
