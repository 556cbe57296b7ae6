"""Runs as rows of plain values, and back.

SQLite finds damage in the structure of its file but not in the values. So every row carries a checksum of its values; a
run's covers the lease as well, because the two are read together. One flipped
bit is always found; of arbitrary damage to a row one in 2³² is not. Damage that cleanly removes the newest rows, as an
older copy of the file would, cannot be found.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any
from zlib import crc32

from capra import _rows
from capra.errors import InputError, StoreError
from capra.runs.configuration import Configuration
from capra.runs.outcome import Outcome, Run, Status
from capra.runs.request import RunRequest

__all__ = [
    "FIELDS",
    "Lease",
    "Row",
    "checked",
    "config_row",
    "digest",
    "lease_row",
    "outcome_row",
    "read_configs",
    "read_lease",
    "read_runs",
]

Row = tuple[str | int | float | None, ...]
FIELDS = tuple(field.name for field in fields(Outcome))
"""Columns of an outcome, in the order of its class."""
LARGEST = 2**63


@dataclass(frozen=True, slots=True)
class Lease:
    """The promise that a run may start: an assignment is one wanted run, an attempt one try at it."""

    assignment: int
    attempt: int
    request: RunRequest
    asked_by: str = ""


# --- checksums ---

digest = _rows.digest
"""Checksum of the values of a row and of their types: numbers by their bits, texts by their UTF-8 bytes."""


def checked(row: Row, what: str) -> Row:
    """The row without its last value, the checksum. StoreError if that is not right."""
    values = row[:-1]
    if digest(values) != row[-1]:
        raise StoreError(f"{what} is damaged: its checksum is wrong")
    return values


# --- to rows ---


def config_row(config: Configuration) -> Row:
    """id, JSON object (in the order of the configuration: arguments are written in it), checksum."""
    name, text = config.id, json.dumps(dict(config))
    return name, text, crc32(f"{name}{text}".encode())


def lease_row(lease: Lease) -> Row:
    """assignment, attempt, config, instance, seed, cutoff, asked_by."""
    request = lease.request
    seed = int(request.seed)
    if not -LARGEST <= seed < LARGEST:
        raise InputError(f"the seed {seed} does not fit into 64 bits")
    instance = None if request.instance is None else _text(request.instance, strict=True)
    cutoff = float(request.cutoff)
    return lease.assignment, lease.attempt, request.config.id, instance, seed, cutoff, _text(lease.asked_by)


def outcome_row(outcome: Outcome) -> Row:
    """The values of ``FIELDS`` as SQLite gives them back."""
    return tuple(
        None if value is None else convert(value) for value, convert in zip(_values(outcome), _CONVERT, strict=True)
    )


def _real(value: float) -> float | None:
    number = float(value) + 0.0  # SQLite knows no negative zero
    return None if math.isnan(number) else number  # and no NaN; of our fields only `reported` can be one


def _text(text: str, *, strict: bool = False) -> str:
    """``text`` as a plain str that is valid UTF-8: bytes that are not stand as \\udcXX in free text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        if strict:
            raise InputError(f"the name {text!a} is not valid text", hint="rename the instance") from None
        return text.encode(errors="backslashreplace").decode()
    return str(text)


_WHOLE, _TEXT = {"memory", "exit_code", "signal"}, {"answer", "reason", "backend", "host"}
_CONVERT: list[Callable[[Any], str | int | float | None]] = [
    str if name == "status" else int if name in _WHOLE else _text if name in _TEXT else _real for name in FIELDS
]
_values: Callable[[Outcome], tuple[Any, ...]] = attrgetter(*FIELDS)


# --- from rows ---


def read_configs(found: list[Any], configs: dict[str, Configuration]) -> None:
    """Adds those of rows that are not yet known; their values are decoded when they are asked for."""
    damaged = _rows.read_configs(found, configs, _CONFIG)
    if damaged is not None:
        raise StoreError(f"the configuration {damaged} is damaged: its checksum is wrong")


def read_lease(row: Row, config: Configuration) -> Lease:
    """The lease of a row with checksum."""
    values: Any = checked(row, f"the lease of run {row[0]}")
    assignment, attempt, _, instance, seed, cutoff, asked_by = values
    return Lease(assignment, attempt, RunRequest(config, instance, seed, cutoff), asked_by)


def _kind(kind: Any) -> _rows.Kind:
    return _rows.Kind(kind, tuple(kind.__dict__[slot] for slot in kind.__slots__))


_STATUS = {str(status): status for status in Status}
_CONFIG, _REQUEST, _OUTCOME, _RUN = map(_kind, (Configuration, RunRequest, Outcome, Run))


def read_runs(found: list[Any], configs: Mapping[str, Configuration]) -> list[Run]:
    """Runs of rows (position, lease row, outcome row, finished, checksum)."""
    runs = _rows.read_runs(found, configs, _STATUS, _REQUEST, _OUTCOME, _RUN)
    if len(runs) < len(found):
        raise StoreError(f"run {found[len(runs)][0]} is damaged: its checksum is wrong")
    return runs
