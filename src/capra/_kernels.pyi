import numpy as np
from numpy.typing import NDArray

def hash_rows(x: NDArray[np.float64]) -> NDArray[np.uint64]:
    """One 64-bit hash per row of a float64 matrix; NaN equals NaN."""

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
