"""The plots of a portfolio: times of the members, who is chosen where, how it grew, and its schedule."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from capra.report.html.blocks import Block, axis, series, xy
from capra.report.html.columns import Indices
from capra.report.html.compare import COLOURS
from capra.report.html.footprint import principal
from capra.report.html.team import Measured, Team
from capra.report.html.view import View
from capra.report.words import amount, unit_in_words

if TYPE_CHECKING:
    from capra.portfolio.product import Portfolio

__all__ = ["chosen_members", "growth", "label", "schedule", "selector_map", "times"]

MOST = 600
"""Pairs that are drawn."""
MUCH = 2.0
"""A choice that takes this many times as long as the best one is a mistake to look at."""


def label(team: Team, k: int) -> str:
    """``member 2, 3fe7aa``."""
    return f"member {k + 1}, {team.members[k].id[:6]}"


def chosen_members(team: Team, found: Measured | None) -> Indices | None:
    """(n,): the member that is run last and longest on each pair, after all slots; None where features do not decide."""
    product = team.product
    if found is None or product is None or not product.needs_features or not found.features or product.selection is None:
        return None
    return np.array([plan[-1][0] for plan in product.selection.plans(found.records.features)])


def _look(k: int) -> dict[str, str]:
    """Colours first; with more members than these, other shapes."""
    shapes = ("circle", "diamond", "star")
    return {"colour": COLOURS[k % len(COLOURS)], "shape": shapes[k // len(COLOURS) % len(shapes)]}


def _names(found: Measured, rows: Iterable[int]) -> list[str]:
    seeds = len({seed for _, seed in found.pairs}) > 1
    pairs = (found.pairs[i] for i in rows)
    return [f"{name}, seed {seed}" if seeds else str(name) for name, seed in pairs]


def _some(order: Indices) -> Indices:
    return order[np.unique(np.linspace(0, len(order) - 1, min(len(order), MOST)).astype(np.int64))]


def _note(found: Measured, drawn: Sequence[int]) -> str:
    return f"Drawn: {len(drawn):,} of {len(found.pairs):,} pairs, evenly." if len(drawn) < len(found.pairs) else ""


# --- times ---


def times(view: View, team: Team, found: Measured | None) -> Block | None:
    """Pair by pair, the easiest for the best member first."""
    if found is None:
        return None
    order = _some(np.lexsort((found.records.times.mean(axis=1), found.best)))
    place = np.arange(1, len(order) + 1)
    drawn = [series("best member", "soft", "line", place, found.best[order], text=_names(found, order), size=1.4)]
    alone = _alone(team, found)
    for k in range(len(team.members)):
        mark = {"name": f"{label(team, k)}: best alone", "size": 6} if k == alone and len(team.members) > 1 else {}
        drawn += [one | mark for one in _times_of(team, found, order, k)]
    aid = "A column is an instance: points are members, open triangles were stopped there; the line is the best of all."
    aid += " The large points are the member that would be run if there were only one."
    guides = [{"axis": "y", "at": view.cutoff, "label": "cutoff"}]
    x = axis(f"{found.where} instances, easy to hard", tight=len(order) > 1)
    y = axis(f"time ({unit_in_words(view.unit)})", log=True, switch=True)
    return xy("member-times", "Times of the members", aid, x, y, drawn, guides=guides, note=_note(found, order.tolist()))


def _alone(team: Team, found: Measured) -> int:
    """The single best member: on the instances that the selector learnt from, where there is one."""
    from capra.portfolio.scores import single_best

    selection = team.product.selection if team.product else None
    return single_best(found.records if selection is None else selection.selector.records)


def _times_of(team: Team, found: Measured, order: Indices, k: int) -> Iterator[Block]:
    records = found.records
    made = records.cutoffs[order, k] > 0.0
    bound = records.capped[order, k]
    for rows, shape in ((made & ~bound, {}), (made & bound, {"shape": "triangle"})):
        if rows.any():
            at, which = np.flatnonzero(rows) + 1, order[rows]
            times = np.where(records.solved[which, k] | records.capped[which, k], records.times[which, k], records.cutoff)
            note = ["solved" if solved else "stopped" for solved in records.solved[which, k]]
            more = {"text": _names(found, which), "note": note, **_look(k), **shape}
            yield series(label(team, k), "", "point", at, times) | more


# --- who is chosen where ---


def selector_map(view: View, team: Team, found: Measured | None) -> Block | None:
    """Instances on a plane by their features; without a selector the fastest member is shown instead of the chosen one."""
    if found is None or not found.features or len(team.members) < 2 or len(found.pairs) < 3:
        return None
    from capra.portfolio.base import Scaling  # it loads the models

    points = Scaling(found.records.features)(found.records.features)
    if not points.shape[1]:  # all instances look alike
        return None
    at, shares = principal(points)
    chosen = chosen_members(team, found)
    shown = found.winner if chosen is None else chosen
    rows = _some(np.arange(len(found.pairs)))
    drawn = []
    for k in range(len(team.members)):
        for slow, group in _groups(found, shown, rows, k):
            what: dict[str, Any] = {
                "text": _names(found, group),
                "note": [_told(view, team, found, i, k) for i in group],
                **_look(k),
            }
            what |= {"shape": "triangle", "size": 6} if slow else {}
            drawn.append(series(label(team, k), "", "point", at[group, 0], at[group, 1]) | what)
    if not drawn:
        return None
    title = "Who is fastest where" if chosen is None else "Who is chosen where"
    aid = f"Near points are {found.where} instances with similar features, coloured by the "
    aid += "fastest member." if chosen is None else f"chosen member; open triangles: another is {MUCH:g} times as fast."
    aid += " The selector has learnt from these." if chosen is not None and found.where == "training" else ""
    x, y = (axis(f"principal axis {k} ({100 * share:.0f} % of the variance)") for k, share in enumerate(shares, 1))
    return xy("selector", title, aid, x, y, drawn, note=_note(found, rows.tolist()), half=True)


def _groups(found: Measured, shown: Indices, rows: Indices, k: int) -> Iterator[tuple[bool, Indices]]:
    """The rows of a member, those apart where it is much slower than the best."""
    mine = rows[shown[rows] == k]
    slow = found.records.costs[mine, k] > MUCH * np.maximum(found.best[mine], 1e-3)
    for is_slow in (False, True):
        if (slow == is_slow).any():
            yield is_slow, mine[slow == is_slow]


def _told(view: View, team: Team, found: Measured, row: int, k: int) -> str:
    records, winner = found.records, int(found.winner[row])
    least = "" if records.solved[row, k] else "more than "
    own = f"{least}{amount(float(records.times[row, k]), view.unit)}"
    if winner < 0:
        return f"{own}; nobody solves it"
    return own if winner == k else f"{own}; {label(team, winner)} takes {amount(float(found.best[row]), view.unit)}"


# --- how it grew ---


def growth(view: View, team: Team, found: Measured | None) -> Block | None:
    steps = [(at, k) for k, at in enumerate(team.since) if at is not None]
    if found is None or len(steps) < 2:
        return None
    steps.sort()
    first = [[k for _, k in steps[: n + 1]] for n in range(len(steps))]
    costs = [found.cost(members) for members in first]
    x, y = [*(at for at, _ in steps), view.spent["cpu"]], [*costs, costs[-1]]
    text = [*(f"{label(team, k)} joins" for _, k in steps), "now"]
    drawn = [series("best member for each", "training", "step", x, y, text=text)]
    aid = "Mean PAR10, at least, if the best member so far were run on each instance; each step is a new member."
    return xy(
        "growth", "How it grew", aid, axis(f"budget spent ({unit_in_words(view.unit)})", switch=True),
        axis(f"PAR10 on {found.where} instances", log=True, switch=True), drawn, half=True,
    )  # fmt: skip


# --- schedules ---


def schedule(view: View, team: Team) -> Block | None:
    product = team.product
    if product is None:
        return None
    if product.selection is None:
        lanes, title = list(product.schedule), "Schedule"
    else:
        lanes, title = [product.before()] if product.before() else [], "Before the features"
    if not lanes:
        return None
    drawn = [bar for c, lane in enumerate(lanes, start=1) for bar in _slots(team, product, lane, c)]
    aid = "Each member gets its slot, in this order, until one solves the instance; the last slot has no end."
    if product.selection is not None:
        aid = "Each member gets a short slot, in this order; what is left open goes to the selector."
    x = axis(f"time ({unit_in_words(view.unit)})", switch=True, tight=True)
    y = axis("core", whole=True)
    return xy("schedule", title, aid, x, y, drawn, low=True)


def _slots(team: Team, product: Portfolio, lane: Sequence[tuple[int, float]], core: int) -> Iterator[Block]:
    start = 0.0
    for k, slot in lane:
        end = min(start + slot, product.cutoff)
        words = f"{start:.3g} to {end:.3g}" if math.isfinite(slot) else f"from {start:.3g} on"
        more = {"text": [words, words], "size": 14}
        yield series(label(team, k), COLOURS[k % len(COLOURS)], "line", [start, end], [core, core], **more)
        start = end
