"""How networks are trained: recipes, first weights, and the calls of the kernel."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from capra import _kernels
from capra.errors import ModelError
from capra.models.base import Floats, Mask

__all__ = ["FAST", "HEADS", "PAPER", "Recipe", "initial_weights", "predicted", "trained"]

Singles = NDArray[np.float32]

# mean = location + shift·scale, deviation = stretch·scale. A Weibull time has a logarithm of Gumbel's (smallest value)
# distribution, a log-logistic time a logistic one.
HEADS = {
    "normal": (0.0, 1.0),
    "weibull": (-float(np.euler_gamma), math.pi / math.sqrt(6.0)),
    "logistic": (0.0, math.pi / math.sqrt(3.0)),
}
LEAST_SCALE = 0.01  # the kernel's kMinScale
FROZEN = -20.0  # softplus and its slope are next to nothing here: a scale that starts from it stays the least one


@dataclass(frozen=True, slots=True)
class Recipe:
    """How weights are found.

    ``epochs`` are passes over the data (for "lbfgs": iterations, each about one pass). The learning rate makes one cycle up
    to ``rate``. "sgd" has momentum 0.9; "adam" decouples the weight decay; "lbfgs" takes the whole data at once and knows
    neither ``batch``, ``rate`` nor ``clip``.
    """

    optimizer: Literal["sgd", "adam", "lbfgs"]
    epochs: int
    batch: int = 16
    rate: float = 1e-2
    decay: float = 1e-4
    clip: float = 0.1

    def __post_init__(self) -> None:
        if self.optimizer not in ("sgd", "adam", "lbfgs"):
            raise ModelError(f"unknown optimizer {self.optimizer!r}", hint="sgd, adam or lbfgs")
        if self.epochs < 1 or self.batch < 1:
            raise ModelError(f"epochs and batch must be at least 1, not {self.epochs} and {self.batch}")
        if not (self.rate > 0.0 and self.decay >= 0.0 and self.clip > 0.0):
            raise ModelError("rate and clip must be positive, decay not negative")


PAPER = Recipe("sgd", epochs=10_000)  # Eggensperger et al., "Implementation Details"
# The least error over functions, sizes and thresholds of those tried at about this cost, and the spread between networks
# nearest to their error, which is what Thompson sampling lives on (benchmarks/results/network.json). With a hundred rows
# half of the iterations would do.
FAST = Recipe("lbfgs", epochs=200)


def initial_weights(sizes: Sequence[int], rng: np.random.Generator, *, frozen: bool = False) -> Singles:
    """Uniform in ±1/√inputs; the scale's bias gives the targets' deviation, which is 1, or is ``frozen`` at LEAST_SCALE."""
    layers = [rng.uniform(-1.0, 1.0, (out, inputs + 1)) / math.sqrt(inputs) for inputs, out in itertools.pairwise(sizes)]
    layers[-1][1, -1] = math.log(math.expm1(1.0 - LEAST_SCALE))  # softplus⁻¹
    if frozen:
        layers[-1][1] = [0.0] * sizes[-2] + [FROZEN]
    return np.concatenate([layer.ravel() for layer in layers]).astype(np.float32)


def trained(
    sizes: list[int],
    start: Singles,
    x: Singles,
    y: Singles,
    censored: Mask,
    seeds: NDArray[np.uint64],
    head: str,
    recipe: Recipe,
    *,
    threads: int,
) -> Singles:
    """Weights (members, weights) after training from ``start``."""
    weights = _kernels.network_train(
        sizes,
        start,
        x,
        y,
        censored.view(np.uint8),
        seeds,
        _kernels.Head[head],
        _kernels.Optimizer[recipe.optimizer],
        recipe.epochs,
        recipe.batch,
        recipe.rate,
        recipe.decay,
        recipe.clip,
        threads,
        variant(),
    )
    if not np.all(np.isfinite(weights)):
        raise ModelError("training diverged", hint="lower the recipe's rate or its clip")
    return weights


def predicted(sizes: list[int], weights: Singles, x: Singles, *, threads: int) -> Floats:
    """Location and scale of every member at every row, (members, n, 2)."""
    return _kernels.network_predict(sizes, weights, x, threads, variant()).astype(np.float64)


def variant() -> str:
    """The kernel that CAPRA_SIMD names; empty: the fastest that runs here."""
    name = os.environ.get("CAPRA_SIMD", "")
    if name and name not in _kernels.network_kernels():
        here = ", ".join(_kernels.network_kernels())
        raise ModelError(f"CAPRA_SIMD={name!r} cannot run here", hint=f"unset it, or set it to one of {here}")
    return name
