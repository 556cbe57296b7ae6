"""Figures of a result, with matplotlib. Every function returns a figure of its own: nothing global is touched."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from capra.errors import InputError
from capra.report.words import unit_in_words
from capra.runs import Configuration, History, Status, Value

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from capra.scenario import Scenario
    from capra.tune import Result

__all__ = ["ablation", "cactus", "curve", "ecdf", "importance", "matrix", "scatter", "statuses", "trajectory"]

BLUE, ORANGE, GREY = "#2d6cdf", "#e07b1a", "#8a8f98"


def _figure(width: float = 7.0, height: float = 4.3) -> tuple[Figure, Axes]:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError("figures need matplotlib", hint="pip install 'capra[plots]'") from None
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    axes.grid(alpha=0.25, linewidth=0.6)
    return figure, axes


def _scenario(result: Result) -> Scenario:
    if result.scenario is None:
        raise InputError("the result knows no scenario", hint="use capra.tune, or capra.overview.load_result(folder)")
    return result.scenario


def _logarithmic(axes: Axes, costs: list[float], axis: str = "y") -> None:
    """A log scale, where all costs are positive."""
    if costs and min(costs) > 0:
        (axes.set_yscale if axis == "y" else axes.set_xscale)("log")


def _tests(result: Result) -> History | None:
    from capra.overview import load_validation

    return None if result.store is None else load_validation(Path(result.store).parent, _scenario(result))


# --- what was found ---


def trajectory(result: Result) -> Figure:
    figure, axes = _figure()
    scenario, tests = _scenario(result), _tests(result)
    if not result.trajectory:
        raise InputError("there is no incumbent yet", hint="let the tuning run for a while")
    end = max(result.spent, result.trajectory[-1].spent)
    spent = [one.spent for one in result.trajectory]
    costs = [one.cost for one in result.trajectory]
    axes.step([*spent, end], [*costs, costs[-1]], where="post", color=BLUE, label="training, when it became incumbent")
    known = [
        (one.spent, tests.record(one.config).mean) for one in result.trajectory if tests and tests.record(one.config).costs
    ]
    if known:
        x, y = zip(*known, strict=True)
        axes.step([*x, end], [*y, y[-1]], where="post", color=ORANGE, marker="o", label="test")
    _logarithmic(axes, costs + [cost for _, cost in known])
    axes.set(xlabel=f"spent ({unit_in_words(scenario.unit)})", ylabel=f"cost ({scenario.objective})")
    axes.legend(frameon=False)
    return figure


def _two(result: Result, one: Mapping[str, Value] | None, other: Mapping[str, Value] | None) -> list[Configuration]:
    given = (one or _scenario(result).default, other or result.incumbent)
    return [Configuration(dict(config)) for config in given]


def scatter(result: Result, one: Mapping[str, Value] | None = None, other: Mapping[str, Value] | None = None) -> Figure:
    figure, axes = _figure(4.8, 4.8)
    first, second = (result.history.record(config).costs for config in _two(result, one, other))
    shared = [pair for pair in first if pair in second]
    x, y = [first[pair] for pair in shared], [second[pair] for pair in shared]
    axes.scatter(x, y, s=18, color=BLUE, alpha=0.7, linewidths=0)
    for draw in (axes.axhline, axes.axvline) if result.history.objective.kind == "runtime" else ():
        draw(result.history.kappa_max, color=ORANGE, linewidth=0.8, linestyle="--")
    if x:
        ends = [min(x + y), max(x + y)]
        axes.plot(ends, ends, color=GREY, linewidth=0.8)
    _logarithmic(axes, x + y, "x")
    _logarithmic(axes, x + y, "y")
    axes.set(xlabel="default" if one is None else "first", ylabel="incumbent" if other is None else "second")
    axes.set_title(f"cost on {len(shared)} shared pairs", fontsize=10)
    return figure


def _times(result: Result) -> dict[str, list[float]]:
    """Times of the solved pairs, and how many pairs there are, of the pairs that both have."""
    default, incumbent = _two(result, None, None)
    costs = {"default": result.history.record(default).costs, "incumbent": result.history.record(incumbent).costs}
    shared = [pair for pair in costs["default"] if pair in costs["incumbent"]]
    return {name: sorted(known[pair] for pair in shared) for name, known in costs.items()}


def _solved(result: Result, costs: list[float]) -> list[float]:
    objective, kappa_max = result.history.objective, result.history.kappa_max
    return costs if objective.kind == "quality" else [cost for cost in costs if not objective.failed(cost, kappa_max)]


def cactus(result: Result) -> Figure:
    figure, axes = _figure()
    times = _times(result)
    for (name, costs), colour in zip(times.items(), (GREY, BLUE), strict=True):
        solved = _solved(result, costs)
        axes.plot(
            range(1, len(solved) + 1), solved, color=colour, marker=".", label=f"{name}: {len(solved)} of {len(costs)}"
        )
    _logarithmic(axes, [*times["default"], *times["incumbent"]])
    axes.set(xlabel="solved pairs", ylabel="cost of each")
    axes.legend(frameon=False)
    return figure


def ecdf(result: Result) -> Figure:
    figure, axes = _figure()
    times = _times(result)
    for (name, costs), colour in zip(times.items(), (GREY, BLUE), strict=True):
        solved = _solved(result, costs)
        axes.step(solved, np.arange(1, len(solved) + 1) / max(1, len(costs)), where="post", color=colour, label=name)
    _logarithmic(axes, [*times["default"], *times["incumbent"]], "x")
    axes.set(xlabel="cost", ylabel="share of the pairs", ylim=(0.0, 1.02))
    axes.legend(frameon=False)
    return figure


# --- how it was found ---


def matrix(result: Result, most: int = 60) -> Figure:
    figure, axes = _figure(8.0, 6.0)
    history = result.history
    ranked = sorted(history.configurations, key=lambda config: -len(history.record(config).costs))[:most]
    names = list(dict.fromkeys(run.request.instance for run in history))
    column = {name: j for j, name in enumerate(names)}
    cells = np.full((len(ranked), len(names)), math.nan)
    dots = []
    for i, config in enumerate(ranked):
        record = history.record(config)
        for name in names:
            known = [cost for (instance, _), cost in record.costs.items() if instance == name]
            if known:
                cells[i, column[name]] = np.mean(known)
            elif any(instance == name for instance, _ in record.bounds):
                dots.append((column[name], i))
    logarithm = np.nanmin(cells, initial=math.inf) > 0
    image = axes.imshow(np.log10(cells) if logarithm else cells, aspect="auto", cmap="viridis", interpolation="nearest")
    if dots:
        axes.scatter([x for x, _ in dots], [y for _, y in dots], s=6, color=ORANGE, linewidths=0)
    figure.colorbar(image, ax=axes, label="log10 of the cost" if logarithm else "cost")
    axes.grid(visible=False)
    title = f"{len(ranked)} of {len(list(history.configurations))} configurations, most runs first; dots: only capped"
    axes.set(xlabel="instance", ylabel="configuration", title=title)
    return figure


def statuses(result: Result) -> Figure:
    figure, axes = _figure()
    for status in Status:
        runs = [run for run in result.history if run.outcome.status is status]
        if runs:
            x, y = [run.order for run in runs], [run.outcome.time for run in runs]
            axes.scatter(x, y, s=6, label=f"{status.lower()} ({len(runs)})", linewidths=0, alpha=0.7)
    _logarithmic(axes, [run.outcome.time for run in result.history])
    axes.set(xlabel="run", ylabel=f"time ({unit_in_words(_scenario(result).unit)})")
    axes.legend(frameon=False, markerscale=2)
    return figure


# --- what mattered ---


def _model(result: Result) -> Any:
    from capra.analysis.importance import Importance  # models take their time to load

    return Importance(_scenario(result), result.history)


def importance(result: Result, *, local: bool = False, most: int = 20) -> Figure:
    model = _model(result)
    shares = [one for one, _ in model.local(Configuration(result.incumbent))] if local else model.parameters()
    shares = shares[:most][::-1]
    figure, axes = _figure(7.0, 1.2 + 0.28 * len(shares))
    bars = [100 * one.share for one in shares]
    axes.barh([one.name for one in shares], bars, xerr=[100 * one.spread for one in shares], color=BLUE, ecolor=GREY)
    axes.set(xlabel="% of the variance around the incumbent" if local else "% of the variance", xlim=(0.0, None))
    return figure


def curve(result: Result, name: str) -> Figure:
    found = _model(result).curve(name)
    figure, axes = _figure()
    parameter = _scenario(result).space[name]
    if parameter.categories:
        spread = np.abs(np.array([found.low, found.high]) - np.array(found.cost))
        axes.errorbar([str(value) for value in found.values], found.cost, yerr=spread, fmt="o", color=BLUE, ecolor=GREY)
    else:
        values: Any = [str(value) if isinstance(value, str | bool) else value for value in found.values]
        axes.plot(values, found.cost, color=BLUE)
        axes.fill_between(values, found.low, found.high, color=BLUE, alpha=0.2, linewidth=0)
        if getattr(parameter, "log", False):
            axes.set_xscale("log")
    _logarithmic(axes, found.cost)
    axes.set(xlabel=name, ylabel="predicted cost")
    return figure


def ablation(result: Result, *, model: bool = False) -> Figure:
    from capra.analysis.ablation import load_ablation, predict_ablation

    if result.store is None:
        raise InputError("an ablation needs the tuning's folder", hint="tune with out=…")
    folder = Path(result.store).parent
    found = predict_ablation(folder, result.scenario) if model else load_ablation(folder, result.scenario)
    if found is None:
        raise InputError("no ablation was made yet", hint=f"capra ablation {folder}, or plot_ablation(model=True)")
    figure, axes = _figure(7.0, 1.2 + 0.32 * len(found.steps))
    places = range(len(found.steps))
    costs = [step.cost for step in found.steps]
    low, high = np.array([step.interval for step in found.steps]).T
    spread = np.maximum([costs - low, high - costs], 0.0)
    axes.errorbar(costs, places, xerr=spread, fmt="-o", color=BLUE, ecolor=GREY)
    axes.set_yticks(places, [step.label for step in found.steps])
    axes.invert_yaxis()
    _logarithmic(axes, costs, "x")
    axes.set(xlabel="predicted cost" if model else f"cost on {found.pairs} pairs")
    return figure
