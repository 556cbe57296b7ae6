"""The results: one line of JSON per (problem, tool, seed)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.kept import add_line, read_lines
from benchmarks.machine import RESULTS

Row = dict[str, Any]


def place(problem: str) -> Path:
    return RESULTS / f"peers-{problem}.jsonl"


def rows(problem: str) -> list[Row]:
    """What was measured so far."""
    return read_lines(place(problem))


def write_row(row: Row) -> None:
    add_line(place(row["problem"]), row)


def replace(problem: str, kept: Sequence[Row]) -> None:
    part = place(problem).with_suffix(".part")
    part.write_text("".join(json.dumps(row) + "\n" for row in kept))
    part.replace(place(problem))


def forget(problem: str, tools: Sequence[str]) -> None:
    if tools and place(problem).exists():
        replace(problem, [row for row in rows(problem) if row["tool"] not in tools])
