"""Which configurations of a race are significantly worse than the best one: the tests of irace."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

__all__ = ["TESTS", "agreement", "friedman", "paired_t"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


def friedman(costs: Floats, alpha: float) -> Mask:
    """Friedman's test with Conover's comparison of each with the best; costs (pairs, configurations) to who is worse.

    Conover 1999, §5.8, corrected for ties. For two configurations Wilcoxon's signed-rank test takes its place.
    """
    from scipy.special import stdtrit  # scipy takes its time to load

    n, k = costs.shape
    if k == 2:
        return _wilcoxon(costs, alpha)
    _, p, ranks = friedman_statistic(costs)
    sums = ranks.sum(axis=0)
    if not p < alpha:
        return np.zeros(k, dtype=np.bool_)
    freedom = (n - 1) * (k - 1)
    spread = max(0.0, 2.0 * (n * (ranks**2).sum() - (sums**2).sum()) / freedom)
    return np.asarray(sums - sums.min() > stdtrit(freedom, 1.0 - alpha / 2.0) * np.sqrt(spread))


def friedman_statistic(costs: Floats) -> tuple[float, float, Floats]:
    """Friedman's statistic (0 if all costs are the same), its p-value, and the ranks (pairs, configurations)."""
    from scipy.special import chdtrc
    from scipy.stats import rankdata

    n, k = costs.shape
    ranks = np.asarray(rankdata(costs, axis=1))
    scale = float((ranks**2).sum() - n * k * (k + 1) ** 2 / 4.0)
    if scale <= 0.0:
        return 0.0, 1.0, ranks
    statistic = float((k - 1) * ((ranks.sum(axis=0) - n * (k + 1) / 2.0) ** 2).sum() / scale)
    return statistic, float(chdtrc(k - 1, statistic)), ranks


def paired_t(costs: Floats, alpha: float) -> Mask:
    """Student's paired t-test of each against the one with the lowest mean, not adjusted for their number."""
    from scipy.special import stdtr

    n = len(costs)
    means = costs.mean(axis=0)
    gaps = costs - costs[:, [int(means.argmin())]]
    deviation = gaps.std(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = gaps.mean(axis=0) / (deviation / np.sqrt(n))
    p = 2.0 * stdtr(n - 1, -np.abs(t))
    p[deviation == 0.0] = np.where(gaps.mean(axis=0) > 0.0, 0.0, 1.0)[deviation == 0.0]  # always the same difference
    return np.asarray(p < alpha)


def _wilcoxon(costs: Floats, alpha: float) -> Mask:
    from scipy.stats import wilcoxon

    gaps = costs[:, 0] - costs[:, 1]
    worse = costs.sum(axis=0) > costs.sum(axis=0).min()
    significant = bool(gaps.any()) and wilcoxon(gaps[gaps != 0.0]).pvalue < alpha
    return np.asarray(worse & significant)


def agreement(costs: Floats) -> tuple[float, float]:
    """Spearman's mean rank correlation between pairs, and Kendall's W: do the instances agree on the ranking?"""
    n, k = costs.shape
    if n < 2 or k < 2:
        return float("nan"), float("nan")
    w = friedman_statistic(costs)[0] / (n * (k - 1))
    return (n * w - 1.0) / (n - 1.0), w


TESTS: Mapping[str, Callable[[Floats, float], Mask]] = {"friedman": friedman, "t-test": paired_t}
