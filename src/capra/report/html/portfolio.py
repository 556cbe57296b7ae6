"""Several configurations instead of one: what they are, what each adds, and what all together are worth."""

from __future__ import annotations

import math
import shlex
from typing import Any

from capra.folder import PRODUCT
from capra.report.html.blocks import Block, Section, code, prose, table, tiles
from capra.report.html.choices import chosen_members, growth, label, schedule, selector_map, times
from capra.report.html.columns import Indices
from capra.report.html.team import Measured, Team
from capra.report.html.view import View
from capra.report.words import amount, count

__all__ = ["command", "portfolio", "verdict"]


def portfolio(view: View) -> Section | None:
    team = view.team
    if team is None:
        return None
    if not team.members:
        return Section("portfolio", "Portfolio", [prose(f"The portfolio cannot be read: {team.trouble}", tone="warning")])
    found = view.measured
    plots = (times(view, team, found), selector_map(view, team, found), growth(view, team, found), schedule(view, team))
    blocks = [prose(_who_chooses(team)), *_judged(view, found), _members(team, found), *(plot for plot in plots if plot)]
    return Section("portfolio", "Portfolio", [*blocks, *_differences(view, team), *_validated(team)])


def _who_chooses(team: Team) -> str:
    """In a sentence."""
    size, product = count(len(team.members), "member"), team.product
    if team.trouble:
        return f"{size} so far. The portfolio cannot be read: {team.trouble}"
    if product is None:
        return f"{size} so far; who chooses between them is decided when the building ends."
    builder = f" by {product.facts['builder']}" if isinstance(product.facts.get("builder"), str) else ""
    if product.selection is None:
        cores = "" if len(product.schedule) == 1 else f" on {count(len(product.schedule), 'core')}"
        return f"{size}{builder}, run by a fixed schedule{cores}: no features are needed."
    if not product.needs_features:
        slots = " after short slots of others" if product.before() else ""
        return f"{size}{builder}. Choosing did not pay: the best one is always run{slots}."
    slots = f", after {count(len(product.before()), 'presolving slot')}" if product.before() else ""
    selector = product.selection.selector.name
    return f"{size}{builder}. The selector {selector} chooses by {count(len(product.names), 'feature')}{slots}."


def _judged(view: View, found: Measured | None) -> list[Block]:
    if found is None or found.judged is None:
        return []
    told, where = found.judged, count(found.judged.instances, "test instance")
    named = (("Best single member", told.single), ("Portfolio", told.portfolio), ("Best member for each", told.virtual))
    made: list[Block] = [
        {
            "name": f"{name}, PAR10 on {where}",
            "value": amount(part.par10, view.unit),
            "below": f"95 % interval {part.interval[0]:.3g} to {part.interval[1]:.3g}",
            "strong": part is told.portfolio,
        }
        for name, part in named
    ]
    gap = told.portfolio.closed_gap
    if gap is not None:
        below = "of what perfect choices would save over the best single member"
        made.append({"name": "Closed gap", "value": f"{100 * gap:.0f} %", "below": below})
    return [tiles(*made)]


def verdict(view: View) -> Block:
    """The portfolio's worth in one sentence, as sure as it is."""
    found = view.measured
    if view.team is None or found is None:
        return prose("A portfolio is being built: there are no members to compare yet.")
    if found.judged is None:
        text = f"A portfolio of {count(len(view.team.members), 'member')}. What it is worth, capra portfolio evaluate tells."
        return prose(text)
    told = found.judged
    interval, where = told.portfolio.npar10_interval, count(told.instances, "test instance")
    ours, single = (amount(part.par10, view.unit) for part in (told.portfolio, told.single))
    text = f"On {where}, the portfolio has a mean PAR10 of {ours}; its best single member has {single}"
    if interval is None or interval[0] <= 1.0 <= interval[1]:
        return prose(f"{text}: that may be chance.", tone="warning")
    return prose(f"{text}.", tone="good" if interval[1] < 1.0 else "warning")


def command(view: View) -> list[Block]:
    """The portfolio to copy and run; a target in Python cannot be run from a file."""
    if view.team is None or view.team.product is None or not view.team.product.options:
        return []
    file = shlex.quote(str(view.folder / PRODUCT))
    return [code("The portfolio, ready to run", f"capra portfolio run {file} INSTANCE")]


# --- members ---


def _members(team: Team, found: Measured | None) -> Block:
    chosen = chosen_members(team, found)
    rows = [[label(team, k), _short(team.since[k]), *_figures(found, chosen, k)] for k in range(len(team.members))]
    some = "" if found is None else f" on {count(len(found.pairs), f'{found.where} pair')}"
    capped = "; ≥ where runs were stopped" if found is not None and found.records.capped.any() else ""
    aid = f"PAR10 of each alone, and how much the best of all would lose without it{some}{capped}."
    columns = ["member", "since", "solved", "PAR10 alone", "loss without it", "fastest on", "chosen for"]
    return table("members", "Members", aid, columns, rows)


def _figures(found: Measured | None, chosen: Indices | None, k: int) -> list[Any]:
    if found is None:
        return [None] * 5
    alone, loss = _short(float(found.records.costs[:, k].mean())), _short(found.contribution(k))
    return [
        int(found.records.solved[:, k].sum()),
        f"≥ {alone:g}" if found.records.capped[:, k].any() else alone,
        f"≥ {loss:g}" if found.records.capped.any() else loss,
        int((found.winner == k).sum()),
        None if chosen is None else int((chosen == k).sum()),
    ]


# --- what they are ---


def _differences(view: View, team: Team) -> list[Block]:
    """The parameters in which members differ."""
    rows = []
    for name in view.space.names:
        values = [dict(member).get(name) for member in team.members]
        if len(set(values)) > 1:
            rows.append([name, *("–" if value is None else str(value) for value in values)])
    if not rows:
        return []
    columns = ["parameter", *(label(team, k) for k in range(len(team.members)))]
    aid = f"{count(len(rows), 'parameter')} of {len(view.space)} in which members differ; – is inactive."
    return [table("differences", "What members differ in", aid, columns, rows, rows_shown=12)]


def _validated(team: Team) -> list[Block]:
    """What the choice of a selector was made on."""
    selection = team.product.selection if team.product else None
    if selection is None or not selection.costs:
        return []
    rows = [[name, _short(cost)] for name, cost in sorted(selection.costs.items(), key=lambda item: item[1])]
    aid = (
        "Mean PAR10 in cross-validation on training instances; another than single best must be clearly better to be taken."
    )
    return [table("selectors", "Selectors that were tried", aid, ["selector", "PAR10"], rows)]


def _short(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(f"{value:.4g}")
