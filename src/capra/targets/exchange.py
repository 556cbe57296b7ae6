"""One call and one reply: the words of all dialects, and the pieces that calling and reading are made of."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from typing import Any, Protocol

from capra.errors import InputError, shown
from capra.runs import Configuration

__all__ = ["Call", "Claim", "Dialect", "Reply", "normal_answer"]

LONGEST_ANSWER = 200
"""Answers are cut to this length."""

_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_LINE_ENDS = re.compile(r"[\r\n]+")


# --- the words ---


@dataclass(frozen=True, slots=True)
class Call:
    """Everything a dialect may put on a command line.

    ``target`` is the scenario's argument list. ``instance`` is the path or name as the target is to see it, ``specific``
    the text that follows it in the instance file. ``cutoff`` is in the scenario's unit, infinite for none. The two
    numbers are irace's: small, and the same whenever the configuration or instance comes again.
    """

    target: tuple[str, ...]
    config: Configuration
    instance: str | None
    specific: str
    seed: int
    cutoff: float
    features: tuple[float, ...] = ()
    config_number: int = 1
    instance_number: int = 1


class Claim(StrEnum):
    """What the target says of itself."""

    SUCCESS = "SUCCESS"
    TIMEOUT = "TIMEOUT"
    MEMOUT = "MEMOUT"
    CRASHED = "CRASHED"
    """It says so, or what it says is missing or nonsense."""
    ABORT = "ABORT"
    """Stop the whole tuning: something is wrong that no configuration can mend."""
    REJECT = "REJECT"
    """Never run this configuration again (irace's Inf)."""
    NONE = "NONE"
    """It ended without a word about success: not by itself, or without the line that says *solved*."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What the target said.

    Numbers are finite and ``time`` is not negative. ``answer`` is ``SAT``, ``UNSAT`` or other text. ``reason`` is set
    unless the claim is SUCCESS.
    """

    claim: Claim
    time: float | None = None
    quality: float | None = None
    answer: str | None = None
    reason: str | None = None


class Dialect(Protocol):
    """One convention of calling and answering.

    ``argv`` raises InputError when the call cannot be put in words (an inactive parameter in the template, a line break
    in an argument). ``read`` never raises: ``exit_code`` is None when a signal ended the target.
    """

    def argv(self, call: Call) -> list[str]: ...
    def read(self, stdout: str, stderr: str, exit_code: int | None) -> Reply: ...


_ANSWERS = {"SAT": "SAT", "SATISFIABLE": "SAT", "UNSAT": "UNSAT", "UNSATISFIABLE": "UNSAT"}
_CLAIMS = {
    **dict.fromkeys(("SUCCESS", *_ANSWERS), Claim.SUCCESS),
    **dict.fromkeys(("TIMEOUT", "KILLED"), Claim.TIMEOUT),
    **dict.fromkeys(("MEMOUT", "MEMORYOUT"), Claim.MEMOUT),
    "CRASHED": Claim.CRASHED,
    "ABORT": Claim.ABORT,
}


def normal_answer(text: str) -> str:
    """``SAT`` or ``UNSAT`` for every common way to say so (``s SATISFIABLE``, ``sat``, …); any other text, stripped."""
    word = text.strip().removeprefix("s ").strip()
    return _ANSWERS.get(word.upper(), word)


# --- reading: pieces ---


class Nonsense(Exception):
    """The output cannot mean anything. Never leaves a dialect: see ``guarded``."""


def short_answer(text: str | None) -> str | None:
    """An answer in normal form that can be stored and shown."""
    if text is None:
        return None
    short = normal_answer(text)[:LONGEST_ANSWER]
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in short)


def _number(value: object, what: str, least: float = -math.inf) -> float:
    """A finite number, at least ``least``, from decimal text or a JSON number."""
    if isinstance(value, str) and len(value) <= 400 and _NUMBER.fullmatch(value.strip()):
        value = float(value)
    if not isinstance(value, float):
        raise Nonsense(f"{what} is {shown(value)}, not a number")
    if not math.isfinite(value) or value < least:
        raise Nonsense(f"{what} is {value!r}")
    return value + 0.0  # no -0.0


def read_time(value: object) -> float | None:
    """A time that the target names, at least 0. Nonsense if it is none."""
    return None if value is None else _number(value, "time", 0.0)


def read_quality(value: object) -> float | None:
    """A quality that the target names. Nonsense if it is no finite number."""
    return None if value is None else _number(value, "quality")


def read_claim(word: object, misc: str = "") -> Reply:
    """The claim, answer and reason of a status word of any of the tools."""
    key = word.strip().upper() if isinstance(word, str) else ""
    if key not in _CLAIMS:
        raise Nonsense(f"unknown status {shown(word)}")
    said = f"the target says {key}" + (f": {shown(misc)}" if misc.strip() else "")
    return Reply(_CLAIMS[key], answer=_ANSWERS.get(key), reason=None if _CLAIMS[key] is Claim.SUCCESS else said)


def with_numbers(said: Reply, time: object, quality: object) -> Reply:
    """The claim with what was said beside it. A success stands on its numbers; any other claim stands without them."""
    if said.claim is Claim.SUCCESS:
        return replace(said, time=read_time(time), quality=read_quality(quality))
    return replace(said, time=_or_none(read_time, time), quality=_or_none(read_quality, quality))


def _or_none(read: Callable[[object], float | None], value: object) -> float | None:
    try:
        return read(value)
    except Nonsense:
        return None


def lines_of(text: str) -> list[str]:
    """The lines of an output, whatever ends them."""
    return _LINE_ENDS.split(text)


def json_object(text: str) -> dict[str, Any] | None:
    """A JSON object, its numbers all floats (a million digits are inf, not an error); None for anything else."""
    try:
        value = json.loads(text, parse_int=float)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def first_of(table: Mapping[str, Any], *keys: str) -> Any:
    """The value of the first of the keys that has one."""
    return next((table[key] for key in keys if table.get(key) is not None), None)


def guarded(read: Callable[[], Reply]) -> Reply:
    """What ``read`` returns; nonsense is a crash."""
    try:
        return read()
    except Nonsense as error:
        return Reply(Claim.CRASHED, reason=f"nonsense output: {error}")


def crashed(what: str, exit_code: int | None) -> Reply:
    """A crash, with how the target ended."""
    end = "ended by a signal" if exit_code is None else f"exit code {exit_code}"
    return Reply(Claim.CRASHED, reason=f"{what} ({end})")


# --- calling: pieces ---


def decimal(number: float) -> str:
    """Shortest exact decimal form, without an exponent and without ``.0``: shell scripts can read it."""
    return str(int(number)) if number == int(number) else format(Decimal(repr(number)), "f")


_UNFIT = re.compile(r"[\0\n\r]")


def checked(argv: Sequence[str]) -> list[str]:
    """The same arguments. InputError if one of them cannot be passed on."""
    for argument in argv:
        if _UNFIT.search(argument):
            raise InputError(f"an argument with a line break or NUL: {shown(argument)}", hint="rename the instance or value")
    return list(argv)
