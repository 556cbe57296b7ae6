"""The noise of single runs: what ``fitted_noise`` finds, and that every model's ``predict_runs`` tells it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import truncnorm

from capra.models import CensoredForest, CensoredGP, Surrogate, TobitEnsemble, TobitNetwork
from capra.models.noise import fitted_noise

NOISE = 0.3
MODELS: dict[str, Callable[[], Surrogate]] = {
    "forest": lambda: CensoredForest(50),
    "network": TobitNetwork,
    "ensemble": TobitEnsemble,
    "process": lambda: CensoredGP(restarts=0),
}


def capped(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Inputs, what is seen, what of it is censored, and the whole truth."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    truth = np.sin(4 * X[:, 0]) + X[:, 1] + NOISE * rng.normal(size=n)
    cutoff = rng.uniform(0.2, 2.5, size=n)
    return X, np.minimum(truth, cutoff), truth > cutoff, truth


def test_the_noise_is_found_under_doubt_and_censoring() -> None:
    rng = np.random.default_rng(0)
    doubt = rng.uniform(0.0, 0.3, size=20_000)
    residuals = np.hypot(doubt, NOISE) * rng.normal(size=20_000)
    bound = rng.normal(0.2, 0.3, size=20_000)
    censored = residuals > bound
    assert 0.3 < censored.mean() < 0.5
    assert fitted_noise(np.minimum(residuals, bound), censored, doubt) == pytest.approx(NOISE, rel=0.02)


def test_censored_residuals_count_with_their_mean_square_beyond_the_bound() -> None:
    """Against scipy's truncated normal distribution."""
    rng = np.random.default_rng(1)
    residuals, doubt, censored = rng.normal(size=50), rng.uniform(0.1, 0.5, size=50), rng.random(50) < 0.4
    std = np.hypot(doubt, fitted_noise(residuals, censored, doubt))
    beyond = truncnorm((residuals / std)[censored], np.inf)
    squares = np.append((residuals / std)[~censored] ** 2, beyond.var() + beyond.mean() ** 2)
    assert squares.mean() == pytest.approx(1.0, abs=1e-3)


def test_runs_that_agree_to_the_last_digit_do_not_hide_the_others() -> None:
    residuals = np.append(np.zeros(300), NOISE * np.random.default_rng(2).normal(size=300))
    found = fitted_noise(residuals, np.zeros(600, dtype=np.bool_), np.full(600, 1e-5))
    assert found == pytest.approx(NOISE / np.sqrt(2.0), rel=0.1)


@pytest.mark.parametrize(
    ("residual", "censored", "doubt", "expected"),
    [(0.0, False, 1.0, 0.0), (1.0, False, 2.0, 1e-3), (1.0, True, 0.1, 1.0), (-1.0, True, 0.1, 1e-3)],
)
def test_corners(residual: float, censored: bool, doubt: float, expected: float) -> None:
    """No residual; all of it doubt; nothing but bounds, above or below the prediction."""
    assert fitted_noise(np.full(3, residual), np.full(3, censored), np.full(3, doubt)) == expected


@pytest.mark.parametrize("name", MODELS)
def test_single_runs_vary_as_much_as_they_are_said_to(name: str) -> None:
    X, y, censored, _ = capped(400, 0)
    model = MODELS[name]().fit(X, y, censored)
    Q, _, _, truth = capped(2000, 1)
    mean, std = model.predict_runs(Q)
    assert np.array_equal(mean, model.predict(Q)[0])
    z = (truth - mean) / std
    sure = 1.5 if name == "network" else 1.3  # thousands of weights on 400 runs know some of the noise by heart
    assert 0.75 < np.sqrt(np.mean(z**2)) < sure


@pytest.mark.parametrize("bootstrap", [True, False])
def test_the_noise_of_a_forest_is_that_of_its_last_fit(bootstrap: bool) -> None:
    X, y, censored, truth = capped(300, 2)
    forest = CensoredForest(seed=1, bootstrap=bootstrap).fit(X, truth)
    before = forest.noise
    assert forest.fit(X, 2.0 * truth).noise == pytest.approx(2.0 * before, rel=1e-3)
    assert CensoredForest(seed=1, bootstrap=bootstrap).fit(X, y, censored).noise > 0.0


def test_trees_that_saw_a_run_do_not_judge_it() -> None:
    """Pure noise, leaves of one run: a tree knows what it has seen, and only that."""
    rng = np.random.default_rng(3)
    X, y = rng.random((300, 3)), rng.normal(size=300)
    forest = CensoredForest(min_leaf=1, min_split=2).fit(X, y)
    _, std = forest.predict_runs(rng.random((300, 3)))
    assert 0.9 < np.sqrt(np.mean(std**2)) < 1.4
