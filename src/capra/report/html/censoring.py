"""What is known of capped runs, and what a model of censored data makes of it."""

from __future__ import annotations

import numpy as np

from capra.report.html.blocks import Block, Section, axis, numbers, series, xy
from capra.report.html.columns import Indices, Mask
from capra.report.html.estimate import Estimate
from capra.report.html.view import View
from capra.report.words import unit_in_words

__all__ = ["censoring"]

MOST = 500
"""Runs of each kind that are drawn."""
AID = "A stopped run took at least its tick, probably what the dot above says; near the diagonal the model is right."


def censoring(view: View) -> Section | None:
    model = view.estimate
    if model is None or not model.censored.any():
        return None
    full, cut = _some(~model.censored), _some(model.censored)
    unit, share = unit_in_words(view.unit), 100 * model.censored.mean()
    picture = xy(
        "censoring",
        "Observed, imputed, predicted",
        AID,
        axis(f"predicted ({unit})", log=True),
        axis(f"time ({unit})", log=True),
        _series(view, model, full, cut),
        guides=[
            {"axis": "diagonal", "at": 1.0, "label": "as predicted"},
            {"axis": "y", "at": view.cutoff, "label": "cutoff"},
        ],
        note=f"A censored forest on {len(model.y):,} cells, {share:.0f} % of them stopped; "
        f"drawn: {len(full):,} finished, {len(cut):,} stopped.",
    )
    return Section("censoring", "Stopped runs", [picture])


def _series(view: View, model: Estimate, full: Indices, cut: Indices) -> list[Block]:
    x, bound, guess = 10.0**model.predicted, 10.0**model.y, 10.0**model.imputed
    ours, theirs = _text(view, model, full), _text(view, model, cut)
    ends = {"low": numbers(bound[cut]), "high": numbers(guess[cut])}
    return [
        series("finished: observed", "success", "point", x[full], bound[full], text=ours),
        series("stopped: at least", "capped", "point", x[cut], bound[cut], text=theirs, shape="tick"),
        series("stopped: imputed", "imputed", "whisker", x[cut], guess[cut], text=theirs, **ends),
    ]


def _some(mask: Mask) -> Indices:
    found = np.flatnonzero(mask)
    return found[:: -(-len(found) // MOST)] if len(found) else found


def _text(view: View, model: Estimate, chosen: Indices) -> list[str]:
    names = view.columns.instances.things
    return [f"{model.configs[model.config[k]].id[:6]} on {names[model.instance[k]]}" for k in chosen]
