"""Acquisition functions against quadrature in many digits, near and far."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from capra.search.acquisition import expected_improvement, lognormal_improvement, lower_bound, probability_of_improvement

POINTS = [
    (0.0, 1.0, 0.0),
    (1.0, 0.5, 0.9),
    (-2.0, 0.1, 1.0),
    (3.0, 0.7, -1.0),
    (2.0, 0.2, -2.0),
    (0.5, 0.01, 0.2),
    (1.0, 2.0, 4.0),
]
"""mean, deviation, best."""


def density(y: mpmath.mpf, mean: float, std: float) -> mpmath.mpf:
    return mpmath.npdf(y, mean, std)


@pytest.mark.parametrize(("mean", "std", "best"), POINTS)
def test_expected_improvement(mean: float, std: float, best: float) -> None:
    with mpmath.workdps(60):
        u = (mpmath.mpf(best) - mean) / std
        exact = mpmath.log(std * (u * mpmath.ncdf(u) + mpmath.npdf(u)))
    assert expected_improvement(np.array([mean]), np.array([std]), best)[0] == pytest.approx(
        float(exact), rel=1e-10, abs=1e-10
    )


@pytest.mark.parametrize(("mean", "std", "best"), POINTS)
def test_lognormal_improvement_is_that_of_the_cost_itself(mean: float, std: float, best: float) -> None:
    with mpmath.workdps(60):
        low = mean - 60 * std
        exact = mpmath.log(
            mpmath.quad(
                lambda y: (mpmath.mpf(10) ** best - mpmath.mpf(10) ** y) * density(y, mean, std),
                [low, *(best - k * std for k in (30, 10, 3, 1) if low < best - k * std < best), best],
            )
        )
    ours = lognormal_improvement(np.array([mean]), np.array([std]), best)[0]
    assert ours == pytest.approx(float(exact), rel=1e-6, abs=1e-6)


def test_far_candidates_still_have_an_order() -> None:
    mean = np.linspace(1.0, 2000.0, 500)
    values = expected_improvement(mean, np.full(500, 0.5), 0.0)
    assert np.all(np.isfinite(values))
    assert np.all(np.diff(values) < 0)


def test_more_uncertainty_is_worth_more_when_the_mean_is_no_better() -> None:
    std = np.array([0.1, 0.2, 0.4])
    for acquisition in (expected_improvement, lognormal_improvement, probability_of_improvement, lower_bound):
        assert np.all(np.diff(acquisition(np.full(3, 1.0), std, 0.5)) > 0), acquisition
