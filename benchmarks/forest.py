"""Forests beside scikit-learn, pyrfr and SMAC3: ``python -m benchmarks.forest``.

(a) Fit, prediction of 10,000 rows, and marginal prediction of 1,000 configurations × 100 instances (half of the columns
    each), 10 trees, the same least leaf (3) and share of columns (5/6) for all. Goals: a fit at least 4 times as fast as
    scikit-learn's RandomForest and never slower than its ExtraTrees; marginals 10 times as fast as SMAC3's.
(b) Growth: 1,000 to 100,000 rows × 10. Goal: no worse than n log n. Peak memory of the two largest.
(c) Imputation: 10 turns of Algorithm 1 with 30 % censored, beside one plain fit and beside SMAC3 1.4's imputation.

The peers are not needed by Capra: ``pip install scikit-learn smac==2.4.1`` and, where a wheel must be built,
``pip install 'swig<4.3' setuptools wheel && pip install --no-build-isolation pyrfr``. Those that are missing are left out.
SMAC3 1.4 needs an environment of its own (``swig<4.3 'numpy<2' 'scikit-learn<1.6' 'ConfigSpace<0.7' smac==1.4.0``): name its
interpreter in the variable SMAC14_PYTHON.

CPU time of this process with one thread for ours, best of interleaved rounds. Results: benchmarks/results/forest.json.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from importlib import util
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.forest_peers import PEERS, Capra, Peer
from benchmarks.machine import machine, write_results
from capra.models import CensoredForest

SIZES = [(100, 4), (1_000, 4), (5_000, 4), (1_000, 50), (5_000, 50), (20_000, 50)]
GROWTH = [1_000, 3_000, 10_000, 30_000, 100_000]
QUERIES, CONFIGURATIONS, INSTANCES = 10_000, 1_000, 100
SMAC14 = """
import json, sys, time, numpy as np
from ConfigSpace import ConfigurationSpace, UniformFloatHyperparameter
from smac.epm.random_forest.rf_with_instances import RandomForestWithInstances
from smac.epm.random_forest.rfr_imputator import RFRImputator
n, X, y, censored = json.load(sys.stdin)
X, y, censored = np.array(X), np.array(y), np.array(censored)
space = ConfigurationSpace()
space.add_hyperparameters([UniformFloatHyperparameter(f"x{j}", 0, 1) for j in range(X.shape[1])])
best = np.inf
for _ in range(3):
    model = RandomForestWithInstances(space, [0] * X.shape[1], [(0, 1)] * X.shape[1], 1, num_trees=10, log_y=True)
    imputor = RFRImputator(np.random.RandomState(0), 1e9, 1e10, model, change_threshold=-1.0, max_iter=10)
    started = time.process_time()
    filled = imputor.impute(X[censored], y[censored], X[~censored], y[~censored])
    model.train(np.vstack([X[~censored], X[censored]]), np.concatenate([y[~censored], filled.ravel()])[:, None])
    best = min(best, time.process_time() - started)
print(best)
"""


def data(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    return X, np.sin(6 * X[:, 0]) + X[:, 1] ** 2 * X[:, 2] + X[:, 3] + 0.1 * rng.normal(size=n)


def cpu_seconds(action: Callable[[], object]) -> float:
    started = time.process_time()
    action()
    return time.process_time() - started


def best_of(rounds: int, actions: dict[str, Callable[[], object]]) -> dict[str, float]:
    """The best CPU seconds of each action; all take part in every round."""
    found = [{name: cpu_seconds(action) for name, action in actions.items()} for _ in range(rounds)]
    return {name: min(one[name] for one in found) for name in actions}


def beside_peers(n: int, d: int) -> dict[str, dict[str, float]]:
    X, y = data(n, d)
    Q, _ = data(QUERIES, d, seed=1)
    half = d // 2
    instances = np.ascontiguousarray(Q[:INSTANCES, half:])
    configurations = np.ascontiguousarray(Q[:CONFIGURATIONS, :half])
    peers: dict[str, Peer] = {kind.name: kind(d, instances) for kind in (Capra, *PEERS) if util.find_spec(kind.package)}
    marginal = {name: peer for name, peer in peers.items() if hasattr(peer, "marginal")}
    rounds = 3 if n * d > 100_000 else 7
    fit = best_of(rounds, {name: (lambda p=p: p.fit(X, y)) for name, p in peers.items()})
    predict = best_of(rounds, {name: (lambda p=p: p.predict(Q)) for name, p in peers.items()})
    over = best_of(2, {name: (lambda p=p: p.marginal(configurations)) for name, p in marginal.items()})
    return {"fit": fit, "predict": predict, "marginal": over}


def growth() -> dict[str, float]:
    """CPU seconds of a fit by number of rows, 10 columns."""
    samples = {str(n): data(n, 10) for n in GROWTH}
    return best_of(3, {n: (lambda xy=xy: CensoredForest().fit(*xy)) for n, xy in samples.items()})


def memory(n: int, d: int) -> None:
    """Prints by how many MB a fit raises the memory of a fresh process at its peak, data aside."""
    X, y = data(n, d)
    CensoredForest().fit(X[:10], y[:10])
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before = _status_mb("VmRSS")
    CensoredForest().fit(X, y)
    print(_status_mb("VmHWM") - before)


def _status_mb(key: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(key)) / 1024


def measured_memory(n: int, d: int) -> float:
    command = [sys.executable, "-m", "benchmarks.forest", "memory", str(n), str(d)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def imputation(n: int) -> dict[str, float]:
    X, y = data(n, 4)
    censored = y > np.quantile(y, 0.7)
    bound = np.minimum(y, np.quantile(y, 0.7))

    def turns(method: Any) -> None:
        model = CensoredForest(censoring=method)
        model.tolerance = -1.0  # all ten turns
        model.fit(X, bound, censored)

    found = best_of(
        5,
        {"plain fit": lambda: CensoredForest().fit(X, y), "sample": lambda: turns("sample"), "mean": lambda: turns("mean")},
    )
    if python := os.environ.get("SMAC14_PYTHON"):
        told = json.dumps([n, X.tolist(), bound.tolist(), censored.tolist()])
        answer = subprocess.run([python, "-c", SMAC14], input=told, capture_output=True, text=True, check=True)
        found["SMAC3 1.4 RFRImputator"] = float(answer.stdout.split()[-1])
    return found


def show(title: str, rows: dict[str, dict[str, float]]) -> None:
    """Ours in ms, the others as multiples of it."""
    names = list(next(iter(rows.values())))
    print(f"{title}\n{'':14}" + "".join(f"{name:>24}" for name in names))
    for label, found in rows.items():
        ours = found[names[0]]
        cells = [f"{1000 * ours:21.2f} ms", *(f"{found[name] / ours:23.1f}×" for name in names[1:])]
        print(f"{label:14}" + "".join(cells), flush=True)
    print()


def main() -> None:
    warnings.simplefilter("ignore")  # peers' deprecations
    compared = {f"{n:,} × {d}": beside_peers(n, d) for n, d in SIZES}
    for what in ("fit", "predict", "marginal"):
        show(what, {size: found[what] for size, found in compared.items()})
    grown = growth()
    print("growth, 10 columns: CPU ms and ns per row and log2 n")
    for n, seconds in grown.items():
        print(f"  {int(n):>9,}{1000 * seconds:12.1f}{1e9 * seconds / (int(n) * np.log2(int(n))):10.0f}")
    peaks = {f"{n:,} × {d}": measured_memory(n, d) for n, d in ((20_000, 50), (100_000, 10))}
    print("\npeak memory of a fit, data aside, MB:", {size: round(peak, 1) for size, peak in peaks.items()}, "\n")
    imputed = {f"{n:,} × 4": imputation(n) for n in (100, 1_000, 5_000)}
    show("imputation, 30 % censored, 10 turns", imputed)
    packages = [kind.package_name for kind in PEERS if util.find_spec(kind.package)]
    document = {"machine": machine("numpy", *sorted(set(packages))), "cpu_seconds": compared, "growth_cpu_seconds": grown}
    write_results("forest", document | {"peak_mb": peaks, "imputation_cpu_seconds": imputed})


if __name__ == "__main__":
    if sys.argv[1:2] == ["memory"]:
        memory(int(sys.argv[2]), int(sys.argv[3]))
    else:
        main()
