"""Plans and scores against arithmetic by hand and by brute force."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capra.errors import InputError, ModelError
from capra.portfolio.records import Records
from capra.portfolio.schedule import Plan, choice, plan_costs, presolving
from capra.portfolio.scores import score, single_best, virtual_best


def records(
    times: Sequence[Sequence[float]], cutoff: float = 100.0, feature_cost: object = None, presolved: object = None
) -> Records:
    """Times above the cutoff are timeouts."""
    grid = np.array(times, dtype=np.float64)
    features = np.arange(len(grid), dtype=np.float64)[:, None]
    return Records.of(features, grid, grid <= cutoff, cutoff, feature_cost=feature_cost, presolved=presolved)


def test_a_plan_by_hand() -> None:
    data = records([[30, 999], [60, 5], [999, 999], [100, 999]], feature_cost=[1, 2, 3, 4], presolved=[0, 0, 1, 0])
    plan: Plan = ((1, 10.0), (0, math.inf))
    costs, times, solved = plan_costs(data, [plan] * 4)
    assert costs.tolist() == [41.0, 7.0, 3.0, 1000.0]  # slot lost, slot won, solved by features, too late by 14
    assert times.tolist() == [41.0, 7.0, 3.0, 100.0]
    assert solved.tolist() == [True, True, True, False]
    assert plan_costs(data, [plan] * 4, features=False)[0].tolist() == [40.0, 5.0, 1000.0, 1000.0]
    before = plan_costs(data, [choice(0)] * 4, before=((1, 5.0),))[0]
    assert before.tolist() == [36.0, 5.0, 8.0, 1000.0]  # solved before features: they cost nothing


def simulated(row: Records, plan: Plan, before: Plan) -> float:
    """The same, one instance and one event at a time."""
    clock = 0.0
    for stage in (before, None, plan):
        if stage is None:
            clock += float(row.feature_cost[0])
            if row.presolved[0]:
                return clock if clock <= row.cutoff else 10 * row.cutoff
            continue
        for c, slot in stage:
            given = min(slot, row.cutoff - clock)
            if row.solved[0, c] and row.times[0, c] <= given:
                return clock + float(row.times[0, c])
            clock += slot
            if clock >= row.cutoff:
                return 10 * row.cutoff
    return 10 * row.cutoff


SLOTS = st.tuples(st.integers(0, 2), st.integers(1, 120).map(float))


@given(st.data())
def test_plans_against_a_simulation(data: st.DataObject) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    known = records(
        rng.integers(1, 130, size=(6, 3)).tolist(),
        feature_cost=rng.integers(0, 120, size=6),
        presolved=rng.random(6) < 0.3,
    )
    plans = [tuple(data.draw(st.lists(SLOTS, max_size=3))) for _ in range(6)]
    before = tuple(data.draw(st.lists(SLOTS, max_size=2)))
    found = plan_costs(known, plans, before=before)[0]
    for i in range(6):
        assert found[i] == pytest.approx(simulated(known.take(np.array([i])), plans[i], before))


def test_presolving_takes_what_pays_and_nothing_else() -> None:
    quick = [[999.0, 0.5]] * 30 + [[20.0, 999.0]] * 30
    chosen = presolving(records(quick), [choice(0)] * 60)
    assert chosen == ((1, 0.5),)
    assert presolving(records([[20.0, 999.0]] * 60), [choice(0)] * 60) == ()


def test_single_and_virtual_best() -> None:
    data = records([[1, 50], [999, 50], [2, 50]])
    assert single_best(data) == 1
    assert virtual_best(data).tolist() == [1.0, 50.0, 2.0]
    capped = Records.of(
        data.features,
        data.times,
        [[True, True], [False, True], [False, True]],
        100.0,
        cutoffs=[[100, 100], [3, 100], [3, 100]],
    )
    assert capped.capped.tolist() == [[False, False], [True, False], [True, False]]
    assert single_best(capped) == 1  # caps are not times


def test_scores_are_ratios_of_sums() -> None:
    rng = np.random.default_rng(0)
    virtual, single, costs = np.array([1.0, 1.0, 10.0]), np.array([2.0, 101.0, 10.0]), np.array([1.5, 50.0, 12.0])
    found = score(costs, single, virtual, rng)
    assert found.npar10 == pytest.approx((0.5 + 49 + 2) / (1 + 100 + 0))
    assert found.closed_gap == pytest.approx(1 - 51.5 / 101)
    assert found.par10 == pytest.approx(costs.mean())
    assert score(single, single, virtual, rng).npar10 == 1.0
    assert score(virtual, single, virtual, rng).npar10 == 0.0
    assert score(costs, virtual, virtual, rng).npar10 is None
    with pytest.raises(InputError, match="at least one"):
        score(costs[:0], single[:0], virtual[:0], rng)


def test_intervals_cover_as_often_as_they_say() -> None:
    rng = np.random.default_rng(1)
    inside = 0
    for _ in range(200):
        virtual = rng.exponential(1.0, 80)
        single = virtual + rng.exponential(4.0, 80)
        costs = virtual + rng.exponential(1.0, 80)
        low, high = score(costs, single, virtual, rng, resamples=400).npar10_interval or (0, 0)
        inside += low <= 0.25 <= high
    assert 180 <= inside <= 199  # 95 % of 200 is 190; a percentile bootstrap of a ratio is a little narrow


def test_records_that_contradict_themselves() -> None:
    good = records([[1, 2]])
    assert Records.from_dict(good.to_dict()).costs.tolist() == good.costs.tolist()
    with pytest.raises(ModelError, match="must all be"):
        Records.of([[1.0]], [1.0], [True], 9.0)
    with pytest.raises(ModelError, match=r"features \(n, f\)"):
        Records.of([[1.0], [2.0]], [[1.0]], [[True]], 9.0)
    with pytest.raises(ModelError, match="finite"):
        Records.of([[1.0]], [[math.nan]], [[True]], 9.0)
    with pytest.raises(ModelError, match="infinite"):
        Records.of([[math.inf]], [[1.0]], [[True]], 9.0)
    with pytest.raises(ModelError, match="feature costs"):
        Records.of([[1.0]], [[1.0]], [[True]], 9.0, feature_cost=[-1.0])
    with pytest.raises(ModelError, match="positive cutoff"):
        Records.of([[1.0]], [[1.0]], [[True]], 0.0)
    with pytest.raises(ModelError, match="not records"):
        Records.from_dict({"times": [[1]]})
