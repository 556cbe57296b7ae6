"""How the output of a native target is read: the ``output`` table of a scenario."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from capra.errors import InputError, did_you_mean, shown

__all__ = ["OutputRules"]


@dataclass(frozen=True, slots=True)
class OutputRules:
    """How a native target's output is read.

    ``codes`` are the exit codes of a regular end. With ``solved`` a line must match it for SUCCESS; without, a regular end
    is one. The one group of ``quality``, ``time`` and ``answer`` is the value; each line of standard output is searched
    (of standard error if that has none) and the last match counts. With ``json`` the last line of standard output that is
    a JSON object says it all: ``status``, ``time`` (or ``steps``, ``runtime``), ``quality`` (or ``cost``), ``answer``.
    """

    codes: tuple[int, ...] = (0, 10, 20)
    solved: re.Pattern[str] | None = None
    quality: re.Pattern[str] | None = None
    time: re.Pattern[str] | None = None
    answer: re.Pattern[str] | None = None
    json: bool = False

    @property
    def says_answers(self) -> bool:
        """Can anything be read that a known answer, or a known optimum, is compared with?"""
        return self.json or self.answer is not None or self.quality is not None

    @classmethod
    def parse(cls, table: Mapping[str, Any]) -> OutputRules:
        """The rules of a TOML table; InputError for the first thing that is wrong in it."""
        if not isinstance(table, Mapping):
            raise InputError(f"expected a table, not {shown(table)}", hint="output = { codes = [0, 10, 20] }")
        known = [field.name for field in fields(cls)]
        for key in table:
            if key not in known:
                raise InputError(f"unknown key {key!r}", hint=did_you_mean(key, known))
        rules = cls(**{key: _RULES[key](key, value) for key, value in table.items()})
        if rules.json and (extra := [key for key in known[1:-1] if key in table]):
            raise InputError(f"{extra[0]}: with json = true the JSON line says it", hint="keep one of them")
        return rules


def _codes(key: str, value: Any) -> tuple[int, ...]:
    whole = isinstance(value, list | tuple) and all(type(code) is int and 0 <= code <= 255 for code in value)
    if not whole or not value:
        raise InputError(
            f"{key}: expected a list of exit codes from 0 to 255, not {shown(value)}", hint="codes = [0, 10, 20]"
        )
    return tuple(value)


def _flag(key: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise InputError(f"{key}: expected true or false, not {shown(value)}")
    return value


def _pattern(key: str, value: Any) -> re.Pattern[str]:
    if not isinstance(value, str):
        raise InputError(f"{key}: expected a regular expression, not {shown(value)}")
    try:
        return re.compile(value)
    except re.error as error:
        at = "" if error.pos is None else f" at character {error.pos + 1}"
        raise InputError(f"{key}: bad regular expression {shown(value)}{at}: {error.msg}") from None
    except (OverflowError, RecursionError):
        raise InputError(f"{key}: the regular expression {shown(value)} is too large") from None


def _capture(key: str, value: Any) -> re.Pattern[str]:
    pattern = _pattern(key, value)
    if pattern.groups != 1:
        hint = "put parentheses around the value, and write (?:…) for all others"
        raise InputError(f"{key}: {shown(value)} has {pattern.groups} groups, but exactly one is the value", hint=hint)
    return pattern


_RULES: Mapping[str, Callable[[str, Any], Any]] = {
    "codes": _codes,
    "solved": _pattern,
    "quality": _capture,
    "time": _capture,
    "answer": _capture,
    "json": _flag,
}
