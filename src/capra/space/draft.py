"""What a reader has found so far, and on which line: turns a SpaceError into an error with a place."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from capra.errors import FormatError, SpaceError
from capra.space.expressions import And, Expression
from capra.space.parameters import Parameter
from capra.space.space import Space

__all__ = ["MOST_PARAMETERS", "Draft"]

T = TypeVar("T")

_WORD_GOES_ON = re.compile(r"[A-Za-z0-9_.]", re.ASCII)

MOST_PARAMETERS = 20_000
"""Parameters, conditions or clauses of one file."""


@dataclass
class Draft:
    """The parts of a space as they are read, each with its line."""

    path: str | Path
    parameters: dict[str, Parameter] = field(default_factory=dict)
    conditions: dict[str, list[Expression]] = field(default_factory=dict)
    forbidden: list[Expression] = field(default_factory=list)
    switches: dict[str, str] = field(default_factory=dict)
    lines: dict[tuple[str, str | int], int] = field(default_factory=dict)
    longest_name: int = 0

    def declare(self, line: int, make: Callable[[], Parameter]) -> None:
        """Add the parameter that ``make`` builds from what stands on ``line``."""
        parameter = self._at(line, make)
        if (first := self.lines.get(("parameter", parameter.name))) is not None:
            raise FormatError(f"{parameter.name} is declared twice, first on line {first}", path=self.path, line=line)
        self._note(line, "parameter", parameter.name, len(self.parameters))
        self.parameters[parameter.name] = parameter
        self.longest_name = max(self.longest_name, len(parameter.name))

    def name_at(self, text: str, at: int) -> str | None:
        """The longest declared name that stands at this place as a whole: names may contain operators ("x-y", "a<b")."""
        for end in range(min(at + self.longest_name, len(text)), at, -1):
            if text[at:end] in self.parameters and not _WORD_GOES_ON.match(text, end):
                return text[at:end]
        return None

    def activate(self, line: int, child: str, condition: Expression) -> None:
        """Add a condition for ``child``; several conditions must all hold."""
        self._note(line, "condition", child, len(self.conditions))
        self.conditions.setdefault(child, []).append(condition)

    def forbid(self, line: int, clause: Expression) -> None:
        """Add a forbidden clause."""
        self._note(line, "forbidden", len(self.forbidden), len(self.forbidden))
        self.forbidden.append(clause)

    def finish(self, *, suggested_default: bool = False) -> Space:
        """The space; whatever is wrong with it is said with the line it comes from."""
        if not self.parameters:
            raise FormatError("declares no parameter", path=self.path, line=1)
        conditions = {child: parts[0] if len(parts) == 1 else And(tuple(parts)) for child, parts in self.conditions.items()}
        return self._at(
            1,
            lambda: Space(
                self.parameters.values(),
                conditions,
                self.forbidden,
                switches=self.switches,
                suggested_default=suggested_default,
            ),
        )

    def _note(self, line: int, kind: str, key: str | int, count: int) -> None:
        if count >= MOST_PARAMETERS:
            raise FormatError(f"more than {MOST_PARAMETERS:,} entries", path=self.path, line=line)
        self.lines.setdefault((kind, key), line)

    def _at(self, line: int, make: Callable[[], T]) -> T:
        try:
            return make()
        except SpaceError as error:
            known = self.lines.get(error.part, line) if error.part else line
            raise FormatError(error.message, path=self.path, line=known, hint=error.hint) from None
