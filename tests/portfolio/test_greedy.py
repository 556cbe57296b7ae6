"""Submodularity and the guarantee of greedy portfolios, against brute force on small random matrices."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from capra.errors import ModelError
from capra.portfolio.greedy import best_portfolio, greedy_portfolio, portfolio_cost

GREEDY_BOUND = 1.0 - 1.0 / math.e
"""Greedy reaches at least this share of the best possible gain (Nemhauser, Wolsey & Fisher 1978)."""

EMPTY = 100.0
MATRICES = arrays.arrays(
    np.float64, st.tuples(st.integers(1, 5), st.integers(1, 6)), elements=st.sampled_from([0.5, 1.0, 2.0, 7.0, 30.0, 100.0])
)


def gain(costs: np.ndarray, members: tuple[int, ...]) -> float:
    """The definition, one instance at a time."""
    return EMPTY - sum(min([EMPTY, *(row[c] for c in members)]) for row in costs.T.tolist()) / costs.shape[1]


@given(MATRICES)
def test_the_gain_is_monotone_and_submodular(costs: np.ndarray) -> None:
    """For all A ⊆ B and x outside of B: f(A + x) − f(A) ≥ f(B + x) − f(B) ≥ 0."""
    everybody = range(len(costs))
    for size in range(len(costs)):
        for large in itertools.combinations(everybody, size):
            assert EMPTY - portfolio_cost(costs, large, EMPTY) == pytest.approx(gain(costs, large))
            for x in set(everybody) - set(large):
                added = gain(costs, (*large, x)) - gain(costs, large)
                assert added >= -1e-9
                for k in range(size):
                    for small in itertools.combinations(large, k):
                        assert gain(costs, (*small, x)) - gain(costs, small) >= added - 1e-9


@given(MATRICES, st.integers(1, 4))
def test_greedy_keeps_its_promise(costs: np.ndarray, size: int) -> None:
    members, gains = greedy_portfolio(costs, size, EMPTY)
    best = max(gain(costs, p) for p in itertools.combinations(range(len(costs)), min(size, len(costs))))
    assert len(set(members)) == len(members) <= size
    assert gain(costs, tuple(members)) >= GREEDY_BOUND * best - 1e-9
    assert gains == sorted(gains, reverse=True)
    assert sum(gains) == pytest.approx(gain(costs, tuple(members)))
    exact = tuple(best_portfolio(costs, size, EMPTY))
    assert gain(costs, exact) == pytest.approx(best)


def test_greedy_can_lose_and_the_bound_is_above_what_it_loses() -> None:
    """The first step takes the configuration that is good at everything, and the best pair leaves it out."""
    costs = np.array([[40.0] * 6, [0.0] * 3 + [100.0] * 3, [100.0] * 3 + [0.0] * 3])
    members, gains = greedy_portfolio(costs, 2, EMPTY)
    assert members == [0, 1]
    assert gains == [60.0, 20.0]
    assert best_portfolio(costs, 2, EMPTY) == [1, 2]
    assert GREEDY_BOUND * 100.0 < sum(gains) < 100.0


def test_members_that_are_given_count() -> None:
    costs = np.array([[1.0, 100.0], [2.0, 3.0], [100.0, 1.0]])
    members, gains = greedy_portfolio(costs, 2, EMPTY, given=[0])
    assert members == [2]  # the second would add nothing after it
    assert gains == [pytest.approx(49.5)]


def test_what_is_no_matrix_of_costs() -> None:
    for costs, empty in (([[1.0, np.nan]], 9.0), ([1.0], 9.0), ([[10.0]], 9.0), ([[]], 9.0)):
        with pytest.raises(ModelError):
            greedy_portfolio(costs, 1, empty)
    with pytest.raises(ModelError, match="more than a million"):
        best_portfolio(np.ones((60, 2)), 20, 1.0)
