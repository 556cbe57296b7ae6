"""Speed, gradients and training recipes of the networks: ``python -m benchmarks.network``.

(a) CPU time of a training step (4-50-50-50-2, batch 16, one thread) beside PyTorch eager in the same run. Goal: 30 times as
    many steps per CPU second on AVX2.
(b) Gradients beside autograd in float64. Goal: 1e-6 of their norm.
(c) Training recipes on censored data: error of a network and of an ensemble of five, CPU seconds per network, and the spread
    between networks, which Thompson sampling lives on: an error many times the spread is overconfidence.

PyTorch lives in an environment of its own: ``python -m venv .venv-torch && .venv-torch/bin/pip install torch==2.13.0 numpy``.
Results go to benchmarks/results/network.json.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.censored import FUNCTIONS, problem
from benchmarks.machine import machine, write_results
from capra import _kernels
from capra.models import Recipe, TobitEnsemble
from capra.models.training import HEADS, initial_weights

ROOT = Path(__file__).parents[1]
PEER = ROOT / ".venv-torch" / "bin" / "python"
SIZES = [4, 50, 50, 50, 2]
ROWS = 1600
ROUNDS = 3
RECIPES = {
    "paper, 200 epochs": Recipe("sgd", 200),
    "Adam, batch 256, 100 epochs": Recipe("adam", 100, 256),
    "Adam, batch 32, 100 epochs": Recipe("adam", 100, 32),
    "L-BFGS, 100 iterations": Recipe("lbfgs", 100),
    "L-BFGS, 200 iterations": Recipe("lbfgs", 200),
}


def example() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.random((ROWS, SIZES[0])).astype(np.float32)
    y = (np.sin(5.0 * x).sum(axis=1) + rng.normal(size=ROWS)).astype(np.float32)
    weights = initial_weights(SIZES, rng)
    return {"sizes": np.array(SIZES), "weights": weights, "x": x, "y": y - y.mean(), "censored": rng.random(ROWS) < 0.3}


# --- (a) and (b) ---


def our_microseconds(given: dict[str, np.ndarray], simd: str, epochs: int = 20) -> float:
    mask, head, sgd = given["censored"].view(np.uint8), _kernels.Head.normal, _kernels.Optimizer.sgd
    seeds = np.zeros(1, dtype=np.uint64)
    started = time.process_time()
    _kernels.network_train(
        SIZES, given["weights"][None], given["x"], given["y"], mask, seeds, head, sgd, epochs, 16, 1e-2, 1e-4, 0.1, 1, simd
    )
    return 1e6 * (time.process_time() - started) / (epochs * ROWS / 16)


def relative_errors(given: dict[str, np.ndarray], autograd: dict[str, np.ndarray], simd: str) -> dict[str, float]:
    found = {}
    for head in HEADS:
        arguments = (given["weights"], given["x"], given["y"], given["censored"].view(np.uint8), _kernels.Head[head], simd)
        gradient = _kernels.network_gradient(SIZES, *arguments)[1]
        found[head] = float(np.linalg.norm(gradient - autograd[head]) / np.linalg.norm(autograd[head]))
    return found


def steps() -> dict[str, Any]:
    """Rounds of all variants and the peer in turn; the best of each."""
    given, variants = example(), _kernels.network_kernels()
    ours: dict[str, list[float]] = {simd: [] for simd in variants}
    theirs = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "problem.npz")
        np.savez(path, **given)
        for _ in range(ROUNDS):
            for simd in variants:
                ours[simd].append(our_microseconds(given, simd))
            command = [str(PEER), str(Path(__file__).with_name("network_torch.py")), str(path)]
            said = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            theirs.append(said["microseconds"])
        autograd = dict(np.load(Path(folder, "autograd.npz")))
    peer = min(theirs)
    return {
        "torch": said["torch"],
        "torch_eager_microseconds": peer,
        "capra_microseconds": {simd: min(found) for simd, found in ours.items()},
        "times_as_fast": {simd: peer / min(found) for simd, found in ours.items()},
        "gradient_error_against_autograd": {simd: relative_errors(given, autograd, simd) for simd in variants},
    }


# --- (c) ---


def study(recipe: Recipe, name: str, percentile: float, seeds: int, **size: int) -> dict[str, float]:
    """Averages over data sets; the errors are those of the mean at 500 fresh places."""
    rows = []
    function, dimensions = FUNCTIONS[name]
    for seed in range(seeds):
        data = problem(name, percentile, seed, **size)
        fresh = np.random.default_rng(1000 + seed).random((500, dimensions))
        started = time.process_time()
        model = TobitEnsemble(5, seed=seed, recipe=recipe).fit(data.X, data.y, data.censored)
        cpu = (time.process_time() - started) / 5.0
        members, _ = model._members(fresh)
        errors = members - function(fresh)
        alone, together = np.sqrt(np.mean(errors**2, axis=1)).mean(), np.sqrt(np.mean(errors.mean(axis=0) ** 2))
        rows.append((alone, together, np.sqrt(members.var(axis=0).mean()), cpu))
    alone, together, spread, cpu = (float(column) for column in np.mean(rows, axis=0))
    return {
        "network": alone,
        "ensemble": together,
        "spread": spread,
        "ensemble/spread": together / spread,
        "cpu_seconds": cpu,
    }


def setting(name: str, percentile: float, seeds: int, **size: int) -> dict[str, dict[str, float]]:
    """All recipes on one kind of data."""
    print(
        f"{'RMSE of':32}"
        + "".join(f"{title:>16}" for title in ("network", "ensemble", "spread", "ensemble/spread", "CPU s"))
    )
    found = {}
    for title, recipe in RECIPES.items():
        found[title] = study(recipe, name, percentile, seeds, **size)
        print(f"  {title:30}" + "".join(f"{value:16.3f}" for value in found[title].values()), flush=True)
    return found


SETTINGS: dict[str, dict[str, Any]] = {
    "branin, 2,000 rows, 20th percentile": {"name": "branin", "percentile": 20.0, "seeds": 2},
    "branin, 2,000 rows, 80th percentile": {"name": "branin", "percentile": 80.0, "seeds": 2},
    "camel, 2,000 rows, 20th percentile": {"name": "camel", "percentile": 20.0, "seeds": 2},
    "hart3, 3,000 rows, 40th percentile": {"name": "hart3", "percentile": 40.0, "seeds": 2},
    "hart6, 600 rows, 20th percentile": {"name": "hart6", "percentile": 20.0, "seeds": 3, "locations": 200, "copies": 3},
    "branin, 100 rows, 40th percentile": {"name": "branin", "percentile": 40.0, "seeds": 10, "locations": 100, "copies": 1},
}


def recipes() -> dict[str, Any]:
    """Every setting, and the geometric mean over them of each recipe's error and CPU time in terms of the first recipe's."""
    found: dict[str, Any] = {}
    for title, arguments in SETTINGS.items():
        print(f"\n{title}")
        found[title] = setting(**arguments)
    first = next(iter(RECIPES))
    overall = {
        recipe: {
            what: float(
                np.exp(np.mean([np.log(found[title][recipe][what] / found[title][first][what]) for title in SETTINGS]))
            )
            for what in ("network", "ensemble", "cpu_seconds")
        }
        for recipe in RECIPES
    }
    print(f"\nin terms of {first}: error of a network, of an ensemble, CPU time (geometric means)")
    for recipe, ratios in overall.items():
        print(f"  {recipe:30}" + "".join(f"{ratio:10.2f}" for ratio in ratios.values()))
    return {"settings": found, "overall": overall}


def main() -> None:
    if not PEER.exists():
        install = "python -m venv .venv-torch && .venv-torch/bin/pip install torch==2.13.0 numpy"
        raise SystemExit(f"nothing measured, PyTorch is missing: {install}")
    speed = steps()
    print(f"a step of PyTorch {speed['torch']} eager takes {speed['torch_eager_microseconds']:.0f} µs of CPU time")
    for simd, ratio in speed["times_as_fast"].items():
        error = max(speed["gradient_error_against_autograd"][simd].values())
        print(
            f"  {simd:10}{speed['capra_microseconds'][simd]:8.1f} µs {ratio:8.1f} times as fast   gradients within {error:.1e}"
        )
    write_results("network", {"machine": machine("numpy", "scipy"), "steps": speed, "recipes": recipes()})


if __name__ == "__main__":
    main()
