"""What the rows say: medians and quartiles, tests against Capra's model-based strategy, ranks, overheads, curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.machine import IMAGES, RESULTS, machine, write_results
from benchmarks.peers.problems import TARGET, TOTAL, hours
from benchmarks.peers.rows import Row, rows
from benchmarks.peers.tools import KNOWN, LATE, TOOLS
from capra.analysis.statistics import paired_permutation_test

OURS = "capra-smac"
PERMUTATIONS = 100_000
ALSO = {"mean": "mean time", "train": "PAR10 in training"}
"""What else is known of an incumbent where a surrogate answers, and its title in the table."""


def problems() -> list[str]:
    return sorted(path.stem.removeprefix("peers-") for path in RESULTS.glob("peers-*.jsonl"))


def budget(problem: str) -> float:
    """Seconds of target time and own CPU time together."""
    return TOTAL if problem == "clasp" else 3600.0 * hours(problem)


def spent(moment: dict[str, Any]) -> float:
    return float(moment["target"] + moment["own"])


def final(row: Row) -> dict[str, Any]:
    """The last incumbent within the budget; irace may end its last race."""
    most = budget(row["problem"]) * (LATE if row["tool"] == "irace" else 1.0)
    return [moment for moment in row["incumbents"] if spent(moment) <= most][-1]


def by_tool(problem: str) -> dict[str, list[Row]]:
    """Rows whose final incumbent was judged."""
    judged = [row for row in rows(problem) if row["incumbents"] and "cost" in final(row)]
    found = {tool: sorted((row for row in judged if row["tool"] == tool), key=lambda row: row["seed"]) for tool in KNOWN}
    return {tool: kept for tool, kept in found.items() if kept}


def p_values(ours: Sequence[Row], others: Sequence[Row], measure: str) -> dict[str, float]:
    """Do the means of the logarithms differ? By seeds in pairs, and with the labels shuffled at random."""
    rng = np.random.default_rng(0)
    one, other = ({row["seed"]: np.log(final(row)[measure]) for row in kept} for kept in (ours, others))
    both = sorted(one.keys() & other.keys())
    paired = paired_permutation_test([one[s] for s in both], [other[s] for s in both], rng)
    return {"paired": paired, "shuffled": shuffled(np.array([*one.values()]), np.array([*other.values()]), rng)}


def shuffled(one: np.ndarray, other: np.ndarray, rng: np.random.Generator) -> float:
    """Two-sided p-value of a permutation test for unpaired samples."""
    joint, size = np.concatenate([one, other]), len(one)
    observed = abs(one.mean() - other.mean()) * (1 - 1e-12)
    order = np.argsort(rng.random((PERMUTATIONS, len(joint))), axis=1)
    means = joint[order[:, :size]].mean(axis=1), joint[order[:, size:]].mean(axis=1)
    return float((1 + (np.abs(means[0] - means[1]) >= observed).sum()) / (1 + PERMUTATIONS))


def line(tool: str, kept: list[Row], ours: list[Row]) -> dict[str, Any]:
    middle = {
        key: float(np.median([row[key] for row in kept])) for key in ("runs", "configurations", "target", "own", "wall")
    }
    return {
        "tool": tool,
        "seeds": len(kept),
        **figures("cost", kept, ours),
        "also": {measure: figures(measure, kept, ours) for measure in ALSO if measure in final(kept[0])},
        **middle,
        "overhead": float(np.median([row["own"] / (row["own"] + row["target"]) for row in kept])),
        "ends": sorted({row["end"] for row in kept}),
    }


def figures(measure: str, kept: list[Row], ours: list[Row]) -> dict[str, Any]:
    """What the final incumbents cost by one measure, and how that compares with our own."""
    costs = [final(row)[measure] for row in kept]
    return {
        "costs": costs,
        "quartiles": np.quantile(costs, [0.25, 0.5, 0.75]).tolist(),
        "p": p_values(ours, kept, measure) if ours and kept is not ours else {},
    }


def head(entry: dict[str, Any]) -> str:
    columns = ["tool", "seeds", "PAR10", "quartiles", "p"]
    columns += [name for measure in entry["also"] for name in (ALSO[measure], "p")]
    columns += ["configurations", "runs", "target s", "own CPU s", "overhead"]
    return f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|"


def markdown(entry: dict[str, Any], test: str) -> str:
    low, middle, high = entry["quartiles"]
    cells = [entry["tool"], str(entry["seeds"]), f"{middle:.3g}", f"{low:.3g} – {high:.3g}", p_cell(entry, test)]
    for found in entry["also"].values():
        cells += [f"{found['quartiles'][1]:.3g}", p_cell(found, test)]
    cells += [f"{entry[key]:.0f}" for key in ("configurations", "runs", "target")]
    cells += [f"{entry['own']:.1f}", f"{100 * entry['overhead']:.1f} %"]
    return f"| {' | '.join(cells)} |"


def p_cell(found: dict[str, Any], test: str) -> str:
    return f"{found['p'][test]:.2g}" if found["p"] else "–"


def ranks(tables: dict[str, list[dict[str, Any]]]) -> dict[str, float]:
    """Mean over problems of a tool's place by its median, for tools that were run on all of them."""
    places: dict[str, list[int]] = {}
    for entries in tables.values():
        ordered = sorted((entry for entry in entries if entry["tool"] in TOOLS), key=lambda entry: entry["quartiles"][1])
        for place, entry in enumerate(ordered, start=1):
            places.setdefault(entry["tool"], []).append(place)
    return {tool: float(np.mean(found)) for tool, found in places.items() if len(found) == len(tables)}


def has_curve(row: Row) -> bool:
    """Was its first incumbent judged, too?"""
    return bool({"rough", "cost"} & row["incumbents"][0].keys())


def curve(kept: list[Row], grid: np.ndarray) -> np.ndarray:
    """Quartiles over seeds of the incumbent's test cost at each point of the grid; NaN before all have one."""
    found = []
    for row in kept:
        judged = [moment for moment in row["incumbents"] if {"rough", "cost"} & moment.keys()]
        at = [spent(moment) for moment in judged]
        costs = np.array([np.nan, *(moment.get("rough", moment.get("cost")) for moment in judged)])
        found.append(costs[np.searchsorted(at, grid, side="right")])
    return np.quantile(found, [0.25, 0.5, 0.75], axis=0)


def draw(problem: str, tools: dict[str, list[Row]]) -> None:
    import matplotlib.pyplot as plt

    grid = np.geomspace(budget(problem) / 100, budget(problem), 200)
    figure, axis = plt.subplots(figsize=(7, 4.2))
    for number, (tool, kept) in enumerate(tools.items()):
        low, middle, high = curve(kept, grid)
        axis.plot(grid, middle, label=f"{tool} ({len(kept)})", color=f"C{number}")
        axis.fill_between(grid, low, high, alpha=0.15, color=f"C{number}")
    if problem == "clasp":
        axis.axvline(TARGET, color="grey", linewidth=0.5)
    axis.set(xscale="log", yscale="log", title=problem, xlabel="target time and own CPU time spent, s")
    axis.set_ylabel("test PAR10 of the incumbent, s")
    axis.legend()
    figure.tight_layout()
    IMAGES.mkdir(exist_ok=True)
    figure.savefig(IMAGES / f"peers-{problem}.png", dpi=90)
    plt.close(figure)


def main() -> None:
    tables = {}
    for problem in problems():
        tools = by_tool(problem)
        tables[problem] = [line(tool, kept, tools.get(OURS, [])) for tool, kept in tools.items()]
        print(f"\n{problem}\n\n{head(tables[problem][0])}")
        test = "shuffled" if problem == "clasp" else "paired"  # a seed of SPEAR's has instances of its own
        for entry in sorted(tables[problem], key=lambda entry: entry["quartiles"][1]):
            print(markdown(entry, test))
        curves = {tool: list(filter(has_curve, kept)) for tool, kept in tools.items() if tool in TOOLS}
        if curves.get(OURS):  # else the picture is of an earlier version
            draw(problem, {tool: kept for tool, kept in curves.items() if kept})
    mean_ranks = ranks(tables)
    print(
        "\naverage rank:", ", ".join(f"{tool} {rank:.2f}" for tool, rank in sorted(mean_ranks.items(), key=lambda x: x[1]))
    )
    write_results("peers", {"machine": machine("capra", "numpy"), "tables": tables, "ranks": mean_ranks})
