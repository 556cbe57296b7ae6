"""Portfolios on recorded SPEAR: builders against the best single configuration, at equal total budgets.

``python -m benchmarks.portfolios run`` makes the portfolios that are not in the results yet, builder by builder, seed by seed
(``--builders``, ``--seeds``, ``--minutes`` choose); ``… table`` prints and writes the summary, and draws the curves. All runs come
from the table of 1,000 configurations; the 302 test instances are never seen by a builder. smac and roar tune for a single
configuration on the same scenarios. What computing features costs was not recorded and counts as nothing.
"""

from __future__ import annotations

import argparse
import time
from functools import cache
from typing import Any

import numpy as np

from benchmarks import spear
from benchmarks.kept import add_line, read_lines
from benchmarks.machine import IMAGES, RESULTS, machine, write_results
from benchmarks.strategies.problems import Recorded
from capra.analysis.statistics import paired_permutation_test
from capra.build import build
from capra.portfolio.lanes import finish_times
from capra.portfolio.product import Portfolio
from capra.portfolio.records import Records
from capra.runs import Configuration
from capra.scenario import Scenario
from capra.tune import tune

Row = dict[str, Any]
PLACE = RESULTS / "portfolios.jsonl"
HOURS = 3.0
BUILDERS = ("experts", "hydra", "isac", "grouping", "cedalion")
SINGLE = "smac"
"""Whom all the others are compared with."""
ALONE = (SINGLE, "roar")
EVERYBODY = (*ALONE, *BUILDERS)
FAMILIES = 4
FIRST = 2
"""Seeds before this one were looked at, test instances too, while the builders and who chooses were written."""


@cache
def problem() -> Recorded:
    return Recorded()


@cache
def features() -> dict[str, tuple[float, ...]]:
    """Of all instances, by name."""
    rows = spear.configurations()[2]
    return {name: tuple(row) for name, row in zip(spear.load().table.instances, rows.tolist(), strict=True)}


def family(instance: str) -> str:
    """The program that an instance verifies: the beginning of its name."""
    return instance.rsplit("/", 1)[-1].split("_")[0].split("-")[0].rstrip("0123456789.")


def groups(names: list[str]) -> dict[str, list[str]]:
    """The largest families, and the rest."""
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(family(name), []).append(name)
    largest = sorted(found, key=lambda key: -len(found[key]))[: FAMILIES - 1]
    rest = [name for key in found if key not in largest for name in found[key]]
    return {key: found[key] for key in largest} | ({"others": rest} if rest else {})


def scenario(seed: int) -> Scenario:
    """As the single configurations were tuned for, with features and families."""
    plain = problem().scenario(seed, 3600.0 * HOURS)
    names = [instance.name for instance in plain.instances]
    table = plain.target
    table.features = {name: features()[name] for name in names}  # type: ignore[union-attr]
    return table.scenario(train=names, budget={"cpu": 3600.0 * HOURS}, groups=groups(names))  # type: ignore[union-attr]


def test_records(members: tuple[Configuration, ...]) -> Records:
    """What the members take on the test instances."""
    recorded = spear.load()
    rows = [problem()._rows[member] for member in members]
    names = [recorded.table.instances[j] for j in recorded.test]
    times, solved = recorded.table.times[rows][:, recorded.test].T, recorded.table.solved[rows][:, recorded.test].T
    return Records.of([features()[name] for name in names], times, solved, spear.CUTOFF)


def test_costs(portfolio: Portfolio) -> np.ndarray:
    """PAR10 of the portfolio on every test instance, as it would be run."""
    records = test_records(portfolio.members)
    if portfolio.selection is not None:
        return portfolio.selection.evaluate(records)
    finish = finish_times(np.where(records.solved, records.times, np.inf), portfolio.schedule)
    return np.where(finish <= spear.CUTOFF, finish, 10 * spear.CUTOFF)


def tuned(strategy: str, seed: int) -> Row:
    """A single configuration."""
    began = time.process_time()
    options: dict[str, Any] = {"refit": 20} if strategy == "smac" else {}
    result = tune(scenario(seed), strategy, seed=seed, engine="simulated", overhead="ignore", **options)
    return {
        "builder": strategy,
        "seed": seed,
        "hours": HOURS,
        "test": round(oracle([Configuration(result.incumbent)]), 4),
        "curve": [[round(m.spent, 1), round(oracle([m.config]), 4)] for m in result.trajectory],
        "runs": len(result.history),
        "spent": round(result.spent, 1),
        "own": round(time.process_time() - began, 1),
    }


def built(builder: str, seed: int) -> Row:
    if builder in ALONE:
        return tuned(builder, seed)
    began = time.process_time()
    options: dict[str, Any] = {"inner": "smac", "refit": 20}
    result = build(scenario(seed), builder, seed=seed, engine="simulated", overhead="ignore", **options)
    records = test_records(result.portfolio.members)
    chosen = result.portfolio.selection.selector.name if result.portfolio.selection else "schedule"
    return {
        "builder": builder,
        "seed": seed,
        "hours": HOURS,
        "test": round(float(test_costs(result.portfolio).mean()), 4),
        "vbs": round(float(records.costs.min(axis=1).mean()), 4),
        "best_member": round(float(records.costs.mean(axis=0).min()), 4),
        "members": len(result.portfolio.members),
        "selector": chosen,
        "curve": [[round(spent, 1), round(oracle(members), 4)] for spent, members in result.trajectory],
        "runs": len(result.history),
        "spent": round(result.spent, 1),
        "own": round(time.process_time() - began, 1),
    }


def oracle(members: list[Configuration]) -> float:
    """Mean test PAR10 if always the best member were chosen."""
    return float(test_records(tuple(members)).costs.min(axis=1).mean())


def known_rows() -> list[Row]:
    return read_lines(PLACE)


def run(given: argparse.Namespace) -> None:
    until = time.monotonic() + 60.0 * given.minutes
    done = {(row["builder"], row["seed"]) for row in known_rows()}
    for seed in range(given.first, given.seeds):
        for builder in given.builders:
            if (builder, seed) in done or time.monotonic() > until:
                continue
            row = built(builder, seed)
            add_line(PLACE, row)
            print(row, flush=True)


def table(_: argparse.Namespace) -> None:
    """Of the seeds that all of them have."""
    everything = [row for row in known_rows() if row["seed"] >= FIRST]
    done = [{row["seed"] for row in everything if row["builder"] == builder} for builder in EVERYBODY]
    seeds = sorted(set.intersection(*done))
    if not seeds:
        raise SystemExit(f"no seed from {FIRST} on has all builders yet: python -m benchmarks.portfolios run")
    kept = {
        builder: sorted((row for row in everything if row["builder"] == builder and row["seed"] in seeds), key=_seed)
        for builder in EVERYBODY
    }
    document = {builder: summary(rows, kept[SINGLE]) for builder, rows in kept.items()}
    for name, part in document.items():
        print(name, part)
    write_results("portfolios", {"machine": machine("numpy"), "hours": HOURS, "seeds": seeds, "test_par10": document})
    curves(kept)


def _seed(row: Row) -> int:
    return int(row["seed"])


def summary(rows: list[Row], singles: list[Row]) -> Row:
    """Test PAR10 of one builder; p: do the means of its logarithms differ from those of the single configuration?"""
    found: Row = quartiles([row["test"] for row in rows])
    if rows is singles:
        return found
    ours, theirs = (np.log([row["test"] for row in part]) for part in (rows, singles))
    found["p"] = round(paired_permutation_test(ours, theirs, np.random.default_rng(0)), 4)
    found["better"] = int((ours < theirs).sum())
    if rows[0]["builder"] in ALONE:
        return found
    for key in ("vbs", "best_member", "members"):
        found[key] = round(float(np.median([row[key] for row in rows])), 3)
    found["worse_than_best_member"] = sum(row["test"] > row["best_member"] for row in rows)
    found["chosen"] = sorted(row["selector"] for row in rows)
    return found


def quartiles(values: list[float]) -> Row:
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75]).round(3).tolist()
    return {"seeds": len(values), "median": middle, "quartiles": [low, high]}


def curves(kept: dict[str, list[Row]]) -> None:
    """Median over seeds: lines are oracles (the single configuration's is itself), dots what is left of them in the end."""
    try:
        import matplotlib as mpl
    except ImportError:
        print("(no curves without matplotlib: pip install 'capra[bench]')")
        return
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    grid = np.geomspace(300.0, 3600.0 * HOURS, 120)
    figure, axes = plt.subplots(figsize=(7, 4.2))
    for builder, rows in kept.items():
        values = [np.median([_at(row["curve"], spent) for row in rows]) for spent in grid]
        (line,) = axes.plot(grid, values, label=builder, lw=1.8 if builder == SINGLE else 1.2)
        axes.plot([grid[-1] * 1.04], [np.median([row["test"] for row in rows])], "o", color=line.get_color(), ms=5)
    axes.set(xscale="log", yscale="log", xlabel="time spent (s)", ylabel="test PAR10 (s)")
    axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(IMAGES / "portfolios-spear.png", dpi=110)
    plt.close(figure)


def _at(curve: list[list[float]], spent: float) -> float:
    """The last value of a curve so far; a timeout on everything before it begins."""
    return next((value for moment, value in reversed(curve) if moment <= spent), 10 * spear.CUTOFF)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    making = commands.add_parser("run")
    making.add_argument("--builders", nargs="+", default=EVERYBODY, choices=EVERYBODY)
    making.add_argument("--seeds", type=int, default=12, help="up to this one, exclusive")
    making.add_argument("--first", type=int, default=FIRST)
    making.add_argument("--minutes", type=float, default=1e9, help="start nothing after so many")
    making.set_defaults(call=run)
    commands.add_parser("table").set_defaults(call=table)
    given = parser.parse_args()
    given.call(given)


if __name__ == "__main__":
    main()
