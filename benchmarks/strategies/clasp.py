"""clasp on quasigroups, for real: the peers' problem and their way of judging, with one tuning per strategy and seed."""

from __future__ import annotations

import argparse
import time

from benchmarks.peers.judge import measured
from benchmarks.peers.problems import Clasp
from benchmarks.strategies.rows import Row, forget, key, rows, write_row
from benchmarks.strategies.settings import SETTINGS
from capra.runs import Configuration
from capra.tune import tune

TEST_SEEDS = 5


def tuned(strategy: str, seed: int) -> tuple[Row, Configuration]:
    """One tuning, and its last incumbent, which is not judged yet."""
    scenario, began = Clasp().scenario(), time.process_time()
    result = tune(scenario, seed=seed, **SETTINGS[strategy])
    row = {
        "problem": "clasp",
        "strategy": strategy,
        "budget": scenario.budget.cpu,
        "seed": seed,
        "config": result.incumbent,
        "spent": round(result.spent, 1),
        "runs": len(result.history),
        "configurations": len(list(result.history.configurations)),
        "own": round(time.process_time() - began, 2),
    }
    return row, Configuration(result.incumbent)


def tune_clasp(given: argparse.Namespace) -> None:
    """Tunes what is not in the results yet, then measures all new incumbents in one batch, so that they share the weather."""
    forget(given.again)
    until, known = time.monotonic() + 60.0 * given.minutes, {key(row) for row in rows()}
    budget, made = Clasp().scenario().budget.cpu, []
    for seed in range(given.first, given.seeds):
        for strategy in given.strategies:
            if ("clasp", strategy, budget, seed) not in known and time.monotonic() < until:
                made.append(tuned(strategy, seed))
                print(made[-1][0], flush=True)
    found = measured([config for _, config in made], TEST_SEEDS, "strategies") if made else {}
    for row, config in made:
        write_row(row | {"curve": [[row["spent"], round(found[config.id].cost, 5)]]})
