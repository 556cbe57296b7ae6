"""Which parameters mattered, and which changes made the incumbent what it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from capra.analysis.importance import Curve, Importance, Share
from capra.errors import CapraError
from capra.report.html.blocks import Block, Section, axis, prose, series, table, xy
from capra.report.html.view import View
from capra.runs import Status

__all__ = ["mattered"]

MOST_RUNS = 20_000
"""Taking more runs apart takes longer than all the rest of a report."""
MOST_CURVES = 2
MOST_CAPPED = 0.7
"""Share of capped runs above which a reader is warned."""


def mattered(view: View) -> Section | None:
    blocks = [*_importance(view), *_ablation(view)]
    return Section("mattered", "What mattered", blocks) if blocks else None


def _importance(view: View) -> list[Block]:
    """Only where there is time for it: a page that follows a tuning is made again and again."""
    if view.live or view.loaded is None:
        return []
    if len(view.history) > MOST_RUNS:
        return [prose(f"capra importance {view.run} says which parameters matter; with so many runs that takes its time.")]
    try:
        found = Importance(view.loaded, view.history)
        shares = found.parameters()
        curves = [found.curve(one.name) for one in shares]
    except CapraError:  # too few configurations, or a space that cannot be taken apart
        return []
    rows = [[one.name, round(100 * one.share, 1), round(100 * one.spread, 1)] for one in shares]
    aid = "Share of the cost's variance over the space that a parameter explains alone (fANOVA); the rest is interaction."
    columns = ["parameter", "share in %", "± over trees"]
    numeric = [curve for curve in curves if all(isinstance(value, int | float) for value in curve.values)]
    drawn = [_curve(view, curve) for curve in numeric[:MOST_CURVES]]
    found_table = table("importance", "Importance of parameters", aid, columns, rows, rows_shown=12)
    return [*(prose(text, tone="warning") for text in _cautions(view, shares)), found_table, *drawn]


def _cautions(view: View, shares: Sequence[Share]) -> Iterator[str]:
    """Why the shares may say little."""
    if shares and shares[0].spread > shares[0].share:
        yield "Too few runs to tell parameters apart: from tree to tree the shares differ by more than their size."
    stopped = view.history.statuses[Status.CAPPED] / len(view.history)
    if stopped > MOST_CAPPED:
        yield (
            f"{100 * stopped:.0f} % of the runs were stopped early: of most of the space it is only known to be slower "
            "than the incumbent, and importance says little."
        )


def _curve(view: View, curve: Curve) -> Block:
    at = [float(value) for value in curve.values]
    lines = [
        series("predicted", "training", "line", at, curve.cost),
        series("one deviation", "soft", "line", at, curve.low),
        series("one deviation", "soft", "line", at, curve.high),
    ]
    aid = "Predicted cost for each value, averaged over all other parameters; flat means that it does not matter."
    x, y = axis(curve.name), axis(f"cost ({view.objective})")
    return xy(f"curve-{curve.name}", curve.name, aid, x, y, lines, half=True)


def _ablation(view: View) -> list[Block]:
    """Of ``capra ablation``, if somebody ran it."""
    from capra.analysis.ablation import load_ablation  # it loads the engines

    try:
        found = None if view.loaded is None else load_ablation(view.run, view.loaded)
    except CapraError:
        return []
    if found is None:
        return []
    rows = [[step.label, _short(step.cost), _short(step.p_value)] for step in found.steps]
    aid = "From the default to the incumbent, each time the change that helps most; large drops are what mattered."
    state = "" if found.finished else " (so far)"
    return [table("ablation", f"Ablation{state}", aid, ["change", "cost", "p"], rows, rows_shown=15)]


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.3g}")
