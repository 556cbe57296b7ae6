"""Instances and their features: lists, folders, globs, instance files, feature tables."""

from __future__ import annotations

import csv
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from capra.errors import FormatError, InputError
from capra.formats.text import numbered_lines, read_text, strip_comment

__all__ = ["ComputedRows", "Features", "Instance", "find_instances", "read_features", "read_instance_file"]

_GLOB = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class Instance:
    """One problem input: the name it is known by, and the *specific* string some instance files carry."""

    name: str
    specific: str = ""


@dataclass(frozen=True, slots=True)
class Features:
    """Numbers that describe instances: one row per instance, NaN where a value is missing.

    ``command`` is what computes them, where they are not in a table: an argument list, or ("cnf",) for our own extractor.
    """

    names: tuple[str, ...] = ()
    rows: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    command: tuple[str, ...] = ()


class ComputedRows(Mapping[str, tuple[float, ...]]):
    """Rows of features that are computed, all at once, when one of them is first looked at.

    A scenario is loaded many times for each time that somebody needs its features.
    """

    def __init__(self, names: Sequence[str], compute: Callable[[Path | None], Mapping[str, tuple[float, ...]]]) -> None:
        self._names = dict.fromkeys(names)
        self._compute = compute
        self._rows: Mapping[str, tuple[float, ...]] | None = None
        self.cache: Path | None = None
        """Where computed features may be kept from one tuning to the next."""

    def __getitem__(self, name: str) -> tuple[float, ...]:
        if name not in self._names:
            raise KeyError(name)
        if self._rows is None:
            self._rows = self._compute(self.cache)
        return self._rows[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def find_instances(source: str | Path, bases: Sequence[Path]) -> tuple[Instance, ...]:
    """The instances meant by a folder, a glob pattern, or a file that lists them.

    A folder means the files directly in it; hidden ones, and those in hidden folders that a pattern goes into, are left out.
    Names are as written (relative ones stay relative); order is as listed, or sorted for folders and globs. Relative sources
    are looked up in each of ``bases``.
    """
    for base in bases:
        try:
            found = _instances_at(base, source)
        except (OSError, ValueError) as error:  # a folder that cannot be listed; no pattern
            raise InputError(f"{source} cannot be searched: {error}") from None
        if found is not None:
            return found
    raise InputError(f"no such file, folder or pattern: {source}", hint=f"looked in {_list(bases)}")


def _instances_at(base: Path, source: str | Path) -> tuple[Instance, ...] | None:
    place = base / source
    if os.path.isdir(place):  # which takes a name that is too long for one that is not there
        return _named(place.iterdir(), base, source)
    if os.path.isfile(place):
        return read_instance_file(place)
    if _GLOB.search(str(source)) and (matches := _glob(base, str(source))):
        return _named(matches, base, source)
    return None


def _glob(base: Path, pattern: str) -> list[Path]:
    if Path(pattern).is_absolute():
        root = Path(pattern).anchor
        return list(Path(root).glob(str(Path(pattern).relative_to(root))))
    return list(base.glob(pattern))


def _named(paths: Iterable[Path], base: Path, source: str | Path) -> tuple[Instance, ...]:
    asked = {*base.parts, *Path(source).parts}
    files = [
        path for path in paths if path.is_file() and not any(part[0] == "." for part in path.parts if part not in asked)
    ]
    relative = not Path(source).is_absolute()
    names = sorted(str(path.relative_to(base)) if relative else str(path) for path in files)
    return tuple(Instance(name) for name in names)


def _list(bases: Sequence[Path]) -> str:
    return ", ".join(str(base) for base in dict.fromkeys(bases))


def read_instance_file(path: str | Path, folder: str | None = None) -> tuple[Instance, ...]:
    """One instance per line: its name, then (after white space) its specific string. ``#`` starts a comment.

    With a ``folder`` the names are of files in it.
    """
    found: dict[str, Instance] = {}
    for number, line in numbered_lines(read_text(path), path):
        content = strip_comment(line).strip()
        if not content:
            continue
        name, *specific = content.split()
        if folder is not None:
            name = str(Path(f"{folder}/{name}"))
        if name in found:
            hint = 'a file is taken for a list of instances; if it is an instance itself, write instances = ["its name"]'
            raise FormatError(f"the instance {name} stands twice", path=path, line=number, hint=hint)
        found[name] = Instance(name, " ".join(specific))
    return tuple(found.values())


def read_features(path: str | Path) -> Features:
    """A CSV with a header ``instance,feature,…`` and one row of numbers per instance; ``?`` or nothing = missing."""
    lines = [(n, line) for n, line in numbered_lines(read_text(path), path) if line.strip()]
    if not lines:
        raise FormatError("is empty", path=path, line=1)
    table = [(n, [cell.strip() for cell in row]) for (n, _), row in zip(lines, _cells(lines, path), strict=True)]
    header = table[0][1]
    if len(header) < 2:
        raise FormatError("expected a header 'instance,feature,…'", path=path, line=table[0][0])
    if len(set(header)) != len(header):
        raise FormatError("a feature stands twice in the header", path=path, line=table[0][0])
    rows: dict[str, tuple[float, ...]] = {}
    for number, cells in table[1:]:
        if len(cells) != len(header):
            raise FormatError(f"{len(cells)} columns where the header has {len(header)}", path=path, line=number)
        if cells[0] in rows:
            raise FormatError(f"the instance {cells[0]} stands twice", path=path, line=number)
        rows[cells[0]] = tuple(_feature(cell, path, number, j) for j, cell in enumerate(cells[1:], start=2))
    return Features(tuple(header[1:]), rows)


def _cells(lines: list[tuple[int, str]], path: str | Path) -> list[list[str]]:
    rows = []
    for number, line in lines:
        try:
            rows.append(next(csv.reader([line], strict=True)))
        except csv.Error as error:
            raise FormatError(str(error), path=path, line=number) from None
    return rows


def _feature(text: str, path: str | Path, line: int, column: int) -> float:
    if text in ("", "?"):
        return math.nan
    try:
        value = float(text)
    except ValueError:
        raise FormatError(f"column {column}: {text!r} is not a number", path=path, line=line) from None
    if math.isinf(value):
        raise FormatError(f"column {column}: features are finite", path=path, line=line)
    return value
