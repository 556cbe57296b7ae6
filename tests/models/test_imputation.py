"""Imputation of censored values: the loop, and what is put in."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from capra.models.imputation import conditional_means, conditional_quantiles, impute

MEAN = np.array([0.0, 1.0, -2.0])
STD = np.array([1.0, 0.5, 2.0])
LOWER = np.array([0.5, -1.0, 3.0])
POINT = np.array([0, 1, 2, 0, 2, 0])
LEVEL = np.array([0.25, 0.5, 1 / 3, 0.5, 2 / 3, 0.75])


def test_means_are_integrals_over_the_truncated_density() -> None:
    """The density above κ is φ((x − μ)/σ)/σ over 1 − Φ((κ − μ)/σ); seeds of this formula in print have it mirrored."""
    for mean, std, lower, ours in zip(MEAN, STD, LOWER, conditional_means((MEAN, STD), LOWER, None), strict=True):
        above, _ = quad(lambda x, m=mean, s=std: x * norm.pdf(x, m, s), lower, np.inf)
        assert ours == pytest.approx(above / norm.sf(lower, mean, std), abs=1e-7)


def test_means_stop_at_upper_but_never_below_the_bound() -> None:
    free = conditional_means((MEAN, STD), LOWER, None)
    held = conditional_means((MEAN, STD), LOWER, 1.0)
    assert np.array_equal(held, [1.0, min(free[1], 1.0), 3.0])


def test_quantiles_are_those_of_the_truncated_distribution() -> None:
    values = conditional_quantiles((MEAN, STD), LOWER, None, POINT, LEVEL)
    mean, std, lower = MEAN[POINT], STD[POINT], LOWER[POINT]
    below = norm.cdf(lower, mean, std)
    assert (norm.cdf(values, mean, std) - below) / (1 - below) == pytest.approx(LEVEL, abs=1e-9)


def test_a_point_above_upper_is_shifted_as_a_whole() -> None:
    free = conditional_quantiles((MEAN, STD), LOWER, None, POINT, LEVEL)
    held = conditional_quantiles((MEAN, STD), LOWER, 0.8, POINT, LEVEL)
    first, second = POINT == 0, POINT == 1
    assert free[first].mean() > 0.8
    assert held[first].mean() == pytest.approx(0.8)
    assert np.ptp((free - held)[first]) == pytest.approx(0.0, abs=1e-12)
    assert held[second] == pytest.approx(np.minimum(free[second], 0.8))
    assert held[POINT == 2].mean() == pytest.approx(3.0)  # a bound above upper: as low as it may be


def test_a_point_without_copies_does_no_harm() -> None:
    values = conditional_quantiles((MEAN, STD), LOWER, 0.0, np.array([2, 2]), np.array([1 / 3, 2 / 3]))
    assert np.all(np.isfinite(values))


def test_beliefs_without_spread_far_below_the_bound() -> None:
    belief = np.array([0.0]), np.array([1e-5])
    for values in (
        conditional_means(belief, np.array([5.0]), None),
        conditional_quantiles(belief, np.array([5.0]), None, np.array([0, 0]), np.array([0.1, 0.9])),
    ):
        assert values == pytest.approx(np.full(len(values), 5.0), abs=1e-9)
        assert np.all(values >= 5.0)


class Halving:
    """A model whose belief comes half the way to what it was last told."""

    def __init__(self) -> None:
        self.told: list[float] = []

    def refit(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.told.append(float(values[0]))
        return values / 2.0, np.ones(1)


def test_turns_end_when_values_stay() -> None:
    model = Halving()
    turns = impute((np.array([8.0]), np.ones(1)), lambda belief: belief[0], model.refit, limit=100, tolerance=0.3)
    assert model.told == [8.0, 4.0, 2.0, 1.0, 0.5]  # 0.5 → 0.25 moved by less than 0.3
    assert turns == 5


def test_turns_end_at_the_limit() -> None:
    model = Halving()
    assert impute((np.array([8.0]), np.ones(1)), lambda belief: belief[0], model.refit, limit=2, tolerance=0.0) == 2
    assert model.told == [8.0, 4.0]


def test_schmee_and_hahn_on_a_straight_line() -> None:
    """The scheme with least squares, beside the maximum-likelihood fit that it approximates."""
    rng = np.random.default_rng(0)
    x = rng.random(2000)
    true = 1.0 + 2.0 * x + 0.5 * rng.normal(size=2000)
    censored = true > 2.2
    y = np.where(censored, 2.2, true)
    design = np.column_stack([np.ones(2000), x])
    fitted: list[np.ndarray] = []

    def refit(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        filled = y.copy()
        filled[censored] = values
        fitted.append(np.linalg.lstsq(design, filled)[0])
        return design[censored] @ fitted[-1], np.full(int(censored.sum()), 0.5)

    turns = impute(refit(y[censored]), lambda b: conditional_means(b, y[censored], None), refit, limit=100, tolerance=1e-4)
    assert 2 < turns < 100
    assert fitted[-1] == pytest.approx([1.0, 2.0], abs=0.08)
    assert np.abs(fitted[0] - [1.0, 2.0]).max() > 0.2
