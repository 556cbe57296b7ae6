"""Homogeneity: W against scipy, overlaps by hand, and savings that noise alone must not promise."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import friedmanchisquare

from capra.analysis.homogeneity import Homogeneity, homogeneity, kendalls_w, overlap_of_best
from capra.runs import Configuration, History, Objective, Outcome, Run, RunRequest, Status

CUTOFF = 100.0
Floats = NDArray[np.float64]


def run(config: int, instance: str, seed: int, time: float, cap: float = CUTOFF) -> Run:
    request = RunRequest(Configuration({"row": config}), instance, seed, cap)
    if time < cap:
        return Run(request, Outcome(Status.SUCCESS, float(time), cap))
    return Run(request, Outcome(Status.TIMEOUT if cap == CUTOFF else Status.CAPPED, cap, cap))


def history_of(times: Floats, cap: Callable[[int, int], float] = lambda c, i: CUTOFF) -> History:
    """Of (configurations, instances, seeds); NaN = never run."""
    history = History(Objective(), CUTOFF)
    for c, i, s in itertools.product(*map(range, times.shape)):
        if not np.isnan(times[c, i, s]):
            history.add(run(c, f"i{i}", s, times[c, i, s], cap(c, i)))
    return history


# --- the two measures ---


@pytest.mark.parametrize("seed", range(20))
def test_w_is_scipys_friedman_statistic(seed: int) -> None:
    """Friedman's χ² = m (n − 1) W, corrected for ties in the same way."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(3, 9)), int(rng.integers(2, 12))
    costs = rng.integers(0, 4 if seed % 2 else 1000, size=(n, m)).astype(np.float64)
    w = kendalls_w(costs)
    assert w is not None
    assert m * (n - 1) * w == pytest.approx(friedmanchisquare(*costs).statistic)


def test_w_of_extremes() -> None:
    ranks = np.arange(5.0)
    assert kendalls_w(np.stack([ranks] * 7, axis=1)) == pytest.approx(1.0)
    assert kendalls_w(np.stack([ranks, ranks[::-1]], axis=1)) == pytest.approx(0.0)
    assert kendalls_w(np.ones((4, 6))) is None


def test_overlap_by_brute_force() -> None:
    rng = np.random.default_rng(3)
    costs = rng.random((40, 12))
    best = [set(np.argsort(column)[:4]) for column in costs.T]
    expected = np.mean([len(a & b) / 4 for a, b in itertools.combinations(best, 2)])
    assert overlap_of_best(costs) == (pytest.approx(expected), 0.1)


def test_ties_share_the_places() -> None:
    """Two of ten tie for the only place on both instances: each pair of draws is the same with probability one half."""
    costs = np.ones((10, 3)) + np.arange(10.0)[:, None] * [1, 1, 0]
    costs[1] = costs[0]
    assert overlap_of_best(costs) == (pytest.approx(0.5), 0.1)
    assert overlap_of_best(np.ones((10, 3))) == (None, None)


# --- what a portfolio would save ---


def noisy(rng: np.random.Generator, expected: Floats, seeds: int, sigma: float = 1.0) -> Floats:
    """Times with lognormal noise of mean 1: every seed its own."""
    return expected[:, :, None] * rng.lognormal(-(sigma**2) / 2, sigma, (*expected.shape, seeds))


def alike(configurations: int, instances: int) -> Floats:
    """All instances rank the configurations alike; some are harder."""
    return np.outer(np.linspace(1.0, 2.0, configurations), np.geomspace(0.2, 5.0, instances))


def kinds(configurations: int, instances: int, count: int) -> Floats:
    """Instances of ``count`` kinds, a configuration for each kind: 1 s where it fits and 10 s elsewhere."""
    fits = np.arange(configurations)[:, None] % count == np.arange(instances)[None, :] % count
    return np.where(fits, 1.0, 10.0)


@pytest.mark.parametrize("seeds", [1, 2, 6])
@pytest.mark.parametrize("seed", range(5))
def test_noise_alone_promises_nothing(seed: int, seeds: int) -> None:
    """The best of five runs with σ = 1 is far below their mean, yet nobody can choose it beforehand."""
    times = noisy(np.random.default_rng(seed), alike(20, 60), seeds)
    costs = times.mean(axis=2)
    assert 1.0 - costs[:5].min(axis=0).sum() / costs[0].sum() > 0.1  # what noise seems to offer
    found = homogeneity(history_of(times))
    assert found is not None
    assert found.savings
    assert found.best is None
    assert found.advice.startswith("one configuration is enough (W = 0.")
    assert found.basis == ("neighbours" if seeds == 1 else "seeds")


def test_ranks_that_agree_are_said_to() -> None:
    times = noisy(np.random.default_rng(1), alike(20, 60), 4, sigma=0.1)
    found = homogeneity(history_of(times))
    assert found is not None
    assert found.advice == f"one configuration is enough (W = {found.w:.2f})"
    assert found.w is not None
    assert found.w > 0.9
    assert found.overlap is not None
    assert found.overlap > 0.5 > (found.chance or 1.0)


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("seeds", [1, 4])
def test_kinds_of_instances_are_found_with_what_they_save(count: int, seeds: int) -> None:
    """The single best costs (1 + 10 (k − 1)) / k on average, a portfolio of k costs 1."""
    times = noisy(np.random.default_rng(count), kinds(18, 90, count), seeds, sigma=0.4)
    found = homogeneity(history_of(times))
    truth = 1.0 - count / (1.0 + 10.0 * (count - 1))
    assert found is not None
    assert found.best is not None
    assert found.best.members == count
    assert found.best.share == pytest.approx(truth, abs=0.08)
    assert abs(found.best.share - truth) < 2.0 * found.best.error
    assert (
        found.advice == f"a portfolio of {count} would save {100 * found.best.share:.0f} % (± {100 * found.best.error:.0f})"
    )
    assert found.w is not None
    assert found.w < 0.2


def test_a_deterministic_target_is_judged_by_its_own_runs() -> None:
    """Every instance has a configuration of its own kind, and nothing else is known: five configurations are too few
    witnesses, unless a run tells all."""
    times = kinds(3, 30, 3)[:, :, None]
    exact = homogeneity(history_of(times), deterministic=True)
    assert exact is not None
    assert exact.basis == "exact"
    assert exact.best is not None
    assert exact.best.members == 3
    assert exact.best.share == pytest.approx(1.0 - 3.0 / 21.0)
    document = json.loads(json.dumps(exact.to_dict()))
    assert [saving["members"] for saving in document["savings"]] == [2, 3]
    assert document["advice"].startswith("a portfolio of 3 would save 86 %")
    unsure = homogeneity(history_of(times))
    assert unsure is not None
    assert unsure.savings == ()
    assert unsure.advice.startswith("too few runs to say")


def test_a_bound_is_no_time() -> None:
    """Configurations stopped at 0.5 s look fast to whoever takes bounds for times; here they save nothing."""
    times = alike(12, 40)[:, :, None] + 1.0
    found = homogeneity(history_of(times, cap=lambda c, i: 0.5 if c % 2 and c > 1 else CUTOFF), deterministic=True)
    assert found is not None
    assert (found.configurations, found.instances, found.capped) == (12, 40, pytest.approx(5 / 12))
    assert found.best is None
    assert len(found.savings) == 4


def test_specialists_that_a_race_capped_still_count() -> None:
    """Stopped at 5 s where they are bad, complete where they are good: the saving is known all the same."""
    times = kinds(8, 60, 2)[:, :, None] * (1.0 + 0.01 * np.arange(8))[:, None, None]
    found = homogeneity(history_of(times, cap=lambda c, i: CUTOFF if c == 0 else 5.0), deterministic=True)
    assert found is not None
    assert found.capped == pytest.approx(7 / 16)
    assert found.w is not None
    assert found.w < 0.2  # complete cells alone, each where its configuration is good, would say 1
    assert found.best is not None
    assert (found.best.members, found.best.share) == (2, pytest.approx(1.0 - 2.01 / 11.0, abs=0.01))


def test_holes_are_left_out() -> None:
    times = alike(12, 40)[:, :, None]
    times[6:, 20:] = np.nan
    found = homogeneity(history_of(times), deterministic=True)
    assert found is not None
    assert (found.configurations, found.instances) in ((6, 40), (12, 20))
    assert found.w == pytest.approx(1.0)


def test_little_is_said_of_little() -> None:
    assert homogeneity(History(Objective(), CUTOFF)) is None
    assert homogeneity(history_of(alike(2, 40)[:, :, None])) is None
    assert homogeneity(history_of(alike(20, 9)[:, :, None])) is None


def test_wrong_answers_are_no_members() -> None:
    history = history_of(alike(6, 20)[:, :, None])
    fast = RunRequest(Configuration({"row": 99}), "i0", 0, CUTOFF)
    for i in range(20):
        history.add(run(99, f"i{i}", 0, 0.001))
    history.add(Run(fast, Outcome(Status.WRONG, 0.001, CUTOFF)))
    found = homogeneity(history, deterministic=True)
    assert found is not None
    assert found.configurations == 6


def test_qualities_have_ranks_but_no_savings() -> None:
    history = History(Objective("quality", 1.0), CUTOFF)
    for c, i in itertools.product(range(5), range(12)):
        request = RunRequest(Configuration({"row": c}), f"i{i}", 0, CUTOFF)
        history.add(Run(request, Outcome(Status.SUCCESS, 1.0, CUTOFF, quality=-float(c))))
    found = homogeneity(history)
    assert found == Homogeneity(pytest.approx(1.0), 1.0, 0.2, 5, 12, 0.0)
