"""AClib's ``traj_aclib2.json``: the incumbents of a tuning, one JSON object per line (also written by SMAC3 1.4)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from capra.errors import FormatError
from capra.runs.foreign import read_lines
from capra.runs.reader import Reader

__all__ = ["read", "write"]


def write(store: Reader, file: TextIO) -> None:
    """The store's incumbents."""
    for _, _, key, data in store.decisions("incumbent"):
        line = {
            "cpu_time": data["spent"],
            "wallclock_time": data["wall"],
            "evaluations": data["evaluations"],
            "cost": data["cost"],
            "incumbent": [f"{name}='{value}'" for name, value in data["config"].items()],
            "origin": data.get("origin", key),
        }
        file.write(json.dumps(line) + "\n")


def read(path: Path) -> Iterator[dict[str, str]]:
    """The incumbents in their order, values as text. FormatError where a line is not one."""
    for number, line in read_lines(path):
        if line.strip():
            yield _incumbent(line, path, number)


def _incumbent(line: str, path: Path, number: int) -> dict[str, str]:
    try:
        assignments: Any = json.loads(line)["incumbent"]
        pairs = [str(text).split("=", 1) for text in assignments]
        return {name: value.removeprefix("'").removesuffix("'") for name, value in pairs}
    except (ValueError, KeyError, TypeError, RecursionError):
        example = """{"incumbent": ["name='value'", …], …}"""
        raise FormatError(f"is not an incumbent of a trajectory: {example}", path=path, line=number) from None
