"""Files of others: read within limits, written whole or not at all, and what they need to know of a store."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from capra.errors import FormatError, InputError
from capra.runs.configuration import Configuration
from capra.runs.objective import Objective
from capra.runs.outcome import Run, Status
from capra.runs.reader import Reader

__all__ = ["best_runs", "configuration", "objective_of", "read_lines", "read_whole", "replacing"]

LONGEST_LINE = 4_000_000
LARGEST_FILE = 1024**3
"""For formats that must be read as a whole."""


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Numbered lines with their ends. FormatError if the file is not UTF-8 or a line is too long."""
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(LONGEST_LINE + 1):
                number += 1
                if len(line) > LONGEST_LINE:
                    raise FormatError("the line is too long", path=path, line=number)
                yield number, _decoded(line, path, number)
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror}", path=path) from None


def read_whole(path: Path) -> str:
    """The text of a file. FormatError if it cannot be read, is too large or not UTF-8."""
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise FormatError(f"is larger than {LARGEST_FILE // 1024**2} MB", path=path)
        return _decoded(path.read_bytes(), path, None)
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror}", path=path) from None


def _decoded(data: bytes, path: Path, line: int | None) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FormatError("is not UTF-8 text", path=path, line=line) from None


def configuration(values: Any) -> Configuration:
    """The configuration of a JSON object; null means inactive. InputError if a value is not a plain one."""
    if not isinstance(values, dict):
        raise InputError("a configuration is an object of parameters and values")
    for name, value in values.items():
        if not isinstance(value, str | int | float | None):
            raise InputError(f"the value of the parameter {name} is not text, a number or a truth value")
    return Configuration({name: value for name, value in values.items() if value is not None})


@contextmanager
def replacing(path: Path) -> Iterator[TextIO]:
    """A file that gets its name only when all of it is on the disk."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with draft.open("w", encoding="utf-8", newline="") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None
    finally:
        draft.unlink(missing_ok=True)


def objective_of(store: Reader) -> tuple[Objective, float]:
    """What the store's scenario minimises, and its κ_max (without a scenario PAR10 of the longest cutoff)."""
    scenario: dict[str, Any] = store.meta.get("scenario") or {}
    crash = scenario.get("crash_cost")
    objective = Objective.parse(str(scenario.get("objective", "par10")), crash_cost=math.inf if crash is None else crash)
    if (kappa := scenario.get("cutoff")) is None:
        kappa = max((run.request.cutoff for run in store.runs()), default=math.inf)
    return objective, float(kappa)


def best_runs(store: Reader) -> list[Run]:
    """One run per (configuration, instance, seed): the first that was not capped, else the longest. In order of acceptance.

    As in ``History``: a run made again tells nothing about the first.
    """
    best: dict[tuple[str, str | None, int], Run] = {}
    for run in store.runs():
        held = best.get(run.request.cell)
        if held is None or (held.outcome.status is Status.CAPPED and _worth(run) >= _worth(held)):
            best[run.request.cell] = run
    return sorted(best.values(), key=lambda run: run.order)


def _worth(run: Run) -> tuple[bool, float]:
    return run.outcome.status is not Status.CAPPED, run.outcome.cutoff
