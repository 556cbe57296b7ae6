"""Features of CNF formulas, built in: what SAT users need for models and selectors. ``docs/features.md`` lists them.

The work is done by a kernel (``formats/native``) in time linear in the file's size, plus probes whose steps are counted.
No clock decides anything: the same formula has the same features on every machine, however busy.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from capra import _cnf
from capra.errors import FormatError
from capra.formats.instances import Features
from capra.formats.packed import read_packed

__all__ = ["NAMES", "Extracted", "as_csv", "cnf_features", "extract", "extract_all", "features"]

NAMES: tuple[str, ...] = tuple(_cnf.features(b"p cnf 0 0\n")[0])
VERSION = 1
"""Goes up when a formula's features change: what was kept before is computed again."""
LARGEST_CACHE = 256 * 1024 * 1024

Told = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Extracted:
    """A formula's features, as ``NAMES`` are ordered, and the CPU seconds that reading and computing took."""

    values: tuple[float, ...]
    seconds: float


def features(path: str | Path) -> dict[str, float]:
    """The features of the formula in a DIMACS file, by name; the file may be packed (.gz, .bz2, .xz).

    All are finite. FormatError, with the line, if it is not a formula: see ``docs/features.md`` for what is refused.
    """
    return dict(zip(NAMES, extract(path).values, strict=True))


def extract(path: str | Path) -> Extracted:
    """The features of a file with what they cost. Threads may call it at the same time."""
    start = time.thread_time()
    try:
        values = _cnf.features(read_packed(Path(path)))[1]
    except ValueError as error:
        message, line = error.args
        raise FormatError(message, path=path, line=line) from None
    except MemoryError:
        raise FormatError("does not fit into memory", path=path) from None
    return Extracted(tuple(values), time.thread_time() - start)


def extract_all(
    paths: Mapping[str, Path], *, workers: int | None = None, cache: Path | None = None, told: Told = lambda _: None
) -> dict[str, Extracted]:
    """The features of many files, by the names of their instances; ``workers`` files at a time (by default one per core).

    ``cache`` is a file of features by content: what stands there is not computed again, and what is new is added. The
    first error, in the order of ``paths``, is raised; what was computed is kept all the same.
    """
    kept = _read_cache(cache)
    known = len(kept)
    with ThreadPoolExecutor(workers or len(os.sched_getaffinity(0))) as pool:
        futures = {name: pool.submit(partial(_one, path, kept, cache is not None)) for name, path in paths.items()}
        try:
            found = {}
            for name, future in futures.items():
                found[name] = future.result()
                told(name)
        finally:
            pool.shutdown(cancel_futures=True)
            if cache is not None and len(kept) > known:
                _write_cache(cache, kept)
    return found


def cnf_features(paths: Mapping[str, Path], cache: Path | None = None) -> Features:
    """The table that ``features = "cnf"`` means, of instances by name."""
    return Features(NAMES, {name: one.values for name, one in extract_all(paths, cache=cache).items()})


def as_csv(found: Mapping[str, Extracted]) -> str:
    """The table as a scenario's ``features`` reads it; numbers are written so that reading gives back the same."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["instance", *NAMES])
    for name, one in found.items():
        table.writerow([name, *(f"{value:.17g}" if value != int(value) else int(value) for value in one.values)])
    return text.getvalue()


# --- what is kept, by content ---


def _one(path: Path, kept: dict[str, Extracted], by_content: bool) -> Extracted:
    if not by_content:
        return extract(path)
    digest = _digest(path)
    if digest not in kept:
        kept[digest] = extract(path)
    return kept[digest]


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror}", path=path) from None


def _read_cache(path: Path | None) -> dict[str, Extracted]:
    """What a cache holds; nothing if it is not there, not whole, or of another version."""
    if path is None or not path.is_file() or path.stat().st_size > LARGEST_CACHE:
        return {}
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["version"] != VERSION or document["names"] != list(NAMES):
            return {}
        found = {str(digest): _extracted(row) for digest, row in document["rows"].items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return {}
    return {digest: row for digest, row in found.items() if len(row.values) == len(NAMES)}


def _extracted(row: Any) -> Extracted:
    values = tuple(float(value) for value in row["values"])
    if not all(map(math.isfinite, (*values, float(row["seconds"])))):
        raise ValueError("features are finite")
    return Extracted(values, float(row["seconds"]))


def _write_cache(path: Path, kept: Mapping[str, Extracted]) -> None:
    """Whole or not at all; a cache that cannot be written costs time, never a tuning."""
    rows = {digest: {"values": row.values, "seconds": row.seconds} for digest, row in kept.items()}
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(json.dumps({"version": VERSION, "names": NAMES, "rows": rows}), encoding="utf-8")
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
