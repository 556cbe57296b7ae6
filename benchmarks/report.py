"""How long does a report of many runs take? ``python -m benchmarks.report`` (``--runs``).

A synthetic history as racing leaves it: an incumbent with many pairs, challengers with one to a few capped runs, in a space of
twenty parameters and on a hundred instances. The report is made in a process of its own, imports included; beside it the peer:
the same rows fetched with nothing but Python's sqlite3. Then the cost of one update of the live page with ten new runs.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import machine, write_results
from benchmarks.scale import bare, timed
from capra.folder import open_store
from capra.report.html.page import document_of
from capra.report.html.view import View
from capra.runs import Configuration, Outcome, RunRequest, Status
from capra.runs.store import Store
from capra.scenario import Scenario
from capra.space import Categorical, Real, Space

KAPPA = 100.0
INSTANCES = [f"instances/quasigroup-{k:03d}.cnf" for k in range(100)]
CHUNK = 5000
LIMIT = 30.0
"""Seconds that a report over 100,000 runs may take."""


def scenario() -> Scenario:
    numbers = [Real(f"x{j:02d}", 0.0, 1.0, 0.5) for j in range(14)]
    choices = [Categorical(f"mode{j}", ("slow", "middle", "fast"), "slow") for j in range(6)]
    return Scenario(
        target="some:function", space=Space([*numbers, *choices]), instances=INSTANCES, cutoff=KAPPA, unit="steps",
        budget={"runs": 10_000_000},
    )  # fmt: skip


def fill(store: Store, given: Scenario, runs: int, first: int = 0) -> None:
    """Challengers that are stopped where they are too slow; every tenth run is the default's, and every tenth the incumbent's."""
    rng, incumbent = np.random.default_rng(first), best(given)
    for start in range(first, first + runs, CHUNK):
        count = min(CHUNK, first + runs - start)
        configs = given.space.decode(given.space.sample(count // 2 + 1, rng))
        requests, outcomes = [], []
        for k in range(count):
            config = {0: given.default, 1: incumbent}.get(k % 10, configs[k // 2])
            instance, seed = (start + k) // 10 % len(INSTANCES) if k % 10 < 2 else k % len(INSTANCES), (start + k) // 10
            time = math.exp(rng.normal(instance / 40 + speed(config), 1.0))
            cutoff = KAPPA if k % 10 < 2 else min(KAPPA, 1.5 * math.exp(instance / 40))
            requests.append((RunRequest(config, INSTANCES[instance], seed, cutoff), "challenger 1"))
            outcomes.append(outcome(time, cutoff))
        leases = store.lease_many(requests)
        store.finish_many((lease.assignment, 1, told, 0.0) for lease, told in zip(leases, outcomes, strict=True))


def best(given: Scenario) -> Configuration:
    return Configuration(dict(given.default) | {"x00": 0.3, "mode0": "fast"})


def crown(store: Store, given: Scenario) -> None:
    """The default was incumbent at first, then the best one."""
    for k, config in enumerate((given.default, best(given))):
        found = {"config": dict(config), "cost": 2.0 - k, "spent": 10.0 * (k + 1), "wall": 0.0, "evaluations": k}
        store.decide("incumbent", str(k), found)


def speed(config: Configuration) -> float:
    return 3.0 * (float(config["x00"]) - 0.3) ** 2 + (0.0 if config["mode0"] == "fast" else 0.5)


def outcome(time: float, cutoff: float) -> Outcome:
    if time <= cutoff:
        return Outcome(Status.SUCCESS, time, cutoff)
    return Outcome(Status.CAPPED if cutoff < KAPPA else Status.TIMEOUT, cutoff, cutoff)


def made(folder: Path) -> dict[str, Any]:
    """The report, as a user makes it."""
    before, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    command = [sys.executable, "-m", "capra", "report", str(folder), "--json"]
    told = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"wall_s": time.monotonic() - wall, "cpu_s": cpu, "memory_mb": after.ru_maxrss / 1024, "bytes": told["bytes"]}


def updated(folder: Path, given: Scenario, runs: int) -> dict[str, float]:
    """One update of the live page: ten more runs, and all sections again."""
    view = View(folder)
    view.update()
    document_of(view)  # whatever is loaded on first use
    with Store.open(folder / "history.sqlite", durability="batch") as store:
        fill(store, given, 10, first=runs)
    spent, _ = timed(lambda: (view.update(), document_of(view)))
    view.close()
    return spent


def measured(runs: int) -> dict[str, Any]:
    """All that is measured with so many runs in the store."""
    with tempfile.TemporaryDirectory() as name:
        folder, given = Path(name), scenario()
        with open_store(given, {"strategy": "roar", "engine": "simulated", "options": {}}, folder) as store:
            fill(store, given, runs)
            crown(store, given)
        spent, _ = timed(lambda: bare(folder / "history.sqlite"))
        found = {"runs": runs, "load": os.getloadavg()[0], "bare": spent, "report": made(folder)}
        return found | {"update": updated(folder, given, runs)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    sizes = []
    for runs in parser.parse_args().runs:
        sizes.append(found := measured(runs))
        report, update = found["report"], found["update"]
        print(
            f"{runs:,} runs (load {found['load']:.0f}): report in {report['wall_s']:.1f} s ({report['cpu_s']:.1f} of CPU, "
            f"{report['cpu_s'] / found['bare']['cpu_s']:.1f} times sqlite3 alone), {report['bytes'] / 1e6:.2f} MB, "
            f"{report['memory_mb']:.0f} MB of memory; an update of the live page {update['cpu_s']:.2f} s of CPU",
            flush=True,
        )
        if runs == 100_000:
            print(f"below {LIMIT:.0f} s: {'yes' if report['wall_s'] < LIMIT else 'no'}")
    write_results("report", {"machine": machine("capra", "numpy"), "sizes": sizes})


if __name__ == "__main__":
    main()
