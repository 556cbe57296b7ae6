"""How many runs a second the compiled cores simulate, beside the same algorithms in plain Python."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.guarantees import reference
from benchmarks.guarantees.drive import drive, ledger
from benchmarks.guarantees.spear import FIRST, UTILITY, Columns
from benchmarks.machine import machine, write_results
from capra._guarantees import Confidence, Oup, Procrastination

SECONDS = 8.0
"""CPU time that the reference may take."""


def plain_rate(steps: Any, times: np.ndarray, worth: Callable[[float], float]) -> tuple[int, float]:
    """Steps of a reference, and seconds."""
    rows = times.tolist()
    begun, count = time.process_time(), 0
    wish = next(steps)
    while time.process_time() - begun < SECONDS:
        i, column, cap = wish
        runtime = rows[i][column % len(rows[i])]
        wish = steps.send((worth(runtime), runtime <= cap))
        count += 1
    return count, time.process_time() - begun


def rates() -> None:
    """SP, SPC and OUP on 1,000 × 20,000."""
    columns = Columns(FIRST)
    times = np.ascontiguousarray(columns.times[:, columns.place])
    utility = UTILITY.utility.of
    cases: list[tuple[str, Any, Any, Any, int]] = [
        ("sp", Procrastination(1000, 0.5, 0.1, 1.0, 1e6), reference.sp(1000, 0.5, 0.1, 1.0, 1e6), None, 3_000_000),
        ("spc", Confidence(1000, 1.0), reference.spc(1000, 1.0), None, 2_000_000),
        ("oup", Oup(1000, 0.1, 1.0, UTILITY.worth), reference.oup(1000, 0.1, 1.0, utility), utility, 1_000_000),
    ]
    rows = []
    for name, core, plain, worth, steps in cases:
        book = ledger(times, None, UTILITY.utility if worth else None)
        seconds = drive(core, book, steps=steps)
        count, took = plain_rate(plain, times, worth or float)
        row = {"name": name, "compiled_per_second": book.steps / seconds, "plain_per_second": count / took}
        row |= {
            "ratio": row["compiled_per_second"] / row["plain_per_second"],
            "compiled_steps": book.steps,
            "plain_steps": count,
        }
        rows.append({key: round(value, 1) if isinstance(value, float) else value for key, value in row.items()})
        print(rows[-1], flush=True)
    write_results("guarantees_rates", {"machine": machine("capra", "numpy"), "shape": list(times.shape), "rows": rows})
