"""The noise of single runs: what ``fitted_noise`` finds, and that every model's ``predict_runs`` tells it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from capra.models import CensoredForest, CensoredGP, Surrogate, TobitEnsemble, TobitNetwork
from capra.models.noise import fitted_noise

NOISE = 0.3
MODELS: dict[str, Surrogate] = {
    "forest": CensoredForest(50),
    "network": TobitNetwork(),
    "ensemble": TobitEnsemble(),
    "process": CensoredGP(restarts=0),
}


def capped(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Inputs, what is seen, what of it is censored, and the whole truth."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    truth = np.sin(4 * X[:, 0]) + X[:, 1] + NOISE * rng.normal(size=n)
    cutoff = rng.uniform(0.2, 2.5, size=n)
    return X, np.minimum(truth, cutoff), truth > cutoff, truth


def test_the_likelihood_has_its_maximum_there() -> None:
    """Against scipy's densities on a fine grid."""
    rng = np.random.default_rng(0)
    doubt = rng.uniform(0.0, 0.3, size=400)
    residuals = np.hypot(doubt, NOISE) * rng.normal(size=400)
    bound = rng.normal(0.2, 0.3, size=400)
    censored, seen = residuals > bound, np.minimum(residuals, bound)
    grid = np.geomspace(0.05, 2.0, 4000)
    std = np.hypot(doubt, grid[:, None])
    terms = np.where(censored, norm.logsf(seen, scale=std), norm.logpdf(seen, scale=std))
    found = fitted_noise(seen, censored, doubt)
    assert found == pytest.approx(grid[terms.sum(axis=1).argmax()], rel=2e-3)
    assert found == pytest.approx(NOISE, rel=0.15)


def test_nothing_left_over_is_no_noise() -> None:
    assert fitted_noise(np.zeros(3), np.zeros(3, dtype=np.bool_), np.ones(3)) == 0.0


@pytest.mark.parametrize("name", MODELS)
def test_single_runs_vary_as_much_as_they_are_said_to(name: str) -> None:
    X, y, censored, _ = capped(400, 0)
    model = MODELS[name].fit(X, y, censored)
    Q, _, _, truth = capped(2000, 1)
    mean, std = model.predict_runs(Q)
    assert np.array_equal(mean, model.predict(Q)[0])
    z = (truth - mean) / std
    assert 0.75 < np.sqrt(np.mean(z**2)) < 1.3


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
