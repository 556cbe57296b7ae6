"""The censored forest as a surrogate: Algorithm 1 of Hutter et al. 2013, its corner cases, its refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from capra.errors import ModelError
from capra.models import CensoredForest, Surrogate
from capra.models.forest import _first_targets, _levels

METHODS = ("sample", "mean", "drop", "ignore")


def truth(x: np.ndarray) -> np.ndarray:
    return 1.5 * np.sin(5 * x[:, 0]) + 2 * x[:, 1] * x[:, 2]


def capped(seed: int, n: int = 300, noise: float = 0.1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Runs with different cutoffs, about a third of them censored."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 4))
    y = truth(X) + noise * rng.normal(size=n)
    cap = np.quantile(y, rng.uniform(0.3, 1.0, size=n))
    return X, np.minimum(y, cap), y > cap


# --- what censoring does to the prediction (seeds of the paper's figures 1 and 2) ---


def test_imputing_beats_dropping_and_ignoring() -> None:
    """Fig. 2: both imputations have the lower error; sampling has the higher likelihood."""
    errors: dict[str, list[float]] = {name: [] for name in METHODS}
    likelihoods: dict[str, list[float]] = {name: [] for name in METHODS}
    Q = np.random.default_rng(99).random((500, 4))
    for seed in range(5):
        data = capped(seed)
        for name in METHODS:
            mean, std = CensoredForest(20, name, seed=seed).fit(*data).predict(Q)
            errors[name].append(float(np.sqrt(np.mean((mean - truth(Q)) ** 2))))
            std = np.maximum(std, 0.02)
            likelihoods[name].append(float(np.mean(-0.5 * ((truth(Q) - mean) / std) ** 2 - np.log(std))))
    error = {name: np.mean(values) for name, values in errors.items()}
    assert max(error["sample"], error["mean"]) < min(error["drop"], error["ignore"])
    likelihood = {name: np.mean(values) for name, values in likelihoods.items()}
    assert likelihood["sample"] > max(likelihood["mean"], likelihood["ignore"])


def test_sampling_keeps_the_variance_that_the_mean_loses() -> None:
    """Fig. 1: one dimension, no noise, everything above a level censored."""
    x = np.linspace(0.0, 1.0, 41)
    y = np.sin(8 * x) + x
    level = np.quantile(y, 0.4)
    censored = y > level
    X = x[:, None]
    spread = {}
    for name in ("sample", "mean"):
        forest = CensoredForest(300, name, min_leaf=1, min_split=2).fit(X, np.minimum(y, level), censored)
        spread[name] = forest.predict(X[censored])[1]
    assert spread["mean"].min() == CensoredForest.min_std
    assert spread["sample"].min() > 0.02
    assert np.median(spread["sample"]) > 10 * np.median(spread["mean"])


def test_the_variance_of_a_mean_does_not_average_out() -> None:
    """Lucky trees are lucky everywhere: the mean over censored points varies as much as a single one does."""
    X, y, censored = capped(3)
    trees = CensoredForest(50, "sample", min_leaf=1).fit(X, y, censored).predict_trees(X[censored])
    joint = np.std(trees.mean(axis=1))
    rng = np.random.default_rng(0)
    independent = np.mean([rng.permuted(trees, axis=0).mean(axis=1).std() for _ in range(20)])
    assert joint > 3 * independent
    first, last = trees[:25].mean(axis=0), trees[25:].mean(axis=0)
    assert np.mean(first < last) > 0.9


def test_without_censoring_all_methods_are_the_same() -> None:
    X, y, _ = capped(4)
    predictions = [CensoredForest(5, name).fit(X, y).predict(X) for name in METHODS]
    assert all(np.array_equal(predictions[0], other) for other in predictions[1:])


# --- the steps of Algorithm 1 ---


def test_levels_are_given_out_in_tree_order() -> None:
    """Lines 6 and 13: the k-th copy of a point, counted over the trees, gets the quantile k/(N + 1)."""
    point = np.random.default_rng(0).integers(6, size=40)
    point = point[point != 4]
    counted = np.zeros(6, dtype=int)
    expected = []
    for j in point:
        counted[j] += 1
        expected.append(counted[j])
    copies = np.bincount(point, minlength=6)
    assert _levels(point, 6) == pytest.approx(np.array(expected) / (copies[point] + 1))


def test_the_first_fit_leaves_out_what_is_unknown_unless_nothing_else_is_there() -> None:
    targets = np.arange(6.0)
    unknown = np.array([True, False, True, True, False, False])
    first = _first_targets(targets, unknown, np.array([0, 2, 4, 6]))
    assert np.array_equal(first, [np.nan, 1.0, 2.0, 3.0, 4.0, 5.0], equal_nan=True)


@pytest.mark.parametrize("method", ["sample", "mean"])
def test_upper_holds_predictions_down(method: str) -> None:
    X, y, censored = capped(5)
    upper = float(y.max())
    means = {
        bound: CensoredForest(20, method, upper=bound).fit(X, y, censored).predict(X)[0] for bound in (None, upper, 0.0)
    }
    assert means[upper].max() <= upper + 1e-9
    assert means[0.0].mean() < min(means[upper].mean(), means[None].mean())


def test_predictions_at_censored_points_respect_the_bounds_on_average() -> None:
    X, y, censored = capped(6)
    mean, _ = CensoredForest(50, "sample", min_leaf=1).fit(X, y, censored).predict(X[censored])
    assert np.mean(mean > y[censored]) > 0.9


# --- the surrogate's promises ---


def test_it_is_a_surrogate() -> None:
    model: Surrogate = CensoredForest()
    X, y, censored = capped(7)
    assert model.fit(X, y, censored) is model
    mean, std = model.predict(X[:10])
    assert mean.shape == std.shape == (10,)
    assert np.all(std > 0)


def test_predict_is_mean_and_deviation_over_trees() -> None:
    X, y, censored = capped(8)
    forest = CensoredForest(7).fit(X, y, censored)
    trees = forest.predict_trees(X)
    assert trees.shape == (7, len(X))
    mean, std = forest.predict(X)
    assert np.array_equal(mean, trees.mean(axis=0))
    assert np.array_equal(std, np.maximum(trees.std(axis=0), forest.min_std))


def test_a_sample_is_one_of_the_trees() -> None:
    X, y, censored = capped(9)
    forest = CensoredForest(5).fit(X, y, censored)
    trees = [tuple(tree) for tree in forest.predict_trees(X)]
    rng = np.random.default_rng(0)
    drawn = {trees.index(tuple(forest.sample(X, rng))) for _ in range(60)}
    assert drawn == set(range(5))


def test_marginals_are_of_costs_not_of_logarithms() -> None:
    """One instance takes 1 s and one 1,000 s: the mean is 500 s, not the 32 s that averaging logarithms gives."""
    X = np.array([[0.5, 0.0], [0.5, 1.0]] * 20)
    y = np.array([0.0, 3.0] * 20)
    mean, std = CensoredForest(10).fit(X, y).predict_marginal([[0.5]], [[0.0], [1.0]])
    assert mean == pytest.approx([np.log10(500.5)])
    assert std == pytest.approx([1e-5])


def test_types_belong_to_columns_of_configurations_and_instances() -> None:
    X = np.array([[0.0, 2.0], [1.0, 0.0], [2.0, 1.0]] * 10)
    forest = CensoredForest(types=[3, 3]).fit(X, X[:, 0])
    mean, _ = forest.predict_marginal([[2.0], [0.0]], [[0.0], [1.0]])
    assert mean[0] > mean[1]
    with pytest.raises(ModelError, match="column 0 is categorical"):
        forest.predict_marginal([[0.5]], [[0.0]])
    with pytest.raises(ModelError, match="column 0 is categorical"):
        forest.predict_marginal([[0.0]], [[5.0]])


def test_same_seed_same_forest_on_any_number_of_threads() -> None:
    data = capped(10)
    one, two, other = (CensoredForest(8, seed=s, threads=t).fit(*data).predict(data[0]) for s, t in ((0, 1), (0, 3), (1, 1)))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)


def test_a_second_fit_forgets_the_first() -> None:
    data = capped(11)
    used = CensoredForest().fit(*capped(12, n=50)).fit(*data)
    assert np.array_equal(used.predict(data[0]), CensoredForest().fit(*data).predict(data[0]))


def test_a_fit_that_is_refused_leaves_the_last_one_standing() -> None:
    X, y, censored = capped(13)
    forest = CensoredForest().fit(X, y, censored)
    before = forest.predict(X)
    with pytest.raises(ModelError, match="NaN or infinite"):
        forest.fit(X[:, :2], np.full(len(X), np.nan))
    assert np.array_equal(before, forest.predict(X))


# --- corner cases ---


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [1, 2, 30])
def test_everything_censored(method: str, n: int) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.random((n, 2)), rng.random(n)
    mean, std = CensoredForest(censoring=method, upper=2.0).fit(X, y, np.ones(n, dtype=bool)).predict(X)
    assert np.all((mean >= y.min()) & (mean <= 2.0))
    assert np.all(std > 0)


@pytest.mark.parametrize("method", METHODS)
def test_some_trees_without_anything_observed(method: str) -> None:
    rng = np.random.default_rng(1)
    X, y = rng.random((6, 2)), rng.random(6)
    censored = np.array([False] + [True] * 5)
    mean, _ = CensoredForest(20, censoring=method).fit(X, y, censored).predict(X)
    assert np.all(np.isfinite(mean))


@pytest.mark.parametrize("method", METHODS)
def test_a_constant(method: str) -> None:
    X = np.random.default_rng(2).random((40, 3))
    censored = np.arange(40) % 3 == 0
    mean, std = CensoredForest(censoring=method).fit(X, np.full(40, 1.5), censored).predict(X)
    assert mean == pytest.approx(np.full(40, 1.5), abs=1e-3)
    assert np.all((std > 0) & (std < 1e-3))


def test_inactive_everywhere() -> None:
    X = np.full((10, 2), np.nan)
    mean, _ = CensoredForest().fit(X, np.arange(10.0)).predict([[0.3, np.nan]])
    assert 2.0 < mean[0] < 7.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_trees": 0}, "n_trees must be at least 1"),
        ({"censoring": "tobit"}, "use one of sample, mean, drop, ignore"),
        ({"min_leaf": 0}, "min_leaf must be at least 1"),
        ({"threads": 0}, "threads must be at least 1"),
        ({"feature_fraction": 0.0}, "feature_fraction must be above 0"),
        ({"feature_fraction": 1.5}, "feature_fraction must be above 0"),
        ({"upper": float("nan")}, "upper must be a finite number"),
        ({"seed": -1}, "seed must be"),
    ],
)
def test_settings_that_make_no_sense(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        CensoredForest(**options)


def test_asked_before_it_was_fitted() -> None:
    for ask in (lambda f: f.predict([[0.0]]), lambda f: f.predict_marginal([[0.0]], [[0.0]])):
        with pytest.raises(ModelError, match="call fit"):
            ask(CensoredForest())


def test_shapes_that_do_not_fit() -> None:
    forest = CensoredForest().fit(np.zeros((3, 2)), np.zeros(3))
    with pytest.raises(ModelError, match=r"shape \(n, 2\)"):
        forest.predict(np.zeros((1, 3)))
    with pytest.raises(ModelError, match=r"shape \(n, 1\)"):
        forest.predict_marginal(np.zeros((1, 2)), np.zeros((1, 1)))
    for instances in (np.zeros((0, 1)), np.zeros((1, 3)), np.zeros(2)):
        with pytest.raises(ModelError, match="instances must have shape"):
            forest.predict_marginal(np.zeros((1, 1)), instances)
    with pytest.raises(ModelError, match="categories"):
        CensoredForest(types=[70_000]).fit(np.zeros((3, 1)), np.zeros(3))
