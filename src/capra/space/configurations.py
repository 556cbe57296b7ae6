"""Files that list configurations: a table (irace, CSV) or JSON."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

from capra.errors import FormatError, SpaceError
from capra.formats.text import numbered_lines, read_text, strip_comment
from capra.runs import Configuration
from capra.space.space import Space

__all__ = ["read_configurations"]

_CELL = re.compile(r"\"([^\"]*)\"|'([^']*)'|(\S+)")
_INACTIVE = ("NA", "<NA>", "")


def read_configurations(path: str | Path, space: Space) -> tuple[Configuration, ...]:
    """The different configurations of a file, in its order, each checked against ``space``.

    A table has a header row of parameter names and ``NA`` for inactive parameters, with blanks or commas between the
    cells; a file that starts with ``[`` is a JSON list of objects that leave inactive parameters out (or null).
    """
    text = read_text(path)
    rows = _json_rows(text, path) if text.lstrip().startswith("[") else _table_rows(text, path)
    found = []
    for line, values in rows:
        try:
            found.append(space.configuration(values))
        except SpaceError as error:
            raise FormatError(error.message, path=path, line=line, hint=error.hint) from None
    return tuple(dict.fromkeys(found))


def _table_rows(text: str, path: str | Path) -> list[tuple[int, dict[str, Any]]]:
    lines = [(number, strip_comment(line)) for number, line in numbered_lines(text, path)]
    lines = [(number, line) for number, line in lines if line.strip()]
    if not lines:
        raise FormatError("is empty", path=path, line=1)
    commas = "," in lines[0][1]
    header = _cells(lines[0][1], commas=commas)
    if len(set(header)) != len(header):
        raise FormatError("a parameter stands twice in the header", path=path, line=lines[0][0])
    rows = []
    for number, line in lines[1:]:
        cells = _cells(line, commas=commas)
        if len(cells) != len(header):
            raise FormatError(f"{len(cells)} cells where the header has {len(header)}", path=path, line=number)
        pairs = zip(header, cells, strict=True)
        rows.append((number, {name: cell for name, cell in pairs if cell not in _INACTIVE}))
    return rows


def _cells(line: str, *, commas: bool) -> list[str]:
    if commas:
        return [cell.strip() for cell in next(csv.reader([line], skipinitialspace=True))]
    return ["".join(groups) for groups in _CELL.findall(line)]


def _json_rows(text: str, path: str | Path) -> list[tuple[int, dict[str, Any]]]:
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise FormatError(error.msg, path=path, line=error.lineno, column=error.colno) from None
    except (ValueError, RecursionError) as error:
        raise FormatError(f"is not usable JSON: {error}", path=path, line=1) from None
    rows = []
    for i, entry in enumerate(document, start=1):
        if not isinstance(entry, dict) or not all(_is_value(value) for value in entry.values()):
            raise FormatError(f"entry {i} is not an object of parameters and values", path=path, line=1)
        rows.append((1, {name: value for name, value in entry.items() if value is not None}))
    return rows


def _is_value(value: object) -> bool:
    return value is None or isinstance(value, str | int | float)
