"""The models that the studies compare, and how their predictions of single runs are scored."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import CensoredData, norm

from capra.models import CensoredForest, CensoredGP, TobitEnsemble
from capra.models.scores import calibration_curve, crps, d_calibration, log_likelihood

# I: censored values are taken for observed ones, D: dropped, S&H: imputed by Schmee & Hahn, sample: by Hutter et al. 2013,
# T: taken into the likelihood (Tobit)
METHODS = {"forest": ("I", "D", "S&H", "sample"), "network": ("I", "D", "S&H", "T"), "process": ("I", "D", "T")}
WAYS: dict[str, Any] = {"I": "ignore", "D": "drop", "S&H": "mean", "sample": "sample", "T": "tobit"}


class Predicts(Protocol):
    """What is scored: every ``Surrogate`` does it."""

    def predict_runs(self, X: ArrayLike) -> tuple[np.ndarray, np.ndarray]: ...


class Constant:
    """The same normal distribution for every run: what a model must beat."""

    def __init__(self, y: np.ndarray, censored: np.ndarray) -> None:
        self.moments = tobit_moments(y, censored)

    def predict_runs(self, X: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        mean, std = self.moments
        return np.full(len(np.asarray(X)), mean), np.full(len(np.asarray(X)), std)


def tobit_moments(y: np.ndarray, censored: np.ndarray) -> tuple[float, float]:
    """Mean and deviation of the normal distribution with the greatest Tobit likelihood; not all values may be censored."""
    mean, std = norm.fit(CensoredData.right_censored(y, censored) if censored.any() else y)
    return float(mean), float(std)


def fitted(
    contender: tuple[str, str],
    X: np.ndarray,
    y: np.ndarray,
    censored: np.ndarray,
    types: ArrayLike | None = None,
    upper: float | None = None,
    seed: int = 0,
) -> tuple[Predicts, float]:
    """A fitted model of a family that treats censored values by a method, and its CPU seconds."""
    family, method = contender
    started = time.process_time()
    model: Predicts
    if family == "constant":
        model = Constant(y, censored)
    elif family == "process":  # which knows T only
        rows = ~censored if method == "D" else np.ones_like(censored)
        model = CensoredGP(types, restarts=0, seed=seed).fit(X[rows], y[rows], censored[rows] & (method == "T"))
    elif family == "network":
        model = TobitEnsemble(5, WAYS[method], seed, types=types, upper=upper).fit(X, y, censored)
    else:
        model = CensoredForest(censoring=WAYS[method], types=types, upper=upper, seed=seed).fit(X, y, censored)
    return model, time.process_time() - started


def scores_of_runs(
    y: np.ndarray, censored: np.ndarray, mean: np.ndarray, std: np.ndarray, cutoff: np.ndarray | None = None
) -> dict[str, float]:
    """Likelihood, CRPS (up to ``cutoff``) and how far the probabilities are off.

    ``off_diagonal``: the greatest distance of the calibration curve (Kaplan–Meier) from the diagonal. ``off_tenth``: that
    of the share of the runs in any of ten equally likely ranges from a tenth (D-calibration).
    """
    levels, shares = calibration_curve(y, censored, mean, std)
    return {
        "log_likelihood": log_likelihood(y, censored, mean, std),
        "crps": crps(y, censored, mean, std, cutoff),
        "off_diagonal": float(np.max(np.abs(levels - shares))),
        "off_tenth": float(np.max(np.abs(d_calibration(y, censored, mean, std)[0] - 0.1))),
    }


def quartiles(found: Sequence[Mapping[str, float]]) -> dict[str, list[float]]:
    """Lower quartile, median and upper quartile of every figure."""
    return {key: [float(q) for q in np.quantile([one[key] for one in found], (0.25, 0.5, 0.75))] for key in found[0]}
