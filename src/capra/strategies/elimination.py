"""Which configurations of a race are significantly worse than the best one: the tests of irace."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

__all__ = ["TESTS", "agreement", "friedman", "paired_t", "quality_variance", "scores"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
SAME = 1.5e-8
"""Relative difference of means that are the same to R's all.equal."""
EXACT = 50
"""From so many pairs on, R takes the normal approximation of Wilcoxon's test."""


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
    """Student's paired t-test of each against the one with the lowest mean, not adjusted for their number.

    As in irace, who is nowhere better than that one and worse on average is out without a test.
    """
    from scipy.special import stdtr

    n = len(costs)
    means = costs.mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        gaps = costs - costs[:, [int(means.argmin())]]
        t = gaps.mean(axis=0) / (gaps.std(axis=0, ddof=1) / np.sqrt(n))
    p = np.where((gaps >= 0.0).all(axis=0), 0.0, 2.0 * stdtr(n - 1, -np.abs(t)))
    return np.asarray((p < alpha) & ~np.isclose(means, means.min(), rtol=SAME, atol=0.0))


def _wilcoxon(costs: Floats, alpha: float) -> Mask:
    """The signed-rank test as R computes it; who is nowhere better is out, and of two who never differ the second."""
    from scipy.stats import wilcoxon

    gaps = costs[:, 0] - costs[:, 1]
    if (gaps <= 0.0).all() or (gaps >= 0.0).all():
        return np.array([not (gaps <= 0.0).all(), bool((gaps <= 0.0).all())])
    sizes = np.abs(gaps[gaps != 0.0])
    is_exact = len(np.unique(sizes)) == len(gaps) < EXACT
    p = wilcoxon(gaps[gaps != 0.0], correction=True, method="exact" if is_exact else "asymptotic").pvalue
    walsh = (gaps[:, None] + gaps[None, :])[np.triu_indices(len(gaps))] / 2.0
    second = float(np.median(walsh)) <= 0.0
    return np.array([not second, second]) & bool(p < alpha)


def scores(costs: Floats, test: str) -> Floats:
    """What configurations are ordered by, for costs (pairs, configurations): sums of ranks, or means for the t-test."""
    from scipy.stats import rankdata

    if not len(costs):
        return np.zeros(costs.shape[1])
    return np.asarray(rankdata(costs, axis=1).sum(axis=0) if test == "friedman" else costs.mean(axis=0))


def agreement(costs: Floats) -> tuple[float, float]:
    """Spearman's mean rank correlation between pairs, and Kendall's W: do the instances agree on the ranking?"""
    n, k = costs.shape
    if n < 2 or k < 2:
        return float("nan"), float("nan")
    w = friedman_statistic(costs)[0] / (n * (k - 1))
    return (n * w - 1.0) / (n - 1.0), w


def quality_variance(costs: Floats) -> float:
    """irace's Qvar: mean variance of the configurations' standardised costs; 0 where all instances say the same."""
    n, k = costs.shape
    if n < 2 or k < 2:
        return float("nan")
    with np.errstate(invalid="ignore"):  # a crash may cost infinitely much
        spread = costs.std(axis=1, ddof=1, keepdims=True)
        standard = (costs - costs.mean(axis=1, keepdims=True)) / np.where(spread > 0.0, spread, 1.0)
        return float(standard.var(axis=0, ddof=1).mean())


TESTS: Mapping[str, Callable[[Floats, float], Mask]] = {"friedman": friedman, "t-test": paired_t}
