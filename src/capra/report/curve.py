"""Curves as text: training against test cost of every incumbent, and costs over the budget, on logarithmic scales."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["cost_curves", "overtuning_curve"]

WIDTH = 48
HEIGHTS = "▁▂▃▄▅▆▇█"


def overtuning_curve(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line per configuration of ``validate_run``: ``·`` training cost when it became incumbent, ``●`` test, ``◉`` both.

    A ``●`` that moves right while the ``·`` moves left is overtuning.
    """
    costs = [(row["training_cost_then"] or row["training_cost"], row["cost"]) for row in rows]
    known = [math.log10(cost) for pair in costs for cost in pair if cost is not None and cost > 0]
    if not known:
        return []
    low, high = min(known), max(known)
    head = f"{'':14}{10**low:<{WIDTH - 8}.3g}{10**high:>8.3g}   (log scale; · training, ● test, ◉ both)"
    return [head] + [f"{row['name']:14.14}{_line(pair, low, high)}" for row, pair in zip(rows, costs, strict=True)]


def _line(costs: tuple[float | None, float | None], low: float, high: float) -> str:
    cells = [" "] * WIDTH
    for cost, mark in zip(costs, "·●", strict=True):
        if cost is not None:
            share = (math.log10(cost) - low) / (high - low) if cost > 0 and high > low else 0.0
            place = round(share * (WIDTH - 1))
            cells[place] = mark if cells[place] == " " else "◉"
    return "".join(cells).rstrip()


def cost_curves(series: Mapping[str, Sequence[tuple[float, float | None]]], ends: Mapping[str, float]) -> list[str]:
    """A line per tuning: the height of its incumbent's cost (log scale) over the budget (linear), up to where it ended.

    ``series`` holds (spent, cost) of the incumbents in order.
    """
    known = [math.log10(cost) for points in series.values() for _, cost in points if cost is not None and cost > 0]
    if not known:
        return []
    low, high, end = min(known), max(known), max(ends.values(), default=0.0) or 1.0
    width = max(map(len, series))
    head = f"{'':{width}}  cost of the incumbent from {10**low:.3g} (low) to {10**high:.3g} (high), up to {end:.3g} spent"
    return [head] + [f"{name:{width}}  {_heights(points, ends[name], end, low, high)}" for name, points in series.items()]


def _heights(points: Sequence[tuple[float, float | None]], own: float, end: float, low: float, high: float) -> str:
    cells = []
    for i in range(WIDTH):
        at = (i + 1) * end / WIDTH
        costs = [cost for spent, cost in points if spent <= at and cost is not None and cost > 0]
        if not costs or at - end / WIDTH > own:
            cells.append(" ")
            continue
        share = (math.log10(costs[-1]) - low) / (high - low) if high > low else 0.0
        cells.append(HEIGHTS[round(share * (len(HEIGHTS) - 1))])
    return "".join(cells).rstrip()
