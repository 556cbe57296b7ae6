"""What the searches found, as in Tables 2 and 3 of Eggensperger et al.: quartiles, permutation tests, ranks and scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.stats import rankdata

from benchmarks.accuracy.tuning import METHODS, default_cost, finished
from capra.analysis.statistics import paired_permutation_test

PERMUTATIONS = 100_000
LEVEL = 0.05
PAPER = ("random", "RF+S&H", "NN+TS+Tobit")
Costs = Mapping[str, np.ndarray]
"""Final costs by method, seed by seed; the same seeds for all methods."""


def costs_of(rows: list[dict[str, Any]], on: str, name: str) -> dict[str, np.ndarray]:
    """Over the seeds that every method has finished; a method that has hardly begun is left out."""
    by = {m: {r["seed"]: r["cost"] for r in rows if (r["on"], r["data"], r["method"]) == (on, name, m)} for m in METHODS}
    most = max(len(found) for found in by.values())
    by = {method: found for method, found in by.items() if found and len(found) >= most / 2}
    seeds = sorted(set.intersection(*(set(found) for found in by.values()))) if by else []
    return {method: np.array([found[seed] for seed in seeds]) for method, found in by.items()}


def scores(costs: Costs) -> dict[str, np.ndarray]:
    """100 for the best final configuration of any method on this problem, 0 for the worst."""
    everything = np.concatenate(list(costs.values()))
    low, high = everything.min(), everything.max()
    return {method: 100.0 * (high - found) / max(high - low, 1e-12) for method, found in costs.items()}


def p_values(costs: Costs) -> dict[str, float]:
    """Of each method against the one with the best median, seeds being pairs; 1 for that one itself."""
    best = min(costs, key=lambda method: float(np.median(costs[method])))
    rng = np.random.default_rng(0)
    tests = {
        m: paired_permutation_test(c, costs[best], rng, permutations=PERMUTATIONS) for m, c in costs.items() if m != best
    }
    return {best: 1.0} | tests


def problem(costs: Costs, default: float) -> dict[str, Any]:
    """One line of the table."""
    p, score = p_values(costs), scores(costs)
    return {
        "default": round(default, 3),
        "seeds": len(next(iter(costs.values()))),
        "methods": {
            method: {
                "quartiles": [round(float(q), 3) for q in np.quantile(found, (0.25, 0.5, 0.75))],
                "p_against_best": round(p[method], 5),
                "median_score": round(float(np.median(score[method])), 2),
            }
            for method, found in costs.items()
        },
    }


def averages(problems: Mapping[str, dict[str, Any]], methods: tuple[str, ...]) -> dict[str, dict[str, float]]:
    """Mean rank of the medians (1 = best, ties share) and mean of the median scores, over the data sets."""
    medians = [[p["methods"][m]["quartiles"][1] for m in methods] for p in problems.values()]
    ranks = np.mean([rankdata(row) for row in medians], axis=0)
    means = [np.mean([p["methods"][m]["median_score"] for p in problems.values()]) for m in methods]
    return {
        m: {"rank": round(float(r), 2), "score": round(float(s), 2)} for m, r, s in zip(methods, ranks, means, strict=True)
    }


def summary(on: str, names: list[str]) -> dict[str, Any]:
    """All problems of a kind: with every method, and the ranks and scores of the paper's three among themselves."""
    rows = finished()
    found = {name: costs for name in names if (costs := costs_of(rows, on, name)) and len(next(iter(costs.values()))) > 1}
    if not found:
        return {}
    methods = tuple(m for m in METHODS if all(m in costs for costs in found.values()))
    defaults = {name: default_cost(on, name) for name in found}
    problems = {name: problem({m: costs[m] for m in methods}, defaults[name]) for name, costs in found.items()}
    papers = tuple(m for m in PAPER if m in methods)
    three = {name: problem({m: costs[m] for m in papers}, defaults[name]) for name, costs in found.items()}
    effort = {m: [(r["runs"], r["cpu_s"]) for r in rows if (r["on"], r["method"]) == (on, m)] for m in methods}
    return {
        "problems": problems,
        "averages": averages(problems, methods),
        "averages_of_three": averages(three, papers),
        "median_runs_and_cpu_s": {m: np.median(e, axis=0).round(2).tolist() for m, e in effort.items()},
    }


def markdown(kind: Mapping[str, Any]) -> str:
    """The table: the best median is underlined, what does not differ from it (5 %) is bold."""
    methods = list(kind["averages"])
    lines = ["| data | default | " + " | ".join(methods) + " |", "|---|---|" + "---|" * len(methods)]
    for name, row in kind["problems"].items():
        lines.append(f"| {name} | {row['default']:.1f} | " + " | ".join(_cell(row["methods"][m]) for m in methods) + " |")
    for what in ("rank", "score"):
        lines.append(f"| average {what} | | " + " | ".join(f"{kind['averages'][m][what]:.2f}" for m in methods) + " |")
    return "\n".join(lines)


def _cell(found: Mapping[str, Any]) -> str:
    low, middle, high = (f"{q:.1f}" for q in found["quartiles"])
    middle = f"**{middle}**" if found["p_against_best"] > LEVEL else middle
    return f"{f'<u>{middle}</u>' if found['p_against_best'] == 1.0 else middle} [{low}; {high}]"
