"""Parameters that are numbers of a range: integers and reals."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from capra.runs import Value
from capra.space.base import LARGEST_REAL, Floats, Parameter, others, shown

__all__ = ["LARGEST_INTEGER", "Integer", "Real"]

LARGEST_INTEGER = 2**44
"""Integers beyond it could not be told apart in the unit interval on a log scale."""
DIGITS = 10
"""Reals are drawn with this many digits: command lines stay readable, and decoding an encoded value gives it back."""
NARROWEST = 1e-280
"""Width of a range of reals; relative to its numbers, it must reach the last of DIGITS digits."""


def _without_repeats(codes: Floats) -> Floats:
    """Each row in ascending order, repetitions as NaN; in place."""
    codes.sort(axis=1)
    codes[:, 1:][codes[:, 1:] == codes[:, :-1]] = np.nan
    return codes


@dataclass(frozen=True)
class _Numeric(Parameter):
    """A range of numbers, on a linear or logarithmic scale."""

    name: str
    lower: float
    upper: float
    default: float
    log: bool = False

    def __post_init__(self) -> None:
        self._check_name()
        self._check_bounds()
        if self.lower >= self.upper:
            raise self.error(
                f"the range [{self.lower}, {self.upper}] is empty",
                hint="the lower bound comes first; a constant is a categorical with one value",
            )
        if self.log and self.lower <= 0:
            raise self.error(f"a log scale needs a positive lower bound, not {self.lower}")
        if not self.lower <= self.default <= self.upper:
            raise self.error(f"the default {self.default} is outside [{self.lower}, {self.upper}]")

    @abstractmethod
    def _check_bounds(self) -> None: ...

    @property
    @abstractmethod
    def _edges(self) -> tuple[float, float]:
        """The numbers at 0 and 1 of the unit interval."""

    @cached_property
    def _scale(self) -> tuple[float, float]:
        """Start and length of the unit interval, in numbers or in their logarithms."""
        low, high = self._edges
        if self.log:
            low, high = math.log(low), math.log(high)
        return low, high - low

    def _to_unit(self, numbers: Floats) -> Floats:
        start, length = self._scale
        scaled = np.log(numbers) if self.log else numbers
        return np.minimum(np.maximum((scaled - start) / length, 0.0), 1.0)

    def _from_unit(self, codes: Floats) -> Floats:
        start, length = self._scale
        numbers = start + codes * length
        return np.exp(numbers) if self.log else numbers

    def encode(self, values: Sequence[Value]) -> Floats:
        return self._to_unit(np.array(values, dtype=np.float64))

    def rank(self, value: Value) -> float:
        return float(value)


@dataclass(frozen=True)
class Integer(_Numeric):
    """Whole numbers from ``lower`` to ``upper``; each owns an equal share of the unit interval (of its logarithm)."""

    lower: int
    upper: int
    default: int

    def _check_bounds(self) -> None:
        for value in (self.lower, self.upper, self.default):
            if isinstance(value, bool) or not isinstance(value, int):
                raise self.error(f"{shown(value)} is not an integer")
            if abs(value) > LARGEST_INTEGER:
                raise self.error("an integer is beyond ±2^44", hint="declare the parameter as real")

    @property
    def _edges(self) -> tuple[float, float]:
        return self.lower - 0.5, self.upper + 0.5

    @property
    def size(self) -> float:
        return self.upper - self.lower + 1

    def coerce(self, value: Value) -> Value:
        number = self.read_number(value)
        if number != math.floor(number) or not self.lower <= number <= self.upper:
            raise self.error(f"{shown(value)} is not an integer in [{self.lower}, {self.upper}]")
        return int(number)

    def decode(self, codes: Floats) -> list[Value]:
        values: list[Value] = self.ranks(codes).astype(np.int64).tolist()
        return values

    def spread(self, points: Floats) -> Floats:
        return self._to_unit(self.ranks(points))

    def ranks(self, codes: Floats) -> Floats:
        return np.minimum(np.maximum(np.rint(self._from_unit(codes)), self.lower), self.upper)

    def moves(self, codes: Floats, draws: Floats) -> Floats:
        if self.size - 1 <= draws.shape[1]:
            return self._to_unit(self.lower + others(self.ranks(codes) - self.lower, int(self.size)))
        numbers = self.ranks(np.column_stack((codes, draws)))
        old, new = numbers[:, :1], numbers[:, 1:]
        # A draw that falls back on its own value takes one step instead, inwards from a bound.
        new = np.where(new == old, old + np.where(draws > codes[:, None], 1.0, -1.0), new)
        new[new > self.upper] = self.upper - 1
        new[new < self.lower] = self.lower + 1
        return self._to_unit(_without_repeats(new))


def _round_digits(numbers: Floats) -> Floats:
    """To DIGITS significant digits. Whole powers of ten are exact, their inverses are not: hence two of them."""
    decimals = DIGITS - 1 - np.floor(np.log10(numbers))
    up, down = 10.0 ** np.clip(decimals, 0, 300), 10.0 ** np.maximum(-decimals, 0)
    rounded: Floats = np.rint(numbers * up / down) / up * down
    return rounded


@dataclass(frozen=True)
class Real(_Numeric):
    """Real numbers from ``lower`` to ``upper``, drawn with DIGITS digits."""

    def _check_bounds(self) -> None:
        for field in ("lower", "upper", "default"):
            value = getattr(self, field)
            if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST_REAL:
                raise self.error(f"{shown(value)} is not a finite number")
            object.__setattr__(self, field, float(value))
        largest = max(abs(self.lower), abs(self.upper))
        if 0.0 < self.upper - self.lower < max(NARROWEST, largest * 10.0 ** (1 - DIGITS)):
            raise self.error(f"the range [{self.lower}, {self.upper}] is too narrow for numbers of {DIGITS} digits")

    @property
    def _edges(self) -> tuple[float, float]:
        return self.lower, self.upper

    @property
    def size(self) -> float:
        return math.inf

    def coerce(self, value: Value) -> Value:
        number = self.read_number(value)
        if not self.lower <= number <= self.upper:
            raise self.error(f"{shown(value)} is not in [{self.lower}, {self.upper}]")
        return number + 0.0  # never -0.0, which would be another value with the same code

    def decode(self, codes: Floats) -> list[Value]:
        values: list[Value] = self.ranks(codes).tolist()
        return values

    def spread(self, points: Floats) -> Floats:
        return self._to_unit(self.ranks(points))

    def ranks(self, codes: Floats) -> Floats:
        numbers = self._from_unit(codes)
        rounded = _round_digits(numbers) if self.log else np.round(numbers, self._decimals) + 0.0
        return np.minimum(np.maximum(rounded, self.lower), self.upper)

    @cached_property
    def _decimals(self) -> int:
        """DIGITS digits of the width, but no more than a double holds of the numbers themselves."""
        largest = max(abs(self.lower), abs(self.upper))
        return min(DIGITS - math.ceil(math.log10(self.upper - self.lower)), 14 - math.ceil(math.log10(largest)))

    def moves(self, codes: Floats, draws: Floats) -> Floats:
        new = self.spread(draws)
        new[new == codes[:, None]] = np.nan
        return _without_repeats(new)
