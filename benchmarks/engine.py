"""What the local engine costs: ``python -m benchmarks.engine [--runs N]``.

Many runs of /bin/true with two workers, through ``LocalEngine`` (lease to outcome: start, supervise, judge, clean up) and through
``subprocess.run`` in two threads. CPU time is that of all processes involved, the target's included; the difference per run is ours.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from benchmarks.machine import machine, write_results
from benchmarks.supervisor import bare, cpu_time
from capra.engines import LocalEngine
from capra.runs import RunRequest, Status
from capra.scenario import Scenario
from capra.space import Categorical, Space

WORKERS = 2
BATCHES = 5
"""The two ways take turns, so that what else the machine does hits both."""


def through_engine(engine: LocalEngine, requests: Iterable[RunRequest]) -> None:
    waiting = list(requests)
    under_way = 0
    while waiting or under_way:
        while waiting and engine.free:
            engine.submit(waiting.pop())
            under_way += 1
        for _, outcome in engine.wait():
            assert outcome.status is Status.SUCCESS
            under_way -= 1


def through_subprocess(times: int) -> None:
    with ThreadPoolExecutor(WORKERS) as pool:
        for future in [pool.submit(bare) for _ in range(times)]:
            future.result()


def timed(action: Callable[[], None], times: int) -> tuple[float, float]:
    """Wall and CPU seconds of one run."""
    wall, cpu = time.monotonic(), cpu_time()
    action()
    return (time.monotonic() - wall) / times, (cpu_time() - cpu) / times


def measure(runs: int) -> dict[str, list[tuple[float, float]]]:
    scenario = Scenario(target=["/bin/true", "{params}"], space=Space([Categorical("a", ("x", "y"), "x")]), cutoff=10.0)
    requests = [RunRequest(scenario.space.default, None, seed, 10.0) for seed in range(runs // BATCHES)]
    found: dict[str, list[tuple[float, float]]] = {"subprocess.run": [], "LocalEngine": []}
    with LocalEngine(scenario, WORKERS) as engine:
        through_engine(engine, requests[:20])
        for _ in range(BATCHES):
            found["subprocess.run"].append(timed(lambda: through_subprocess(len(requests)), len(requests)))
            found["LocalEngine"].append(timed(lambda: through_engine(engine, requests), len(requests)))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    runs = parser.parse_args().runs
    print(f"{runs} runs of /bin/true, {WORKERS} workers, median of {BATCHES} batches")
    print(f"{'':24}{'runs/s':>10}{'CPU ms/run':>14}")
    figures = {}
    for name, batches in measure(runs).items():
        wall, cpu = (statistics.median(column) for column in zip(*batches, strict=True))
        figures[name] = {"runs_per_second": round(1 / wall, 1), "cpu_ms_per_run": round(1000 * cpu, 3)}
        print(f"{name:24}{1 / wall:10.0f}{1000 * cpu:14.2f}")
    ours = figures["LocalEngine"]["cpu_ms_per_run"] - figures["subprocess.run"]["cpu_ms_per_run"]
    print(f"{'difference':34}{ours:14.2f}")
    write_results(
        "engine", {"machine": machine(), "runs": runs, "workers": WORKERS, **figures, "ours_cpu_ms": round(ours, 3)}
    )


if __name__ == "__main__":
    main()
