"""Results that grow, so that a measurement can be stopped and continued: rows with one entry per seed, or a line per result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.machine import RESULTS, machine, write_results


class Kept:
    """The rows of NAME.json among the results; each has its ``found``, what seeds 0, 1, … gave as far as they were run.

    Rows of a file whose ``measured`` settings were others are dropped, and so are those without ``found``: older forms.
    """

    def __init__(self, name: str, measured: dict[str, Any], *packages: str) -> None:
        self.name, self.measured, self.packages = name, measured, packages
        place = RESULTS / f"{name}.json"
        before = json.loads(place.read_text()) if place.exists() else {}
        same = all(before.get(key) == value for key, value in measured.items())
        rows: list[dict[str, Any]] = before.get("rows", []) if same else []
        self.rows = [row for row in rows if "found" in row]

    def row(self, **key: Any) -> dict[str, Any]:
        """The row of this key, made where there is none."""
        for row in self.rows:
            if key.items() <= row.items():
                return row
        self.rows.append({**key, "found": []})
        return self.rows[-1]

    def write(self) -> None:
        write_results(self.name, {"machine": machine(*self.packages), **self.measured, "rows": self.rows})


def read_lines(path: Path) -> list[dict[str, Any]]:
    """What a file holds, one object of JSON per line; nothing as long as it is not there."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def add_line(path: Path, row: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps(row) + "\n")
