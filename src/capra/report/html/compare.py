"""Several tunings side by side, for the live page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from capra import __version__
from capra.report.html.blocks import Block, Section, axis, table, xy
from capra.report.html.trajectory import training_curve, validated_costs
from capra.report.html.view import View
from capra.report.words import count, unit_in_words

__all__ = ["comparison_of"]

COLOURS = ("one", "two", "three", "four", "five", "six")


def comparison_of(names: Sequence[str], views: Sequence[View]) -> dict[str, Any]:
    """The page that compares tunings, as plain data: their incumbents over time, and where each stands."""
    blocks = [_curves(names, views), _standings(names, views)]
    section = Section("compare", "Side by side", [block for block in blocks if block is not None])
    return {
        "name": "Comparison",
        "state": count(len(views), "run"),
        "capra": __version__,
        "sections": [section.plain()],
    }


def _curves(names: Sequence[str], views: Sequence[View]) -> Block | None:
    drawn = [
        training_curve(view, name, COLOURS[k % len(COLOURS)])
        for k, (name, view) in enumerate(zip(names, views, strict=True))
        if view.trajectory
    ]
    if not drawn:
        return None
    units = {unit_in_words(view.unit) for view in views}
    log = all(milestone.cost > 0 for view in views for milestone in view.trajectory)
    aid = "Training cost of each run's incumbent when it took over; runs of different scenarios cannot be compared."
    x, y = axis(f"budget spent ({' or '.join(sorted(units))})", switch=True), axis("cost", log=log, switch=log)
    return xy("curves", "Incumbents over time", aid, x, y, drawn)


def _standings(names: Sequence[str], views: Sequence[View]) -> Block:
    columns = ["run", "strategy", "seed", "runs", "spent", "training cost", "pairs", "test cost"]
    rows = [_standing(name, view) for name, view in zip(names, views, strict=True)]
    return table("standings", "Where each stands", "The last incumbent of each run.", columns, rows)


def _standing(name: str, view: View) -> list[Any]:
    record = view.history.record(view.incumbent) if view.incumbent else None
    test = validated_costs(view.validation, view.incumbent) if view.validation and view.incumbent else None
    return [
        name,
        str(view.settings.get("strategy", "")),
        view.settings.get("seed"),
        len(view.history),
        float(f"{view.spent['cpu']:.4g}"),
        float(f"{record.mean:.4g}") if record and record.costs else None,
        len(record.costs) if record else 0,
        float(f"{test[0]:.4g}") if test else None,
    ]
