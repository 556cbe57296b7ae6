"""The results: one line of JSON per (problem, strategy, budget, seed); those of real runs in a file of their own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.kept import add_line, read_lines
from benchmarks.machine import RESULTS

Row = dict[str, Any]
SIMULATED, REAL = RESULTS / "strategies.jsonl", RESULTS / "strategies-clasp.jsonl"


def rows(place: Path) -> list[Row]:
    """What was measured so far."""
    return read_lines(place)


def write_row(row: Row) -> None:
    add_line(REAL if row["problem"] == "clasp" else SIMULATED, row)


def key(row: Row) -> tuple[Any, ...]:
    return row["problem"], row["strategy"], row["budget"], row["seed"]


def replace(place: Path, kept: Sequence[Row]) -> None:
    part = place.with_suffix(".part")
    part.write_text("".join(json.dumps(row) + "\n" for row in kept))
    part.replace(place)


def forget(place: Path, strategies: Sequence[str]) -> None:
    """Drop the rows of strategies that have changed."""
    if strategies:
        replace(place, [row for row in rows(place) if row["strategy"] not in strategies])
