"""Figures as a person reads them: rounded, with their unit, compared on what can be compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from capra.runs import Configuration, History

__all__ = ["amount", "clock", "cost", "count", "settings", "speed_up_of", "standing", "unit_in_words"]

FEW_SHARED = 5
"""Two configurations that share fewer pairs are not compared."""


def amount(value: float | None, unit: str) -> str:
    """``12.3 s``, ``40 steps``."""
    if value is None:
        return "unknown"
    return f"{value:{',.0f' if abs(value) >= 1000 else '.3g'}} {'s' if unit in ('cpu', 'wall') else unit}"


def cost(value: float | None) -> str:
    """A mean cost; none where a run without a result has none."""
    return "infinite" if value is None else f"{value:.4g}"


def unit_in_words(unit: str) -> str:
    """``s of CPU time``, ``steps``: what an amount is counted in, where it is not plain."""
    return {"cpu": "s of CPU time", "wall": "s"}.get(unit, unit)


def clock(seconds: float) -> str:
    """``0:01:05``."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"


def count(number: int, thing: str) -> str:
    """``1 pair``, ``2,000 pairs``."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def settings(config: Mapping[str, Any]) -> str:
    """``heuristic=Vsids, decay=95``."""
    return ", ".join(f"{name}={value}" for name, value in config.items())


def speed_up_of(history: History, config: Configuration, default: Configuration) -> tuple[int, float | None]:
    """On how many pairs both have run, and how many times as fast ``config`` was on them.

    Means over different pairs say nothing about each other. The second is None where there is nothing to compare.
    """
    ours, theirs = history.record(config).costs, history.record(default).costs
    shared = [pair for pair in ours if pair in theirs]
    total = sum(ours[pair] for pair in shared)
    return len(shared), sum(theirs[pair] for pair in shared) / total if total > 0 and config != default else None


def standing(history: History, config: Configuration, default: Configuration) -> str:
    """``61160e: cost 0.17 on 17 pairs, 2.83 times as fast as the default on the 12 they share``.

    On a handful of pairs even the incumbent may look slower than the default, which says nothing; so nothing is said.
    """
    record, (shared, ratio) = history.record(config), speed_up_of(history, config, default)
    faster = "" if ratio is None else f", {ratio:.3g} times as fast as the default on the {shared} they share"
    if ratio is not None and shared < FEW_SHARED:
        faster = f", of which the default has run {shared}: too few to compare"
    is_default = " (the default)" if config == default else ""
    pairs = count(len(record.costs), "pair")
    return f"{config.id[:6]}{is_default}: cost {record.estimate(history.objective):.4g} on {pairs}{faster}"
