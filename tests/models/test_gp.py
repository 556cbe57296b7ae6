"""The Gaussian process as users meet it: what it learns from "at least", odd data, instances, drawn functions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from threadpoolctl import threadpool_info

from capra.errors import ModelError
from capra.models import CensoredGP
from capra.models.covariance import Covariance
from capra.models.scores import d_calibration, rmse


def truth(X: np.ndarray) -> np.ndarray:
    return np.asarray(np.sin(5.0 * X[:, 0]) + 2.0 * (X[:, 1] - 0.5) ** 2)


def runs(n: int, seed: int = 0, share: float = 0.4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Noisy values of ``truth``, the highest ``share`` of them censored at one bound."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    y = truth(X) + 0.1 * rng.normal(size=n)
    bound = np.quantile(y, 1.0 - share)
    return X, np.minimum(y, bound), y > bound


@pytest.fixture(scope="module")
def fitted() -> CensoredGP:
    return CensoredGP(seed=3).fit(*runs(80))


def test_censoring_lifts_the_mean() -> None:
    X, y, censored = runs(80)
    at_censored = CensoredGP().fit(X, y, censored).predict(X[censored])[0]
    ignoring = CensoredGP().fit(X, y).predict(X[censored])[0]
    assert np.all(at_censored > ignoring)
    assert np.mean(at_censored > y[censored]) > 0.9
    assert np.mean(ignoring > y[censored]) < 0.7


def test_it_beats_dropping_and_ignoring_against_the_truth() -> None:
    X, y, censored = runs(80)
    at = np.random.default_rng(9).random((500, 2))
    tobit, ignored, dropped = (
        rmse(truth(at), CensoredGP().fit(*data).predict(at)[0])
        for data in ((X, y, censored), (X, y), (X[~censored], y[~censored]))
    )
    assert tobit < 0.7 * min(ignored, dropped)


def test_deviations_are_calibrated() -> None:
    """Over 12 data sets, new runs under the same kind of censoring are spread as predicted."""
    parts = []
    for seed in range(12):
        model = CensoredGP(restarts=0).fit(*runs(50, seed))
        X, y, censored = runs(50, seed + 100)
        mean, std = model.predict(X)
        parts.append((y, censored, mean, np.hypot(std, model.noise)))
    y, censored, mean, std = (np.concatenate(part) for part in zip(*parts, strict=True))
    shares, _ = d_calibration(y, censored, mean, std, bins=5)
    assert shares == pytest.approx(np.full(5, 0.2), abs=0.06)
    wrong, _ = d_calibration(y, censored, mean, std / 3, bins=5)
    assert np.max(np.abs(wrong - 0.2)) > 0.1


def test_noise_and_lengths_are_found(fitted: CensoredGP) -> None:
    assert fitted.noise == pytest.approx(0.1, rel=0.4)
    assert fitted.lengths.shape == (2,)
    irrelevant = np.column_stack([runs(80)[0], np.random.default_rng(1).random(80)])
    lengths = CensoredGP().fit(irrelevant, *runs(80)[1:]).lengths
    assert lengths[2] > 3 * lengths[0]


def test_known_noise_makes_walls_of_bounds() -> None:
    """Most of a valley is above the bound. Without noise the model believes each bound, and finds the valley between them."""
    x = np.linspace(0.0, 1.0, 21)[:, None]
    truth = 3.0 * np.abs(x[:, 0] - 0.35)
    censored = truth > 0.4
    y = np.minimum(truth, 0.4)
    exact = CensoredGP(known_noise=0.0).fit(x, y, censored)
    mean, std = exact.predict(x)
    assert exact.noise == pytest.approx(0.01 * y.std())
    assert np.all(mean[censored] > 0.4)
    assert mean[~censored] == pytest.approx(y[~censored], abs=0.01)
    assert np.all(std[~censored] < 0.01)
    assert CensoredGP(known_noise=0.2).fit(x, y, censored).noise == pytest.approx(0.2)
    with pytest.raises(ModelError, match="known_noise"):
        CensoredGP(known_noise=-0.1)


def test_the_same_seed_gives_the_same_answers(fitted: CensoredGP) -> None:
    at = np.random.default_rng(2).random((10, 2))
    again = CensoredGP(seed=3).fit(*runs(80))
    for ours, theirs in zip(fitted.predict(at), again.predict(at), strict=True):
        assert np.array_equal(ours, theirs)


def test_units_do_not_matter(fitted: CensoredGP) -> None:
    X, y, censored = runs(80)
    at = np.random.default_rng(2).random((10, 2))
    mean, std = fitted.predict(at)
    shifted_mean, shifted_std = CensoredGP(seed=3).fit(X, 100.0 + 7.0 * y, censored).predict(at)
    assert shifted_mean == pytest.approx(100.0 + 7.0 * mean, rel=1e-4)
    assert shifted_std == pytest.approx(7.0 * std, rel=1e-3)


@pytest.mark.parametrize(
    ("y", "censored"),
    [
        ([2.5], [False]),
        ([2.5], [True]),
        ([1.0, 1.0, 1.0, 1.0], [False] * 4),
        ([1.0, 1.0, 1.0, 1.0], [True] * 4),
        ([1.0, 1.0, 1.0, 1.0], [True, False, True, False]),
        ([0.0, 1.0, 2.0, 3.0], [True] * 4),
        ([-3.0, 300.0, 2.0, 1e-9], [False, True, False, False]),
    ],
)
def test_little_or_odd_data(y: list[float], censored: list[bool]) -> None:
    X = np.tile([[0.3, 0.3]], (len(y), 1))  # all rows the same: the covariance has rank one
    model = CensoredGP().fit(X, y, censored)
    at = np.array([[0.3, 0.3], [0.9, 0.1]])
    mean, std = model.predict(at)
    assert np.all(np.isfinite(mean))
    assert np.all(std > 0)
    assert std[1] > std[0]
    assert np.all(np.isfinite(model.sample(at, np.random.default_rng(0))))
    if all(censored):
        assert mean[0] > np.mean(y)
    elif len(set(y)) == 1 and not any(censored):
        assert mean[0] == pytest.approx(y[0], abs=0.05)


def test_far_from_data_it_returns_to_the_level() -> None:
    """With everything censored, the level lies above the bounds, and doubt is wide."""
    X = np.random.default_rng(0).random((30, 1)) * 0.1
    mean, std = CensoredGP().fit(X, np.zeros(30), np.ones(30, bool)).predict([[0.05], [50.0]])
    assert np.all(mean > 0.0)
    assert std[1] > std[0]


# --- categories and inactive parameters ---


@settings(max_examples=50)
@given(st.data())
def test_covariances_are_positive_semidefinite(data: st.DataObject) -> None:
    types = np.array(data.draw(st.lists(st.sampled_from([0, 0, 1, 2, 5]), min_size=1, max_size=4)))
    n = data.draw(st.integers(2, 12))
    columns = [
        data.draw(
            arrays.arrays(
                np.float64,
                n,
                elements=st.one_of(st.just(np.nan), st.floats(0, 1) if k == 0 else st.integers(0, k - 1).map(float)),
            )
        )
        for k in types
    ]
    covariance = Covariance(types)
    inputs = covariance.inputs(np.column_stack(columns))
    theta = np.array(data.draw(st.lists(st.floats(-4, 4), min_size=len(types) + 1, max_size=len(types) + 1)))
    K = covariance.matrix(inputs, inputs, theta)
    assert np.allclose(K, K.T, rtol=1e-12)
    assert np.diag(K) == pytest.approx(np.full(n, covariance.variance(theta)), rel=1e-9)
    assert np.linalg.eigvalsh(K)[0] >= -1e-9 * covariance.variance(theta) * n


def test_distances_of_inactive_values() -> None:
    nan = np.nan
    covariance = Covariance(np.array([0, 3]))
    rows = np.array([[nan, 0.0], [nan, 0.0], [0.0, 0.0], [1.0, 0.0], [0.5, 0.0], [0.5, 1.0], [0.5, nan], [0.5, nan]])
    inputs = covariance.inputs(rows)
    K = covariance.matrix(inputs, inputs, np.zeros(3)) - 1.0

    def matern(r: float) -> float:
        return float((1 + np.sqrt(5) * r + 5 / 3 * r * r) * np.exp(-np.sqrt(5) * r))

    assert K[0, 1] == pytest.approx(1.0)
    assert K[0, 2:5] == pytest.approx([matern(np.sqrt(1.25)), matern(np.sqrt(1.25)), matern(1.0)])
    assert K[2, 3:5] == pytest.approx([matern(1.0), matern(0.5)])
    assert K[4, 5:8] == pytest.approx([np.exp(-1)] * 3)
    assert K[6, 7] == pytest.approx(1.0)


def test_categories_have_no_order() -> None:
    rng = np.random.default_rng(4)
    X = np.column_stack([rng.random(60), rng.integers(0, 4, 60).astype(float)])
    level = np.array([0.0, 3.0, 1.0, -2.0])
    y = level[X[:, 1].astype(int)] + X[:, 0] + 0.1 * rng.normal(size=60)
    renamed = X.copy()
    renamed[:, 1] = np.array([2.0, 0.0, 3.0, 1.0])[X[:, 1].astype(int)]
    one, other = CensoredGP(types=[0, 4]).fit(X, y), CensoredGP(types=[0, 4]).fit(renamed, y)
    assert one.predict(X)[0] == pytest.approx(other.predict(renamed)[0], abs=1e-6)
    assert rmse(y, one.predict(X)[0]) < 0.2


def test_inactive_parameters_are_learnt_about() -> None:
    rng = np.random.default_rng(5)
    X = np.column_stack([rng.random(80), rng.integers(0, 2, 80).astype(float)])
    X[X[:, 1] == 1.0, 0] = np.nan
    y = np.where(np.isnan(X[:, 0]), 4.0, np.nan_to_num(X[:, 0])) + 0.05 * rng.normal(size=80)
    mean, _ = CensoredGP(types=[0, 2]).fit(X, y).predict([[np.nan, 1.0], [0.2, 0.0], [0.8, 0.0]])
    assert mean == pytest.approx([4.0, 0.2, 0.8], abs=0.1)


# --- instances, and functions drawn ---


def test_one_instance_is_a_prediction(fitted: CensoredGP) -> None:
    configurations = np.linspace(0.0, 1.0, 7)[:, None]
    mean, std = fitted.predict_marginal(configurations, [[0.3]])
    plain_mean, plain_std = fitted.predict(np.column_stack([configurations, np.full(7, 0.3)]))
    assert mean == pytest.approx(plain_mean, abs=1e-9)
    assert std == pytest.approx(plain_std, rel=1e-3)


def test_marginals_against_many_joint_draws(fitted: CensoredGP) -> None:
    instances = np.linspace(0.0, 1.0, 6)[:, None]
    mean, std = fitted.predict_marginal([[0.9]], instances)
    rows = np.column_stack([np.full(6, 0.9), instances])
    posterior = fitted._posterior
    centre, root = posterior.joint(posterior.covariance.inputs(rows))
    draws = centre + np.random.default_rng(0).normal(size=(200_000, 6)) @ root.T
    expected = np.log10(np.mean(10.0**draws, axis=1))
    assert mean[0] == pytest.approx(expected.mean(), abs=0.03 * expected.std())
    assert std[0] == pytest.approx(expected.std(), rel=0.1)
    assert mean[0] > centre.mean()  # the mean of costs, not of their logarithms


def test_drawn_functions_have_the_posterior_moments(fitted: CensoredGP) -> None:
    at = np.array([[0.1, 0.5], [0.5, 0.5], [0.52, 0.5], [0.95, 0.0], [3.0, 3.0]])
    rng = np.random.default_rng(8)
    draws = np.array([fitted.sample(at, rng) for _ in range(1_500)])
    posterior = fitted._posterior
    mean, root = posterior.joint(posterior.covariance.inputs(at))
    std = np.sqrt(np.diag(root @ root.T))
    assert mean == pytest.approx(fitted.predict(at)[0])
    assert std == pytest.approx(fitted.predict(at)[1], rel=1e-3)
    assert np.max(np.abs(draws.mean(axis=0) - mean) / std) < 0.1
    scale = np.outer(std, std)
    assert np.cov(draws.T) / scale == pytest.approx(root @ root.T / scale, abs=0.13)


def test_drawn_functions_of_mixed_columns_have_the_prior_moments() -> None:
    """One run says little; what is drawn has the covariance of categories and inactive values as well."""
    at = np.array([[0.1, 0, 1], [0.1, 1, 1], [np.nan, 0, 1], [np.nan, 1, np.nan]])
    model = CensoredGP(types=[0, 2, 3]).fit([[0.5, 0, 0]], [1.0])
    rng = np.random.default_rng(8)
    draws = np.array([model.sample(at, rng) for _ in range(1_500)])
    _, root = model._posterior.joint(model._posterior.covariance.inputs(at))
    expected = root @ root.T
    assert np.cov(draws.T) == pytest.approx(expected, abs=0.13 * np.max(expected))
    assert np.ptp(expected) > 0.3 * np.max(expected)


def test_random_features_have_the_covariance() -> None:
    """Many features at once: their products miss the covariance by no more than chance."""
    covariance = Covariance(np.array([0, 2, 3]))
    inputs = covariance.inputs(np.array([[0.1, 0, 1], [0.1, 1, 1], [0.4, 0, 2], [np.nan, 0, 1], [np.nan, 1, np.nan]]))
    theta = np.log([0.4, 1.5, 0.7, 2.0])
    values = covariance.features(theta, 400_000, np.random.default_rng(3))(inputs)
    expected = covariance.matrix(inputs, inputs, theta) - 1.0
    assert values @ values.T == pytest.approx(expected, abs=0.015)


def test_a_draw_is_one_function(fitted: CensoredGP) -> None:
    """The same generator gives the same function, whatever rows it is asked at, also across blocks."""
    at = np.random.default_rng(1).random((2_500, 2))
    whole = fitted.sample(at, np.random.default_rng(6))
    assert fitted.sample(at[1_990:2_010], np.random.default_rng(6)) == pytest.approx(whole[1_990:2_010], abs=1e-9)
    assert not np.allclose(whole, fitted.sample(at, np.random.default_rng(7)))


def test_no_rows_no_answers(fitted: CensoredGP) -> None:
    none = np.empty((0, 2))
    assert [len(part) for part in fitted.predict(none)] == [0, 0]
    assert len(fitted.sample(none, np.random.default_rng(0))) == 0
    assert [len(part) for part in fitted.predict_marginal(np.empty((0, 1)), [[0.5]])] == [0, 0]


# --- errors ---


def test_errors_say_what_to_do(fitted: CensoredGP) -> None:
    with pytest.raises(ModelError, match="1001 rows are too many") as raised:
        CensoredGP().fit(np.zeros((1_001, 1)), np.zeros(1_001))
    assert "CensoredForest" in str(raised.value.hint)
    with pytest.raises(ModelError, match="not seen any data"):
        CensoredGP().predict([[0.0]])
    with pytest.raises(ModelError, match=r"\(n, 2\)"):
        fitted.predict([[0.0]])
    with pytest.raises(ModelError, match="at least one instance"):
        fitted.predict_marginal([[0.0]], np.empty((0, 1)))
    with pytest.raises(ModelError, match="categorical"):
        CensoredGP(types=[2]).fit([[2.0]], [1.0])
    with pytest.raises(ModelError, match="seed must be a whole number of at least 0 and below 2\\^64, not -1"):
        CensoredGP(seed=-1)
    with pytest.raises(ModelError, match="restarts"):
        CensoredGP(restarts=-1)
    with pytest.raises(ModelError, match="NaN or infinite"):
        CensoredGP().fit([[0.0]], [np.nan])


def test_its_linear_algebra_takes_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others would spin on the targets' cores; what the user has set is there again afterwards."""
    seen: list[int] = []

    def threads() -> list[int]:
        return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

    whole = Covariance.inputs
    monkeypatch.setattr(Covariance, "inputs", lambda *given: (seen.extend(threads()), whole(*given))[1])
    before = threads()
    CensoredGP().fit([[0.1], [0.5], [0.9]], [1.0, 2.0, 3.0]).predict([[0.3]])
    assert set(seen) == {1}
    assert threads() == before
