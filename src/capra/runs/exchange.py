"""Runs of a store in files that others read, and runs from such files.

============  =========================================================  ========  ========
kind          what                                                       written   read
============  =========================================================  ========  ========
jsonl         one run per line, nothing lost                             yes       yes
csv           one run per row, a column for every parameter              yes       yes
smac          SMAC3's ``runhistory.json`` (2.x; read also 1.4)           yes       yes
trajectory    AClib's ``traj_aclib2.json``: the incumbents               yes       no
aslib         an ASlib folder: one algorithm per configuration           yes       yes
============  =========================================================  ========  ========

Files appear under their name only when they are complete.
"""

from __future__ import annotations

import csv
import itertools
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

from capra.errors import FormatError, InputError, did_you_mean
from capra.runs import aslib, smac, trajectory
from capra.runs.configuration import Value
from capra.runs.foreign import configuration, read_lines, replacing
from capra.runs.outcome import Outcome, Run, Status
from capra.runs.reader import Reader
from capra.runs.request import RunRequest
from capra.runs.rows import FIELDS
from capra.runs.store import Store

__all__ = ["KINDS", "add_runs", "export_store", "import_runs"]


def export_store(store: Reader, path: str | Path, kind: str) -> None:
    """Writes the store's runs (or incumbents) to ``path``, replacing a file there; a folder must not exist yet."""
    write = _known(kind)[0]
    if kind == "aslib":
        aslib.write_folder(store, Path(path))
        return
    with replacing(Path(path)) as file:
        write(store, file)


def import_runs(path: str | Path, kind: str, *, cutoff: float = math.inf) -> Iterator[Run]:
    """The runs of a file in its order, numbered from 1; ``cutoff`` is κ_max where the format does not tell.

    FormatError where it cannot be understood.
    """
    read = _known(kind)[1]
    if read is None:
        raise InputError(f"{kind} files hold no runs", hint="import jsonl, csv, smac or aslib")
    return read(Path(path), cutoff)


def add_runs(store: Store, runs: Iterable[Run]) -> int:
    """Takes runs over into a store, each leased and finished, a thousand per transaction; how many."""
    source, count = iter(runs), 0
    while some := list(itertools.islice(source, 1000)):
        leases = store.lease_many((run.request, run.asked_by) for run in some)
        store.finish_many((lease.assignment, 1, run.outcome, run.finished) for lease, run in zip(leases, some, strict=True))
        count += len(some)
    return count


def _known(kind: str) -> tuple[Callable[..., None], Callable[[Path, float], Iterator[Run]] | None]:
    if kind not in KINDS:
        raise InputError(f"unknown kind of file {kind!r}", hint=did_you_mean(kind, KINDS) or f"one of {', '.join(KINDS)}")
    return KINDS[kind]


@contextmanager
def _at(path: Path, line: int) -> Iterator[None]:
    """What is wrong with a value becomes an error that knows its line."""
    try:
        yield
    except FormatError:
        raise
    except InputError as error:
        raise FormatError(error.message, path=path, line=line, hint=error.hint) from None
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise FormatError(f"is not a run: {what}", path=path, line=line) from None


# --- JSON lines ---


def _write_jsonl(store: Reader, file: TextIO) -> None:
    for run in store.runs():
        file.write(json.dumps(run_to_json(run), allow_nan=False) + "\n")


def run_to_json(run: Run) -> dict[str, Any]:
    """The run as JSON; infinities as text, what is not known left out."""
    request, outcome = run.request, asdict(run.outcome)
    return {
        "order": run.order,
        "config": dict(request.config),
        "instance": request.instance,
        "seed": request.seed,
        "cutoff": _to_json(request.cutoff),
        "asked_by": run.asked_by,
        "finished": run.finished,
        "outcome": {key: _to_json(value) for key, value in outcome.items() if value is not None},
    }


def run_from_json(data: dict[str, Any], order: int) -> Run:
    """The run of ``run_to_json``, at another position."""
    told = {key: _from_json(key, value) for key, value in data["outcome"].items()}
    if unknown := set(told) - set(FIELDS):
        raise InputError(f"unknown key {min(unknown)!r} of an outcome", hint=did_you_mean(min(unknown), FIELDS))
    instance, seed = _optional_text(data["instance"]), _whole(data["seed"])
    request = RunRequest(configuration(data["config"]), instance, seed, float(data["cutoff"]))
    return Run(request, Outcome(**told), str(data["asked_by"]), order, float(data["finished"]))


def _to_json(value: Any) -> Any:
    return str(value) if isinstance(value, float) and math.isinf(value) else value


_TEXT = {"answer", "reason", "backend", "host"}
_WHOLE = {"memory", "exit_code", "signal"}


def _from_json(key: str, value: Any) -> Any:
    if key == "status":
        return Status(value)
    if key in _TEXT:
        return _optional_text(value)
    return _whole(value) if key in _WHOLE else float(value)


def _whole(value: Any) -> int:
    if not isinstance(value, int):
        raise InputError(f"expected a whole number, not {value!r}")
    return value


def _optional_text(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise InputError(f"expected text, not {value!r}")
    return value


def _read_jsonl(path: Path, _: float) -> Iterator[Run]:
    order = 0
    for number, line in read_lines(path):
        if line.strip():
            order += 1
            with _at(path, number):
                run = run_from_json(json.loads(line), order)
            yield run


# --- CSV ---

_COLUMNS = ("order", "config", "instance", "seed", "bound", "asked_by", "finished", *FIELDS)
_PREFIX = "param:"
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|nan)", re.ASCII)


def _write_csv(store: Reader, file: TextIO) -> None:
    names = list(dict.fromkeys(name for config in store.configs() for name in config))
    table = csv.writer(file, lineterminator="\n")
    table.writerow([*_COLUMNS, *(_PREFIX + name for name in names)])
    for run in store.runs():
        request, outcome = run.request, run.outcome
        told = (getattr(outcome, field) for field in FIELDS)
        line = (run.order, request.config.id, request.instance, request.seed, request.cutoff, run.asked_by, run.finished)
        values = (request.config.get(name) for name in names)
        table.writerow([_cell(value) for value in (*line, *told, *values)])


def _cell(value: Value | None) -> str:
    """Text that ``_value`` reads back as the same value: a text that looks like another value is quoted as in JSON."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return str(value) if value and value[0] != '"' and _value(value) == value else json.dumps(value)
    return repr(value)


def _value(text: str) -> Value | None:
    if text in ("", "true", "false"):
        return {"": None, "true": True, "false": False}[text]
    if text[0] == '"':
        return str(json.loads(text))
    if not _NUMBER.fullmatch(text):
        return text
    try:
        return int(text)
    except ValueError:
        return float(text)


def _read_csv(path: Path, _: float) -> Iterator[Run]:
    lines = (line for _, line in read_lines(path))
    table = csv.DictReader(lines, strict=True)
    order = 0
    while True:
        with _at(path, table.line_num + 1), _csv_errors(path, table):
            if (row := next(table, None)) is None:
                return
            order += 1
            run = _run_of_row(row, order)
        yield run


@contextmanager
def _csv_errors(path: Path, table: csv.DictReader[str]) -> Iterator[None]:
    try:
        yield
    except csv.Error as error:
        raise FormatError(f"is not CSV: {error}", path=path, line=table.line_num) from None


def _run_of_row(row: dict[str, str], order: int) -> Run:
    if None in row or None in row.values():
        raise InputError("the row has not as many cells as the header")
    cells = {key: _value(text) for key, text in row.items()}
    config = {key.removeprefix(_PREFIX): value for key, value in cells.items() if key.startswith(_PREFIX)}
    told = {field: cells[field] for field in FIELDS if cells[field] is not None}
    data = {
        "config": {key: value for key, value in config.items() if value is not None},
        **{key: cells[key] for key in ("instance", "seed", "finished")},
        "cutoff": cells["bound"],
        "asked_by": cells["asked_by"] or "",
        "outcome": told,
    }
    return run_from_json(data, order)


KINDS: dict[str, tuple[Callable[..., None], Callable[[Path, float], Iterator[Run]] | None]] = {
    "jsonl": (_write_jsonl, _read_jsonl),
    "csv": (_write_csv, _read_csv),
    "smac": (smac.write, smac.read),
    "trajectory": (trajectory.write, None),
    "aslib": (aslib.write_folder, aslib.read_folder),
}
"""How each kind is written and read."""
