"""Results that grow: rows of a results file with one entry per seed, so that a measurement can be stopped and continued."""

from __future__ import annotations

import json
from typing import Any

from benchmarks.machine import RESULTS, machine, write_results


class Kept:
    """The rows of benchmarks/results/NAME.json; each has its ``found``, what seeds 0, 1, … gave as far as they were run.

    Rows of a file whose ``measured`` settings were others are dropped.
    """

    def __init__(self, name: str, measured: dict[str, Any], *packages: str) -> None:
        self.name, self.measured, self.packages = name, measured, packages
        place = RESULTS / f"{name}.json"
        before = json.loads(place.read_text()) if place.exists() else {}
        same = all(before.get(key) == value for key, value in measured.items())
        self.rows: list[dict[str, Any]] = before.get("rows", []) if same else []

    def row(self, **key: Any) -> dict[str, Any]:
        """The row of this key, made where there is none."""
        for row in self.rows:
            if key.items() <= row.items():
                return row
        self.rows.append({**key, "found": []})
        return self.rows[-1]

    def write(self) -> None:
        write_results(self.name, {"machine": machine(*self.packages), **self.measured, "rows": self.rows})
