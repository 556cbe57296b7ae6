"""The overtuning curve as text: training against test cost of every incumbent, on one logarithmic scale."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["overtuning_curve"]

WIDTH = 48


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
