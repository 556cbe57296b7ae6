from enum import Enum

import numpy as np
from numpy.typing import NDArray

def hash_rows(x: NDArray[np.float64]) -> NDArray[np.uint64]:
    """One 64-bit hash per row of a float64 matrix; NaN equals NaN."""

Literal = tuple[int, float, float, list[int]]
"""column, low, high, categories: low < x ≤ high for numbers, one of the categories otherwise."""

class Domain:
    """All configurations, equally likely.

    ``categories[j]``: 0 = a number. ``atoms[j]``: the codes that a number can have; none = all of [0, 1].
    ``conditions[j]``: the column is active where all literals of one of these lists hold; none = always.
    """

    def __init__(
        self, *, categories: list[int], atoms: list[list[float]], conditions: list[list[list[Literal]]]
    ) -> None: ...

class Forest:
    """Regression trees on bootstrap samples that stay while targets change.

    ``types[j]``: 0 = a number, k = categories 0 … k − 1. A tree's sample is a list of entries; each copy of a row that
    stands ``apart`` is an entry of its own, of the other rows one entry counts for all copies in the tree.
    """

    def __init__(
        self,
        *,
        x: NDArray[np.float64],
        types: NDArray[np.uint32],
        apart: NDArray[np.bool_],
        trees: int,
        bootstrap: bool,
        seed: int,
        min_leaf: int,
        min_split: int,
        features: int,
        threads: int,
    ) -> None: ...
    @property
    def rows(self) -> NDArray[np.int64]:
        """The row of each entry, tree after tree, ascending within a tree."""
    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where the entries of each tree begin, (trees + 1,); the last one is their number."""
    def fit(self, targets: NDArray[np.float64]) -> None:
        """One target per entry; NaN leaves it out. Every tree must keep one."""
    def predict(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Means of the leaves that the rows end in, (trees, n)."""
    def predict_leaves(self, x: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Means and variances of the targets in those leaves, (trees, n) each."""
    def predict_marginal(self, configurations: NDArray[np.float64], instances: NDArray[np.float64]) -> NDArray[np.float64]:
        """log10 of the mean over instances of 10^target, inside each tree, (trees, n)."""
    def variances(self, domain: Domain, instances: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Variance of each tree's mean over instances, (trees,), and of each column's effect on it, (trees, d)."""
    def interactions(
        self, domain: Domain, instances: NDArray[np.float64], pairs: list[tuple[int, int]]
    ) -> NDArray[np.float64]:
        """Variance of what pairs of columns do together beyond what each does alone, (trees, pairs)."""
    def curve(
        self, domain: Domain, instances: NDArray[np.float64], column: int, x: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Mean over all that is left open, given that a column is active and has the value x, (trees, n)."""

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
