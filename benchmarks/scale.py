"""Does it scale? ``python -m benchmarks.scale`` (``--full``: 10⁶ runs).

A store with many synthetic runs is opened and its history built; then the cost of one ask/tell round at that size. Simulated
clusters of 2 and 1,000 workers on a synthetic target with an unlimited space: how busy are they kept?
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.machine import machine, write_results
from capra.runs import Configuration, History, Outcome, Run, RunRequest, Status
from capra.runs.store import Store
from capra.scenario import Scenario
from capra.space import Real, Space
from capra.strategies import Context, make_strategy
from capra.tune import Tuning, tune

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


def history_of(path: Path) -> tuple[float, float, History]:
    """Seconds to open the store, seconds to have the history."""
    started = time.monotonic()
    history = History(scenario().objective, KAPPA)
    with Store.read(path) as store:
        opened = time.monotonic() - started
        for run in store.runs():
            history.add(run)
    return opened, time.monotonic() - started, history


def round_cost(history: History, rounds: int = 500) -> float:
    """Milliseconds of one ask/tell round of a strategy that has been told everything."""
    strategy = make_strategy("roar", Context(scenario()))
    target = Lognormal()
    for run in history:
        strategy.tell(run)
    number = len(history)
    spent = 0.0
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


def utilisation(workers: int) -> tuple[float, int, float]:
    """Share of the workers' time in use while runs were still started, number of runs, our CPU milliseconds per run."""
    runs = 60_000 if workers > 2 else 5_000
    seen: list[float] = []

    def watch(tuning: Tuning) -> None:
        if len(tuning.history) + len(tuning.under_way) < runs or not seen:
            seen[:] = [tuning.engine.busy, tuning.engine.clock]  # type: ignore[attr-defined]

    started = time.process_time()
    given = scenario(budget={"runs": runs})
    result = tune(given, "roar", engine="simulated", workers=workers, overhead="ignore", watch=watch)
    busy, clock = seen
    return busy / (workers * clock), len(result.history), 1000 * (time.process_time() - started) / len(result.history)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="10⁶ runs instead of 10⁵")
    runs = 1_000_000 if parser.parse_args().full else 100_000
    document: dict[str, object] = {"machine": machine("capra", "numpy"), "runs": runs}
    with tempfile.TemporaryDirectory() as folder:
        fill(Path(folder) / "big.sqlite", runs)
        opened, ready, history = history_of(Path(folder) / "big.sqlite")
    print(f"{runs:,} runs: store opened in {opened:.2f} s, history ready after {ready:.1f} s", flush=True)
    cost, small = round_cost(history), round_cost(History(scenario().objective, KAPPA))
    print(
        f"one ask/tell round: {cost:.3f} ms at {runs:,} runs, {small:.3f} ms at none (ratio {cost / small:.2f})", flush=True
    )
    document |= {"opened_s": opened, "ready_s": ready, "round_ms": cost, "round_ms_empty": small}
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
