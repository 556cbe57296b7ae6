"""Parameters with a finite list of values: categorical and ordinal ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from capra.errors import did_you_mean
from capra.runs import Value
from capra.space.base import LARGEST_REAL, Floats, Parameter, check_text, number_of, others, shown

__all__ = ["MOST_VALUES", "Categorical", "Discrete", "Ordinal"]

Indices = NDArray[np.intp]

MOST_VALUES = 10_000
"""Values of one categorical or ordinal parameter."""


@dataclass(frozen=True)
class Discrete(Parameter):
    """A finite list of values; the parent of Categorical and Ordinal."""

    name: str
    choices: tuple[Value, ...]
    default: Value

    def __post_init__(self) -> None:
        object.__setattr__(self, "choices", tuple(self.choices))
        self._check_name()
        if not 1 <= len(self.choices) <= MOST_VALUES:
            raise self.error(f"has {len(self.choices):,} values; 1 to {MOST_VALUES:,} are possible")
        for choice in self.choices:
            self._check_choice(choice)
        if len(self._positions) != len(self.choices):
            twice = next(c for i, c in enumerate(self.choices) if self._positions[_key(c)] != i)
            raise self.error(f"the value {twice!r} is listed twice")
        if _key(self.default) not in self._positions:
            texts = [str(choice) for choice in self.choices]
            raise self.error(
                f"the default {shown(self.default)} is not among its values",
                hint=did_you_mean(str(self.default), texts),
            )

    def _check_choice(self, choice: Value) -> None:
        if isinstance(choice, str):
            check_text(choice)
        elif not isinstance(choice, int | float) or not abs(choice) <= LARGEST_REAL:
            raise self.error("a value that is not a text, a finite number or a truth value")

    @property
    def size(self) -> float:
        return len(self.choices)

    @cached_property
    def _positions(self) -> dict[tuple[type, Value], int]:
        return {_key(choice): i for i, choice in enumerate(self.choices)}

    @cached_property
    def _by_text(self) -> dict[str, Value]:
        return {str(choice): choice for choice in reversed(self.choices)}

    @cached_property
    def _by_number(self) -> dict[float | None, Value]:
        """``0.10`` in a condition means the category ``0.1``: compared as numbers when both are."""
        return {number_of(choice): choice for choice in reversed(self.choices)}

    def coerce(self, value: Value) -> Value:
        if isinstance(value, str | int | float) and _key(value) in self._positions:
            return value
        if str(value) in self._by_text:
            return self._by_text[str(value)]
        number = number_of(value)
        if number is not None and number in self._by_number:
            return self._by_number[number]
        raise self.error(f"{shown(value)} is not one of its values", hint=did_you_mean(str(value), self._by_text))

    def positions(self, values: Sequence[Value]) -> Indices:
        """Index of each (legal) value in ``choices``."""
        table = self._positions
        return np.fromiter((table[_key(value)] for value in values), dtype=np.intp, count=len(values))

    def rank(self, value: Value) -> float:
        return float(self._positions[_key(value)])

    def _pick(self, positions: Floats) -> list[Value]:
        choices = self.choices
        return [choices[i] for i in positions.astype(np.intp).tolist()]


def _key(value: Value) -> tuple[type, Value]:
    """Tells 1, 1.0 and True apart, which a dictionary alone does not."""
    return type(value), value


@dataclass(frozen=True)
class Categorical(Discrete):
    """Values without an order. A single choice makes a constant."""

    ordered: ClassVar[bool] = False

    @property
    def categories(self) -> int:
        return len(self.choices)

    def encode(self, values: Sequence[Value]) -> Floats:
        return self.positions(values).astype(np.float64)

    def decode(self, codes: Floats) -> list[Value]:
        return self._pick(codes)

    def spread(self, points: Floats) -> Floats:
        return np.minimum(np.floor(points * len(self.choices)), len(self.choices) - 1)

    def ranks(self, codes: Floats) -> Floats:
        return codes

    def moves(self, codes: Floats, draws: Floats) -> Floats:
        return others(codes, len(self.choices))


@dataclass(frozen=True)
class Ordinal(Discrete):
    """Values in order; neighbours are the next smaller and the next larger one."""

    def encode(self, values: Sequence[Value]) -> Floats:
        return (self.positions(values) + 0.5) / len(self.choices)

    def decode(self, codes: Floats) -> list[Value]:
        return self._pick(self.ranks(codes))

    def spread(self, points: Floats) -> Floats:
        return (self.ranks(points) + 0.5) / len(self.choices)

    def ranks(self, codes: Floats) -> Floats:
        return np.minimum(np.floor(codes * len(self.choices)), len(self.choices) - 1)

    def moves(self, codes: Floats, draws: Floats) -> Floats:
        steps = self.ranks(codes)[:, None] + np.array([-1.0, 1.0])
        inside = (steps >= 0) & (steps < len(self.choices))
        return np.where(inside, (steps + 0.5) / len(self.choices), np.nan)
