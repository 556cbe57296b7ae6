"""Where the incumbent is still bad."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from capra.analysis.homogeneity import homogeneity
from capra.report.html.blocks import Block, Section, prose, table
from capra.report.html.view import View
from capra.report.words import unit_in_words
from capra.runs import Configuration, History

__all__ = ["worst"]

MOST = 50


def worst(view: View) -> Section | None:
    if view.incumbent is None or len(view.columns.instances.things) < 2:
        return None
    ours = _by_instance(view.history, view.incumbent)
    theirs = _by_instance(view.history, view.default) if view.default else {}
    best = _best_known(view)
    rows = []
    for instance, cost in sorted(ours.items(), key=lambda item: -item[1])[:MOST]:
        before, (least, who) = theirs.get(instance), best[instance]
        ratio = before / cost if before is not None and cost > 0 else None
        rows.append([str(instance), _short(cost), _short(before), _short(ratio), _short(least), who[:6]])
    unit = str(view.objective) if not view.of_time else f"{view.objective}, {unit_in_words(view.unit)}"
    columns = ["instance", "incumbent", "default", "speed-up" if view.of_speed else "ratio", "best known", "by"]
    aid = f"Mean cost ({unit}) by training instance; where somebody else was much better, a portfolio may help."
    found = table(
        "worst", f"Where the incumbent is still {'slow' if view.of_speed else 'bad'}", aid, columns, rows, rows_shown=15
    )
    return Section("worst", "Worst instances", [*_advice(view), found])


def _advice(view: View) -> list[Block]:
    """Would several configurations be better than one?"""
    alike = homogeneity(view.history, deterministic=bool(view.scenario.get("deterministic")))
    if alike is None:
        return []
    text = alike.advice[0].upper() + alike.advice[1:]
    return [prose(f"{text}, by the runs of {alike.configurations} configurations on {alike.instances} instances.")]


def _by_instance(history: History, config: Configuration) -> dict[str | None, float]:
    groups: dict[str | None, list[float]] = defaultdict(list)
    for (instance, _), cost in history.record(config).costs.items():
        groups[instance].append(cost)
    return {instance: float(np.mean(costs)) for instance, costs in groups.items()}


def _best_known(view: View) -> dict[str | None, tuple[float, str]]:
    """The lowest cost of one run on each instance, and whose."""
    best: dict[str | None, tuple[float, str]] = {}
    for config in view.history.configurations:
        for (instance, _), cost in view.history.record(config).costs.items():
            if instance not in best or cost < best[instance][0]:
                best[instance] = cost, config.id
    return best


def _short(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) else float(f"{value:.3g}")
