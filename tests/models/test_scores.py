"""Scores against integrals, hand computation and simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from capra.errors import ModelError
from capra.models import scores

RNG = np.random.default_rng(7)
N = 12
Y, MEAN, STD = RNG.normal(size=N), RNG.normal(size=N), RNG.uniform(0.3, 2.0, size=N)
CENSORED = np.arange(N) % 3 == 0


def simulated(n: int, share: float, shift: float = 0.0, width: float = 1.0) -> tuple[np.ndarray, ...]:
    """Runs from N(mean, std²), cut at random bounds, and a prediction that is off by ``shift`` and ``width``."""
    rng = np.random.default_rng(n)
    mean, std = rng.normal(size=n), rng.uniform(0.5, 2.0, size=n)
    truth = rng.normal(mean, std)
    bound = mean + std * rng.normal(stats.norm.isf(share) * np.sqrt(2), 1.0, size=n)
    return np.minimum(truth, bound), truth > bound, mean + shift * std, std * width, np.maximum(bound, truth)


def test_rmse() -> None:
    assert scores.rmse([1.0, 2.0], [1.0, 4.0]) == pytest.approx(np.sqrt(2.0))


def test_log_likelihood_is_density_or_survival() -> None:
    expected = np.where(CENSORED, stats.norm.logsf(Y, MEAN, STD), stats.norm.logpdf(Y, MEAN, STD))
    assert scores.log_likelihood(Y, CENSORED, MEAN, STD) == pytest.approx(expected.mean(), rel=1e-13)
    assert scores.log_likelihood([50.0], [True], [0.0], [1.0]) == pytest.approx(stats.norm.logsf(50.0), rel=1e-13)
    assert scores.log_likelihood([1.0], [True], [0.0], [1e-300]) < -1e100


def integral(y: float, censored: bool, mean: float, std: float, cutoff: float) -> float:
    below, _ = integrate.quad(lambda x: stats.norm.cdf(x, mean, std) ** 2, mean - 12 * std, y, epsabs=1e-13, epsrel=1e-12)
    if censored:
        return below
    end = min(cutoff, max(y, mean) + 12 * std)
    return below + integrate.quad(lambda x: stats.norm.sf(x, mean, std) ** 2, y, end, epsabs=1e-13, epsrel=1e-12)[0]


@pytest.mark.parametrize("bounded", [False, True])
def test_crps_is_the_integral(bounded: bool) -> None:
    cutoff = np.where(CENSORED, Y, Y + RNG.uniform(0.0, 2.0, size=N)) if bounded else np.full(N, np.inf)
    expected = [integral(*row) for row in zip(Y, CENSORED, MEAN, STD, cutoff, strict=True)]
    found = scores.crps(Y, CENSORED, MEAN, STD, cutoff if bounded else None)
    assert found == pytest.approx(np.mean(expected), rel=1e-10)


def test_crps_far_out() -> None:
    """A hit with no doubt costs nothing, a miss its distance, a censored run below a sure prediction nothing."""
    tiny, no, yes = np.array([1e-90]), np.array([False]), np.array([True])
    assert scores.crps([2.0], no, [2.0], tiny) == pytest.approx(0.0, abs=1e-90)
    assert scores.crps([5.0], no, [2.0], tiny) == pytest.approx(3.0)
    assert scores.crps([2.0], no, [5.0], tiny) == pytest.approx(3.0)
    assert scores.crps([2.0], yes, [5.0], tiny) == 0.0
    assert scores.crps([5.0], yes, [2.0], tiny) == pytest.approx(3.0)


@pytest.mark.parametrize(("shift", "width"), [(0.7, 1.0), (-0.7, 1.0), (0.0, 2.0), (0.0, 0.4)])
def test_the_truth_scores_best(shift: float, width: float) -> None:
    """Properness, seen on 20,000 runs, half of them censored."""
    y, censored, mean, std, cutoff = simulated(20_000, 0.5)
    wrong_mean, wrong_std = mean + shift * std, std * width
    assert 0.4 < censored.mean() < 0.6
    cutoff = np.where(censored, y, cutoff)
    assert scores.crps(y, censored, mean, std, cutoff) < scores.crps(y, censored, wrong_mean, wrong_std, cutoff)
    assert scores.log_likelihood(y, censored, mean, std) > scores.log_likelihood(y, censored, wrong_mean, wrong_std)


def test_without_cutoffs_low_predictions_are_favoured() -> None:
    """What the docstring warns of."""
    y, censored, mean, std, _ = simulated(20_000, 0.5)
    assert scores.crps(y, censored, mean - 0.3 * std, std) < scores.crps(y, censored, mean, std)


def test_calibration_curve_by_hand() -> None:
    """Kaplan–Meier: risk sets of 5, 4, 2 after the censored one at 0.5 left, and 1."""
    u = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
    levels, share = scores.calibration_curve(stats.norm.ppf(u), np.array([0, 0, 1, 0, 0], bool), np.zeros(5), np.ones(5))
    assert levels == pytest.approx([0.1, 0.3, 0.7, 0.9])
    assert share == pytest.approx([1 / 5, 2 / 5, 1 - 3 / 5 * 1 / 2, 1.0])


def test_calibration_curve_ties() -> None:
    """A run censored exactly where another one ends is still at risk there."""
    levels, share = scores.calibration_curve(np.zeros(4), np.array([0, 0, 1, 1], bool), np.zeros(4), np.ones(4))
    assert levels == pytest.approx([0.5])
    assert share == pytest.approx([0.5])


def test_a_calibrated_prediction_has_a_diagonal_curve() -> None:
    y, censored, mean, std, _ = simulated(20_000, 0.4)
    levels, share = scores.calibration_curve(y, censored, mean, std)
    trusted = levels < 0.9  # beyond it few are at risk
    assert np.max(np.abs(levels - share)[trusted]) < 0.02
    levels, share = scores.calibration_curve(y, censored, mean + 0.3 * std, std)
    assert np.max(np.abs(levels - share)[levels < 0.9]) > 0.05


def spread_by_hand(u: np.ndarray, censored: np.ndarray, bins: int) -> np.ndarray:
    """Haider et al. 2020, in survival probabilities, run by run."""
    shares = np.zeros(bins)
    for s, cut in zip(1.0 - u, censored, strict=True):
        k = min(int((1.0 - s) * bins), bins - 1)
        if not cut:
            shares[k] += 1.0
            continue
        shares[k] += (s - (1.0 - (k + 1) / bins)) / s
        shares[k + 1 :] += 1.0 / bins / s
    return shares / len(u)


@pytest.mark.parametrize("bins", [2, 5, 10])
def test_d_calibration_by_hand(bins: int) -> None:
    y, censored, mean, std, _ = simulated(200, 0.4)
    shares, p = scores.d_calibration(y, censored, mean, std, bins=bins)
    expected = spread_by_hand(stats.norm.cdf(y, mean, std), censored, bins)
    assert shares == pytest.approx(expected, rel=1e-12)
    assert p == pytest.approx(stats.chisquare(expected * 200).pvalue, rel=1e-9)


def test_d_calibration_at_the_ends() -> None:
    """Certain to be beyond the last range: all of its mass is there; before all ranges: it says nothing."""
    shares, _ = scores.d_calibration([100.0, -100.0], [True, True], [0.0, 0.0], [1.0, 1.0], bins=4)
    assert shares == pytest.approx([0.125, 0.125, 0.125, 0.625])


@pytest.mark.parametrize(
    ("shift", "width", "right"), [(0.0, 1.0, True), (0.5, 1.0, False), (0.0, 1.6, False), (0.0, 0.6, False)]
)
def test_d_calibration_tells_right_from_wrong(shift: float, width: float, right: bool) -> None:
    y, censored, mean, std, _ = simulated(2_000, 0.3, shift, width)
    _, p = scores.d_calibration(y, censored, mean, std)
    assert p > 0.05 if right else p < 1e-6


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (([], np.empty(0, bool), [], []), "one run at least"),
        (([1.0, 2.0], [True, False], [1.0], [1.0]), "one entry per run"),
        (([1.0], [1], [1.0], [1.0]), "booleans"),
        (([1.0], [True], [1.0], [0.0]), "std positive"),
        (([np.nan], [True], [1.0], [1.0]), "finite"),
    ],
)
def test_bad_arrays_are_refused(arrays: tuple[object, ...], message: str) -> None:
    for score in (scores.log_likelihood, scores.crps, scores.calibration_curve, scores.d_calibration):
        with pytest.raises(ModelError, match=message):
            score(*arrays)


def test_other_errors() -> None:
    with pytest.raises(ModelError, match="beyond its cutoff"):
        scores.crps([2.0], [False], [1.0], [1.0], [1.0])
    with pytest.raises(ModelError, match="two bins"):
        scores.d_calibration(Y, CENSORED, MEAN, STD, bins=1)
    with pytest.raises(ModelError, match="nothing to score"):
        scores.rmse([], [])
