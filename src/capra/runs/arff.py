"""ARFF tables, as far as ASlib uses them: dense rows of text and numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from capra.errors import FormatError
from capra.runs.foreign import read_lines

__all__ = ["Table", "arff_cell", "arff_head", "arff_rows", "read_arff"]

MOST_ROWS = 10_000_000
MOST_COLUMNS = 10_000

_ATTRIBUTE = re.compile(r"@attribute\s+('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\S+)", re.IGNORECASE)
_CELL = re.compile(r"\s*(?:'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"|([^,'\"\s][^,]*?|))\s*(,|$)")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Table:
    """Columns by name and rows of text; ``?`` stands for a missing value. ``lines`` has the line of each row."""

    path: Path
    columns: tuple[str, ...]
    rows: list[list[str]]
    lines: list[int]


def read_arff(path: Path) -> Table:
    """The whole table. FormatError, with the line, if a row has another number of cells than there are columns."""
    numbered = arff_rows(path)
    columns = tuple(next(numbered)[1])
    if len(set(columns)) < len(columns):
        raise FormatError("two columns have the same name", path=path)
    table = Table(path, columns, [], [])
    for number, cells in numbered:
        if len(cells) != len(columns):
            raise FormatError(f"the row has {len(cells)} cells, the table {len(columns)} columns", path=path, line=number)
        if len(table.rows) == MOST_ROWS:
            raise FormatError(f"has more than {MOST_ROWS:,} rows", path=path, line=number)
        table.rows.append(cells)
        table.lines.append(number)
    return table


def arff_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """First the names of the columns (with the line of @DATA), then the rows, each with its line."""
    columns: list[str] = []
    data = False
    for number, line in read_lines(path):
        text = line.strip()
        if not text or text.startswith("%"):
            continue
        if data:
            yield number, _cells(text, path, number)
        elif found := _ATTRIBUTE.match(text):
            columns.append(_unquoted(found[1]))
            if len(columns) > MOST_COLUMNS:
                raise FormatError(f"has more than {MOST_COLUMNS:,} columns", path=path, line=number)
        elif text.lower().startswith("@data"):  # some files have a comma behind it
            data = True
            yield number, columns
        elif not text.lower().startswith("@relation"):
            raise FormatError("expected @RELATION, @ATTRIBUTE or @DATA", path=path, line=number)
    if not data:
        raise FormatError("has no @DATA", path=path, hint="an ARFF file: @ATTRIBUTE lines, @DATA, then rows")


def _unquoted(text: str) -> str:
    return _ESCAPE.sub(r"\1", text[1:-1]) if text[0] in "'\"" else text


def _cells(text: str, path: Path, number: int) -> list[str]:
    if text.startswith("{"):
        raise FormatError("sparse rows are not read", path=path, line=number, hint="write all cells of the row, with commas")
    cells: list[str] = []
    at = 0
    while True:
        found = _CELL.match(text, at)
        if not found:
            raise FormatError("is not a row", path=path, line=number, column=at + 1)
        single, double, plain, end = found.groups()
        quoted = single if single is not None else double
        cells.append(plain if quoted is None else _ESCAPE.sub(lambda e: "\n" if e[1] == "n" else e[1], quoted))
        if not end:
            return cells
        at = found.end()


def arff_head(relation: str, attributes: Sequence[str]) -> str:
    """Everything before the rows; an attribute is its (quoted) name and its type."""
    lines = [
        f"@RELATION {arff_cell(relation)}",
        "",
        *(f"@ATTRIBUTE {attribute}" for attribute in attributes),
        "",
        "@DATA",
        "",
    ]
    return "\n".join(lines)


def arff_cell(value: str | float | None) -> str:
    """A value as it stands in a row: quoted where it must be, ``?`` if it is missing or not finite."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "?"
    if not isinstance(value, str):
        return repr(value)
    if re.fullmatch(r"[\w./:+=@~-]+", value):
        return value
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"
