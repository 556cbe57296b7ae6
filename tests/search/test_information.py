"""Information per second, against Monte Carlo and scipy's quadrature."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from capra.search.information import Belief, chance, expected_time, information, informed, telling_cutoff

BELIEFS = [
    Belief(gap=0.0, doubt=0.4, mean=0.5, std=0.7),
    Belief(gap=0.5, doubt=0.3, mean=1.0, std=0.5),
    Belief(gap=-0.2, doubt=0.1, mean=-1.0, std=0.9),
    Belief(gap=0.1, doubt=0.6, mean=2.0, std=0.61),
]
LOWER = [0.0, 0.3, 30.0]
NAMES = [f"gap {belief.gap:g}, doubt {belief.doubt:g}" for belief in BELIEFS]


def drawn(belief: Belief, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Times of runs, and whether the challenger is better, drawn from the model as the module's text says it."""
    rng = np.random.default_rng(0)
    delta = rng.normal(0.0, belief.doubt, n)
    noise = rng.normal(0.0, math.sqrt(belief.std**2 - belief.doubt**2), n)
    return 10.0 ** (belief.mean + delta + noise), delta <= -belief.gap


def entropy(p: float) -> float:
    return float(stats.entropy([p, 1.0 - p], base=2))


@pytest.mark.parametrize("belief", BELIEFS, ids=NAMES)
@pytest.mark.parametrize("lower", LOWER)
def test_the_expected_time_is_the_integral(belief: Belief, lower: float) -> None:
    z = float(belief.z(lower)) if lower else -math.inf
    rest = stats.norm.sf(z)
    for cutoff in (max(lower, 0.01) * 1.01, 2.0 + lower, 50.0 + lower, 1e5):
        last = float(belief.z(cutoff))
        below, _ = quad(lambda t: 10 ** (belief.mean + belief.std * t) * stats.norm.pdf(t), max(z, -12), last, epsabs=1e-13)
        expected = (below + cutoff * stats.norm.sf(last)) / rest
        assert float(expected_time(belief, cutoff, lower)) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("belief", BELIEFS, ids=NAMES)
@pytest.mark.parametrize("lower", LOWER)
def test_chances_and_times_are_those_of_drawn_runs(belief: Belief, lower: float) -> None:
    times, better = drawn(belief, 400_000)
    there = times > lower
    assert there.sum() > 1000
    error = 4.0 / math.sqrt(there.sum())
    assert chance(belief, lower) == pytest.approx(better[there].mean(), abs=0.5 * error)
    cutoff = 3.0 * (lower + 1.0)
    stopped = np.minimum(times[there], cutoff)
    assert float(expected_time(belief, cutoff, lower)) == pytest.approx(stopped.mean(), abs=error * stopped.std())


@pytest.mark.parametrize("belief", BELIEFS, ids=NAMES)
@pytest.mark.parametrize("lower", LOWER)
def test_information_is_the_expected_loss_of_entropy(belief: Belief, lower: float) -> None:
    """By scipy's adaptive quadrature, every integral on its own."""
    rho, first = belief.correlation, max(float(belief.z(lower)), -10.0)

    def win(t: float) -> float:
        return float(stats.norm.cdf((-belief.gap / belief.doubt - rho * t) / math.sqrt(1 - rho**2)))

    def integral(f: object, low: float, high: float) -> float:
        return float(quad(lambda t: f(t) * stats.norm.pdf(t), low, high, epsabs=1e-12, limit=200)[0])  # type: ignore[operator]

    whole, rest = integral(win, first, 12.0), stats.norm.sf(first)
    for cutoff in (1.5 * lower + 0.1, lower + 10.0, 1e4):
        last = min(float(belief.z(cutoff)), 11.0)
        beyond, unseen = integral(win, last, 12.0), stats.norm.sf(last)
        expected = entropy(whole / rest) - integral(lambda t: entropy(win(t)), first, last) / rest
        expected -= unseen / rest * entropy(min(1.0, beyond / unseen))
        assert float(information(belief, cutoff, lower)[0]) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("belief", BELIEFS, ids=NAMES)
def test_longer_runs_tell_more_and_cost_more(belief: Belief) -> None:
    cutoffs = np.geomspace(1e-3, 1e5, 60)
    told, cost = information(belief, cutoffs), expected_time(belief, cutoffs)
    assert np.all(np.diff(told) > -1e-9)
    assert np.all(np.diff(cost) >= 0.0)
    assert np.all(told <= entropy(chance(belief)) + 1e-9)


@pytest.mark.parametrize("belief", BELIEFS, ids=NAMES)
@pytest.mark.parametrize("lower", LOWER)
@pytest.mark.parametrize("hopeless", [0.05, 1.0])
def test_no_other_cutoff_tells_more_per_second(belief: Belief, lower: float, hopeless: float) -> None:
    for upper in (lower + 0.5, 10.0 * (lower + 1.0), 1000.0 * (lower + 1.0)):
        chosen = telling_cutoff(belief, upper, lower, hopeless=hopeless)
        assert lower < chosen <= upper
        others = np.geomspace(max(1.001 * lower, 1e-3), upper, 300)
        settled = np.array([chance(belief, other) < hopeless for other in others]) | (others == upper)
        rates = information(belief, others, lower) / expected_time(belief, others, lower)
        rate = float(information(belief, chosen, lower)[0] / expected_time(belief, chosen, lower))
        assert rate >= 0.95 * rates[settled].max()


def test_a_run_is_stopped_early_only_where_that_is_the_end() -> None:
    for belief in BELIEFS:
        chosen = telling_cutoff(belief, 1e4, hopeless=0.05)
        assert chosen == 1e4 or chance(belief, chosen) < 0.05
    assert telling_cutoff(BELIEFS[1], 1e4, hopeless=0.05) < 1e4
    assert telling_cutoff(BELIEFS[1], 1e4, hopeless=0.0) == 1e4


def test_a_model_without_doubt_has_nothing_to_learn() -> None:
    sure = Belief(gap=3.0, doubt=1e-5, mean=0.0, std=0.5)
    assert telling_cutoff(sure, 70.0, hopeless=0.05) == 70.0
    assert chance(sure) == 0.0


def test_runs_of_the_challenger_change_the_belief() -> None:
    """Complete runs: Bayes' theorem for a normal mean. A censored one: moments of drawn δ, given that the run was long."""
    belief = Belief(gap=0.2, doubt=0.5, mean=1.0, std=0.8)
    noise = 0.8**2 - 0.5**2
    after = informed(belief, [(1.9, 1.0, 0.8, False), (0.7, 0.4, 0.8, False)])
    variance = 1.0 / (1.0 / 0.25 + 2.0 / noise)
    shift = variance * (0.9 + 0.3) / noise
    assert (after.gap, after.mean) == pytest.approx((0.2 + shift, 1.0 + shift))
    assert (after.doubt, after.std) == pytest.approx((math.sqrt(variance), math.sqrt(noise + variance)))
    rng = np.random.default_rng(1)
    delta = rng.normal(0.0, 0.5, 1_000_000)
    kept = delta[1.0 + delta + rng.normal(0.0, math.sqrt(noise), len(delta)) > 1.9]
    after = informed(belief, [(1.9, 1.0, 0.8, True)])
    assert (after.gap, after.doubt) == pytest.approx((0.2 + kept.mean(), kept.std()), abs=0.005)


def test_the_far_tail_is_still_a_number() -> None:
    belief = Belief(gap=0.3, doubt=0.2, mean=-2.0, std=0.25)
    lower = 10.0  # twelve deviations
    assert 0.0 <= chance(belief, lower) < 1e-3
    assert lower < telling_cutoff(belief, 300.0, lower, hopeless=0.05) <= 300.0
    assert lower <= float(expected_time(belief, 100.0, lower)) <= 12.0
