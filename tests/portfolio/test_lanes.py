"""The best order and slots of a schedule, against all of them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from capra.errors import ModelError
from capra.portfolio.lanes import Lanes, best_schedule, finish_times, schedule_cost

INF = math.inf


def by_hand(times: np.ndarray, lanes: Lanes, *, resumed: bool) -> list[float]:
    """Second by second: who runs on which core, and when is the first done?"""
    found = []
    for row in times:
        ends = [INF]
        for lane in lanes:
            clock, worked = 0.0, {}
            for c, slot in lane:
                before = worked.get(c, 0.0) if resumed else 0.0
                if row[c] - before <= slot and (row[c] > before or not resumed):
                    ends.append(clock + row[c] - before)
                    break
                worked[c] = before + slot
                clock += slot
        found.append(min(ends))
    return found


@pytest.mark.parametrize("resumed", [False, True])
def test_finish_times(resumed: bool) -> None:
    rng = np.random.default_rng(5)
    for _ in range(200):
        times = np.where(rng.random((6, 3)) < 0.3, INF, rng.integers(1, 20, (6, 3)).astype(float))
        lanes = tuple(
            tuple((int(rng.integers(3)), float(rng.integers(1, 8))) for _ in range(rng.integers(0, 4))) for _ in range(2)
        )
        assert finish_times(times, lanes, resumed=resumed).tolist() == by_hand(times, lanes, resumed=resumed)


def test_a_second_slot_starts_anew_or_goes_on() -> None:
    times = np.array([[5.0, 1.0], [9.0, INF]])
    lanes = (((0, 4.0), (1, 2.0), (0, 6.0)),)
    assert finish_times(times, lanes).tolist() == [5.0, INF]  # 4 s lost, then 1 s; and 9 s never fit
    assert finish_times(times, lanes, resumed=True).tolist() == [5.0, 11.0]  # 4 + 2 + the missing 5


def every_schedule(times: np.ndarray, cores: int) -> list[Lanes]:
    """All partitions of orders into lanes, with all solving times and no end as slots."""
    k = times.shape[1]
    slots = [[*sorted(set(times[np.isfinite(times[:, c]), c].tolist())), INF] for c in range(k)]
    found: list[Lanes] = []
    for size in range(1, k + 1):
        for order in itertools.permutations(range(k), size):
            for cuts in itertools.combinations_with_replacement(range(size + 1), cores - 1):
                edges = [0, *cuts, size]
                for lengths in itertools.product(*(slots[c] for c in order)):
                    timed = list(zip(order, lengths, strict=True))
                    found.append(tuple(tuple(timed[a:b]) for a, b in itertools.pairwise(edges)))
    return found


@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize("seed", range(12))
def test_no_schedule_is_better(cores: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    times = np.where(rng.random((5, 3)) < 0.35, INF, rng.lognormal(2.0, 1.2, (5, 3)).round(2))
    cutoff = 30.0
    found = best_schedule(times, cutoff, 10.0, cores=cores)
    assert len(found) <= cores
    best = min(schedule_cost(times, lanes, cutoff, 10.0) for lanes in every_schedule(times, cores))
    assert schedule_cost(times, found, cutoff, 10.0) == pytest.approx(best, rel=1e-12)


def test_more_cores_never_cost_more() -> None:
    rng = np.random.default_rng(1)
    times = np.where(rng.random((40, 4)) < 0.4, INF, rng.lognormal(1.0, 1.5, (40, 4)))
    costs = [schedule_cost(times, best_schedule(times, 50.0, 10.0, cores=c), 50.0, 10.0) for c in (1, 2, 4)]
    assert costs[0] >= costs[1] >= costs[2]
    best = np.where(times.min(axis=1) <= 50.0, times.min(axis=1), 500.0).mean()
    assert costs[2] == pytest.approx(best)  # one core each: the virtual best


def test_many_times_are_thinned_and_polished() -> None:
    """With more times than can be searched the answer is still at least as good as one configuration after another."""
    rng = np.random.default_rng(2)
    times = rng.lognormal(1.0, 2.0, (300, 5))
    found = best_schedule(times, 60.0, 10.0)
    cost = schedule_cost(times, found, 60.0, 10.0)
    equal = [tuple((c, 12.0) for c in order) for order in itertools.permutations(range(5))]
    assert cost <= min(schedule_cost(times, (lane,), 60.0, 10.0) for lane in equal)
    for i, (c, _) in enumerate(found[0][:-1]):  # no single slot can be improved
        for slot in times[times[:, c] <= 60.0, c][::7]:
            changed = (*found[0][:i], (c, float(slot)), *found[0][i + 1 :])
            assert schedule_cost(times, (changed,), 60.0, 10.0) >= cost


def test_what_cannot_be_searched_is_refused() -> None:
    with pytest.raises(ModelError, match="at most 6"):
        best_schedule(np.ones((3, 7)), 10.0, 10.0)
    with pytest.raises(ModelError, match="at least one core"):
        best_schedule(np.ones((3, 2)), 10.0, 10.0, cores=0)
