"""The Dask engine beside the local one and beside plain Dask: ``python -m benchmarks.dask_engine {same,load} [options]``.

``same``: one scenario, seed and budget, tuned with the local engine and on a cluster of separate worker processes. The target
sleeps, so that it takes its time whatever else the machine does, and its mean time is known exactly: that of the incumbent is
the quality. Overhead is what the workers' time was not spent on, per run; utilisation is the rest of it. Both depend on what
else the machine does; the CPU time of one run, of all processes and with the target's own, does less.

``load``: many short runs (/bin/true) through the cluster: plain Dask tasks that do nothing, plain Dask tasks that start the
program with ``subprocess``, and our supervised, leased and fenced runs. They take turns in batches, each with as many under way
as there are workers. A batch ends after so many runs, or so many seconds. Besides runs per second, which depend on what else the
machine does, there is the CPU time of one run, of all processes: client, scheduler, workers, supervisors and the program.

Finished seeds and batches are kept in benchmarks/results/dask_engine.jsonl and not made again.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.config
from distributed import Client, LocalCluster, as_completed

from benchmarks.kept import add_line, read_lines
from benchmarks.machine import RESULTS, machine, write_results
from capra.engines.dask import DaskEngine
from capra.runs import Configuration, RunRequest, Status
from capra.scenario import Scenario
from capra.space import Categorical, Real, Space
from capra.tune import Tuning, tune

KEPT = RESULTS / "dask_engine.jsonl"
INSTANCES = 5
SLEEP = """#!/bin/sh
sleep $(awk "BEGIN { print 0.05 + ($1-0.3)^2 + 0.5*($2-0.7)^2 + 0.02*$3 }")
"""


def kept() -> list[dict[str, Any]]:
    return read_lines(KEPT)


def keep(row: dict[str, Any]) -> None:
    add_line(KEPT, row)


# --- the same tuning ---


def sleeper(folder: str, runs: int) -> Scenario:
    (Path(folder) / "sleeper.sh").write_text(SLEEP)
    return Scenario(
        target=["sh", f"{folder}/sleeper.sh", "{config.x}", "{config.y}", "{instance}"],
        space=Space([Real("x", 0.0, 1.0, 0.9), Real("y", 0.0, 1.0, 0.1)]),
        instances=[str(i) for i in range(INSTANCES)],
        instance_kind="name",
        unit="wall",
        cutoff=2.0,
        deterministic=True,
        budget={"runs": runs},
    )


def quality(config: dict[str, Any]) -> float:
    """The true mean time over the instances."""
    return 0.05 + (config["x"] - 0.3) ** 2 + 0.5 * (config["y"] - 0.7) ** 2 + 0.02 * (INSTANCES - 1) / 2


def same(seed: int, runs: int, workers: int) -> dict[str, Any]:
    row: dict[str, Any] = {"what": "same", "seed": seed, "runs": runs, "workers": workers}
    for engine in ("local", "dask"):
        how: dict[str, Any] = {"workers": workers} if engine == "local" else {"client": workers}
        clock: list[float] = []
        cpu: list[float] = []
        processes = [os.getpid()]

        def watch(
            tuning: Tuning, clock: list[float] = clock, cpu: list[float] = cpu, processes: list[int] = processes
        ) -> None:
            if not clock and isinstance(tuning.engine, DaskEngine):
                processes += children()  # the cluster, which is up by now
            clock.append(tuning.engine.clock)
            cpu[1:] = [cpu_seconds(processes)]

        with tempfile.TemporaryDirectory() as folder:
            result = tune(
                sleeper(folder, runs),
                "roar",
                seed=seed,
                engine=engine,
                out=folder,
                watch=watch,
                repeat=0.0,
                overhead="ignore",
                **how,
            )
        elapsed = clock[-1] - clock[0]
        used = sum(run.outcome.wall or 0.0 for run in result.history)
        row[engine] = {
            "quality": round(quality(result.incumbent), 4),
            "seconds": round(elapsed, 2),
            "overhead_ms_per_run": round(1000 * (workers * elapsed - used) / len(result.history), 2),
            "utilisation": round(used / (workers * elapsed), 3),
            "cpu_ms_per_run": round(1000 * (cpu[-1] - cpu[0]) / len(result.history), 2),
            "load": round(os.getloadavg()[0], 1),
        }
        print(f"seed {seed} {engine:6} {row[engine]}")
    return row


# --- many short runs ---


def nothing(_: int) -> None:
    pass


def bare(_: int) -> None:
    subprocess.run(["/bin/true"], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def plain(client: Client, action: Callable[[int], None], runs: int, workers: int, end: float) -> int:
    """As many under way as there are workers, the next when one is over: what a tuning does."""
    waiting = iter(range(workers, runs))
    over = 0
    going = as_completed([client.submit(action, i, pure=False) for i in range(workers)])
    for future in going:
        future.result()
        over += 1
        if time.monotonic() < end and (i := next(waiting, None)) is not None:
            going.add(client.submit(action, i, pure=False))
    return over


def ours(engine: DaskEngine, runs: int, end: float = float("inf")) -> int:
    config = Configuration({"a": "x"})
    started = over = 0
    while over < started or (started < runs and time.monotonic() < end):
        while started < runs and engine.free and time.monotonic() < end:
            engine.submit(RunRequest(config, None, started, 10.0))
            started += 1
        for _, outcome in engine.wait():
            assert outcome.status is Status.SUCCESS, outcome
            over += 1
    return over


def children() -> list[int]:
    tasks = Path("/proc/self/task").iterdir()
    return [int(pid) for task in tasks for pid in (task / "children").read_text().split()]


def cpu_seconds(processes: list[int]) -> float:
    """Of these processes and of all their children that have ended."""
    fields = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15] for pid in processes]
    return sum(int(ticks) for four in fields for ticks in four) / os.sysconf("SC_CLK_TCK")


def load(batch: int, runs: int, seconds: float, workers: int, cluster: LocalCluster, client: Client) -> dict[str, Any]:
    row: dict[str, Any] = {"what": "load", "batch": batch, "workers": workers, "runs": {}, "seconds": {}, "cpu": {}}
    row["load"] = os.getloadavg()[0]
    processes = [os.getpid(), *client.run(os.getpid).values()]
    scenario = Scenario(target=["/bin/true", "{params}"], space=Space([Categorical("a", ("x", "y"), "x")]), cutoff=10.0)
    with DaskEngine(scenario, cluster.scheduler_address) as engine:
        ours(engine, 2 * workers)
        ways: dict[str, Callable[[float], int]] = {
            "plain tasks, nothing": lambda end: plain(client, nothing, runs, workers, end),
            "plain tasks, program": lambda end: plain(client, bare, runs, workers, end),
            "capra runs": lambda end: ours(engine, runs, end),
        }
        for name, way in ways.items():
            before, cpu = time.monotonic(), cpu_seconds(processes)
            count = row["runs"][name] = way(before + seconds)
            row["seconds"][name], row["cpu"][name] = time.monotonic() - before, cpu_seconds(processes) - cpu
            figures = count / row["seconds"][name], 1000 * row["cpu"][name] / count
            print("batch {} {:24}{:10.1f} runs/s{:10.2f} CPU ms/run".format(batch, name, *figures), flush=True)
    return row


# --- together ---


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {"machine": machine("distributed")}
    tunings = [row for row in rows if row["what"] == "same"]
    if tunings:
        for engine in ("local", "dask"):
            figures = {key: statistics.median(row[engine][key] for row in tunings) for key in tunings[0][engine]}
            found[engine] = figures
        found["same"] = {"seeds": len(tunings), "runs": tunings[0]["runs"], "workers": tunings[0]["workers"]}
    batches = [row for row in rows if row["what"] == "load"]
    if batches:
        totals = {
            way: (sum(r["runs"][way] for r in batches), sum(r["seconds"][way] for r in batches))
            for way in batches[0]["runs"]
        }
        found["runs_per_second"] = {way: round(runs / seconds, 1) for way, (runs, seconds) in totals.items()}
        found["cpu_ms_per_run"] = {
            way: round(1000 * sum(r["cpu"][way] for r in batches) / runs, 2) for way, (runs, _) in totals.items()
        }
        found["load"] = {"runs": totals["capra runs"][0], "workers": batches[0]["workers"], "batches": len(batches)}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["same", "load"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--batches", type=int, default=10)
    parser.add_argument("--runs", type=int, help="per seed (200) or batch (1000)")
    parser.add_argument("--seconds", type=float, default=60.0, help="longest time of one way in a batch")
    parser.add_argument("--workers", type=int, default=8)
    given = parser.parse_args()
    done = {(row["what"], row.get("seed", row.get("batch")), row["workers"]) for row in kept()}
    if given.what == "same":
        for seed in range(given.seeds):
            if ("same", seed, given.workers) not in done:
                keep(same(seed, given.runs or 200, given.workers))
    else:
        with (
            dask.config.set({"distributed.worker.profile.enabled": False}),  # as in a cluster that Capra starts
            LocalCluster(
                n_workers=given.workers, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
            ) as cluster,
            Client(cluster) as client,
        ):
            for batch in range(given.batches):
                if ("load", batch, given.workers) not in done:
                    keep(load(batch, given.runs or 1000, given.seconds, given.workers, cluster, client))
    found = summary(kept())
    print(json.dumps(found, indent=1))
    write_results("dask_engine", found)


if __name__ == "__main__":
    main()
