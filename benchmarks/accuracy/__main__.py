"""Time to accuracy of small networks, as in the lower half of Table 2 of Eggensperger et al.

``python -m benchmarks.accuracy record`` trains random configurations on every data set and keeps their learning curves;
``python -m benchmarks.accuracy tune`` searches among them (pool), on a model of them (surrogate) and with real training (live),
and writes benchmarks/results/accuracy.json. What is finished is kept: both go on where they were stopped.
"""

from __future__ import annotations

import argparse
import math
import time
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks.accuracy.data import SOURCES
from benchmarks.accuracy.record import CUTOFF, QUANTILE, SPEED, record, recorded
from benchmarks.accuracy.summary import markdown, summary
from benchmarks.accuracy.tuning import BUDGET, METHODS, SLACK, run
from benchmarks.machine import machine, write_results

KINDS = ("pool", "surrogate", "live")


def recording(given: argparse.Namespace) -> None:
    deadline = time.monotonic() + 60.0 * given.minutes
    for name in given.data:
        began = time.process_time()
        if len(record(name, given.count, deadline)) > 1:
            print(f"{name}: {time.process_time() - began:.0f} s of CPU; {about(name)}", flush=True)


def about(name: str) -> dict[str, Any]:
    """What was recorded of a data set."""
    curves = recorded(name)
    target = curves.target()
    times, reached = curves.times(target)
    return {
        "random_configurations": len(curves) - 1,
        "target_accuracy": round(target, 4),
        "reached_by": int(reached[1:].sum()),
        "shortest_s": round(float(times.min()), 2),
        "default_s": round(float(times[0]), 2) if reached[0] else None,
    }


def tuning(given: argparse.Namespace) -> None:
    run(given.on, given.data, given.methods, given.seeds, time.monotonic() + 60.0 * given.minutes)
    document: dict[str, Any] = {
        "machine": machine("capra", "numpy", "scipy", "scikit-learn"),
        "command": "python -m benchmarks.accuracy record; python -m benchmarks.accuracy tune",
        "nominal": {"cutoff_s": CUTOFF, "work_per_s": SPEED, "budget_s": BUDGET, "slack": SLACK, "quantile": QUANTILE},
        "data": {name: about(name) for name in SOURCES},
    }
    for kind in KINDS:
        found = summary(kind, list(SOURCES))
        if found:
            document[kind] = found
            print(f"{kind}\n{markdown(found)}\nthe paper's three: {found['averages_of_three']}\n")
    write_results("accuracy", document)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("record", help="train and keep the learning curves")
    command.add_argument("--count", type=int, default=300, help="random configurations")
    command.set_defaults(do=recording)
    command = commands.add_parser("tune", help="search, and write the tables")
    command.add_argument("--on", nargs="+", default=list(KINDS), choices=KINDS)
    command.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    command.add_argument("--seeds", type=int, default=16)
    command.set_defaults(do=tuning)
    for command in commands.choices.values():
        command.add_argument("--data", nargs="+", default=list(SOURCES), choices=list(SOURCES))
        command.add_argument("--minutes", type=float, default=math.inf, help="stop after so long, go on another time")
    given = parser.parse_args()
    with threadpool_limits(1):
        given.do(given)


if __name__ == "__main__":
    main()
