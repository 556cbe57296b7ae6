"""Does our SAPS take as many steps as UBCSAT's? Against its recorded runs on 20 quasigroups."""

from __future__ import annotations

import csv
import gzip
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from benchmarks.machine import machine, shared_or_exit, write_results
from benchmarks.saps.instances import quasigroup
from benchmarks.saps.solver import Parameters, Saps

ORDER, HOLES, INSTANCES, CUTOFF = 20, 200, 20, 100_000
LEAST_CORRELATION, MOST_OFF = 0.95, 0.10


def reference(folder: Path) -> tuple[list[Parameters], list[np.ndarray]]:
    """The recorded configurations, and the steps of all runs of each, (instances, runs)."""
    with (folder / "saps_configs.csv").open() as file:
        configs = [Parameters(*(float(row[name]) for name in Parameters._fields)) for row in csv.DictReader(file)]
    cells: dict[tuple[int, str], list[int]] = {}
    with gzip.open(folder / "saps_qwh20.csv.gz", "rt") as file:
        for row in csv.DictReader(file):
            cells.setdefault((int(row["config"]), row["instance"]), []).append(int(row["steps"]))
    names = sorted({name for _, name in cells})
    return configs, [np.array([cells[number, name] for name in names]) for number in range(len(configs))]


def compared(runs: int) -> dict[str, Any]:
    configs, recorded = reference(shared_or_exit("solvers"))
    solvers = [Saps(quasigroup(ORDER, HOLES, seed)) for seed in range(INSTANCES)]
    began = time.process_time()
    ours = []
    for number, config in enumerate(configs):
        wanted = runs if number else 20 * runs  # the default has to be known well
        seeds = np.arange(wanted) + 1_000_000 * number
        ours.append([solver.run(config, seeds, CUTOFF).steps for solver in solvers])
    seconds = time.process_time() - began
    mine, theirs = np.array([np.mean(steps) for steps in ours]), np.array([np.mean(steps) for steps in recorded])
    return {
        "configurations": len(configs),
        "runs_per_instance": runs,
        "rank_correlation": float(spearmanr(mine, theirs).statistic),
        "rank_correlation_of_halves": _halves([np.array(steps) for steps in ours]),
        "default": {"ours": float(mine[0]), "reference": float(theirs[0]), "ratio": float(mine[0] / theirs[0])},
        "ratio_quartiles": np.quantile(mine / theirs, [0.25, 0.5, 0.75]).tolist(),
        "instances_of_default": [[float(np.mean(a)), float(np.mean(b))] for a, b in zip(ours[0], recorded[0], strict=True)],
        "microseconds_per_step": 1e6 * seconds / sum(float(np.sum(steps)) for steps in ours),
    }


def _halves(ours: list[np.ndarray]) -> float:
    """What chance leaves of the correlation if both sides are the same solver: odd runs against even ones."""
    return float(spearmanr([s[:, ::2].mean() for s in ours], [s[:, 1::2].mean() for s in ours]).statistic)


def match(runs: int) -> bool:
    """Measure, print, store; is it the same solver?"""
    found = compared(runs)
    good = found["rank_correlation"] >= LEAST_CORRELATION and abs(found["default"]["ratio"] - 1.0) <= MOST_OFF
    write_results("saps_match", {"machine": machine("numpy"), "same": good, **found})
    default = found["default"]
    print(f"rank correlation of {found['configurations']} mean steps: {found['rank_correlation']:.3f}")
    print(f"  (our own runs, odd against even: {found['rank_correlation_of_halves']:.3f})")
    print(f"default: {default['ours']:.0f} steps, reference {default['reference']:.0f}, ratio {default['ratio']:.3f}")
    print(f"ratio of all configurations, quartiles: {np.round(found['ratio_quartiles'], 3)}")
    print(f"{found['microseconds_per_step']:.2f} µs a step; {'the same solver' if good else 'NOT the same solver'}")
    return good
