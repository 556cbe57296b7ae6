"""The truncated normal against 50-digit arithmetic, and at the ends of the number range."""

from __future__ import annotations

from collections.abc import Callable

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mpf

from capra.models import numerics

mpmath.mp.dps = 50
Z = np.unique(np.concatenate([np.linspace(-8.0, 40.0, 481), np.linspace(2.45, 2.55, 41), [-1e-9, 1e-9]]))


def survival(z: float) -> mpf:
    return mpmath.erfc(mpf(z) / mpmath.sqrt(2)) / 2


def hazard(z: float) -> mpf:
    return mpmath.npdf(mpf(z)) / survival(z)


def excess(z: float) -> mpf:
    return hazard(z) - mpf(z)


def variance(z: float) -> mpf:
    return 1 - hazard(z) * excess(z)


def relative_error(found: np.ndarray, true: list[mpf]) -> float:
    return max(float(abs((mpf(float(a)) - b) / b)) for a, b in zip(found, true, strict=True))


@pytest.mark.parametrize(
    ("ours", "exact", "bound"),
    [
        (numerics.log_density, lambda z: mpmath.log(mpmath.npdf(mpf(z))), 1e-15),
        (numerics.log_survival, lambda z: mpmath.log(survival(z)), 1.2e-14),
        (numerics.hazard, hazard, 1e-14),
        (numerics.excess, excess, 1e-14),
        (numerics.unit_variance, variance, 1e-13),
    ],
)
def test_functions_of_z_against_fifty_digits(
    ours: Callable[[np.ndarray], np.ndarray], exact: Callable[[float], mpf], bound: float
) -> None:
    assert relative_error(ours(Z), [exact(float(z)) for z in Z]) <= bound


def truncated_variance(mean: float, std: float, lower: numerics.ArrayLike) -> numerics.Floats:
    """Var[Y | Y ≥ lower] for Y ~ N(mean, std²)."""
    return np.square(std) * numerics.unit_variance(numerics.standardised(lower, mean, std))


@pytest.mark.parametrize(("mean", "std"), [(0.0, 1.0), (3.0, 0.25), (-50.0, 8.0)])
def test_moments_against_fifty_digits(mean: float, std: float) -> None:
    lower = mean + std * Z
    exact_z = [(mpf(float(bound)) - mean) / mpf(std) for bound in lower]
    scale = np.maximum(abs(mean), std)
    means = [mean + mpf(std) * hazard(z) for z in exact_z]
    errors = [abs(float(mpf(float(a)) - b)) for a, b in zip(numerics.truncated_mean(mean, std, lower), means, strict=True)]
    assert np.all(np.array(errors) <= 1e-14 * np.maximum(scale, np.abs(lower)))
    # z itself is rounded, and the variance falls like 1/z²: its error is that of z, twice
    assert relative_error(truncated_variance(mean, std, lower), [mpf(std) ** 2 * variance(z) for z in exact_z]) < 2e-13


@pytest.mark.parametrize("q", [1e-10, 1e-3, 0.1, 0.37, 0.5, 0.9, 0.999, 1 - 1e-9])
def test_quantiles_against_fifty_digits(q: float) -> None:
    """One exact Newton step from our answer tells how far it is from the root; in units of max(1, |x|)."""
    for z, x in zip(Z, numerics.truncated_quantile(0.0, 1.0, Z, q), strict=True):
        residual = mpmath.log(survival(float(x))) - mpmath.log(survival(float(z))) - mpmath.log1p(-mpf(q))
        assert abs(residual / hazard(float(x))) <= 1e-15 * max(1.0, abs(x))


@given(
    mean=st.floats(-1e6, 1e6),
    std=st.floats(1e-300, 1e6),
    lower=st.floats(-1e6, 1e6),
    q=st.floats(0.0, 1.0, exclude_max=True),
)
def test_whatever_comes_the_answer_is_beyond_the_bound(mean: float, std: float, lower: float, q: float) -> None:
    """No overflow warning either: warnings are errors here."""
    assert lower <= numerics.truncated_mean(mean, std, lower) < np.inf
    assert lower <= numerics.truncated_quantile(mean, std, lower, q) < np.inf
    assert 0.0 <= truncated_variance(mean, std, lower) <= std**2 * (1 + 1e-12)


def test_a_bound_that_says_nothing() -> None:
    """z = −40: the distribution as it was."""
    assert numerics.log_survival(-40.0) == 0.0
    assert numerics.hazard(-40.0) == 0.0
    assert numerics.truncated_mean(5.0, 0.1, 1.0) == 5.0
    assert truncated_variance(5.0, 0.1, 1.0) == pytest.approx(0.01, rel=1e-15)
    assert numerics.truncated_quantile(5.0, 0.1, 1.0, 0.5) == 5.0


@pytest.mark.parametrize("std", [1e-8, 1e-150, 1e-300])
def test_a_tiny_deviation_far_below_the_bound(std: float) -> None:
    """What is left is an exponential of rate z / std, at the bound for all purposes."""
    assert numerics.truncated_mean(0.0, std, 1.0) == pytest.approx(1.0, abs=2 * std**2)
    assert numerics.truncated_quantile(0.0, std, 1.0, 0.9) == pytest.approx(1.0, abs=3 * std**2)
    assert truncated_variance(0.0, std, 1.0) <= 2 * std**4
    assert numerics.truncated_mean(0.0, std, -1.0) == 0.0


@pytest.mark.parametrize("z", [1e3, 1e8, 1e200, np.inf])
def test_far_beyond_the_promised_range(z: float) -> None:
    reached = min(z, 1e100)
    assert numerics.hazard(z) == pytest.approx(reached, rel=1e-5)
    assert numerics.excess(z) == pytest.approx(1 / reached, rel=1e-5)
    assert numerics.unit_variance(z) == pytest.approx(reached**-2, rel=1e-5)


def test_arrays_broadcast() -> None:
    lower = np.array([[0.0], [1.0]])
    quantiles = numerics.truncated_quantile(np.zeros(3), np.ones(3), lower, np.array([0.1, 0.5, 0.9]))
    assert quantiles.shape == (2, 3)
    assert np.all(np.diff(quantiles, axis=1) > 0)
    assert np.all(np.diff(quantiles, axis=0) > 0)
