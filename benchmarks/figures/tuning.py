"""Tuning: what was found, with which budget, beside whom."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from statistics import median
from typing import Any

from benchmarks.figures.values import Row, counted, number, results, spread


def demo() -> Iterator[Row]:
    """Speed-up of clasp over its default on fresh instances, two minutes, two workers."""
    for row in results("demo")["rows"]:
        speed_ups = [one["speed_up"] for one in row["found"]]
        ours = f"{' '.join(f'{value:.1f}' for value in speed_ups)}; median {median(speed_ups):.1f}"
        yield f"{row['strategy']}, {len(speed_ups)} seeds", "at least 10 (median); random search 9, irace 14", ours


def capping() -> Iterator[Row]:
    """Median test PAR10 of the incumbent, racing without a model on recorded SPEAR-SWV: slack 1, 1.3, 2, no capping."""
    rows = results("capping")["rows"]
    for hours in sorted({row["hours"] for row in rows}):
        chosen = [row for row in rows if row["hours"] == hours]
        seeds = min(len(row.get("found") or row["test_par10"]) for row in chosen)
        ours = [number(row["quartiles"][1]) for row in chosen]
        yield f"{hours} h of CPU, {seeds} seeds", "capping wins clearly", " ".join(ours)


def audit() -> Iterator[Row]:
    """Rejections by capping that were looked into by running the challenger out, on SPEAR-SWV: how many were wrong?"""
    for row in results("audit")["rows"]:
        yield f"slack {row['slack']:g}", "–", f"{row['wrong']} of {row['checked']} ({row['wrong'] / row['checked']:.1%})"


def peers() -> Iterator[Row]:
    """Median test PAR10 at equal budgets (quartiles; seeds; best seed; median configurations, runs and own CPU seconds)."""
    theirs = {
        ("clasp", "irace"): ".044",
        ("clasp", "smac-2.4.1"): ".049",
        ("clasp", "smac-1.4.0"): ".064",
        ("clasp", "capra-smac"): "below irace's",
    }
    for problem, rows in results("peers")["tables"].items():
        for row in rows:
            effort = f"{row['configurations']:.0f} configurations, {row['runs']:.0f} runs, {row['own']:.0f} s"
            ours = spread(row["quartiles"], row["seeds"], f"best {number(min(row['costs']))}", effort)
            yield f"{problem}: {row['tool']}", theirs.get((problem, row["tool"]), "–"), ours
    looked = results("peers_proposals")
    for row in looked["rows"]:
        found = f"{row['better'] / row['challengers']:.1%} of {row['challengers']}, {1000 * row['better'] / row['seconds']:.1f} in 1,000 s"
        yield f"{looked['problem']}, incumbent {row['level']}: challengers that are better, {row['source']}", "–", found


def saps() -> Iterator[Row]:
    """Median steps of the final configuration: default / random / RF+S&H / NN+TS+Tobit. Their instances are not ours."""
    published = {
        "med": "64.6 / 12.10 / 12.09 / 11.43",
        "q075": "2889.5 / 27.1 / 26.2 / 25.0",
        "q095": "9928.5 / 131.3 / 130.3 / 113.2",
    }
    found = results("saps_tune")["problems"]
    for name, theirs in published.items():
        chosen = [found[name]["methods"].get(method) for method in ("random", "forest S&H", "network Thompson")]
        medians = " / ".join("–" if method is None else f"{method['quartiles'][1]:.0f}" for method in chosen)
        fewest = min(method["repetitions"] for method in chosen if method is not None)
        yield f"QCP {name}", theirs, f"{found[name]['default']:.0f} / {medians} (repetitions: {fewest} or more)"
    for row in results("saps_confirm")["rows"]:
        label = f"QCP {row['problem']}, our own time counted: {row['method']}"
        yield label, "–", spread(row["quartiles"], len(row["found"]))
    match = results("saps_match")
    yield "our SAPS against recorded runs: rank correlation", "at least .95", f"{match['rank_correlation']:.3f}"


def accuracy() -> Iterator[Row]:
    """Average rank and score of random search, RF+S&H, NN+TS+Tobit, among these three, over the data sets."""
    found = results("accuracy")
    for kind in (kind for kind in ("pool", "surrogate", "live") if kind in found):
        problems, averages = found[kind]["problems"], found[kind]["averages_of_three"]
        chosen = [averages[method] for method in ("random", "RF+S&H", "NN+TS+Tobit") if method in averages]
        ours = "; ".join(f"{method['rank']:.2f}, {method['score']:.0f}" for method in chosen)
        size = f"{len(problems)} data sets, {min(row['seeds'] for row in problems.values())} seeds"
        yield kind, "3, 63.8; 1.72, 86.1; 1.27, 91.4 (eight data sets)", f"{ours} ({size})"


def slack_factors() -> Iterator[Row]:
    """Median test mean time of the incumbent on SPEAR-SWV; theirs with a cutoff of 10,000 s and two days, ours of 300 s and hours."""
    theirs = {"1.0": "67.2", "1.1": "521", "1.3": "8.15", "1.5": "7.78", "2.0": "290", "none": "1030"}
    for row in (row for row in results("slack_factors")["rows"] if row["found"]):
        par10, mean = (median(one[key] for one in row["found"]) for key in ("par10", "mean"))
        ours = f"{mean:.3g} ({counted(len(row['found']), 'seed')}; PAR10 {number(par10)})"
        yield f"{row['hours']:g} h, slack {row['slack']}", theirs.get(row["slack"], "–"), ours


def minimize() -> Iterator[Row]:
    """Cumulative cost until an evaluation is within 1 % of the optimum, with capping / without: medians (quartiles; searches that arrived)."""
    rows = {(row["function"], row["model"], row["capping"]): row for row in results("minimize")["rows"]}
    functions, models, _ = map(dict.fromkeys, zip(*rows, strict=True))
    for function, model in itertools.product(functions, models):
        cells = [rows.get((function, model, how)) for how in ("capped", "uncapped")]
        ours = " / ".join(map(_arrival, cells))
        yield f"{function}, {model}", "less with capping", f"{ours}: {_bought(*cells)}"


def _arrival(row: dict[str, Any] | None) -> str:
    if row is None:
        return "–"
    low, middle, high = ("–" if cost is None else number(cost) for cost in row["cost_quartiles"])
    arrived = f"{row['arrived']} of {len(row['found'])}"
    return f"not reached ({arrived})" if middle == "–" else f"{middle} ({low} to {high}; {arrived})"


def _bought(capped: dict[str, Any] | None, uncapped: dict[str, Any] | None) -> str:
    """What capping made of the median."""
    ours, theirs = (row and row["cost_quartiles"][1] for row in (capped, uncapped))
    if not ours or not theirs:
        return "only with capping" if ours else "only without capping" if theirs else "neither"
    if max(ours, theirs) < 1.05 * min(ours, theirs):
        return "no difference"
    return f"{theirs / ours:.1f} times cheaper" if ours < theirs else f"{ours / theirs:.1f} times dearer"


def overhead() -> Iterator[Row]:
    """CPU time of one fit and one proposal as a share of SMAC3 2.4.1's."""
    for row in results("overhead")["rows"]:
        if "SMAC3" in row.get("ratio_to", {}):
            what = f"{row['runs']:,} runs, {row['instances'] or 'no'} instances"
            ours = f"1/{1 / row['ratio_to']['SMAC3']:.0f} ({counted(len(row['found']), 'round')})"
            yield what, "at most 1/10", ours


def strategies() -> Iterator[Row]:
    """Median test PAR10 (quartiles; seeds; mean rank over seeds) of the incumbent with the largest budget of each problem."""
    rows = results("strategies")["rows"]
    largest = {row["problem"]: max(r["budget"] for r in rows if r["problem"] == row["problem"]) for row in rows}
    for row in (row for row in rows if row["budget"] == largest[row["problem"]]):
        rank = [] if row["rank"] is None else [f"mean rank {row['rank']:.1f}"]
        what = f"{row['problem']}, {row['budget']:,.0f} s: {row['strategy']}"
        yield what, "–", spread(row["quartiles"], row["seeds"], *rank)


def overtuning() -> Iterator[Row]:
    """Cost of the incumbent at the end: by its own training runs / on 1,000 fresh seeds, medians."""
    goal = {"Basic(1)": "overtunes", "Basic(100)": "slow", "racing": "neither"}
    for name, row in results("overtuning")["rows"].items():
        yield name, goal.get(name, "–"), f"{number(row['train'][-1])} / {number(row['test'][-1])}"
