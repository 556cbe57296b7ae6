"""Rows of codes as the columns that a network can learn from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from capra.models.base import Floats, Types

__all__ = ["Encoder"]


@dataclass(frozen=True)
class Column:
    """How one input becomes columns: one per category, or one number and, if it may be inactive, a sign of that."""

    categories: int
    centre: float = 0.0
    scale: float = 1.0
    fill: float = 0.0
    optional: bool = False

    @classmethod
    def learnt(cls, values: Floats, categories: int) -> Column:
        known = values[~np.isnan(values)]
        if categories or not len(known):
            return cls(categories, optional=not categories)
        inside = known.min() >= 0.0 and known.max() <= 1.0  # a parameter; features come as they are
        centre, scale = (0.0, 1.0) if inside else (float(known.mean()), float(known.std()) or 1.0)
        return cls(0, centre, scale, float(np.median(known)), len(known) < len(values))

    @property
    def width(self) -> int:
        return self.categories or 1 + self.optional

    def write(self, values: Floats, out: NDArray[np.float32]) -> None:
        """Fill ``out``, (n, width) of zeros. A category that is inactive is none of its values: all zeros."""
        inactive = np.isnan(values)
        if self.categories:
            active = np.flatnonzero(~inactive)
            out[active, values[active].astype(np.intp)] = 1.0
            return
        out[:, 0] = (np.where(inactive, self.fill, values) - self.centre) / self.scale
        if self.optional:
            out[:, 1] = inactive


@dataclass(frozen=True)
class Encoder:
    """Numbers in [0, 1] as they are, other numbers (instance features) standardised, categories one-hot, inactive numbers
    as the median of the active ones with an indicator column."""

    columns: tuple[Column, ...]

    @classmethod
    def learnt(cls, rows: Floats, types: Types) -> Encoder:
        return cls(tuple(Column.learnt(rows[:, j], int(types[j])) for j in range(len(types))))

    @property
    def width(self) -> int:
        return sum(column.width for column in self.columns)

    def encode(self, rows: Floats, first: int = 0) -> NDArray[np.float32]:
        """(n, width) for rows that hold the inputs ``first``, ``first`` + 1, …"""
        columns = self.columns[first : first + rows.shape[1]]
        out = np.zeros((len(rows), sum(column.width for column in columns)), dtype=np.float32)
        at = 0
        for j, column in enumerate(columns):
            column.write(rows[:, j], out[:, at : at + column.width])
            at += column.width
        return out
