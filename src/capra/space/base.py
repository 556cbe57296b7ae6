"""What all types of parameter have in common. The words *code* and *rank* are explained in ``parameters``."""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from capra.errors import SpaceError
from capra.runs import Value

__all__ = ["LARGEST_REAL", "LONGEST_TEXT", "Floats", "Parameter"]

Floats = NDArray[np.float64]

LARGEST_REAL = 1e300
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
        number = number_of(value)
        if number is None:
            raise self.error(f"{shown(value)} is not a number")
        return number

    def _check_name(self) -> None:
        if not self.name:
            raise SpaceError("a parameter without a name")
        check_text(self.name)

    def with_default(self, value: Value) -> Self:
        """The same parameter with another default."""
        return dataclasses.replace(self, default=value)  # type: ignore[type-var]

    def error(self, message: str, hint: str | None = None) -> SpaceError:
        """A SpaceError that knows it is about this parameter."""
        return SpaceError(f"{self.name}: {message}", part=("parameter", self.name), hint=hint)


def others(positions: Floats, size: int) -> Floats:
    """Row i: all positions but ``positions[i]``, shape (n, size − 1)."""
    steps = np.arange(size - 1.0)
    return steps + (steps >= positions[:, None])


def check_text(text: str) -> None:
    """SpaceError unless a name or a value can stand on a command line and in an error message."""
    if len(text) > LONGEST_TEXT:
        raise SpaceError(f"{text[:30]!r}… has {len(text):,} characters, more than {LONGEST_TEXT:,}")
    if "\0" in text or any("\ud800" <= char <= "\udfff" for char in text):
        raise SpaceError(f"{text!r} has characters that no command line can carry")


def shown(value: object) -> str:
    """How an error quotes a value: briefly, however long it is."""
    if isinstance(value, int) and abs(value) > LARGEST_REAL:
        return "a huge integer"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def number_of(value: Value) -> float | None:
    """The finite number that ``value`` is, or is the text of."""
    try:
        number = float(value)
    except (ValueError, OverflowError, TypeError):  # TypeError: whatever a caller has put into a configuration
        return None
    return None if isinstance(value, bool) or not math.isfinite(number) else number
