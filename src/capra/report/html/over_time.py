"""Statuses, cutoffs and what capping saved, over the budget."""

from __future__ import annotations

import numpy as np

from capra.report.html.blocks import Block, Section, axis, bars, numbers, series, xy
from capra.report.html.columns import STATUSES, Floats, Indices
from capra.report.html.view import View
from capra.report.words import amount, unit_in_words
from capra.runs import Status

__all__ = ["over_time"]

BINS = 48
POINTS = 1500
"""Runs whose cutoffs are drawn, at most."""
LINE = 300
"""Points of a line."""


def over_time(view: View) -> Section | None:
    if not len(view.columns):
        return None
    time, status, cutoff = view.columns.real("time"), view.columns.whole("status"), view.columns.real("cutoff")
    spent = np.cumsum(time)
    blocks = [_statuses(view, spent, status)]
    if view.of_time and (status == STATUSES.index(Status.CAPPED)).any():
        blocks += [_saved(view, spent, status, time), _cutoffs(view, spent, status, cutoff)]
    return Section("over-time", "Runs and caps", blocks)


def _axis(view: View) -> Block:
    return axis(f"target time spent ({unit_in_words(view.unit)})", tight=True)


def _statuses(view: View, spent: Floats, status: Indices) -> Block:
    edges = np.linspace(0.0, max(spent[-1], 1e-9), min(BINS, len(spent)) + 1)
    place = np.minimum(np.searchsorted(edges, spent, side="left") - 1, len(edges) - 2).clip(0)
    drawn = []
    for number, name in enumerate(STATUSES):
        if (status == number).any():
            values = np.bincount(place[status == number], minlength=len(edges) - 1).tolist()
            drawn.append({"name": str(name).lower(), "colour": str(name).lower(), "values": values})
    aid = (
        "How the runs of each stretch of the budget ended: many bars of capped runs are many challengers that lost quickly."
    )
    return bars("statuses", "How runs ended", aid, _axis(view), axis("runs"), edges.tolist(), drawn)


def _saved(view: View, spent: Floats, status: Indices, time: Floats) -> Block:
    """Every capped run might have gone on to the cutoff, but not longer: what is saved is at most that."""
    capped = status == STATUSES.index(Status.CAPPED)
    without = np.cumsum(np.where(capped, view.cutoff, time))
    some = np.unique(np.linspace(0, len(spent) - 1, min(len(spent), LINE)).astype(np.int64))
    drawn = [
        series("without capping, at most", "capped", "line", some + 1, without[some]),
        series("used", "success", "line", some + 1, spent[some]),
    ]
    saved, share = without[-1] - spent[-1], 1 - spent[-1] / without[-1]
    most = f"{amount(saved, view.unit)}, {100 * share:.0f} % of what the same runs could have taken"
    aid = f"The gap is what capping saved: at most {most}."
    y = axis(f"time ({unit_in_words(view.unit)})", switch=True)
    return xy("saved", "Time that capping saved", aid, axis("runs"), y, drawn, half=True)


def _cutoffs(view: View, spent: Floats, status: Indices, cutoff: Floats) -> Block:
    some = np.arange(len(spent))
    note = ""
    if len(some) > POINTS:
        some = np.sort(np.random.default_rng(0).choice(len(spent), POINTS, replace=False))
        note = f"Drawn: {POINTS:,} of {len(spent):,} runs, by chance."
    drawn = []
    for number, name in enumerate(STATUSES):
        mine = some[status[some] == number]
        if len(mine):
            text = [f"run {position + 1}" for position in mine]
            drawn.append(
                series(str(name).lower(), str(name).lower(), "point", spent[mine], cutoff[mine], text=text, size=2.5)
            )
    aid = "Each run's own cutoff: it falls below the scenario's as soon as there is somebody to beat."
    y = axis(f"cutoff ({unit_in_words(view.unit)})", log=True, switch=True)
    guides = [{"axis": "y", "at": numbers([view.cutoff])[0], "label": "cutoff"}]
    return xy("cutoffs", "Cutoffs", aid, _axis(view), y, drawn, guides=guides, note=note, half=True)
