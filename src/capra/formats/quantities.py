"""Durations, sizes and numbers as people write them."""

from __future__ import annotations

import math
import re

from capra.errors import InputError, shown

__all__ = ["as_float", "duration", "positive_number", "size"]

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_BYTES = {"": 1024**2, "b": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}
_PART = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(ms|min|s|m|h|d)", re.ASCII)
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?(b?)", re.ASCII | re.IGNORECASE)


def positive_number(value: object, what: str) -> float:
    """``value`` as a finite number above 0."""
    number = math.nan if isinstance(value, bool) or not isinstance(value, int | float) else as_float(value)
    if not math.isfinite(number) or number <= 0:
        raise InputError(f"{what} is a positive number, not {shown(value)}")
    return number


def as_float(number: float) -> float:
    """The same number. InputError for an integer that is larger than any float."""
    try:
        return float(number)
    except OverflowError:
        raise InputError("the number is too large", hint="the largest is about 1.8e308") from None


def duration(value: object) -> float:
    """Seconds of ``"1h30m"``, ``"90s"``, ``"250ms"`` or a plain number."""
    if not isinstance(value, str):
        return positive_number(value, "a duration")
    text = value.strip()
    if re.fullmatch(r"\d+(\.\d+)?", text, re.ASCII):
        return positive_number(float(text), "a duration")
    total, at = 0.0, 0
    while match := _PART.match(text, at):
        total += float(match[1]) * _SECONDS[match[2]]
        at = match.end()
    if at != len(text) or not text:
        raise InputError(f"{value!r} is not a duration", hint="write 90s, 15m, 20h or 1h30m")
    return positive_number(total, "a duration")


def size(value: object) -> int:
    """Bytes of ``"2GB"``, ``"512M"``; a plain number is megabytes, as in SMAC's scenario files."""
    if isinstance(value, str):
        match = _SIZE.fullmatch(value.strip())
        if not match:
            raise InputError(f"{value!r} is not a size", hint="write 512MB or 2GB")
        unit = match[2].lower() or ("b" if match[3] else "")
        return int(positive_number(float(match[1]) * _BYTES[unit], "a size"))
    return int(positive_number(positive_number(value, "a size") * _BYTES[""], "a size"))
