"""Configurations × instances: racing and capping at a glance."""

from __future__ import annotations

from typing import Any

import numpy as np

from capra.report.html.blocks import Section, numbers
from capra.report.html.columns import STATUSES, Floats, Indices
from capra.report.html.estimate import sampled
from capra.report.html.view import View
from capra.runs import Status

__all__ = ["matrix"]

ROWS, COLUMNS = 160, 240
"""Most configurations and instances that are drawn."""
_RANK = np.array([{Status.SUCCESS: 3, Status.CAPPED: 1, Status.LOST: 0}.get(status, 2) for status in STATUSES])
"""Which run stands for a cell: a success before another end, before a capped one."""


AID = "A row is a configuration: a short one lost its race early, often by a capped run; ▸ marks the default and incumbents."


def matrix(view: View) -> Section | None:
    if not len(view.columns) or len(view.columns.instances.things) < 2:
        return None
    columns = view.columns
    config, instance = columns.whole("config"), columns.whole("instance")
    status, time = columns.whole("status"), columns.real("time")
    rows = _rows(view)
    names, hardest = _instances(view, instance, time)
    row_of = np.full(len(columns.configs.things), -1)
    row_of[rows] = np.arange(len(rows))
    column_of = np.full(len(columns.instances.things), -1)
    column_of[hardest] = np.arange(len(hardest))
    cells = _cells(row_of[config], column_of[instance], status, time)
    return Section("racing", "Racing", [_block(view, rows, names, cells)])


def _rows(view: View) -> Indices:
    """Numbers of the configurations that are drawn, in the order of their first run."""
    return view.columns.numbers(sampled(view.columns, view.named, ROWS))


def _instances(view: View, instance: Indices, time: Floats) -> tuple[list[str], Indices]:
    """Names and numbers, the easiest first by their median time; evenly spread where there are too many."""
    known = view.columns.instances.things
    order = np.lexsort((time, instance))
    starts = np.searchsorted(instance[order], np.arange(len(known)))
    counts = np.bincount(instance, minlength=len(known))
    medians = time[order][starts + counts // 2]
    by_hardness = np.argsort(medians, kind="stable")
    some = by_hardness[np.unique(np.linspace(0, len(known) - 1, min(len(known), COLUMNS)).astype(np.int64))]
    return [str(known[number]) for number in some], some


def _cells(row: Indices, column: Indices, status: Indices, time: Floats) -> dict[str, list[Any]]:
    """For each drawn cell its best known run: row, column, status, time, and how many runs there were."""
    inside = np.flatnonzero((row >= 0) & (column >= 0))
    key = row[inside] * (column.max() + 1) + column[inside]
    order = np.lexsort((-time[inside], -_RANK[status[inside]], key))
    _, first, counts = np.unique(key[order], return_index=True, return_counts=True)
    kept = inside[order[first]]
    return {
        "row": row[kept].tolist(),
        "column": column[kept].tolist(),
        "status": status[kept].tolist(),
        "time": numbers(time[kept], 3),
        "runs": counts.tolist(),
    }


def _block(view: View, rows: Indices, names: list[str], cells: dict[str, list[Any]]) -> dict[str, Any]:
    known, all_instances = view.columns.configs.things, len(view.columns.instances.things)
    since = {milestone.config: number for number, milestone in enumerate(view.trajectory, start=1)}
    shown = [known[number] for number in rows]
    labels = [_label(view, config, since.get(config)) for config in shown]
    note = ""
    if len(shown) < len(known) or len(names) < all_instances:
        note = f"Drawn: {len(shown):,} of {len(known):,} configurations (all incumbents, others by chance)"
        note += f" and {len(names):,} of {all_instances:,} instances."
    return {
        "kind": "matrix",
        "key": "matrix",
        "title": "Configurations × instances",
        "aid": AID,
        "note": note,
        "rows": labels,
        "costs": numbers([view.history.record(config).mean for config in shown]),
        "marked": [config == view.default or config in since for config in shown],
        "columns": names,
        "statuses": [str(status) for status in STATUSES],
        "cells": cells,
        "unit": "s" if view.unit in ("cpu", "wall") else view.unit,
        "ramp": ["fast", "slow"],
    }


def _label(view: View, config: Any, number: int | None) -> str:
    role = "default, " if config == view.default else ""
    role += f"incumbent {number}, " if number is not None else ""
    return f"{role}{config.id[:6]}"
