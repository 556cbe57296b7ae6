"""How the incumbent became better, and whether that holds on test instances."""

from __future__ import annotations

import math

import numpy as np

from capra.analysis.statistics import bootstrap_interval
from capra.report.html.blocks import Block, Section, axis, series, xy
from capra.report.html.view import View
from capra.report.words import unit_in_words
from capra.runs import Configuration, History

__all__ = ["training_curve", "trajectory", "validated_costs"]


def trajectory(view: View) -> Section | None:
    if not view.trajectory or view.builds:  # a portfolio has members instead
        return None
    drawn = [training_curve(view, "training, when it took over", "training"), _now(view)]
    aid = "Lower is better; each step is a new incumbent, and the dots say what all its training runs say by now."
    if view.validation is not None:
        drawn += _validated(view, view.validation)
        aid = "Lower is better; where the test cost rises while the training cost falls, the tuning overfits (overtuning)."
    guides = []
    if view.default is not None and (cost := view.history.record(view.default).mean) < np.inf:
        guides.append({"axis": "y", "at": cost, "label": "default (training)"})
    log = all(milestone.cost > 0 for milestone in view.trajectory)
    early = view.trajectory[0].spent > 0 and view.trajectory[-1].spent < 0.3 * view.spent["cpu"]
    x = axis(f"budget spent ({unit_in_words(view.unit)})", log=early, switch=True)
    y = axis(f"cost ({view.objective})", log=log, switch=log)
    return Section("trajectory", "Trajectory", [xy("trajectory", "Cost of the incumbent", aid, x, y, drawn, guides=guides)])


def training_curve(view: View, name: str, colour: str) -> Block:
    """A step at each new incumbent, drawn on until now."""
    steps = [(m.spent, m.cost, m.config.id[:6]) for m in view.trajectory]
    end = max(view.spent["cpu"], steps[-1][0])
    steps.append((end, steps[-1][1], steps[-1][2]))
    spent, cost, text = zip(*steps, strict=True)
    return series(name, colour, "step", spent, cost, text=[f"incumbent {name}" for name in text[:-1]] + ["now"])


def _now(view: View) -> Block:
    means = [(m.spent, view.history.record(m.config)) for m in view.trajectory]
    text = [f"incumbent {m.config.id[:6]}" for m in view.trajectory]
    note = [f"mean of {len(record.costs)} pairs" for _, record in means]
    x, y = [spent for spent, _ in means], [record.mean for _, record in means]
    return series("training, by now", "training", "point", x, y, text=text, note=note, shape="ring")


def validated_costs(history: History, config: Configuration) -> tuple[float, float, float] | None:
    """Mean over instances of a configuration's test cost, and its 95 % bootstrap interval."""
    groups: dict[str | None, list[float]] = {}
    for (instance, _), cost in history.record(config).costs.items():
        groups.setdefault(instance, []).append(cost)
    if not groups:
        return None
    arrays = [np.array(group) for group in groups.values()]
    low, high = bootstrap_interval(arrays, np.random.default_rng(0), resamples=1000)
    return float(np.mean([group.mean() for group in arrays])), low, high


def _validated(view: View, history: History) -> list[Block]:
    """Incumbents that were validated, and the default as the first of them."""
    named = [(m.spent, m.config, f"incumbent {m.config.id[:6]}") for m in view.trajectory if m.config != view.default]
    if view.default is not None:
        named.insert(0, (view.trajectory[0].spent, view.default, "default"))
    told = ((at, name, validated_costs(history, config)) for at, config, name in named)
    found = [(at, name, costs) for at, name, costs in told if costs is not None and math.isfinite(costs[0])]
    if not found:
        return []
    x, text = [at for at, _, _ in found], [name for _, name, _ in found]
    mean, low, high = zip(*(costs for _, _, costs in found), strict=True)
    note = [f"95 % interval {a:.4g} to {b:.4g}" for a, b in zip(low, high, strict=True)]
    line = {"text": text, "note": note, "low": list(low), "high": list(high), "shape": "diamond"}
    return [series("test, with 95 % interval", "test", "whisker", x, mean, **line)]
