"""Speed, gradients and training recipes of the networks: ``python -m benchmarks.network``.

(a) CPU time of a training step (4-50-50-50-2, batch 16, one thread) beside PyTorch eager in the same run. Goal: 30 times as
    many steps per CPU second on AVX2.
(b) Gradients beside autograd in float64. Goal: 1e-6 of their norm.
(c) Training recipes on Branin: error of a network and of an ensemble of five, CPU seconds per network, and the spread between
    networks that Thompson sampling lives on. The default is the recipe with the least error per CPU second whose spread
    is nearest to its error.

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

from benchmarks.censored import branin, problem
from benchmarks.machine import machine, write_results
from capra import _kernels
from capra.models import Recipe, TobitEnsemble
from capra.models.training import HEADS, initial_weights

ROOT = Path(__file__).parents[1]
PEER = ROOT / ".venv-torch" / "bin" / "python"
SIZES = [4, 50, 50, 50, 2]
ROWS = 1600
ROUNDS = 5
RECIPES = {
    "paper, 200 epochs": Recipe("sgd", 200),
    "paper, 1,000 epochs": Recipe("sgd", 1000),
    "Adam, batch 256, 100 epochs": Recipe("adam", 100, 256),
    "Adam, batch 64, 100 epochs": Recipe("adam", 100, 64),
    "L-BFGS, 50 iterations": Recipe("lbfgs", 50),
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


def study(recipe: Recipe, percentile: float, seeds: range, **size: int) -> dict[str, float]:
    """Averages over data sets; the errors are those of the mean at 500 fresh places."""
    rows = []
    for seed in seeds:
        data = problem("branin", percentile, seed, **size)
        fresh = np.random.default_rng(1000 + seed).random((500, 2))
        started = time.process_time()
        model = TobitEnsemble(5, seed=seed, recipe=recipe).fit(data.X, data.y, data.censored)
        cpu = (time.process_time() - started) / 5.0
        members, _ = model._members(fresh)
        truth = branin(fresh)
        alone = np.sqrt(np.mean((members - truth) ** 2, axis=1)).mean()
        together = np.sqrt(np.mean((members.mean(axis=0) - truth) ** 2))
        rows.append((alone, together, np.sqrt(members.var(axis=0).mean()), cpu))
    alone, together, spread, cpu = np.mean(rows, axis=0)
    return {
        "rmse_network": alone,
        "rmse_ensemble": together,
        "spread": spread,
        "error_per_spread": together / spread,
        "cpu_seconds": cpu,
    }


SETTINGS: dict[str, dict[str, Any]] = {
    "2,000 rows, 20th percentile": {"percentile": 20.0, "seeds": range(4)},
    "2,000 rows, 80th percentile": {"percentile": 80.0, "seeds": range(4)},
    "100 rows, 40th percentile": {"percentile": 40.0, "seeds": range(10), "locations": 100, "copies": 1},
}


def recipes() -> dict[str, dict[str, dict[str, float]]]:
    found: dict[str, dict[str, dict[str, float]]] = {}
    for setting, arguments in SETTINGS.items():
        print(f"\n{setting}: RMSE of a network, of five, spread between networks, error/spread, CPU s per network")
        found[setting] = {}
        for name, recipe in RECIPES.items():
            result = found[setting][name] = study(recipe, **arguments)
            print(f"  {name:30}" + "".join(f"{value:9.3f}" for value in result.values()), flush=True)
    return found


def main() -> None:
    if not PEER.exists():
        print("nothing measured: no PyTorch (python -m venv .venv-torch && .venv-torch/bin/pip install torch==2.13.0 numpy)")
        return
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
