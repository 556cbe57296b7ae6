"""The results: one line of JSON per (problem, strategy, budget, seed)."""

from __future__ import annotations

import json
from typing import Any

from benchmarks.machine import RESULTS

Row = dict[str, Any]
PLACE = RESULTS / "strategies.jsonl"


def rows() -> list[Row]:
    """What was measured so far."""
    return [json.loads(line) for line in PLACE.read_text().splitlines()] if PLACE.exists() else []


def write_row(row: Row) -> None:
    with PLACE.open("a") as file:
        file.write(json.dumps(row) + "\n")


def key(row: Row) -> tuple[Any, ...]:
    return row["problem"], row["strategy"], row["budget"], row["seed"]


def forget(strategies: list[str]) -> None:
    """Drop the rows of strategies that have changed."""
    kept = [row for row in rows() if row["strategy"] not in strategies]
    part = PLACE.with_suffix(".part")
    part.write_text("".join(json.dumps(row) + "\n" for row in kept))
    part.replace(PLACE)
