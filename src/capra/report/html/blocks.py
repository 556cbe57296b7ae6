"""What a section is made of: blocks of plain data that ``page.js`` draws. Text in them is data, and is never markup."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Block", "Section", "axis", "bars", "code", "numbers", "prose", "series", "table", "tiles", "xy"]

Block = dict[str, Any]
"""JSON: its ``kind`` says how it is drawn. Plots have a title, a reading aid, and data that can be downloaded."""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page. ``key`` is its anchor: letters and hyphens."""

    key: str
    title: str
    blocks: Sequence[Block]

    def plain(self) -> dict[str, Any]:
        return {"key": self.key, "title": self.title, "blocks": list(self.blocks)}


def numbers(values: Iterable[float], digits: int = 5) -> list[float | None]:
    """JSON's numbers, short; None for what is not finite."""
    return [float(f"{value:.{digits}g}") if math.isfinite(value) else None for value in values]


def axis(label: str, *, log: bool = False, **more: bool) -> Block:
    """An axis.

    ``more``: ``switch`` (the reader may change between a linear and a logarithmic scale), ``share`` (from 0 to 1), ``tight``
    (without room at its ends), ``whole`` (whole numbers only).
    """
    return {"label": label, "log": log, **more}


def series(name: str, colour: str, mark: str, x: Iterable[float], y: Iterable[float], **more: Any) -> Block:
    """Points (or a line, step or whisker) of one name. ``colour`` is a role of the style sheet.

    ``more``: ``text`` and ``note`` for each point; ``low``, ``high``; ``value`` (0 to 1, for a scale of colours);
    ``shape`` (circle, ring, diamond, triangle, tick); ``size``.
    """
    return {"name": name, "colour": colour, "mark": mark, "x": numbers(x), "y": numbers(y), **more}


def xy(key: str, title: str, aid: str, x: Block, y: Block, drawn: Sequence[Block], **more: Any) -> Block:
    """A plot of series.

    ``more``: ``guides`` (lines with a label), ``square``, ``half`` (two fit side by side), ``low`` (little height),
    ``note``, ``ramp`` (labels of a scale of colours). Series of one name share an entry of the legend.
    """
    return {"kind": "xy", "key": key, "title": title, "aid": aid, "x": x, "y": y, "series": list(drawn), **more}


def bars(key: str, title: str, aid: str, x: Block, y: Block, edges: Sequence[float], drawn: Sequence[Block]) -> Block:
    """Stacked bars between ``edges``; each of ``drawn`` has a name, a colour and values."""
    return xy(key, title, aid, x, y, drawn, edges=numbers(edges)) | {"kind": "bars"}


def table(key: str, title: str, aid: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], **more: Any) -> Block:
    """Rows of texts and numbers; the reader can sort and search them.

    ``more``: ``rows_shown`` at first; ``dim`` has the first cells of rows that are there for completeness only.
    """
    return {"kind": "table", "key": key, "title": title, "aid": aid, "columns": list(columns), "rows": list(rows), **more}


def tiles(*each: Block) -> Block:
    """Figures that are seen first: each has a name, a value, and a line below; ``share`` draws a bar."""
    return {"kind": "tiles", "tiles": list(each)}


def code(title: str, text: str, *, folded: bool = False) -> Block:
    """Text to copy as it stands."""
    return {"kind": "code", "title": title, "text": text, "folded": folded}


def prose(text: str, *, tone: str = "plain") -> Block:
    """A sentence; ``tone`` is plain, good or warning."""
    return {"kind": "prose", "text": text, "tone": tone}
