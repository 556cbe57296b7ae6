"""Everything Capra raises on purpose.

::

    CapraError
    ├── InputError              what the user gave cannot be used             exit code 2
    │   ├── FormatError         a file: knows its path, line and column
    │   ├── SpaceError          a space, or a configuration of it, that contradicts itself
    │   ├── ScenarioError       a scenario option: knows its key
    │   └── ModelError          data or settings that a model cannot take
    ├── StoreError              a store that is busy, damaged, or not a store exit code 2
    │   └── StoreFull           no space left: repeat the same call when there is some
    └── TargetError             the target cannot be run as described         exit code 3

Every message says what is wrong and, where we know it, what to do next (``hint``). Errors carry their data as
attributes, so that a program can act on them and the command line can print them in one line.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path

__all__ = [
    "CapraError",
    "FormatError",
    "InputError",
    "ModelError",
    "ScenarioError",
    "SpaceError",
    "StoreError",
    "StoreFull",
    "TargetError",
    "did_you_mean",
    "shown",
]


class CapraError(Exception):
    """Base of all our errors. ``exit_code`` is what the command line answers with."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class InputError(CapraError):
    """What the user gave cannot be used as it stands."""

    exit_code = 2


class FormatError(InputError):
    """A file, or one line of it, is not what its format asks for. Lines and columns count from 1."""

    def __init__(
        self,
        message: str,
        *,
        path: str | Path,
        line: int | None = None,
        column: int | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.path = str(path)
        self.line = line
        self.column = column

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.path, self.line, self.column) if part is not None)
        return f"{place}: {super().__str__()}"


class SpaceError(InputError):
    """A space, or a configuration of it, contradicts itself.

    ``part`` is the declaration at fault: ("parameter", name), ("condition", child) or ("forbidden", position).
    """

    def __init__(self, message: str, *, part: tuple[str, str | int] | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.part = part


class ScenarioError(InputError):
    """A scenario option is missing, unknown, or contradicts another. ``key`` names it."""

    def __init__(
        self,
        message: str,
        *,
        key: str | None = None,
        path: str | Path | None = None,
        line: int | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.key = key
        self.path = None if path is None else str(path)
        self.line = line

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.path, self.line) if part is not None)
        key = f"{self.key}: " if self.key else ""
        return f"{place + ': ' if place else ''}{key}{super().__str__()}"


class ModelError(InputError):
    """Data or settings that a model cannot take: shapes, categories out of range, NaN or infinite targets."""


class StoreError(CapraError):
    """The file of runs cannot be used: no store, another version, damaged, or held by another process."""

    exit_code = 2

    def __init__(self, message: str, *, path: str | Path | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.path = None if path is None else str(path)

    def __str__(self) -> str:
        return f"{self.path}: {super().__str__()}" if self.path else super().__str__()


class StoreFull(StoreError):
    """There was no space for a write. Nothing of it was kept; the same call works once there is space."""


class TargetError(CapraError):
    """The target cannot be run as described: missing program, impossible limits, a start that always fails."""

    exit_code = 3


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """A hint that names the nearest known word, or None when nothing is near."""
    if len(word) > 100:  # nobody mistyped that, and comparing it would take long
        return None
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"did you mean {near[0]!r}?" if near else None


def shown(value: object) -> str:
    """A value in a message: short, on one line, whatever it holds."""
    text = repr(value[:100] if isinstance(value, str) else value)
    return text if len(text) <= 80 else text[:77] + "..."
