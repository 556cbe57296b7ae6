"""Instance by instance: the default against the incumbent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from capra.report.html.blocks import Block, Section, axis, series, xy
from capra.report.html.view import View
from capra.report.words import unit_in_words
from capra.runs import Configuration, History, Run, Status
from capra.runs.history import Pair

__all__ = ["Versus", "cactus", "scatter", "versus"]

MOST = 2000
"""Points of one colour."""
FEW = 5
"""Pairs that make no curve, where there is a better one."""


class Versus(NamedTuple):
    """A pair that both have run."""

    pair: Pair
    default: Run
    incumbent: Run


def versus(history: History, default: Configuration, incumbent: Configuration) -> list[Versus]:
    """What is known best of each pair that both have run: a complete run, else the longest capped one."""
    ours, theirs = _known(history, incumbent), _known(history, default)
    return [Versus(pair, theirs[pair], run) for pair, run in ours.items() if pair in theirs]


def _known(history: History, config: Configuration) -> dict[Pair, Run]:
    known: dict[Pair, Run] = {}
    for run in _runs_of(history, config):
        pair = (run.request.instance, run.request.seed)
        before = known.get(pair)
        capped = before is not None and before.outcome.status is Status.CAPPED
        if before is None or (
            capped and (run.outcome.status is not Status.CAPPED or run.outcome.time > before.outcome.time)
        ):
            known[pair] = run
    return known


def _runs_of(history: History, config: Configuration) -> Iterator[Run]:
    return (run for run in history if run.request.config == config)


def shown(view: View, run: Run) -> float:
    """What is drawn of a run: its time, with what did not finish on the cutoff; or the quality of its answer."""
    if not view.of_time:
        return view.objective.cost(run.outcome, view.cutoff)
    solved = run.outcome.status in (Status.SUCCESS, Status.CAPPED)
    return run.outcome.time if solved else max(run.outcome.time, view.cutoff)


def scatter(view: View) -> Section | None:
    default, incumbent = view.default, view.incumbent
    if default is None or incumbent is None or default == incumbent:
        return None
    sets = [("training", "training", versus(view.history, default, incumbent))]
    if view.validation is not None:
        sets.append(("test", "test", versus(view.validation, default, incumbent)))
    if not any(found for _, _, found in sets):
        return None
    drawn = [block for name, colour, found in sets for block in _points(view, name, colour, found)]
    blocks = [_plot(view, drawn), cactus(view, sets)]
    return Section("instances", "Default against incumbent", blocks)


def _plot(view: View, drawn: list[Block]) -> Block:
    guides: list[Block] = [{"axis": "diagonal", "at": 1.0, "label": "equal"}]
    if view.of_time:
        guides += [
            {"axis": "diagonal", "at": factor, "label": f"{factor:g}× faster", "faint": True} for factor in (10.0, 100.0)
        ]
        guides += [{"axis": name, "at": view.cutoff, "label": "cutoff"} for name in "xy"]
    unit = unit_in_words(view.unit) if view.of_time else "quality"
    x, y = axis(f"default ({unit})", log=view.of_time), axis(f"incumbent ({unit})", log=view.of_time)
    better = "faster; on the cutoff lines a run did not finish" if view.of_time else "better"
    aid = f"One point per instance and seed: below the diagonal the incumbent is {better}."
    return xy("scatter", "Per instance", aid, x, y, drawn, guides=guides, square=True, half=True)


def _points(view: View, name: str, colour: str, found: list[Versus]) -> list[Block]:
    """Complete pairs, and apart those where a run was capped: only bounds are known of these."""
    groups: dict[bool, list[Versus]] = {False: [], True: []}
    for item in found:
        groups[_capped(item)].append(item)
    drawn = []
    for capped, items in groups.items():
        if items:
            some = items[:: -(-len(items) // MOST)]
            title = f"{name}, capped (at least)" if capped else name
            title += f" (every {len(items) // len(some)}th)" if len(some) < len(items) else ""
            text = [_label(item) for item in some]
            note = [f"{item.default.outcome.status} / {item.incumbent.outcome.status}".lower() for item in some]
            x, y = [shown(view, item.default) for item in some], [shown(view, item.incumbent) for item in some]
            drawn.append(
                series(title, colour, "point", x, y, text=text, note=note, shape="triangle" if capped else "circle")
            )
    return drawn


def _label(item: Versus) -> str:
    instance, seed = item.pair
    return f"seed {seed}" if instance is None else f"{instance}, seed {seed}"


def cactus(view: View, sets: list[tuple[str, str, list[Versus]]]) -> Block:
    """How many pairs are solved within a time, for each of the two."""
    drawn = []
    complete = [(name, [item for item in found if not _capped(item)]) for name, _, found in sets]
    telling = [(name, pairs) for name, pairs in complete if len(pairs) >= FEW] or complete
    for name, pairs in telling:
        for who, colour in (("default", "default"), ("incumbent", "incumbent")):
            values = sorted(shown(view, getattr(item, who)) for item in pairs if _solved(view, getattr(item, who)))
            if values:
                x, y = [values[0], *values], [0.0, *((k + 1) / len(pairs) for k in range(len(values)))]
                step = max(1, len(x) // MOST)
                dash = {"dashed": True} if name == "training" and len(telling) > 1 else {}
                drawn.append(series(f"{who}, {name} ({len(pairs)})", colour, "step", x[::step], y[::step], **dash))
    what = "solved within the time" if view.of_time else "of at most that cost"
    aid = f"Share of pairs {what}; the curve further left and higher is the better one."
    x_axis = axis(f"time ({unit_in_words(view.unit)})" if view.of_time else "cost", log=view.of_time, switch=view.of_time)
    return xy("cactus", "Solved over time", aid, x_axis, axis("share of pairs", share=True), drawn, half=True)


def _capped(item: Versus) -> bool:
    return Status.CAPPED in (item.default.outcome.status, item.incumbent.outcome.status)


def _solved(view: View, run: Run) -> bool:
    return run.outcome.status is Status.SUCCESS or not view.of_time
