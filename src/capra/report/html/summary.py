"""What was tuned, what was found, and how sure that is."""

from __future__ import annotations

import math
import shlex
from typing import Any

from capra.analysis.speedup import SpeedUp
from capra.folder import CERTIFICATE
from capra.report.html.blocks import Block, Section, code, prose, table, tiles
from capra.report.html.portfolio import command, verdict
from capra.report.html.view import View
from capra.report.words import amount, clock, count
from capra.runs import Status

__all__ = ["summary"]

LONGEST = 160
"""Characters of the target's command."""


def summary(view: View) -> Section:
    blocks = [_verdict(view), prose(_what(view)), tiles(*_tiles(view))]
    if view.builds:
        blocks += command(view)
    elif view.command is not None:
        blocks.append(
            code("The incumbent's parameters" if view.command[0] == "{" else "The incumbent, ready to run", view.command)
        )
        blocks.append(_settings(view))
    if view.decisions[CERTIFICATE]:
        promise = view.decisions[CERTIFICATE][-1]
        blocks.append(prose(f"Certificate: {promise['says']} {promise['more']}", tone="good"))
    return Section("summary", "Summary", blocks)


def _what(view: View) -> str:
    """What was tuned, on what, for what."""
    target = view.scenario["target"]
    named = shlex.join(target) if isinstance(target, list) else str(target)
    shown = named if len(named) <= LONGEST else f"{named[: LONGEST - 1]}…"
    parts = [count(len(view.space), "parameter"), count(len(view.scenario["instances"]), "training instance")]
    parts += [f"objective {view.objective}"]
    parts += [f"cutoff {amount(view.cutoff, view.unit)}"] if view.cutoff < math.inf else []
    return f"Tuned: {shown}. {', '.join(parts)}."


def _verdict(view: View) -> Block:
    """The result in one sentence, as sure as it is."""
    if view.builds:
        return verdict(view)
    if view.incumbent is None:
        return prose("No incumbent yet: the first runs are still to come.")
    if view.incumbent == view.default:
        return prose("The default configuration is the best that was found so far.")
    found = view.test or view.training
    if found is None:
        return _difference(view)
    where = f"{count(found.instances, 'test instance')} with fresh seeds" if view.test else _training_pairs(found)
    if not found.sure:
        text = f"On {where}, the incumbent took {1 / found.ratio:.3g} times the default's cost: that may still be chance."
        return prose(text, tone="warning")
    if found.ratio < 1.0:
        return prose(f"On {where}, the incumbent is worse than the default: keep the default.", tone="warning")
    times = f"{found.ratio:.3g} times as fast as the default" if view.of_speed else "better than the default"
    later = "" if view.test else " Whether that holds on new instances, capra validate tells."
    return prose(f"On {where}, the incumbent is {times}.{later}", tone="good")


def _difference(view: View) -> Block:
    """Of costs that have no ratio: negative ones, for example."""
    runs, where = (view.history, "training pair") if view.validation is None else (view.validation, "test pair")
    costs = [runs.record(config).costs for config in (view.incumbent, view.default) if config is not None]
    shared = [pair for pair in costs[0] if all(math.isfinite(known.get(pair, math.inf)) for known in costs)]
    if len(costs) < 2 or not shared:
        return prose("The incumbent and the default have no runs that can be compared yet.")
    ours, theirs = (sum(known[pair] for pair in shared) / len(shared) for known in costs)
    advice = "" if ours < theirs else ": keep the default"
    text = f"On {count(len(shared), where)}, the incumbent costs {ours:.4g} on average, the default {theirs:.4g}{advice}."
    return prose(text, tone="good" if ours < theirs else "warning")


def _training_pairs(found: SpeedUp) -> str:
    return f"{count(found.pairs, 'training pair')} that both have run"


def _tiles(view: View) -> list[Block]:
    of_one = [] if view.builds else [_speed_up_tile(view), _cost_tile(view)]
    made = [*of_one, _runs_tile(view), *_budget_tiles(view)]
    return [tile for tile in made if tile is not None]


def _speed_up_tile(view: View) -> Block | None:
    found = view.test or view.training
    if found is None or not view.of_speed:
        return None
    where = "test" if view.test else "training"
    interval = f"95 % interval {found.low:.3g} to {found.high:.3g}" if found.enough else "too little for an interval"
    below = f"{interval}, on {count(found.pairs, f'{where} pair')}"
    return {"name": "Speed-up over the default", "value": f"{found.ratio:.3g}×", "below": below, "strong": True}


def _cost_tile(view: View) -> Block | None:
    if view.incumbent is None:
        return None
    record = view.history.record(view.incumbent)
    before = view.history.record(view.default).mean if view.default else None
    was = "" if before is None or view.incumbent == view.default else f"; the default {before:.3g} on its own"
    name = f"Training cost ({str(view.objective).split(':')[0].upper()})"
    return {"name": name, "value": f"{record.mean:.3g}", "below": f"mean of {count(len(record.costs), 'pair')}{was}"}


def _runs_tile(view: View) -> Block:
    capped = view.history.statuses[Status.CAPPED]
    saved = f"; {capped:,} capped, at most {amount(view.history.saved, view.unit)} saved" if capped else ""
    under_way = f"; {view.under_way} under way or interrupted" if view.under_way else ""
    below = f"{count(len(view.columns.configs.things), 'configuration')}{saved}{under_way}"
    return {"name": "Runs", "value": f"{len(view.history):,}", "below": below}


def _budget_tiles(view: View) -> list[Block]:
    """The part of the budget that is nearest to its end."""
    shares = {part: view.spent[part] / limit for part, limit in view.budget.items() if limit > 0}
    if not shares:
        return [{"name": "Spent", "value": amount(view.spent["cpu"], view.unit), "below": "no limit is known"}]
    part = max(shares, key=lambda name: shares[name])
    used, limit = view.spent[part], view.budget[part]
    words: dict[str, Any] = {
        "cpu": lambda value: amount(value, view.unit), "wall": clock, "runs": lambda value: count(int(value), "run")
    }  # fmt: skip
    below = f"{words[part](used)} of {words[part](limit)}{' on the clock' if part == 'wall' else ''}"
    share = min(1.0, shares[part])
    return [{"name": "Budget used", "value": f"{100 * share:.0f} %", "below": below, "share": share}]


def _settings(view: View) -> Block:
    """Parameter by parameter, those that differ from the default first."""
    incumbent, default = dict(view.incumbent or {}), dict(view.default or {})
    rows = []
    for name in view.space.names:
        old, new = default.get(name), incumbent.get(name)
        if old is None and new is None:
            continue
        rows.append([name, _shown(old), _shown(new)])
    same = [row[0] for row in rows if row[1] == row[2]]
    rows.sort(key=lambda row: row[0] in same)
    changed = len(rows) - len(same)
    aid = f"{changed} of {count(len(rows), 'active parameter')} differ from the default; – is inactive."
    return table("settings", "Parameters", aid, ["parameter", "default", "incumbent"], rows, rows_shown=8, dim=same)


def _shown(value: object) -> str:
    return "–" if value is None else str(value)
