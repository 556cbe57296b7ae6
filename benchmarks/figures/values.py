"""What all sections of the page use."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from benchmarks.machine import PUBLISHED

__all__ = ["Row", "counted", "number", "results", "spread"]

Row = tuple[str, str, str]
"""What, theirs, ours."""


def results(name: str) -> Any:
    return json.loads((PUBLISHED / f"{name}.json").read_text())


def number(value: float) -> str:
    """Three digits, as a person would write them."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def spread(quartiles: Sequence[float], seeds: int, *more: str) -> str:
    """The median, and in brackets the other quartiles, the seeds and what else there is to say."""
    low, middle, high = map(number, quartiles)
    return f"{middle} ({'; '.join([f'{low}–{high}', counted(seeds, 'seed'), *more])})"
