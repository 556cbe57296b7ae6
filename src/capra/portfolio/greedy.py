"""Portfolios from a matrix of costs: greedy, with its guarantee, and the best possible for small ones."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from capra.errors import ModelError
from capra.models.base import Floats

__all__ = ["best_portfolio", "greedy_portfolio", "portfolio_cost"]


def portfolio_cost(costs: ArrayLike, members: Sequence[int], empty: float) -> float:
    """Mean over instances of the cheapest member, c_i(P) = min; ``empty`` is what an instance costs with no member at all.

    ``costs`` is (configurations, instances). With ``empty`` at least as large as every cost, empty − cost is a monotone
    submodular function of the members: another one never does harm, and helps the less the more there are.
    """
    return float(np.append(_checked(costs, empty)[list(members)], _row(costs, empty), axis=0).min(axis=0).mean())


def greedy_portfolio(
    costs: ArrayLike, size: int, empty: float, *, given: Sequence[int] = ()
) -> tuple[list[int], list[float]]:
    """Up to ``size`` more members, each with the greatest marginal gain, and these gains, which never increase.

    Starts from the members ``given``. Ends early when nobody adds anything; a tie goes to the first configuration.
    """
    matrix = _checked(costs, empty)
    current = np.append(matrix[list(given)], _row(costs, empty), axis=0).min(axis=0)
    members: list[int] = []
    gains: list[float] = []
    while len(members) < size:
        savings = np.maximum(current - matrix, 0.0).mean(axis=1)
        best = int(np.argmax(savings))
        if not savings[best] > 0.0:
            break
        members.append(best)
        gains.append(float(savings[best]))
        current = np.minimum(current, matrix[best])
    return members, gains


def best_portfolio(costs: ArrayLike, size: int, empty: float) -> list[int]:
    """The cheapest portfolio of at most ``size`` members, by trying them all: for few configurations only."""
    matrix = _checked(costs, empty)
    size = min(size, len(matrix))
    if math.comb(len(matrix), size) > 1_000_000:
        raise ModelError("there are more than a million portfolios of this size", hint="use greedy_portfolio")
    portfolios = map(list, itertools.combinations(range(len(matrix)), size))
    return min(portfolios, key=lambda members: portfolio_cost(matrix, members, empty))


def _row(costs: ArrayLike, empty: float) -> Floats:
    return np.full((1, np.shape(costs)[1]), float(empty))


def _checked(costs: ArrayLike, empty: float) -> Floats:
    matrix = np.asarray(costs, dtype=np.float64)
    if matrix.ndim != 2 or matrix.size == 0 or not np.all(np.isfinite(matrix)):
        raise ModelError("costs must be finite, (configurations, instances), with at least one of each")
    if not empty >= matrix.max():
        raise ModelError(f"the empty portfolio costs {empty}, less than some run", hint="take the cost of a timeout")
    return matrix
