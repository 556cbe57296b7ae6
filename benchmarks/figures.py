"""docs/results.md: every figure that we set out to reach beside ours, from the results that are in benchmarks/results/."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.machine import RESULTS
from benchmarks.registry import EXPERIMENTS

__all__ = ["PAGE", "page"]

PAGE = Path(__file__).resolve().parents[1] / "docs" / "results.md"
Row = tuple[str, str, str]
"""What, theirs, ours."""

HEAD = """# Results

Every figure that we set out to reach, beside what was measured here: wins and losses. Made by `python -m benchmarks page` from
the files in `benchmarks/results/`, which say on which machine and with which versions they were measured. The pages named below
say how, with how many repetitions, and what we think of it. `python -m benchmarks run NAME` (or `capra bench run NAME`) makes an
experiment again at quick size, `--full` at the size of these figures.
"""


def results(name: str) -> Any:
    return json.loads((RESULTS / f"{name}.json").read_text())


def number(value: float) -> str:
    """Three digits, as a person would write them."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


# --- sections ---


def table1() -> Iterator[Row]:
    """Error of ensembles of five networks: censored values ignored, dropped, imputed (S&H), or Tobit's likelihood (T)."""
    published = {
        "branin": "28.6 22.8 19.2 8.2",
        "camel": "23.6 22.6 20.4 8.7",
        "hart3": "0.3 0.2 0.2 0.2",
        "hart6": "0.3 0.2 0.2 0.2",
    }
    cells = results("table1")["quick"]
    for function, theirs in published.items():
        ours = [
            mean(cells[f"network {function} {level} T {fold}"]["rmse"] for fold in range(5)) for level in (10, 20, 40, 80)
        ]
        yield (
            f"T on {function}, censored from the 10th, 20th, 40th, 80th percentile",
            theirs,
            " ".join(map(number, ours)),
        )


def forest() -> Iterator[Row]:
    """Times the peer takes for a fit of ten trees; theirs: a prototype's ratios."""
    published = {
        "100 × 4": "14, 14, 4.1, 1670",
        "1,000 × 4": "9.1, 6.0, 11.5, 378",
        "5,000 × 4": "7.3, 2.7, 13.7, 81",
        "1,000 × 50": "7.3, 2.4, 18.6, 62",
        "5,000 × 50": "6.3, 1.5, 16.5, 14.5",
        "20,000 × 50": "4.6, 1.0, 11.8, 6.2",
    }
    peers = ("scikit-learn RF", "scikit-learn ExtraTrees", "pyrfr", "SMAC3 as it is")
    for size, theirs in published.items():
        fit = results("forest")["cpu_seconds"][size]["fit"]
        ours = ", ".join(number(fit[peer] / fit["Capra"]) for peer in peers)
        yield f"{size}: scikit-learn, ExtraTrees, pyrfr, SMAC3 2.4.1 over Capra", theirs, ours


def network() -> Iterator[Row]:
    """A training step of 4-50-50-50-2, batches of 16."""
    steps = results("network")["steps"]
    yield "AVX2: times as fast as PyTorch eager", "72–113 (AVX-512)", f"{steps['times_as_fast']['avx2']:.0f}"
    yield "microseconds a step", "12.5 (AVX2)", f"{steps['capra_microseconds']['avx2']:.1f}"
    worst = max(steps["gradient_error_against_autograd"]["avx2"].values())
    yield "gradients against autograd", "1.5e-7", f"{worst:.1g}"


def capping() -> Iterator[Row]:
    """Median test PAR10 of the incumbent, racing without a model on recorded SPEAR-SWV: slack 1, 1.3, 2, no capping."""
    found = results("capping")
    for hours in sorted({row["hours"] for row in found["rows"]}):
        ours = [number(row["quartiles"][1]) for row in found["rows"] if row["hours"] == hours]
        yield f"{hours} h of CPU, {found['seeds']} seeds", "capping wins clearly", " ".join(ours)


def demo() -> Iterator[Row]:
    """Speed-up of clasp over its default on fresh instances, two minutes, two workers. Older than the last change of racing."""
    found = results("demo")
    ours = " ".join(f"{row['speed_up']:.1f}" for row in found["rows"])
    yield "ten seeds", "at least 10 (median); random search 9, irace 14", f"{ours}; median {found['quartiles'][1]:.1f}"


def peers() -> Iterator[Row]:
    """Median test PAR10 (quartiles; seeds; own CPU seconds) at equal budgets."""
    theirs = {
        ("clasp", "irace"): ".044",
        ("clasp", "smac-2.4.1"): ".049",
        ("clasp", "smac-1.4.0"): ".064",
        ("clasp", "capra-smac"): "below irace's",
    }
    for problem, rows in results("peers")["tables"].items():
        for row in rows:
            low, middle, high = map(number, row["quartiles"])
            ours = f"{middle} ({low}–{high}; {row['seeds']}; {row['own']:.0f} s)"
            yield f"{problem}: {row['tool']}", theirs.get((problem, row["tool"]), "–"), ours


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
    match = results("saps_match")
    yield "our SAPS against recorded runs: rank correlation", "at least .95", f"{match['rank_correlation']:.3f}"


def accuracy() -> Iterator[Row]:
    """Average rank and score of random search, RF+S&H, NN+TS+Tobit over the data sets."""
    found = results("accuracy")
    for kind in ("pool", "surrogate"):
        averages = found[kind]["averages"]
        chosen = [averages[method] for method in ("random", "RF+S&H", "NN+TS+Tobit")]
        ours = "; ".join(f"{method['rank']:.2f}, {method['score']:.0f}" for method in chosen)
        yield kind, "3, 63.8; 1.72, 86.1; 1.27, 91.4 (eight data sets)", ours


def overhead() -> Iterator[Row]:
    """CPU time of one fit and one proposal as a share of SMAC3 2.4.1's."""
    for row in results("overhead")["rows"]:
        if "SMAC3" in row.get("ratio_to", {}):
            what = f"{row['runs']:,} runs, {row['instances'] or 'no'} instances"
            yield what, "at most 1/10", f"1/{1 / row['ratio_to']['SMAC3']:.0f}"


def guarantees() -> Iterator[Row]:
    """CPU days from zero / resumed, mean of the answer (its rank), for the authors' seed; others are on the page."""
    for row in results("guarantees")["rows"]:
        first = row["found"][0]
        days = f"{number(first['restart_days'])} / {number(first['resumed_days'])}"
        yield f"{row['name']}: {row['parameters']}", row["authors"], f"{days}, {number(first['mean'])} ({first['rank']})"
    for row in results("guarantees_rates")["rows"]:
        yield f"events per second of {row['name']} over plain Python", "at least 50", number(row["ratio"])


def aslib() -> Iterator[Row]:
    """Normalised PAR10: 0 is the virtual best, 1 the single best; theirs: medians over 26 scenarios, ours: mean of five."""
    found = results("aslib")
    for name, ours in found["average"].items():
        theirs = "at most .45" if name == "auto" else found["published"].get(name)
        yield name, "–" if theirs is None else f"{theirs}", f"{ours:.2f}"
    worst = max(scenario["auto"]["npar10"] for scenario in found["scenarios"].values())
    yield "auto, worst scenario", "at most 1.05", f"{worst:.2f}"


def scale() -> Iterator[Row]:
    """A store with a million runs, and simulated clusters."""
    found = results("scale")
    million = found["sizes"][-1]
    history, bare = million["history"]["wall_s"], million["bare"]["wall_s"]
    ours = f"{history:.1f} s ({history / bare:.1f} times reading the rows with bare SQLite)"
    yield f"{million['runs']:,} runs: store opens, history is ready", "below 15 s", ours
    yield "one ask/tell round at that size", "below 5 ms", f"{million['round_ms']:.2f} ms"
    for workers, goal in ((2, 95), (1000, 90)):
        share = 100 * found[f"workers_{workers}"]["utilisation"]
        yield f"{workers:,} simulated workers busy", f"at least {goal} %", f"{share:.1f} %"


def report() -> Iterator[Row]:
    """Seconds for a report, imports included, and milliseconds between frames while it is scrolled (median, 95th percentile)."""
    for size in results("report")["sizes"]:
        made, scroll = size["report"], size["scroll"]
        goal = "below 30 s" if size["runs"] == 100_000 else "–"
        ours = f"{made['cpu_s']:.1f} s of CPU time; {made['wall_s']:.1f} s on a machine with a load of {size['load']:.0f}"
        yield f"{size['runs']:,} runs: the report", goal, ours
        if scroll is not None:
            ours, empty = (
                ", ".join(number(scroll[page][at]) for at in ("median", "p95")) for page in ("report_ms", "empty_ms")
            )
            yield f"{size['runs']:,} runs: scrolling", f"an empty page: {empty}", ours


def importance() -> Iterator[Row]:
    """CPU seconds with 50 parameters and 32 trees: the fit, the shares of single parameters, those of pairs."""
    for name, case in results("importance")["cases"].items():
        ours = ", ".join(f"{case[part]:.1f}" for part in ("fit_cpu_s", "shares_cpu_s", "pairs_cpu_s"))
        yield name, f"scikit-learn's fit: {case['peer_fit_cpu_s']:.1f}", ours


def workers() -> Iterator[Row]:
    """Our own CPU time per run, loop and store, with simulated workers."""
    found = results("workers")
    few, *others = found["loop_ms_per_run"].items()
    yield f"{few[0]} workers", "–", f"{few[1]:.2f} ms"
    for count, cost in others:
        yield f"{int(count):,} workers", "as many", f"{cost:.2f} ms ({cost / few[1]:.1f} times)"


def dask() -> Iterator[Row]:
    """One scenario, seed and budget on this machine and on a Dask cluster of 8 processes (medians); then short runs."""
    found = results("dask_engine")
    here, there, load = found["local"], found["dask"], found["dask"]["load"]
    yield "true mean time of the incumbent, s", f"local engine: {here['quality']:.4f}", f"{there['quality']:.4f}"
    for what, key, unit in (
        ("overhead per run", "overhead_ms_per_run", " ms"),
        ("utilisation", "utilisation", ""),
        ("CPU time per run, of all processes", "cpu_ms_per_run", " ms"),
    ):
        yield f"{what} (load {load:.0f} on two cores)", f"local engine: {here[key]:g}{unit}", f"{there[key]:g}{unit}"
    for what, theirs in found.get("runs_per_second", {}).items():
        if what != "capra runs":
            ours = f"{found['runs_per_second']['capra runs']:g} runs per second"
            yield f"short runs, 8 workers, beside {what}", f"{theirs:g} per second", ours


SECTIONS: dict[str, Callable[[], Iterator[Row]]] = {
    "table1": table1,
    "forest": forest,
    "network": network,
    "demo": demo,
    "capping": capping,
    "peers": peers,
    "saps": saps,
    "accuracy": accuracy,
    "overhead": overhead,
    "guarantees": guarantees,
    "aslib": aslib,
    "scale": scale,
    "report": report,
    "importance": importance,
    "workers": workers,
    "dask": dask,
}


# --- the page ---


def page() -> str:
    """The whole text."""
    parts = [HEAD, *(_section(name, rows) for name, rows in SECTIONS.items())]
    others = [name for name in EXPERIMENTS if name not in SECTIONS]
    listed = "".join(f"- `{name}`: {EXPERIMENTS[name].what} ([page]({EXPERIMENTS[name].page}))\n" for name in others)
    return "\n".join([*parts, f"## More experiments\n\n{listed}"])


def _section(name: str, rows: Callable[[], Iterator[Row]]) -> str:
    experiment = EXPERIMENTS[name]
    lines = [f"| {what} | {theirs} | {ours} |" for what, theirs, ours in rows()]
    return "\n".join(
        [
            f"## {experiment.what}",
            "",
            f"{rows.__doc__} Experiment `{name}`, [explained here]({experiment.page}).",
            "",
            "| | to reach | measured |",
            "|---|---|---|",
            *lines,
            "",
        ]
    )
