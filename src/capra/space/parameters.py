"""The four types of parameter, each with its codec between values and the numbers that models and searches work on.

A *code* is a float: the category's index for a categorical parameter, a point of the unit interval for all others, NaN
where the parameter is inactive. A *rank* is what expressions compare: the position of an ordinal or categorical value,
the number itself for integers and reals. All methods work on whole columns.
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from capra.errors import SpaceError, did_you_mean
from capra.runs import Value

__all__ = ["Categorical", "Discrete", "Integer", "Ordinal", "Parameter", "Real"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

LARGEST_INTEGER = 2**44
"""Integers beyond it could not be told apart in the unit interval on a log scale."""
LARGEST_REAL = 1e300
DIGITS = 10
"""Reals are drawn with this many digits: command lines stay readable, and decoding an encoded value gives it back."""
NARROWEST = 1e-280
"""Width of a range of reals; relative to its numbers, it must reach the last of DIGITS digits."""
MOST_VALUES = 10_000
"""Values of one categorical or ordinal parameter."""
LONGEST_TEXT = 1000
"""Characters of a name or of a value."""


class Parameter(ABC):
    """One parameter: its name, its domain and its default."""

    name: str
    default: Value
    ordered: ClassVar[bool] = True

    @property
    def categories(self) -> int:
        """Number of categories for a model; 0 for parameters with an order."""
        return 0

    @property
    @abstractmethod
    def size(self) -> float:
        """Number of different values; infinite for reals."""

    @abstractmethod
    def coerce(self, value: Value) -> Value:
        """The value of the domain that is meant by ``value``, which may be its text. SpaceError if there is none."""

    @abstractmethod
    def encode(self, values: Sequence[Value]) -> Floats:
        """Codes of legal values, shape (n,)."""

    @abstractmethod
    def decode(self, codes: Floats) -> list[Value]:
        """Values of codes without NaN."""

    @abstractmethod
    def spread(self, points: Floats) -> Floats:
        """Codes of points of the unit interval: uniform points give uniform values (log-uniform on a log scale)."""

    @abstractmethod
    def ranks(self, codes: Floats) -> Floats:
        """What expressions compare; NaN where the code is NaN."""

    @abstractmethod
    def rank(self, value: Value) -> float:
        """The rank of one legal value."""

    @abstractmethod
    def moves(self, codes: Floats, draws: Floats) -> Floats:
        """Codes one exchange away from each of ``codes`` (n,): shape (n, m), NaN where there is none.

        ``draws`` (n, count) are random points of the unit interval near the codes, for parameters with too many values
        to try them all. A row never holds its own value, nor any value twice.
        """

    def read_number(self, value: Value) -> float:
        """The number meant by ``value``, which need not be in the domain."""
        number = _number(value)
        if number is None:
            raise self.error(f"{_shown(value)} is not a number")
        return number

    def _check_name(self) -> None:
        if not self.name:
            raise SpaceError("a parameter without a name")
        _check_text(self.name)

    def with_default(self, value: Value) -> Self:
        """The same parameter with another default."""
        return dataclasses.replace(self, default=value)  # type: ignore[type-var]

    def error(self, message: str, hint: str | None = None) -> SpaceError:
        """A SpaceError that knows it is about this parameter."""
        return SpaceError(f"{self.name}: {message}", part=("parameter", self.name), hint=hint)


def _others(positions: Floats, size: int) -> Floats:
    """Row i: all positions but ``positions[i]``, shape (n, size − 1)."""
    steps = np.arange(size - 1.0)
    return steps + (steps >= positions[:, None])


def _check_text(text: str) -> None:
    """SpaceError unless a name or a value can stand on a command line and in an error message."""
    if len(text) > LONGEST_TEXT:
        raise SpaceError(f"{text[:30]!r}… has {len(text):,} characters, more than {LONGEST_TEXT:,}")
    if "\0" in text or any("\ud800" <= char <= "\udfff" for char in text):
        raise SpaceError(f"{text!r} has characters that no command line can carry")


def _shown(value: object) -> str:
    """How an error quotes a value: briefly, however long it is."""
    if isinstance(value, int) and abs(value) > LARGEST_REAL:
        return "a huge integer"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _without_repeats(codes: Floats) -> Floats:
    """Each row in ascending order, repetitions as NaN; in place."""
    codes.sort(axis=1)
    codes[:, 1:][codes[:, 1:] == codes[:, :-1]] = np.nan
    return codes


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
                f"the default {_shown(self.default)} is not among its values",
                hint=did_you_mean(str(self.default), texts),
            )

    def _check_choice(self, choice: Value) -> None:
        if isinstance(choice, str):
            _check_text(choice)
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
        return {_number(choice): choice for choice in reversed(self.choices)}

    def coerce(self, value: Value) -> Value:
        if isinstance(value, str | int | float) and _key(value) in self._positions:
            return value
        if str(value) in self._by_text:
            return self._by_text[str(value)]
        number = _number(value)
        if number is not None and number in self._by_number:
            return self._by_number[number]
        raise self.error(f"{_shown(value)} is not one of its values", hint=did_you_mean(str(value), self._by_text))

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


def _number(value: Value) -> float | None:
    """The finite number that ``value`` is, or is the text of."""
    try:
        number = float(value)
    except (ValueError, OverflowError, TypeError):  # TypeError: whatever a caller has put into a configuration
        return None
    return None if isinstance(value, bool) or not math.isfinite(number) else number


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
        return _others(codes, len(self.choices))


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
                raise self.error(f"{_shown(value)} is not an integer")
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
            raise self.error(f"{_shown(value)} is not an integer in [{self.lower}, {self.upper}]")
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
            return self._to_unit(self.lower + _others(self.ranks(codes) - self.lower, int(self.size)))
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
                raise self.error(f"{_shown(value)} is not a finite number")
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
            raise self.error(f"{_shown(value)} is not in [{self.lower}, {self.upper}]")
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
