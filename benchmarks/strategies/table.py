"""What the rows say: medians and quartiles, mean ranks, permutation tests, curves."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import rankdata

from benchmarks.machine import IMAGES, machine, write_results
from benchmarks.strategies.problems import BUDGETS
from benchmarks.strategies.rows import REAL, SIMULATED, Row, rows
from benchmarks.strategies.settings import is_planned
from capra.analysis.statistics import paired_permutation_test

REFERENCE = "roar"
"""Whom everybody is tested against: racing without any search."""
FEWEST = 3
"""Seeds that a rank takes at least."""
SHOWN = 4
"""Seeds that every line of a curve is drawn from at least."""

Finals = dict[str, dict[int, float]]
"""Strategy and seed to the test cost of the last incumbent."""


def at(row: Row, budget: float) -> float:
    """Test cost of the incumbent when so much was spent; the default's before there was any."""
    known = [cost for spent, cost in row["curve"] if spent <= budget]
    return float(known[-1] if known else row["default"])


def finals(kept: Sequence[Row], budget: float) -> Finals:
    """A planned tuning counts for its own budget, another for every smaller one as well."""
    found: Finals = defaultdict(dict)
    for row in kept:
        if row["budget"] == budget or (row["budget"] > budget and not is_planned(row["strategy"])):
            # a run may end a little after the budget did: it was paid for when it began
            found[row["strategy"]][row["seed"]] = at(row, math.inf if row["budget"] == budget else budget)
    return found


def ranks(found: Finals) -> dict[str, float]:
    """Mean rank over the seeds that everybody has; NaN for who has hardly any yet."""
    counted = {name: costs for name, costs in found.items() if len(costs) >= FEWEST}
    seeds = sorted(set.intersection(*(set(costs) for costs in counted.values()))) if counted else []
    if not seeds:
        return dict.fromkeys(found, math.nan)
    matrix = np.array([[costs[seed] for seed in seeds] for costs in counted.values()])
    means = dict(zip(counted, rankdata(matrix, axis=0).mean(axis=1).tolist(), strict=True))
    return {name: means.get(name, math.nan) for name in found}


def p_value(one: dict[int, float], other: dict[int, float]) -> float:
    """Paired permutation test on the logarithms, over the seeds that both have."""
    seeds = sorted(one.keys() & other.keys())
    logs = (np.log([costs[seed] for seed in seeds]) for costs in (one, other))
    return paired_permutation_test(*logs, np.random.default_rng(0))


def entries(problem: str, budget: float, found: Finals) -> list[dict[str, Any]]:
    mean_ranks = ranks(found)
    lines = []
    for strategy in sorted(found, key=lambda name: float(np.median([*found[name].values()]))):
        costs = found[strategy]
        p = None if strategy == REFERENCE or REFERENCE not in found else p_value(costs, found[REFERENCE])
        lines.append(
            {
                "problem": problem,
                "budget": budget,
                "strategy": strategy,
                "seeds": len(costs),
                "quartiles": np.quantile([*costs.values()], [0.25, 0.5, 0.75]).tolist(),
                "rank": None if math.isnan(mean_ranks[strategy]) else mean_ranks[strategy],
                "p_against_roar": p,
            }
        )
    return lines


def printed(lines: Sequence[dict[str, Any]]) -> None:
    print(
        f"\n{lines[0]['problem']}, {lines[0]['budget']:.0f} s\n\n| strategy | seeds | median | quartiles | mean rank | p |"
    )
    print("|---|---|---|---|---|---|")
    for line in lines:
        low, middle, high = line["quartiles"]
        p = "–" if line["p_against_roar"] is None else f"{line['p_against_roar']:.2g}"
        rank = "–" if line["rank"] is None else f"{line['rank']:.1f}"
        print(f"| {line['strategy']} | {line['seeds']} | {middle:.3g} | {low:.3g}, {high:.3g} | {rank} | {p} |")


def curves(problem: str, kept: Sequence[Row]) -> None:
    """Median test cost over what was spent."""
    try:
        import matplotlib as mpl
    except ImportError:
        print("(no curves without matplotlib: pip install 'capra[bench]')")
        return
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    most = max(row["budget"] for row in kept)
    grid = np.geomspace(most / 200.0 if problem in BUDGETS else most / 8.0, most, 120)
    figure, axes = plt.subplots(figsize=(7, 4.2))
    for strategy in sorted({row["strategy"] for row in kept}):
        mine = [row for row in kept if row["strategy"] == strategy and row["budget"] == most]
        if len(mine) >= SHOWN:
            axes.plot(grid, [np.median([at(row, spent) for row in mine]) for spent in grid], label=strategy, lw=1.3)
    axes.set(xscale="log", yscale="log", xlabel="time spent (s)", ylabel="test PAR10 of the incumbent", title=problem)
    axes.legend(fontsize=7, ncol=2)
    figure.tight_layout()
    figure.savefig(IMAGES / f"strategies-{problem}.png", dpi=110)
    plt.close(figure)


def measured() -> list[Row]:
    """All rows; real ones as far as their incumbents were judged."""
    return rows(SIMULATED) + [row for row in rows(REAL) if "curve" in row]


def main() -> None:
    everything, lines = measured(), []
    for problem in sorted({row["problem"] for row in everything}):
        kept = [row for row in everything if row["problem"] == problem]
        for budget in BUDGETS.get(problem, sorted({row["budget"] for row in kept})):
            if new := entries(problem, budget, finals(kept, budget)):
                printed(new)
                lines += new
        curves(problem, kept)
    write_results("strategies", {"machine": machine("capra", "numpy"), "rows": lines})
