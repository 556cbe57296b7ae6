"""What supervision costs, and how well a CPU cutoff is kept: ``python -m benchmarks.supervisor [--full] [--repetitions N]``.

(a) Many runs of /bin/true: runs per second and CPU time per run (ours, the supervisor's and the target's),
    beside ``subprocess.run`` with captured output.
(b) A busy loop with a CPU cutoff while every core is loaded: CPU time at its death minus the cutoff, beside
    ``timeout`` (which counts wall time) and RLIMIT_CPU (which the kernel samples). Negative: too early.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from benchmarks.machine import machine, write_results
from capra.targets.supervisor import Job, Limits, run
from capra.testing import hostile

TRUE = ["/bin/true"]


def cpu_time() -> float:
    """Of this process and all it has waited for."""
    usages = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def repeat(action: Callable[[], object], times: int) -> tuple[float, float]:
    """Wall and CPU seconds of one."""
    wall, cpu = time.monotonic(), cpu_time()
    for _ in range(times):
        action()
    return (time.monotonic() - wall) / times, (cpu_time() - cpu) / times


def bare() -> None:
    subprocess.run(TRUE, stdin=subprocess.DEVNULL, capture_output=True, check=True)


def supervised() -> None:
    assert run(Job(TRUE, Limits(cpu=5.0))).exit_code == 0


def overhead(times: int) -> dict[str, dict[str, float]]:
    print(f"{times} runs of /bin/true, one after the other")
    print(f"{'':24}{'runs/s':>10}{'CPU ms/run':>14}")
    costs = {}
    for name, action in (("subprocess.run", bare), ("supervisor", supervised)):
        repeat(action, 20)
        wall, cpu = repeat(action, times)
        costs[name] = {"runs_per_second": round(1 / wall, 1), "cpu_ms_per_run": round(1000 * cpu, 3)}
        print(f"{name:24}{1 / wall:10.0f}{1000 * cpu:14.2f}")
    ours = costs["supervisor"]["cpu_ms_per_run"] - costs["subprocess.run"]["cpu_ms_per_run"]
    print(f"{'difference':34}{ours:14.2f}\n")
    return costs


@contextmanager
def load() -> Iterator[None]:
    """Every core busy."""
    hogs = [subprocess.Popen(hostile.busy(3600.0)) for _ in os.sched_getaffinity(0)]
    try:
        yield
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()


def by_supervisor(cutoff: float) -> float:
    return run(Job(hostile.busy(), Limits(cpu=cutoff, grace=0.0))).cpu - cutoff


def _excess(argv: list[str], cutoff: float) -> float:
    before = cpu_time()
    subprocess.run(argv, check=False, stderr=subprocess.DEVNULL)
    return cpu_time() - before - cutoff


def by_timeout(cutoff: float) -> float:
    return _excess(["timeout", str(cutoff), *hostile.busy()], cutoff)


def by_rlimit(cutoff: float) -> float:
    return _excess(["prlimit", f"--cpu={round(cutoff)}", *hostile.busy()], cutoff)


def quantiles(values: list[float]) -> tuple[float, float, float]:
    """Least, median and 99 %."""
    ordered = sorted(values)
    return ordered[0], statistics.median(ordered), ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]


def overshoot(cutoff: float, times: int) -> dict[str, dict[str, float]]:
    print(f"CPU time at death minus a CPU cutoff of {cutoff:g} s, all cores loaded, {times} repetitions, ms")
    print(f"{'':24}{'least':>10}{'median':>10}{'99 %':>10}")
    methods = {"supervisor": by_supervisor, "timeout (wall time)": by_timeout, "RLIMIT_CPU": by_rlimit}
    found = {}
    with load():
        for name, method in methods.items():
            figures = quantiles([1000 * method(cutoff) for _ in range(times)])
            found[name] = dict(zip(("least_ms", "median_ms", "p99_ms"), (round(f, 2) for f in figures), strict=True))
            print(f"{name:24}" + "".join(f"{figure:10.1f}" for figure in figures), flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="2 s cutoff, 100 repetitions (some 20 minutes)")
    parser.add_argument("--repetitions", type=int, help="another number of them")
    options = parser.parse_args()
    costs = overhead(1000)
    cutoff, times = (2.0, 100) if options.full else (1.0, 12)  # RLIMIT_CPU knows whole seconds only
    times = options.repetitions or times
    late = {"cutoff": cutoff, "repetitions": times, **overshoot(cutoff, times)}
    write_results("supervisor", {"machine": machine(), "overhead": costs, "overshoot": late})


if __name__ == "__main__":
    main()
