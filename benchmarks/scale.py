"""Does it scale? ``python -m benchmarks.scale`` (``--full``: 10⁶ runs).

Stores with 10⁴, 10⁵ (and 10⁶) synthetic runs are opened, their history is built, a strategy is told all of it; then the cost of
one ask/tell round at that size, beside that of an empty store. Simulated clusters of 2 and 1,000 workers on a synthetic target
with an unlimited space: how busy are they kept?
"""

from __future__ import annotations

import argparse
import gc
import math
import os
import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import numpy as np

from benchmarks.machine import machine, write_results
from capra.budget import Meter
from capra.engines import SimulatedEngine
from capra.keeper import Keeper
from capra.runs import Configuration, History, Outcome, Run, RunRequest, Status
from capra.runs.bulk import bulk
from capra.runs.store import Store
from capra.scenario import Scenario
from capra.space import Real, Space
from capra.strategies import Context, Strategy, make_strategy
from capra.tune import Tuning, tune

T = TypeVar("T")

KAPPA = 100.0
PAIRS = 50


def scenario(**options: object) -> Scenario:
    space = Space([Real("x", 0.0, 1.0, 0.9), Real("y", 0.0, 1.0, 0.5)])
    given = {
        "target": Lognormal(),
        "space": space,
        "instances": [f"i{k}" for k in range(PAIRS)],
        "cutoff": KAPPA,
        "unit": "steps",
    }
    return Scenario(**(given | options))


class Lognormal:
    """Heavy-tailed times around a bowl in x and y."""

    def run(self, request: RunRequest) -> Outcome:
        seed = int(request.config.id, 16) ^ request.seed ^ hash(request.instance)
        noise = np.random.default_rng(abs(seed)).normal()
        time = float(math.exp(3 * (float(request.config["x"]) - 0.2) ** 2 + noise))
        if time <= request.cutoff:
            return Outcome(Status.SUCCESS, time, request.cutoff)
        return Outcome(Status.CAPPED if request.cutoff < KAPPA else Status.TIMEOUT, request.cutoff, request.cutoff)

    def __call__(self, *_: object) -> float:
        raise NotImplementedError("simulated only")


def fill(path: Path, runs: int) -> None:
    """Challengers with one capped run each, and an incumbent with many: what racing leaves behind."""
    with Store.create(path, {}, durability="batch") as store:
        default = RunRequest(scenario().default, "i0", 0, KAPPA)
        store.finish(store.lease(default, "incumbent").assignment, 1, Outcome(Status.SUCCESS, 0.5, KAPPA), 0.0)
        rng, chunk = np.random.default_rng(0), 10_000
        for start in range(0, runs, chunk):
            configs = [Configuration({"x": float(x), "y": 0.5}) for x in rng.random(chunk)]
            wanted = [(RunRequest(c, f"i{k % PAIRS}", k, 1.0), f"challenger {start + k}") for k, c in enumerate(configs)]
            leases = store.lease_many(wanted)
            store.finish_many((lease.assignment, 1, Outcome(Status.CAPPED, 1.0, 1.0), 0.0) for lease in leases)


def timed(action: Callable[[], T]) -> tuple[dict[str, float], T]:
    """Wall and CPU seconds, and the answer. On a busy machine only the latter says something about us."""
    wall, cpu = time.monotonic(), time.process_time()
    answer = action()
    return {"wall_s": time.monotonic() - wall, "cpu_s": time.process_time() - cpu}, answer


def bare(path: Path) -> None:
    """The peer: the same columns of the same rows, fetched with nothing but Python's sqlite3."""
    with closing(sqlite3.connect(path)) as connection:
        sql = "SELECT * FROM outcomes JOIN leases USING (assignment, attempt) JOIN configs ON config = id ORDER BY position"
        cursor = connection.execute(sql)
        while cursor.fetchmany(4096):
            pass


def opened(path: Path) -> None:
    Store.open(path).close()


def history_of(path: Path) -> None:
    """The store opened and checked, the history built."""
    history = History(scenario().objective, KAPPA)
    with Store.open(path) as store, bulk():
        for run in store.runs():
            history.add(run)


def replayed(path: Path | None) -> Strategy:
    """The store opened and checked, and a strategy told everything in it, as when a tuning is resumed."""
    strategy = make_strategy("roar", Context(scenario()))
    if path is not None:
        with Store.open(path) as store:
            Tuning(
                scenario(), strategy, SimulatedEngine(Lognormal().run), Keeper(store), Meter(scenario().budget, "steps")
            ).replay()
    return strategy


def round_cost(strategy: Strategy, rounds: int = 1000) -> float:
    """CPU milliseconds of one ask/tell round."""
    target = Lognormal()
    number, spent = len(strategy.history), 0.0
    for _ in range(rounds):
        started = time.process_time()
        (request,) = strategy.ask(1)
        why = strategy.why(request)
        spent += time.process_time() - started
        outcome = target.run(request)
        number += 1
        started = time.process_time()
        strategy.tell(Run(request, outcome, why, number))
        strategy.tighten()
        spent += time.process_time() - started
    return 1000 * spent / rounds


def sizes(path: Path, runs: int, round_empty: float) -> dict[str, object]:
    """All that is measured with so many runs in the store, each part in the state a new process would find."""
    fill(path, runs)
    found: dict[str, object] = {"runs": runs, "bytes": path.stat().st_size, "load": os.getloadavg()[0]}
    for name, action in {"bare": bare, "open": opened, "history": history_of}.items():
        found[name], _ = timed(lambda action=action: action(path))
        gc.collect()
    found["replay"], strategy = timed(lambda: replayed(path))
    found["round_ms"] = cost = round_cost(strategy)
    found["round_to_empty"] = cost / round_empty
    print(f"{runs:,} runs, {found['bytes'] / 1e6:.0f} MB", flush=True)
    for name in ("bare", "open", "history", "replay"):
        spent = found[name]
        print(
            f"  {name:8} {spent['wall_s']:7.2f} s, {spent['cpu_s']:7.2f} of CPU, {spent['cpu_s'] / found['bare']['cpu_s']:5.1f} times bare"
        )
    print(f"  one ask/tell round {cost:.3f} ms, {cost / round_empty:.2f} times that of an empty store", flush=True)
    return found


def utilisation(workers: int) -> tuple[float, int, float]:
    """Share of the workers' time in use while runs were still started, number of runs, our CPU milliseconds per run."""
    runs = 60_000 if workers > 2 else 5_000
    seen: list[float] = []

    def watch(tuning: Tuning) -> None:
        if len(tuning.history) + len(tuning.under_way) < runs or not seen:
            seen[:] = [tuning.engine.busy, tuning.engine.clock]

    started = time.process_time()
    given = scenario(budget={"runs": runs})
    result = tune(given, "roar", engine="simulated", workers=workers, overhead="ignore", watch=watch)
    busy, clock = seen
    return busy / (workers * clock), len(result.history), 1000 * (time.process_time() - started) / len(result.history)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="10⁶ runs as well")
    counts = [10_000, 100_000, *([1_000_000] if parser.parse_args().full else [])]
    document: dict[str, object] = {"machine": machine("capra", "numpy")}
    document["round_ms_empty"] = empty = round_cost(replayed(None))
    with tempfile.TemporaryDirectory() as folder:
        document["sizes"] = [sizes(Path(folder) / f"{runs}.sqlite", runs, empty) for runs in counts]
    for workers in (2, 1000):
        share, made, each = utilisation(workers)
        print(
            f"{workers} simulated workers: {100 * share:.1f} % busy over {made} runs, {each:.2f} ms of ours per run",
            flush=True,
        )
        document[f"workers_{workers}"] = {"utilisation": share, "runs": made, "own_ms_per_run": each}
    write_results("scale", document)


if __name__ == "__main__":
    main()
