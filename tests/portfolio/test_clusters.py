"""g-means and its test for normality, against scipy and data whose clusters are known."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats
from sklearn.cluster import KMeans

from capra.portfolio.clusters import anderson_darling, critical_value, g_means, k_means, normality_p_value


def test_the_statistic_against_scipy() -> None:
    rng = np.random.default_rng(0)
    for n in (10, 50, 400):
        for values in (rng.normal(3.0, 2.0, n), rng.exponential(1.0, n), rng.uniform(size=n)):
            theirs = stats.goodness_of_fit(stats.norm, values, statistic="ad", n_mc_samples=1).statistic
            assert anderson_darling(values) == pytest.approx(theirs * (1 + 4 / n - 25 / n**2), rel=1e-9)


def test_a_constant_sample_is_not_split_and_far_points_do_not_overflow() -> None:
    assert anderson_darling(np.ones(20)) == 0.0
    assert np.isfinite(anderson_darling(np.array([0.0] * 500 + [1e9])))


def test_critical_values() -> None:
    assert critical_value(1e-4) == pytest.approx(1.8692, rel=0.01)  # Hamerly & Elkan 2003
    for alpha, value in ((0.1, 0.631), (0.05, 0.752), (0.025, 0.873), (0.01, 1.035)):  # D'Agostino & Stephens, table 4.7
        assert critical_value(alpha) == pytest.approx(value, rel=0.01)
    steps = [critical_value(alpha) for alpha in (0.5, 0.3, 0.1, 1e-3, 1e-6, 1e-12, 1e-30)]
    assert steps == sorted(steps)
    assert len(set(steps)) == len(steps)


def test_p_values_against_samples() -> None:
    rng = np.random.default_rng(1)
    found = np.array([anderson_darling(rng.normal(size=200)) for _ in range(4000)])
    for alpha in (0.25, 0.1, 0.05, 0.01):
        rate = np.mean(found > critical_value(alpha))
        assert abs(rate - alpha) < 4 * np.sqrt(alpha / 4000) + 0.1 * alpha  # the factor of n is not quite that of the table
    p = [normality_p_value(a) for a in np.linspace(0.05, 10, 500)]
    assert all(0.0 < b <= a + 5e-3 for a, b in itertools.pairwise(p))


def test_k_means_comes_to_rest_where_sklearn_does() -> None:
    rng = np.random.default_rng(2)
    points = rng.normal(size=(200, 4))
    start = points[:5].copy()
    ours, labels = k_means(points, start)
    theirs = KMeans(5, init=start, n_init=1, algorithm="lloyd", tol=0.0).fit(points)
    np.testing.assert_allclose(ours, theirs.cluster_centers_, atol=1e-9)
    np.testing.assert_array_equal(labels, theirs.labels_)


@pytest.mark.parametrize("block", range(10))
def test_eight_blobs_are_eight_and_one_is_one(block: int) -> None:
    corners = np.array([[i & 1, i >> 1 & 1, i >> 2 & 1] for i in range(8)], dtype=np.float64) * 20.0
    for seed in range(10 * block, 10 * block + 10):
        rng = np.random.default_rng(seed)
        blobs = np.concatenate([corner + rng.normal(size=(40, 3)) for corner in corners])
        found = g_means(rng.permutation(blobs))
        assert len(found) == 8
        assert {int(np.argmin(np.square(corners - centre).sum(axis=1))) for centre in found} == set(range(8))
        assert len(g_means(rng.normal(size=(300, 3)) @ rng.normal(size=(3, 3)))) == 1


def test_small_clusters_are_dissolved() -> None:
    rng = np.random.default_rng(3)
    points = np.concatenate([rng.normal(size=(200, 2)), rng.normal(size=(12, 2)) + 40.0])
    assert len(g_means(points, min_size=10)) == 2
    assert len(g_means(points, min_size=13)) == 1
    assert len(g_means(np.ones((50, 2)))) == 1
