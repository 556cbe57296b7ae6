from enum import Enum

import numpy as np
from numpy.typing import NDArray

def hash_rows(x: NDArray[np.float64]) -> NDArray[np.uint64]:
    """One 64-bit hash per row of a float64 matrix; NaN equals NaN."""

class Head(Enum):
    """Distribution of log time that a network's outputs describe."""

    normal = 0
    weibull = 1
    logistic = 2

class Optimizer(Enum):
    """How a network's weights are found."""

    sgd = 0
    adam = 1
    lbfgs = 2

def network_kernels() -> list[str]:
    """Names of the variants that can run here, the fastest first."""

def network_terms(head: Head, z: NDArray[np.float64], censored: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Minus the log density (or log survival function) at z, and its slope, in float64."""

def network_gradient(
    sizes: list[int],
    weights: NDArray[np.float32],
    x: NDArray[np.float32],
    y: NDArray[np.float32],
    censored: NDArray[np.uint8],
    head: Head,
    simd: str = "",
) -> tuple[float, NDArray[np.float32]]:
    """Mean loss of one network and its gradient."""

def network_train(
    sizes: list[int],
    weights: NDArray[np.float32],
    x: NDArray[np.float32],
    y: NDArray[np.float32],
    censored: NDArray[np.uint8],
    seeds: NDArray[np.uint64],
    head: Head,
    optimizer: Optimizer,
    epochs: int,
    batch: int,
    rate: float,
    decay: float,
    clip: float,
    threads: int = 1,
    simd: str = "",
) -> NDArray[np.float32]:
    """Weights of the networks, (networks, weights), after training."""

def network_predict(
    sizes: list[int], weights: NDArray[np.float32], x: NDArray[np.float32], threads: int = 1, simd: str = ""
) -> NDArray[np.float32]:
    """Location and scale of every network at every row, (networks, rows, 2)."""
