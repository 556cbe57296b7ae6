"""Data sets that need no download: some that come with scikit-learn, some that it generates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

SPLIT_SEED = 0


@dataclass(frozen=True)
class Data:
    """Training and validation rows, standardised by the training rows; ``y`` counts the classes."""

    X: np.ndarray
    y: np.ndarray
    X_valid: np.ndarray
    y_valid: np.ndarray

    @property
    def classes(self) -> int:
        return int(self.y.max()) + 1


def _digits() -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_digits

    return load_digits(return_X_y=True)


def _cancer() -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_breast_cancer

    return load_breast_cancer(return_X_y=True)


def _clusters() -> tuple[np.ndarray, np.ndarray]:
    """Four classes of two clusters each, in ten of twenty columns."""
    from sklearn.datasets import make_classification

    return make_classification(
        1200, 20, n_informative=10, n_classes=4, n_clusters_per_class=2, class_sep=2.0, random_state=0
    )


def _blobs() -> tuple[np.ndarray, np.ndarray]:
    """Twelve Gaussian clouds that overlap."""
    from sklearn.datasets import make_blobs

    return make_blobs(1200, 10, centers=12, cluster_std=5.0, random_state=0)


def _iris() -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_iris

    return load_iris(return_X_y=True)


def _moons() -> tuple[np.ndarray, np.ndarray]:
    """Two half circles that interlock, with noise."""
    from sklearn.datasets import make_moons

    return make_moons(1200, noise=0.25, random_state=0)


SOURCES: Mapping[str, Callable[[], tuple[np.ndarray, np.ndarray]]] = {
    "digits": _digits,
    "cancer": _cancer,
    "clusters": _clusters,
    "blobs": _blobs,
    "iris": _iris,
    "moons": _moons,
}


@cache
def load(name: str) -> Data:
    """A data set by name, two thirds for training and one for validation."""
    X, y = SOURCES[name]()
    order = np.random.default_rng(SPLIT_SEED).permutation(len(X))
    X, y, cut = X[order], y[order], 2 * len(X) // 3
    mean, std = X[:cut].mean(axis=0), X[:cut].std(axis=0)
    X = ((X - mean) / np.where(std > 0.0, std, 1.0)).astype(np.float32)
    return Data(X[:cut], y[:cut], X[cut:], y[cut:])
