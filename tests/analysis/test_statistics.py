"""Tests and intervals beside exact enumeration and scipy, and costs that are infinite."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from capra.analysis.statistics import bootstrap_interval, paired_permutation_test

ONE, OTHER = [1.0, 2.5, 0.3, 4.0, 2.2, 9.0, 1.1], [0.7, 2.9, 0.1, 2.0, 1.8, 3.0, 1.2]


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def exact(differences: np.ndarray) -> float:
    """The share of all sign flips that are at least as far from 0."""
    sums = [abs(np.dot(signs, differences)) for signs in product((-1, 1), repeat=len(differences))]
    return float(np.mean(np.array(sums) >= abs(differences.sum()) - 1e-12))


def test_p_is_that_of_all_permutations() -> None:
    differences = np.array(ONE) - np.array(OTHER)
    assert paired_permutation_test(ONE, OTHER, rng()) == pytest.approx(exact(differences), abs=0.01)
    theirs = stats.permutation_test(
        (ONE, OTHER), lambda a, b, axis: np.mean(a - b, axis=axis), permutation_type="samples", vectorized=True
    )
    assert paired_permutation_test(ONE, OTHER, rng()) == pytest.approx(theirs.pvalue, abs=0.01)


def test_two_infinite_costs_are_alike() -> None:
    p = paired_permutation_test([*ONE, math.inf], [*OTHER, math.inf], rng())
    assert p == pytest.approx(paired_permutation_test(ONE, OTHER, rng()), abs=0.01)


def test_one_infinite_cost_is_more_than_all_others() -> None:
    """It alone decides the sign of every sum: half of them are with it, but none is farther unless all agree with it."""
    worse = paired_permutation_test([1.0, 1.0, math.inf], [1.0, 1.0, 1.0], rng())
    assert worse == 1.0  # a single difference can be turned around
    many = paired_permutation_test([math.inf] * 8, [1.0] * 8, rng())
    assert many == pytest.approx(2 / 2**8, abs=0.005)
    assert many == pytest.approx(paired_permutation_test([1.0] * 8, [math.inf] * 8, rng()), abs=0.005)


def test_no_interval_where_a_cost_is_infinite() -> None:
    assert all(math.isnan(end) for end in bootstrap_interval([np.array([1.0, 2.0]), np.array([math.inf])], rng()))
    low, high = bootstrap_interval([np.array([1.0, 2.0]), np.array([3.0])], rng())
    assert 1.0 <= low < high <= 3.0
