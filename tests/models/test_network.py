"""Networks and ensembles as surrogates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from capra.errors import ModelError
from capra.models import FAST, Recipe, TobitEnsemble, TobitNetwork
from capra.models.network import BLOCK
from capra.models.training import HEADS

QUICK = Recipe("adam", epochs=60, batch=32)
SMALL: dict[str, Any] = {"hidden": (20, 20), "recipe": QUICK}


def wave(x: np.ndarray) -> np.ndarray:
    return 2.0 * np.sin(3.0 * x[:, 0]) + x[:, 1]


def capped(n: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A noisy wave, every run of which is stopped at a bound of its own."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    y = wave(X) + 0.3 * rng.normal(size=n)
    bound = rng.uniform(0.5, 2.5, size=n)
    return X, np.minimum(y, bound), y > bound


def error(model: TobitNetwork | TobitEnsemble, seed: int = 99) -> float:
    X = np.random.default_rng(seed).random((500, 2))
    return float(np.sqrt(np.mean((model.predict(X)[0] - wave(X)) ** 2)))


# --- what censoring means ---


@pytest.fixture(scope="module")
def errors() -> dict[str, float]:
    """Summed over three sets of data, two runs of three censored."""
    total = dict.fromkeys(("tobit", "mean", "drop", "ignore"), 0.0)
    for seed in range(3):
        X, y, censored = capped(400, seed)
        assert 0.5 < censored.mean() < 0.7
        for name in total:
            total[name] += error(TobitEnsemble(3, name, seed, recipe=Recipe("lbfgs", 100)).fit(X, y, censored))
    return total


def test_tobit_beats_dropping_and_ignoring(errors: dict[str, float]) -> None:
    assert errors["tobit"] < 0.8 * min(errors["drop"], errors["ignore"])
    assert errors["tobit"] < errors["mean"]


def test_imputation_beats_dropping_and_ignoring(errors: dict[str, float]) -> None:
    assert errors["mean"] < 0.9 * min(errors["drop"], errors["ignore"])


def test_without_censored_values_all_strategies_are_one() -> None:
    X, y, censored = capped()
    X, y = X[~censored], y[~censored]
    first, *others = (TobitNetwork(c, **SMALL).fit(X, y).predict(X)[0] for c in ("tobit", "mean", "drop", "ignore"))
    for other in others:
        np.testing.assert_array_equal(first, other)


def test_drop_and_ignore_are_fits_to_other_data() -> None:
    X, y, censored = capped(80)
    drop = TobitNetwork("drop", **SMALL).fit(X, y, censored)
    np.testing.assert_array_equal(drop.predict(X)[0], TobitNetwork(**SMALL).fit(X[~censored], y[~censored]).predict(X)[0])
    ignore = TobitNetwork("ignore", **SMALL).fit(X, y, censored)
    np.testing.assert_array_equal(ignore.predict(X)[0], TobitNetwork(**SMALL).fit(X, y).predict(X)[0])


def test_imputed_values_stay_below_upper() -> None:
    X, y, censored = capped(120)
    free, tight = (TobitNetwork("mean", upper=upper, **SMALL).fit(X, y, censored) for upper in (None, 1.5))
    assert free.predict(X)[0].max() > 1.7
    assert tight.predict(X)[0].max() <= 1.5


# --- corners ---


@pytest.mark.parametrize(
    ("censoring", "head"),
    [("mean", "normal"), *((censoring, head) for censoring in ("tobit", "drop", "ignore") for head in HEADS)],
)
def test_corners(censoring: Any, head: Any) -> None:
    X = np.random.default_rng(0).random((30, 2))
    cases = [
        (X[:1], np.array([2.0]), np.array([False])),  # one row
        (X[:1], np.array([2.0]), np.array([True])),
        (X, np.full(30, -3.0), np.zeros(30, dtype=bool)),  # constant
        (X, np.linspace(0.0, 1.0, 30), np.ones(30, dtype=bool)),  # everything censored
        (X, np.full(30, 1e9), np.arange(30) % 2 == 0),
    ]
    for rows, y, censored in cases:
        for model in (TobitNetwork(censoring, head=head, **SMALL), TobitEnsemble(2, censoring, head=head, **SMALL)):
            mean, std = model.fit(rows, y, censored).predict(X)
            assert mean.shape == std.shape == (30,)
            assert np.all(np.isfinite([mean, std]))
            assert np.all(std > 0.0)


def test_a_constant_is_learnt() -> None:
    X = np.random.default_rng(0).random((40, 2))
    mean, std = TobitNetwork(**SMALL).fit(X, np.full(40, 5.0)).predict(X)
    np.testing.assert_allclose(mean, 5.0, atol=0.1)
    assert std.max() < 0.5


def test_everything_censored_lies_above() -> None:
    X = np.random.default_rng(0).random((60, 2))
    mean, _ = TobitNetwork(**SMALL).fit(X, wave(X), np.ones(60, dtype=bool)).predict(X)
    assert np.mean(mean > wave(X)) > 0.9


def test_no_rows_to_predict() -> None:
    X, y, censored = capped(40)
    for model in (TobitNetwork(**SMALL), TobitEnsemble(2, **SMALL)):
        model.fit(X, y, censored)
        assert model.predict(np.empty((0, 2)))[0].shape == (0,)
        assert model.predict_marginal(np.empty((0, 1)), [[0.5]])[0].shape == (0,)


# --- heads ---


def draws(head: str, n: int, rng: np.random.Generator) -> np.ndarray:
    if head == "weibull":
        return np.log(rng.exponential(size=n))
    return rng.logistic(size=n) if head == "logistic" else rng.normal(size=n)


@pytest.mark.parametrize("recipe", [Recipe("adam", 60, 64), FAST], ids=lambda recipe: recipe.optimizer)
@pytest.mark.parametrize("head", HEADS)
def test_a_head_finds_the_moments_of_its_own_noise(head: Any, recipe: Recipe) -> None:
    """Half of the values censored, mean and deviation still right."""
    rng = np.random.default_rng(1)
    X = rng.random((3000, 1))
    y = 4.0 + X[:, 0] + 0.5 * draws(head, 3000, rng)
    bound = 4.5 + 0.5 * rng.normal(size=3000)
    model = TobitNetwork(head=head, hidden=(10,), recipe=recipe).fit(X, np.minimum(y, bound), y > bound)
    mean, std = model.predict([[0.25], [0.75]])
    shift, stretch = HEADS[head]
    np.testing.assert_allclose(mean, np.array([4.25, 4.75]) + 0.5 * shift, atol=0.1)
    np.testing.assert_allclose(std, 0.5 * stretch, rtol=0.15)


# --- inputs ---


def test_categories_and_inactive_parameters() -> None:
    """y depends on the category, and on the number only where that is active."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(3, size=600), rng.random(600)])
    X[X[:, 0] == 2, 1] = np.nan
    y = X[:, 0] ** 2 + np.where(np.isnan(X[:, 1]), -3.0, X[:, 1])
    model = TobitNetwork(types=[3, 0], recipe=Recipe("adam", 100, 64)).fit(X, y)
    mean, _ = model.predict([[0, 0.2], [1, 0.8], [2, np.nan]])
    np.testing.assert_allclose(mean, [0.2, 1.8, 1.0], atol=0.15)


def test_upper_bounds_predictions() -> None:
    X, y, censored = capped(100)
    assert TobitNetwork(**SMALL).fit(X, y, censored).predict(X)[0].max() > 0.5
    assert TobitNetwork(upper=0.5, **SMALL).fit(X, y, censored).predict(X)[0].max() == 0.5


# --- marginals ---


def test_marginals_average_costs_not_logarithms() -> None:
    """Against the definition, for more rows than one block holds."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.random((300, 2)), 50.0 * rng.random((300, 2))])
    model = TobitEnsemble(3, **SMALL).fit(X, X[:, 0] + X[:, 2] / 25.0)
    configurations, instances = rng.random((70, 2)), 50.0 * rng.random((300, 2))
    assert BLOCK < 70 * 300
    mean, std = model.predict_marginal(configurations, instances)
    for i in (0, 33, 69):
        rows = np.column_stack([np.tile(configurations[i], (300, 1)), instances])
        members = np.log10(np.mean(10.0 ** model._members(rows)[0], axis=1))
        assert mean[i] == pytest.approx(members.mean(), abs=1e-6)
        assert std[i] == pytest.approx(members.std(), abs=1e-6)


def test_one_instance_is_no_average() -> None:
    X, y, censored = capped(60)
    for model in (TobitNetwork(**SMALL), TobitEnsemble(3, **SMALL)):
        model.fit(X, y, censored)
        expected = model.predict(np.column_stack([X[:, 0], np.full(60, 0.3)]))
        np.testing.assert_allclose(model.predict_marginal(X[:, :1], [[0.3]]), expected, rtol=1e-5, atol=1e-6)


def test_noise_averages_out_over_equal_instances() -> None:
    X, y, censored = capped(60)
    model = TobitNetwork(**SMALL).fit(X, y, censored)
    one = model.predict_marginal(X[:5, :1], [[0.3]])[1]
    np.testing.assert_allclose(model.predict_marginal(X[:5, :1], [[0.3]] * 4)[1], one / 2.0, rtol=1e-5)


# --- samples, seeds, ensembles ---


def test_eq_5() -> None:
    """Mean and variance of the means, without the noise."""
    X, y, censored = capped(100)
    model = TobitEnsemble(4, **SMALL).fit(X, y, censored)
    samples = {tuple(model.sample(X, np.random.default_rng(seed))) for seed in range(40)}
    assert len(samples) == 4
    members = np.array(sorted(samples))
    mean, std = model.predict(X)
    np.testing.assert_allclose(mean, members.mean(axis=0))
    np.testing.assert_allclose(std**2, np.mean((members - mean) ** 2, axis=0), rtol=1e-6)


def test_a_network_is_its_own_sample() -> None:
    X, y, censored = capped(50)
    model = TobitNetwork(**SMALL).fit(X, y, censored)
    np.testing.assert_array_equal(model.sample(X, np.random.default_rng(0)), model.predict(X)[0])


def test_seeds_decide() -> None:
    X, y, censored = capped(50)
    first, again, other = (TobitNetwork(seed=seed, **SMALL).fit(X, y, censored).predict(X)[0] for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert np.std(first - other) > 1e-3


def test_a_second_fit_forgets_the_first() -> None:
    X, y, censored = capped(50)
    model = TobitNetwork(**SMALL).fit(X, -y)
    np.testing.assert_array_equal(
        model.fit(X, y, censored).predict(X)[0], TobitNetwork(**SMALL).fit(X, y, censored).predict(X)[0]
    )


def test_threads_do_not_change_an_ensemble() -> None:
    X, y, censored = capped(50)
    one, four = (TobitEnsemble(5, threads=threads, **SMALL).fit(X, y, censored).predict(X) for threads in (1, 4))
    np.testing.assert_array_equal(one, four)


def test_members_disagree_more_away_from_the_data() -> None:
    rng = np.random.default_rng(0)
    X = 0.4 * rng.random((200, 2))
    model = TobitEnsemble(5, recipe=Recipe("adam", 100, 32)).fit(X, wave(X) + 0.1 * rng.normal(size=200))
    near, far = model.predict(X)[1], model.predict(0.8 + 0.2 * rng.random((200, 2)))[1]
    assert far.mean() > 3.0 * near.mean()


# --- warm starts ---


def test_a_warm_start_goes_on_where_the_last_fit_ended() -> None:
    """After one more row, two passes from the old weights beat two passes from scratch by far."""
    X, y, censored = capped(400)
    short = Recipe("adam", epochs=2, batch=32, rate=1e-3)
    warm = TobitNetwork(recipe=Recipe("adam", 150, 32), warm=short).fit(X[:-1], y[:-1], censored[:-1])
    before = error(warm)
    assert error(warm.fit(X, y, censored)) < 1.3 * before
    assert error(warm) < 0.5 * error(TobitNetwork(recipe=short).fit(X, y, censored))


def test_a_warm_start_keeps_what_it_believes_when_the_targets_move() -> None:
    """New data may have another mean and deviation; the old predictions stay, in their own units."""
    X, y, _ = capped(200)
    model = TobitNetwork(warm=Recipe("sgd", 1, rate=1e-12), **SMALL).fit(X, y)
    before = model.predict(X)[0]
    after = model.fit(X, 10.0 + 3.0 * y).predict(X)[0]
    np.testing.assert_allclose(after, before, atol=1e-4)


def test_a_warm_start_needs_the_same_columns() -> None:
    X, y, censored = capped(60)
    holes = X.copy()
    holes[0, 0] = np.nan  # one more column: whether it is active
    model = TobitNetwork(warm=Recipe("adam", 1), **SMALL).fit(X, y, censored).fit(holes, y, censored)
    np.testing.assert_array_equal(model.predict(X)[0], TobitNetwork(**SMALL).fit(holes, y, censored).predict(X)[0])


# --- errors ---


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"censoring": "guess"}, "tobit, mean, drop or ignore"),
        ({"head": "cauchy"}, "normal, weibull, logistic"),
        ({"head": "weibull", "censoring": "mean"}, "normal distribution only"),
        ({"hidden": (50, 0)}, "hidden"),
        ({"hidden": (50, 10**6)}, "hidden"),
        ({"iterations": 0}, "iterations"),
        ({"seed": -1}, r"seed must be a whole number of at least 0 and below 2\^64, not -1"),
        ({"seed": 1.5}, "seed"),
    ],
)
def test_settings_are_checked(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        TobitNetwork(**arguments)


@pytest.mark.parametrize("arguments", [{"epochs": 0}, {"batch": 0}, {"rate": 0.0}, {"clip": -1.0}, {"optimizer": "newton"}])
def test_recipes_are_checked(arguments: dict[str, Any]) -> None:
    with pytest.raises(ModelError):
        Recipe(**{"optimizer": "sgd", "epochs": 1, **arguments})


def test_size_is_checked() -> None:
    with pytest.raises(ModelError, match="size"):
        TobitEnsemble(0)


def test_data_is_checked() -> None:
    X, y, censored = capped(20)
    with pytest.raises(ModelError, match="fit first"):
        TobitNetwork().predict(X)
    with pytest.raises(ModelError, match="one value per row"):
        TobitNetwork().fit(X, y[:3], censored)
    model = TobitNetwork(**SMALL).fit(X, y, censored)
    with pytest.raises(ModelError, match="shape"):
        model.predict(X[:, :1])
    with pytest.raises(ModelError, match="instances"):
        model.predict_marginal(X[:, :1], np.empty((0, 1)))
    with pytest.raises(ModelError, match="shape"):
        model.predict_marginal(X, [[0.5]])


def test_divergence_is_said() -> None:
    X, y, censored = capped(40)
    with pytest.raises(ModelError, match="lower the recipe's rate"):
        TobitNetwork(recipe=Recipe("sgd", 50, rate=1e30, clip=1e30)).fit(X, y, censored)


@pytest.mark.parametrize("known", [0.0, 0.1])
def test_known_noise_is_not_learnt(known: float) -> None:
    """Few low values among bounds: a network that may learn its noise takes some of them for that."""
    rng = np.random.default_rng(3)
    x = rng.random((40, 2))
    truth = 4.0 * np.abs(x[:, 0] - 0.5) + x[:, 1]
    bound = float(np.quantile(truth, 0.2))
    y, censored = np.minimum(truth, bound), truth > bound
    network = TobitNetwork(known_noise=known).fit(x, y, censored)
    noise = max(known, 0.05 * float(y.std()))
    _, std = network.predict(x)
    assert std == pytest.approx(np.full(40, noise), rel=0.1)
    assert np.max(np.abs(network.predict(x)[0] - y)[~censored]) < 3.0 * noise
    with pytest.raises(ModelError, match="known_noise"):
        TobitNetwork(known_noise=-1.0)
