"""Many workers: ``python -m benchmarks.workers [--quick] [PART …]``. What grows with them, and the constants of docs/scale.md.

``loop``: the real loop with a store on the disk and 10 to 4,000 simulated workers, whose runs take no time of ours: our CPU
time per run. ``profile``: where it goes, by function, with 1,000 workers. ``engine``: what the Dask engine's own books cost per
run, with a cluster that answers at once and costs nothing. ``constants``: a durable lease and outcome, memory per run, and how
long messages are.

CPU time, since that depends less on what else the machine does; but for the profile, because to read that clock at every call
may take longer than what is measured. Each part is kept in the file when it is done; the others stay as they were.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import json
import os
import pstats
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from typing import Any
from unittest.mock import patch

from distributed.protocol import dumps
from distributed.protocol.pickle import dumps as pickled

from benchmarks.machine import RESULTS, machine, write_results
from benchmarks.scale import KAPPA, fill, replayed, scenario
from capra.engines import dask, site
from capra.engines.news import Alive, Done, Joined, Key, News
from capra.engines.site import Package
from capra.runs import Configuration, Outcome, RunRequest, Status
from capra.runs.store import Store
from capra.scenario import Scenario
from capra.tune import tune

WORKERS = (10, 100, 1_000, 4_000)
CONFIG = Configuration({f"parameter{k}": 0.1 * k for k in range(10)})


# --- the loop ---


def loop(workers: int, runs: int, durability: str = "batch") -> float:
    """CPU milliseconds of ours per run."""
    gc.collect()
    with tempfile.TemporaryDirectory() as folder:
        started = time.process_time()
        how: dict[str, Any] = {"engine": "simulated", "workers": workers, "overhead": "ignore", "durability": durability}
        made = len(tune(scenario(budget={"runs": runs}), "roar", out=Path(folder) / "run", **how).history)
        return 1000 * (time.process_time() - started) / made


def profile(workers: int, runs: int) -> list[dict[str, Any]]:
    """The functions with most time of their own, per run. The profiler itself makes everything slower."""
    profiler = cProfile.Profile()
    profiler.runcall(loop, workers, runs)
    rows = []
    for (file, _, name), (_, calls, own, total, _) in pstats.Stats(profiler).stats.items():  # type: ignore[attr-defined]
        place = Path(file).as_posix().rpartition("capra/")[2] if "capra/" in file else Path(file).name
        rows.append((own, f"{place}:{name}" if place != "~" else name, calls, total))
    whole = sum(row[0] for row in rows)
    rows.sort(reverse=True)
    return [
        {"function": name, "calls_per_run": calls / runs, "share": own / whole, "with_callees": total / whole}
        for own, name, calls, total in rows[:20]
    ]


# --- the Dask engine's books ---


class Instant:
    """In the place of ``Link``: a cluster of so many workers where every run is over at once."""

    workers = 0

    def __init__(self, _: object, package: Package) -> None:
        self.news: SimpleQueue[News] = SimpleQueue()
        self.package = package
        self.address = "nowhere"
        facts = {"outcome": {"status": "SUCCESS", "time": 1.0, "cutoff": KAPPA}, "measured": 1, "disturbed": 0}
        self._answer: dict[str, Any] = {**facts, "sick": [], "notes": []}
        for k in range(self.workers):
            self.news.put(Joined(f"w{k}", "token", f"host{k // 64}", 1, 1.0, ""))

    def submit(self, address: str, token: str, key: Key, _: RunRequest) -> None:
        self.news.put(Done(address, token, key, self._answer))

    def open_present(self) -> None: ...
    def order(self, *_: object) -> None: ...
    def end_sites(self) -> None: ...
    def close(self) -> None: ...


def given() -> Scenario:
    return Scenario(target=["/bin/true", "{params}"], space=scenario().space, cutoff=KAPPA)


def engine(workers: int, runs: int) -> dict[str, float]:
    """CPU microseconds of the engine per run with all workers busy, and per heartbeat of a worker."""
    Instant.workers = workers
    request = RunRequest(scenario().default, None, 1, KAPPA)
    with patch.object(dask, "Link", Instant), dask.DaskEngine(given(), "nowhere") as found:
        started, over, began = 0, 0, time.process_time()
        while over < runs:
            while started < runs and found.free:
                found.submit(request)
                started += 1
            over += len(found.wait())
        per_run = 1e6 * (time.process_time() - began) / runs
        beats = [Alive(f"w{k % workers}", "token", frozenset()) for k in range(10_000)]
        began = time.process_time()
        for beat in beats:
            found._link.news.put(beat)
        found.free  # noqa: B018 (reads the news)
        return {"us_per_run": per_run, "us_per_heartbeat": 1e6 * (time.process_time() - began) / len(beats)}


# --- constants ---


def durable(runs: int) -> dict[str, float]:
    """Milliseconds of a lease and its outcome, each safe on the disk before the next step."""
    with tempfile.TemporaryDirectory() as folder, Store.create(Path(folder) / "a.sqlite", {}) as store:
        wall, cpu = time.perf_counter(), time.process_time()
        for seed in range(runs):
            lease = store.lease(RunRequest(CONFIG, "instances/some-name.cnf", seed, KAPPA), "challenger 1")
            store.finish(lease.assignment, 1, Outcome(Status.SUCCESS, 1.0, KAPPA), 1.0)
        return {
            "wall_ms": 1000 * (time.perf_counter() - wall) / runs,
            "cpu_ms": 1000 * (time.process_time() - cpu) / runs,
        }


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def memory(runs: int) -> float:
    """Bytes of this process per run in a strategy's history."""
    with tempfile.TemporaryDirectory() as folder:
        fill(Path(folder) / "a.sqlite", runs)
        gc.collect()
        before = resident()
        strategy = replayed(Path(folder) / "a.sqlite")
        return (resident() - before) / len(strategy.history)


def messages() -> dict[str, int]:
    """Bytes on the wire, of what we add to Dask's own: a request, an answer, a heartbeat in each direction, a scenario."""
    session, token, key = "0" * 32, "0" * 32, (123_456, 1)
    request = RunRequest(CONFIG, "instances/some-name.cnf", 1, KAPPA)
    measured = Outcome(Status.SUCCESS, 1.0, KAPPA, cpu=1.0, wall=1.0, memory=10**7, exit_code=0, backend="process", host="h")
    about = {"worker": "tcp://10.0.0.1:12345", "token": token}
    answer = {"outcome": site._plain(measured), "measured": 1, "disturbed": 0, "sick": [], "notes": []}
    size: Callable[[object], int] = lambda message: sum(map(len, dumps(message)))  # noqa: E731
    package = Package(session, dask._portable(given()), 5.0, 30.0)
    return {
        "request": len(pickled((site.run, session, token, key, request))),
        "answer": size({"kind": "done", "key": key, **answer, **about}),
        "worker's heartbeat": size({"kind": "alive", "runs": [key], **about}),
        "our heartbeat": size({"op": site.OP, "session": session}),
        "scenario, once per worker": len(pickled(package)),
    }


# --- together ---


def loops(runs: int, counts: tuple[int, ...]) -> dict[str, Any]:
    found = {}
    for workers in counts:
        found[workers] = loop(workers, runs)
        print(f"loop, {workers:6} workers: {found[workers]:.3f} ms per run, load {os.getloadavg()[0]:.1f}", flush=True)
    return {"loop_ms_per_run": found, "runs": runs, "load": os.getloadavg()[0]}


def engines(runs: int, counts: tuple[int, ...]) -> dict[str, Any]:
    found = {}
    for workers in counts:
        found[workers] = engine(workers, max(runs, 2 * workers))
        print(f"engine, {workers:6} workers: {found[workers]}", flush=True)
    return {"engine": found}


def constants(quick: bool) -> dict[str, Any]:
    memory_per_run = memory(10_000 if quick else 50_000)
    return {"durable": durable(500 if quick else 1_000), "memory_bytes_per_run": memory_per_run, "messages": messages()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help="loop, engine, constants, profile; all, if none is named")
    parser.add_argument("--quick", action="store_true", help="fewer runs, at most 1,000 workers")
    given = parser.parse_args()
    counts, runs = (WORKERS[:-1], 3_000) if given.quick else (WORKERS, 8_000)
    parts: dict[str, Callable[[], dict[str, Any]]] = {
        "loop": lambda: loops(runs, counts),
        "engine": lambda: engines(runs, (*counts, *([] if given.quick else [100_000]))),
        "constants": lambda: constants(given.quick),
        "profile": lambda: {"profile": profile(1_000, runs)},
    }
    if unknown := set(given.parts) - set(parts):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    place = RESULTS / "workers.json"
    found: dict[str, Any] = json.loads(place.read_text()) if place.exists() else {}
    found["machine"] = machine("capra", "distributed")
    for name in given.parts or parts:
        new = parts[name]()
        print(json.dumps(new, indent=1), flush=True)
        found |= new
        write_results("workers", found)


if __name__ == "__main__":
    main()
