"""The forest's kernel: splits against brute force and scikit-learn, marginals against row expansion, determinism."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor

from capra._kernels import Forest


def plant(X: np.ndarray, types: Any = None, *, apart: bool = False, **options: Any) -> Forest:
    kinds = np.zeros(X.shape[1], dtype=np.uint32) if types is None else np.array(types, dtype=np.uint32)
    given_or = {
        "trees": 1,
        "bootstrap": False,
        "seed": 0,
        "min_leaf": 1,
        "min_split": 2,
        "features": X.shape[1],
        "threads": 1,
    }
    return Forest(x=np.ascontiguousarray(X), types=kinds, apart=np.full(len(X), apart), **(given_or | options))


def grown(X: np.ndarray, y: np.ndarray, types: Any = None, **options: Any) -> Forest:
    forest = plant(X, types, **options)
    forest.fit(y[forest.rows])
    return forest


# --- one split, against all there are ---


def squared_error(y: np.ndarray, left: np.ndarray) -> float:
    return float(sum(np.sum((side - side.mean()) ** 2) for side in (y[left], y[~left])))


def possible_sides(column: np.ndarray, y: np.ndarray, categories: int, subsets: bool) -> list[np.ndarray]:
    """All ways to part a column's rows: any threshold, or any subset of the categories; NaN on either side.

    Not ``subsets``: only cuts in the order of the categories' means, which is all that is promised with a least leaf.
    """
    known = ~np.isnan(column)
    if not categories:
        sides = [known & (column <= value) for value in np.unique(column[known])]
    else:
        seen = sorted((column == k for k in np.unique(column[known])), key=lambda rows: float(y[rows].mean()))
        sizes = range(1, len(seen) + 1)
        chosen = [c for size in sizes for c in (itertools.combinations(seen, size) if subsets else [seen[:size]])]
        sides = [np.any(list(rows), axis=0) for rows in chosen]
    return sides + [side | ~known for side in sides]


def least_error(X: np.ndarray, y: np.ndarray, types: list[int], min_leaf: int) -> float:
    sides = [side for j in range(X.shape[1]) for side in possible_sides(X[:, j], y, types[j], min_leaf == 1)]
    allowed = [side for side in sides if min_leaf <= side.sum() <= len(y) - min_leaf]
    return min((squared_error(y, side) for side in allowed), default=float(np.sum((y - y.mean()) ** 2)))


def table(rng: np.random.Generator, n: int, values: int, missing: float) -> tuple[np.ndarray, list[int]]:
    types = [0, 0, 3, 7]
    columns = [
        rng.integers(values, size=n) / values,
        rng.normal(size=n).round(1),
        *(rng.integers(k, size=n) for k in (3, 7)),
    ]
    X = np.column_stack(columns).astype(float)
    X[rng.random(X.shape) < missing] = np.nan
    return X, types


@given(st.integers(0, 10**6), st.integers(2, 60), st.sampled_from([1, 2, 5]), st.sampled_from([0.0, 0.3, 0.9]))
@settings(max_examples=150, deadline=None)
def test_a_split_is_the_best_there_is(seed: int, n: int, min_leaf: int, missing: float) -> None:
    rng = np.random.default_rng(seed)
    X, types = table(rng, n, 10, missing)
    y = rng.normal(size=n) + np.where(np.isnan(X[:, 2]), 1.0, X[:, 2])
    forest = grown(X, y, types, min_leaf=min_leaf, min_split=n)
    error = np.sum((y - forest.predict(X)[0]) ** 2)
    assert error == pytest.approx(least_error(X, y, types, min_leaf), rel=1e-9)


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(5))
def test_a_split_of_many_rows_is_the_best_there_is(seed: int, missing: float) -> None:
    """More rows than the exact method takes; the histograms have a bin for every value here."""
    rng = np.random.default_rng(seed)
    X, types = table(rng, 700, 200, missing)
    y = rng.normal(size=700) + np.nan_to_num(X[:, seed % 4], nan=0.5)
    forest = grown(X, y, types, min_leaf=10, min_split=700)
    error = np.sum((y - forest.predict(X)[0]) ** 2)
    assert error == pytest.approx(least_error(X, y, types, 10), rel=1e-9)


# --- whole trees, against scikit-learn ---


@pytest.mark.parametrize(("n", "values"), [(20, 10**9), (255, 10**9), (256, 200), (3000, 200)])
@pytest.mark.parametrize("min_leaf", [1, 4])
def test_whole_trees_part_the_data_as_scikit_learn_does(n: int, values: int, min_leaf: int) -> None:
    rng = np.random.default_rng(n)
    X = rng.integers(values, size=(n, 3)) / values
    y = np.sin(7 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n)
    peer = DecisionTreeRegressor(min_samples_leaf=min_leaf).fit(X, y)
    ours = grown(X, y, min_leaf=min_leaf).predict(X)[0]
    same = np.abs(ours - peer.predict(X)) < 1e-9
    assert same.mean() > 0.995  # two splits of the same gain may be chosen differently in the smallest nodes
    assert np.sum((y - ours) ** 2) == pytest.approx(np.sum((y - peer.predict(X)) ** 2), rel=1e-3, abs=1e-20)


def test_histograms_cost_no_accuracy() -> None:
    """20,000 different values in every column, 256 bins: as good on new data as scikit-learn's exact trees."""
    rng = np.random.default_rng(1)
    X, Q = rng.random((20_000, 5)), rng.random((5_000, 5))

    def truth(x: np.ndarray) -> np.ndarray:
        return np.sin(9 * x[:, 0]) + (x[:, 1] > 0.37) * x[:, 2]

    y = truth(X) + 0.2 * rng.normal(size=len(X))
    ours = grown(X, y, trees=20, bootstrap=True, features=4, min_leaf=3).predict(Q).mean(axis=0)
    peer = RandomForestRegressor(20, max_features=4, min_samples_leaf=3, random_state=0, n_jobs=2).fit(X, y).predict(Q)
    assert np.std(ours - truth(Q)) < 1.1 * np.std(peer - truth(Q))


def test_more_values_than_codes() -> None:
    """Beyond 65,535 different values some share a code; the function is learnt all the same, at every size of leaf."""
    x = np.random.default_rng(0).random((150_000, 1))
    forest = grown(x, x[:, 0])
    assert np.max(np.abs(forest.predict(x)[0] - x[:, 0])) < 1e-4


def test_values_that_differ_in_the_last_digits_are_told_apart() -> None:
    """The sort compares halves of numbers first."""
    rng = np.random.default_rng(0)
    x = rng.permutation(0.5 + np.arange(2000) * 2.0**-50)[:, None]
    y = rng.normal(size=2000)
    assert np.array_equal(grown(x, y).predict(x)[0], y)


@pytest.mark.parametrize("n", [200, 3000])
def test_negative_numbers_and_zeros_are_in_order(n: int) -> None:
    x = np.linspace(-3.0, 3.0, n)[:, None]
    x[n // 3] = -0.0
    x[n // 2] = 0.0
    y = x[:, 0] ** 3
    assert np.array_equal(grown(x, y).predict(x)[0], y)


# --- what the data does not say ---


def test_split_points_are_uniform_in_the_gap() -> None:
    """Two points and many trees: the mean is the straight line between them (Hutter et al. 2013, footnote 4)."""
    forest = grown(np.array([[0.2], [0.8]]), np.array([0.0, 1.0]), trees=4000)
    at = np.array([0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9])
    line = np.clip((at - 0.2) / 0.6, 0.0, 1.0)
    mean = forest.predict(at[:, None]).mean(axis=0)
    assert mean == pytest.approx(line, abs=4 * 0.5 / np.sqrt(4000))
    assert np.array_equal(mean[[0, 1, 5, 6]], line[[0, 1, 5, 6]])


def test_unseen_categories_and_nan_go_to_either_side() -> None:
    forest = grown(np.array([[0.0], [1.0]]), np.array([0.0, 1.0]), [70], trees=2000)
    unseen = forest.predict(np.array([[2.0], [69.0], [np.nan]])).mean(axis=0)
    assert unseen == pytest.approx([0.5] * 3, abs=4 * 0.5 / np.sqrt(2000))


def test_feature_draws_are_uniform() -> None:
    """Every column explains y alone and one is drawn: each is chosen equally often, constants never."""
    x = np.repeat([[0.0], [1.0]], 3, axis=1)
    X = np.column_stack([x, [5.0, 5.0]])
    forest = grown(X, np.array([0.0, 1.0]), features=1, trees=3000)
    probes = np.zeros((3, 4))
    probes[:, :3] = np.eye(3)
    share = forest.predict(probes).mean(axis=0)
    assert share == pytest.approx([1 / 3] * 3, abs=4 * 0.5 / np.sqrt(3000))


# --- bootstrap and leaves ---


def test_bootstrap_draws_n_copies_of_all_rows() -> None:
    n, trees = 500, 200
    forest = plant(np.zeros((n, 1)), apart=True, trees=trees, bootstrap=True)
    assert np.array_equal(np.diff(forest.offsets), np.full(trees, n))
    copies = np.bincount(forest.rows, minlength=n)
    assert np.mean((copies - trees) ** 2) == pytest.approx(trees, rel=0.3)  # binomial: variance = mean
    together = plant(np.zeros((n, 1)), trees=trees, bootstrap=True)
    assert np.mean(np.diff(together.offsets)) / n == pytest.approx(1 - np.exp(-1), abs=0.01)


def test_copies_apart_or_together_grow_the_same_trees() -> None:
    rng = np.random.default_rng(2)
    X, y = rng.random((150, 3)), rng.normal(size=150)
    one, other = (grown(X, y, apart=apart, trees=5, bootstrap=True, min_leaf=3) for apart in (False, True))
    for tree in range(5):  # outside of the bag, columns that part the same data in the same way may differ
        bag = X[one.rows[one.offsets[tree] : one.offsets[tree + 1]]]
        for ours, theirs in zip(one.predict_leaves(bag), other.predict_leaves(bag), strict=True):
            assert ours[tree] == pytest.approx(theirs[tree], abs=1e-12)


def leaves(forest: Forest, X: np.ndarray, y: np.ndarray, tree: int) -> dict[float, np.ndarray]:
    """Copies in each leaf of a tree whose copies stand apart; a leaf is known by its mean."""
    rows = forest.rows[forest.offsets[tree] : forest.offsets[tree + 1]]
    leaf = forest.predict(X)[tree][rows]
    return {value: y[rows[leaf == value]] for value in np.unique(leaf)}


def test_leaves_hold_means_and_variances_of_their_copies() -> None:
    rng = np.random.default_rng(3)
    X, y = rng.random((400, 4)), rng.normal(size=400)
    forest = grown(X, y, apart=True, trees=3, bootstrap=True, min_leaf=5)
    means, variances = forest.predict_leaves(X)
    for tree in range(3):
        for value, copies in leaves(forest, X, y, tree).items():
            assert len(copies) >= 5
            assert value == pytest.approx(copies.mean(), abs=1e-12)
            assert variances[tree][means[tree] == value] == pytest.approx(copies.var(), abs=1e-12)


def test_targets_left_out_are_as_if_never_there() -> None:
    rng = np.random.default_rng(4)
    X, y = rng.random((80, 2)), rng.normal(size=80)
    out = y > 0.5
    forest = plant(X)
    forest.fit(np.where(out, np.nan, y))
    assert np.array_equal(forest.predict(X[~out])[0], y[~out])
    assert np.max(forest.predict(X)) <= 0.5


# --- marginals ---


@pytest.mark.parametrize("n", [60, 900])
@pytest.mark.parametrize("split", [0, 1, 2, 4])
def test_marginals_equal_row_expansion(n: int, split: int) -> None:
    rng = np.random.default_rng(n + split)
    X, types = table(rng, n, 50, 0.1)
    y = rng.normal(size=n) + np.nan_to_num(X).sum(axis=1)
    forest = grown(X, y, types, apart=True, trees=4, bootstrap=True, min_leaf=3, features=3)
    Q, _ = table(rng, 70, 50, 0.1)
    configurations, instances = np.ascontiguousarray(Q[:30, :split]), np.ascontiguousarray(Q[30:, split:])
    rows = np.hstack([np.repeat(configurations, len(instances), axis=0), np.tile(instances, (len(configurations), 1))])
    for tree in range(4):
        costs = {value: np.mean(10.0**copies) for value, copies in leaves(forest, X, y, tree).items()}
        expanded = np.array([costs[value] for value in forest.predict(rows)[tree]]).reshape(30, -1)
        ours = forest.predict_marginal(configurations, instances)[tree]
        assert ours == pytest.approx(np.log10(expanded.mean(axis=1)), abs=1e-12)


def test_marginals_of_huge_costs_do_not_overflow() -> None:
    X = np.array([[0.0, 0.0], [0.0, 1.0]])
    forest = grown(X, np.array([400.0, 401.0]))
    assert forest.predict_marginal(np.zeros((1, 1)), np.array([[0.0], [1.0]]))[0, 0] == pytest.approx(401 + np.log10(0.55))


# --- determinism and refusals ---


def test_threads_change_nothing() -> None:
    rng = np.random.default_rng(5)
    X, types = table(rng, 2000, 300, 0.1)
    y, Q = rng.normal(size=2000), X[:100]
    answers = []
    for threads in (1, 2, 5):
        forest = grown(X, y, types, trees=7, bootstrap=True, features=2, threads=threads)
        first = forest.predict(Q).tobytes()
        forest.fit(2 * y[forest.rows])
        marginal = forest.predict_marginal(np.ascontiguousarray(Q[:, :2]), np.ascontiguousarray(Q[:, 2:]))
        answers.append((first, forest.predict(Q).tobytes(), marginal.tobytes()))
    assert answers[0] == answers[1] == answers[2]


def test_a_refit_is_as_good_as_new() -> None:
    rng = np.random.default_rng(6)
    X, y = rng.random((300, 3)), rng.normal(size=300)
    used = grown(X, y[::-1].copy(), trees=3, bootstrap=True, features=2)
    used.fit(y[used.rows])
    assert np.array_equal(used.predict(X), grown(X, y, trees=3, bootstrap=True, features=2).predict(X))


def test_seeds_matter() -> None:
    rng = np.random.default_rng(7)
    X, y = rng.random((50, 3)), rng.normal(size=50)
    one, other = (grown(X, y, bootstrap=True, seed=seed).predict(X) for seed in (0, 1))
    assert not np.array_equal(one, other)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plant(np.zeros((0, 2))), "no entries"),
        (lambda: plant(np.zeros((2, 2)), [0]), "one entry per column"),
        (lambda: plant(np.zeros((2, 1)), [2**16]), "65,535"),
        (lambda: plant(np.zeros((2, 1)), trees=0), "positive"),
        (lambda: plant(np.zeros((2, 1)), min_leaf=0), "positive"),
        (lambda: plant(np.zeros((2, 1))).fit(np.zeros(3)), "one value per entry"),
        (lambda: plant(np.zeros((2, 1))).fit(np.full(2, np.nan)), "without targets"),
        (lambda: plant(np.zeros((2, 1))).predict(np.zeros((1, 1))), "not fitted"),
        (lambda: grown(np.zeros((2, 1)), np.zeros(2)).predict(np.zeros((1, 2))), "as many columns"),
        (lambda: grown(np.zeros((2, 2)), np.zeros(2)).predict_marginal(np.zeros((1, 1)), np.zeros((1, 2))), "make up"),
        (lambda: grown(np.zeros((2, 2)), np.zeros(2)).predict_marginal(np.zeros((1, 1)), np.zeros((0, 1))), "at least one"),
    ],
)
def test_the_kernel_refuses_what_does_not_fit(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
