"""The synthetic regression problems of Eggensperger et al. 2021, "Problem Setup": four functions, noisy copies, censoring."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

COPIES = 10
NOISE = 0.1  # of the function's range over the locations


def branin(u: np.ndarray) -> np.ndarray:
    x, y = 15.0 * u[:, 0] - 5.0, 15.0 * u[:, 1]
    return (y - 5.1 / (4 * np.pi**2) * x**2 + 5.0 / np.pi * x - 6.0) ** 2 + 10.0 * (1 - 1 / (8 * np.pi)) * np.cos(x) + 10.0


def camel(u: np.ndarray) -> np.ndarray:
    x, y = 6.0 * u[:, 0] - 3.0, 4.0 * u[:, 1] - 2.0
    return (4.0 - 2.1 * x**2 + x**4 / 3.0) * x**2 + x * y + (-4.0 + 4.0 * y**2) * y**2


ALPHA = np.array([1.0, 1.2, 3.0, 3.2])
A3 = np.array([[3.0, 10, 30], [0.1, 10, 35], [3.0, 10, 30], [0.1, 10, 35]])
P3 = 1e-4 * np.array([[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]])
A6 = np.array([[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]])
P6 = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)


def _hartmann(u: np.ndarray, a: np.ndarray, p: np.ndarray) -> np.ndarray:
    return -np.exp(-np.sum(a * (u[:, None, :] - p) ** 2, axis=2)) @ ALPHA


def hart3(u: np.ndarray) -> np.ndarray:
    return _hartmann(u, A3, P3)


def hart6(u: np.ndarray) -> np.ndarray:
    return _hartmann(u, A6, P6)


FUNCTIONS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], int]] = {
    "branin": (branin, 2),
    "camel": (camel, 2),
    "hart3": (hart3, 3),
    "hart6": (hart6, 6),
}


@dataclass(frozen=True)
class Problem:
    """Rows with what is observed of them; ``truth`` is the function without noise, ``location`` numbers the places."""

    X: np.ndarray
    truth: np.ndarray
    y: np.ndarray
    censored: np.ndarray
    location: np.ndarray


def problem(name: str, percentile: float, seed: int, locations: int | None = None, copies: int = COPIES) -> Problem:
    """100 locations per dimension unless told otherwise.

    The paper leaves open how the probability of censoring rises "from 0 to 1" above the threshold γ and what a censored
    point shows. Here it rises with the rank of f among the points above γ, and a censored point shows γ.
    """
    function, dimensions = FUNCTIONS[name]
    rng = np.random.default_rng(seed)
    places = rng.random((locations or 100 * dimensions, dimensions))
    values = function(places)
    location = np.repeat(np.arange(len(places)), copies)
    truth = values[location]
    y = truth + NOISE * np.ptp(values) * rng.normal(size=len(truth))
    threshold = np.percentile(y, percentile)
    above = np.flatnonzero(truth >= threshold)
    probability = np.zeros(len(truth))
    probability[above[np.argsort(truth[above], kind="stable")]] = (np.arange(len(above)) + 0.5) / len(above)
    censored = rng.random(len(truth)) < probability
    return Problem(places[location], truth, np.where(censored, threshold, y), censored, location)


def capped_problem(name: str, seed: int) -> Problem:
    """100 locations per dimension, one run at each, stopped at bounds of its own as a configurator would: 45 % are censored.

    Above, the place decides alone whether a value is censored, so that those left are as good as any; here the value does.
    """
    function, dimensions = FUNCTIONS[name]
    rng = np.random.default_rng(seed)
    places = rng.random((100 * dimensions, dimensions))
    truth = function(places)
    y = truth + NOISE * np.ptp(truth) * rng.normal(size=len(truth))
    bound = np.percentile(y, rng.uniform(10.0, 100.0, len(y)))
    return Problem(places, truth, np.minimum(y, bound), y > bound, np.arange(len(y)))
