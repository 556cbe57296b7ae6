"""clasp on quasigroups, for real: the peers' problem, with one tuning per strategy and seed."""

from __future__ import annotations

import argparse
import shutil
import time
from collections.abc import Sequence
from typing import Any

from benchmarks.peers.judge import measured
from benchmarks.peers.problems import WORK, Clasp
from benchmarks.strategies.rows import REAL, Row, forget, key, replace, rows, write_row
from benchmarks.strategies.settings import SETTINGS
from capra.runs import Configuration
from capra.tune import Tuning, tune

SHARES = (0.125, 0.25, 0.5, 1.0)
"""Of a budget: the moments whose incumbents are judged."""


def tuned(strategy: str, budget: float, seed: int) -> Row:
    """One tuning, with its incumbents, which are not judged yet. Our own computing time counts against the budget."""
    moments: list[tuple[float, dict[str, Any]]] = []

    def watch(under_way: Tuning) -> None:
        incumbent = under_way.strategy.incumbent
        if incumbent is not None and (not moments or moments[-1][1] != dict(incumbent)):
            moments.append((round(under_way.meter.spent(under_way.history), 2), dict(incumbent)))

    began, place = time.process_time(), WORK / "strategies" / f"{strategy}-{budget:g}-{seed}"
    shutil.rmtree(place, ignore_errors=True)
    result = tune(Clasp().scenario(budget), seed=seed, out=place, watch=watch, **SETTINGS[strategy])
    return {
        "problem": "clasp",
        "strategy": strategy,
        "budget": budget,
        "seed": seed,
        "incumbents": moments,
        "spent": round(result.spent, 1),
        "runs": len(result.history),
        "configurations": len(list(result.history.configurations)),
        "own": round(time.process_time() - began, 2),
    }


def tune_clasp(given: argparse.Namespace) -> None:
    """Tunes what is not in the results yet."""
    forget(REAL, given.again)
    until = time.monotonic() + 60.0 * given.minutes
    for seed in range(given.first, given.seeds):
        for strategy in given.strategies:
            if ("clasp", strategy, given.budget, seed) in {key(row) for row in rows(REAL)}:
                continue
            if time.monotonic() > until:
                return
            row = tuned(strategy, given.budget, seed)
            write_row(row)
            print({name: value for name, value in row.items() if name != "incumbents"}, flush=True)


def judged_moments(row: Row) -> list[tuple[float, dict[str, Any]]]:
    """The incumbents at shares of the budget, each once; none before there was any."""
    found = [[moment for moment in row["incumbents"] if moment[0] <= share * row["budget"]][-1:] for share in SHARES[:-1]]
    chosen = [moment for last in [*found, row["incumbents"][-1:]] for moment in last]
    return [moment for place, moment in enumerate(chosen) if moment not in chosen[:place]]


def judge(given: argparse.Namespace) -> None:
    """Measures the incumbents of all tunings in one batch, run after run in turn, so that they share the weather."""
    kept = rows(REAL)
    configs = [Configuration(config) for row in kept for _, config in judged_moments(row)]
    found = measured(configs, given.seeds, "strategies")
    default = next(iter(found.values())).cost
    for row in kept:
        row["curve"] = [[spent, round(found[Configuration(config).id].cost, 5)] for spent, config in judged_moments(row)]
        row["default"] = round(default, 5)
    replace(REAL, kept)
    _print(kept)


def _print(kept: Sequence[Row]) -> None:
    for row in kept:
        print(row["strategy"], row["seed"], row["curve"], row["default"])
