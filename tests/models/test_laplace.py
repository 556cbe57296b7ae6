"""The approximate evidence, its slopes and its mode: finite differences, scikit-learn, orthant probabilities, grids."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from capra.models.covariance import Covariance
from capra.models.gp import _Problem
from capra.models.laplace import Tobit, find_mode
from capra.models.numerics import hazard
from capra.models.propagation import propagate


def problem(n: int, types: list[int], share: float, inactive: float = 0.0, seed: int = 0) -> _Problem:
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.random(n) if k == 0 else rng.integers(0, k, n).astype(float) for k in types])
    rows[rng.random(rows.shape) < inactive] = np.nan
    censored = np.arange(n) < round(share * n)
    return _Problem.of(Covariance(np.array(types)), rows, rng.normal(size=n), censored)


def thetas(problem: _Problem, noise: float, seed: int = 1) -> np.ndarray:
    theta = problem.prior_centre() + np.random.default_rng(seed).normal(0.0, 0.5, len(problem.prior_centre()))
    theta[-1] = np.log(noise)
    return theta


@pytest.mark.parametrize("noise", [0.05, 0.3, 2.0])
@pytest.mark.parametrize(
    ("types", "share", "inactive"),
    [
        ([0], 0.0, 0.0),
        ([0], 1.0, 0.0),
        ([0, 0, 0], 0.4, 0.0),
        ([4, 3], 0.4, 0.2),
        ([0, 3, 0, 2], 0.5, 0.2),
    ],
)
def test_slopes_are_those_of_the_evidence(types: list[int], share: float, inactive: float, noise: float) -> None:
    case = problem(25, types, share, inactive)
    theta = thetas(case, noise)
    _, slopes = case.evidence(theta)
    step = 1e-3
    for j in range(len(theta)):
        away = [case.evidence(theta + step * k * np.eye(len(theta))[j])[0] for k in (-2, -1, 1, 2)]
        difference = (away[0] - 8 * away[1] + 8 * away[2] - away[3]) / (12 * step)
        assert slopes[j] == pytest.approx(difference, rel=1e-5, abs=1e-5 * np.max(np.abs(slopes)))


@pytest.mark.parametrize("noise", [0.01, 0.3])
@pytest.mark.parametrize(("types", "share"), [([0, 0], 0.6), ([0], 1.0), ([0, 3], 0.4)])
def test_slopes_are_those_of_the_propagated_evidence(
    types: list[int], share: float, noise: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("capra.models.gp.NEARLY", 1e-9)
    case = problem(20, types, share)
    theta = thetas(case, noise)
    _, slopes = case.propagated_evidence(theta)
    for j in range(len(theta) - 1):
        away = [case.propagated_evidence(theta + 1e-4 * k * np.eye(len(theta))[j])[0] for k in (-1, 1)]
        difference = (away[1] - away[0]) / 2e-4
        assert slopes[j] == pytest.approx(difference, rel=2e-3, abs=2e-3 * np.max(np.abs(slopes)))


def test_the_propagated_evidence_is_nearly_exact() -> None:
    """Observed values have a density, bounds the probability of an orthant given them. Laplace's method is further off."""
    rng = np.random.default_rng(0)
    rows = rng.random((12, 2))
    f = np.sin(5.0 * rows[:, 0]) + rows[:, 1]
    bound = float(np.quantile(f, 0.4))
    case = _Problem.of(Covariance(np.zeros(2, dtype=np.int64)), rows, np.minimum(f, bound), f > bound)
    theta = case.prior_centre()
    theta[-1] = np.log(0.05)
    m, y = case.tobit.observed, case.tobit.y
    K = case.covariance.matrix(case.inputs, case.inputs, theta[:-1]) + 0.05**2 * np.eye(12)
    explained = np.linalg.solve(K[:m, :m], K[:m, m:]).T
    density = stats.multivariate_normal(np.zeros(m), K[:m, :m]).logpdf(y[:m])
    rest = stats.multivariate_normal(-explained @ y[:m], K[m:, m:] - explained @ K[:m, m:], seed=0)
    exact = density + np.log(rest.cdf(-y[m:]))
    propagated, laplace = case.propagated_evidence(theta)[0], case.evidence(theta)[0]
    assert propagated == pytest.approx(exact, abs=0.1)
    assert abs(propagated - exact) < abs(laplace - exact)


def test_slopes_of_the_loss_count_the_prior() -> None:
    case = problem(10, [0, 3], 0.3)
    theta = thetas(case, 0.3)
    value, slopes = case.loss(theta)
    numeric = optimize.approx_fprime(theta, lambda t: case.loss(t)[0], 1e-7)
    assert slopes == pytest.approx(numeric, rel=1e-4, abs=1e-4)
    assert value > -case.evidence(theta)[0]


@pytest.mark.parametrize("noise", [0.01, 0.3])
def test_without_censoring_it_is_exact_regression(noise: float) -> None:
    case = problem(40, [0, 0, 0], 0.0)
    theta = thetas(case, noise)
    kernel = (
        ConstantKernel(np.exp(theta[3])) * Matern(np.exp(theta[:3]), nu=2.5) + ConstantKernel(1.0) + WhiteKernel(noise**2)
    )
    rows = case.inputs.numbers[:, :3]
    peer = GaussianProcessRegressor(kernel, alpha=0.0, optimizer=None).fit(rows, case.tobit.y)
    value, slopes = case.evidence(theta)
    theirs, their_slopes = peer.log_marginal_likelihood(peer.kernel_.theta, eval_gradient=True)
    assert value == pytest.approx(theirs, rel=1e-10)
    # their order: amplitude, lengths, level, log variance of the noise (ours is of the deviation: twice the slope)
    assert slopes == pytest.approx([*their_slopes[1:4], their_slopes[0], 2 * their_slopes[5]], rel=1e-6)
    at = np.random.default_rng(5).random((30, 3))
    posterior = case.posterior(theta)
    mean, std = posterior.marginals(case.covariance.inputs(at))
    their_mean, their_std = peer.predict(at, return_std=True)
    assert (mean - case.centre) / case.scale == pytest.approx(their_mean, rel=1e-8, abs=1e-8)
    assert std / case.scale == pytest.approx(np.sqrt(their_std**2 - noise**2), rel=1e-6)


@pytest.mark.parametrize("noise", [0.1, 0.5])
@pytest.mark.parametrize("share", [0.3, 1.0])
def test_the_mode_is_where_a_general_optimiser_finds_it(share: float, noise: float) -> None:
    case = problem(12, [0, 0], share)
    K = case.covariance.matrix(case.inputs, case.inputs, thetas(case, noise)[:-1])
    y, censored = case.tobit.y, case.tobit.censored

    def loss(f: np.ndarray) -> float:
        likelihood = np.where(censored, stats.norm.logsf(y, f, noise), stats.norm.logpdf(y, f, noise))
        return 0.5 * f @ np.linalg.solve(K, f) - likelihood.sum()

    def slope(f: np.ndarray) -> np.ndarray:
        z = (y - f) / noise
        return np.linalg.solve(K, f) - np.where(censored, hazard(z), z) / noise

    found = optimize.minimize(loss, np.zeros(12), jac=slope, method="BFGS", options={"gtol": 1e-10, "maxiter": 5_000}).x
    mode = find_mode(K, case.tobit, noise)
    assert mode.f == pytest.approx(found, abs=1e-5)
    assert loss(mode.f) <= loss(found) + 1e-12
    assert mode.a == pytest.approx(np.linalg.solve(K, mode.f), abs=1e-5)


def test_any_start_gives_the_same_mode() -> None:
    case = problem(30, [0, 0], 0.6)
    K = case.covariance.matrix(case.inputs, case.inputs, thetas(case, 0.1)[:-1])
    one = find_mode(K, case.tobit, 0.1)
    for start in (np.full(30, 50.0), np.full(30, -50.0), one.f):
        other = find_mode(K, case.tobit, 0.1, start)
        assert other.f == pytest.approx(one.f, abs=1e-8)
        assert other.evidence == pytest.approx(one.evidence, abs=1e-7)


def orthant_evidence(K: np.ndarray, tobit: Tobit, noise: float) -> float:
    """log p(observed) + log P(all censored lie beyond | observed): exact but for the integration's 1e-5."""
    seen, cut = ~tobit.censored, tobit.censored
    C = K + noise**2 * np.eye(len(K))
    gain = np.linalg.solve(C[np.ix_(seen, seen)], C[np.ix_(seen, cut)])
    mean, covariance = tobit.y[seen] @ gain, C[np.ix_(cut, cut)] - C[np.ix_(cut, seen)] @ gain
    density = stats.multivariate_normal(np.zeros(seen.sum()), C[np.ix_(seen, seen)]).logpdf(tobit.y[seen])
    beyond = stats.multivariate_normal(-mean, covariance, seed=1).cdf(-tobit.y[cut])
    return float(density + np.log(beyond))


@pytest.mark.parametrize(("noise", "tolerance"), [(0.1, 0.12), (0.3, 0.12), (1.0, 0.03)])
@pytest.mark.parametrize("seed", range(4))
def test_evidence_against_orthant_probabilities(seed: int, noise: float, tolerance: float) -> None:
    """What Laplace's method loses, per censored point: a few hundredths of a natural logarithm."""
    case = problem(12, [0, 0], 0.34, seed=seed)
    theta = thetas(case, noise, seed)
    K = case.covariance.matrix(case.inputs, case.inputs, theta[:-1])
    exact = orthant_evidence(K, case.tobit, noise)
    assert case.evidence(theta)[0] == pytest.approx(exact, abs=tolerance * case.tobit.censored.sum())


@pytest.mark.parametrize("observed", [0, 1, 3])
@pytest.mark.parametrize("noise", [0.3, 1.0])
def test_posterior_against_a_grid(noise: float, observed: int) -> None:
    """Three rows, some censored: mean and deviation at the rows and between them, by brute force."""
    rows, y, censored = np.array([[0.1], [0.5], [0.9]]), np.array([-1.0, 0.5, 0.3]), np.arange(3) >= observed
    covariance = Covariance(np.array([0]))
    inputs, theta = covariance.inputs(rows), np.log([0.4, 1.5])
    at = covariance.inputs(np.array([[0.1], [0.5], [0.7], [0.9]]))
    K = covariance.matrix(inputs, inputs, theta)
    axis = np.linspace(-6.0, 8.0, 81)
    grid = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3)
    logs = stats.multivariate_normal(np.zeros(3), K).logpdf(grid)
    logs += np.where(censored, stats.norm.logsf(y, grid, noise), stats.norm.logpdf(y, grid, noise)).sum(axis=1)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    project = np.linalg.solve(K, covariance.matrix(inputs, at, theta))
    left = covariance.variance(theta) - np.sum(project * covariance.matrix(inputs, at, theta), axis=0)
    values = grid @ project
    mean = weights @ values
    std = np.sqrt(weights @ (values - mean) ** 2 + left)
    problem = _Problem(covariance, inputs, Tobit(y, observed), 0.0, 1.0)
    found_mean, found_std = problem.posterior(np.append(theta, np.log(noise))).marginals(at)
    assert found_mean == pytest.approx(mean, abs=0.02)
    assert found_std == pytest.approx(std, rel=0.03)


def test_propagation_settles_when_everything_is_censored() -> None:
    """Undamped, it would swing for ever here; another sweep from where it stopped must change next to nothing."""
    case = problem(100, [0, 0], 1.0)
    K = case.covariance.matrix(case.inputs, case.inputs, np.log([3.0, 3.0, 2.0]))
    mode = find_mode(K, case.tobit, 0.1)
    once = propagate(K, case.tobit, 0.1, mode)
    again = propagate(K, case.tobit, 0.1, once)
    assert again.f == pytest.approx(once.f, abs=0.01)
    assert np.max(once.f - mode.f) > 0.1


def test_what_contradicts_itself_is_weighed() -> None:
    """Observed at 0 and censored at 10 in the same place: the answer lies between, and is sure of neither."""
    covariance = Covariance(np.array([0]))
    inputs = covariance.inputs(np.array([[0.5], [0.5]]))
    case = _Problem(covariance, inputs, Tobit(np.array([0.0, 10.0]), 1), 0.0, 1.0)
    mean, _ = case.posterior(np.log([1.0, 25.0, 0.5])).marginals(inputs)
    assert mean == pytest.approx([5.0, 5.0], abs=0.2)
