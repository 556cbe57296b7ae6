"""Selectors on data where the right answer is known, and everything that all of them promise."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.neighbors import NearestNeighbors

from capra.errors import ModelError
from capra.portfolio.base import Scaling, completed, useful
from capra.portfolio.forests import expected_cost, log_rank_scores, shared_leaves
from capra.portfolio.nearest import Nearest, NearestCluster, Sunny
from capra.portfolio.records import Records
from capra.portfolio.schedule import plan_costs
from capra.portfolio.selectors import SELECTORS, Selection, choose, make_selector, read_selector

CUTOFF = 100.0
LEARNERS = [name for name in SELECTORS if name != "single"]


def three_kinds(n: int = 150, seed: int = 0, cap: float | None = None, missing: float = 0.0) -> Records:
    """Instances of three kinds that features tell apart; each kind has a configuration that solves it in a second or so.

    With ``cap``, half of the runs that take longer than it were stopped there.
    """
    rng = np.random.default_rng(seed)
    kind = rng.integers(3, size=n)
    features = np.stack([np.cos(kind * 2.1), np.sin(kind * 2.1), rng.normal(size=n)], axis=1)
    features[:, :2] += rng.normal(0.0, 0.05, size=(n, 2))
    features[rng.random((n, 3)) < missing] = np.nan
    times = np.where(kind[:, None] == np.arange(3), 1.0, 200.0) * rng.lognormal(0.0, 0.3, size=(n, 3))
    solved = times <= CUTOFF
    cutoffs = np.full((n, 3), CUTOFF)
    if cap is not None:
        stopped = (times > cap) & (rng.random((n, 3)) < 0.5)
        cutoffs[stopped], solved[stopped] = cap, False
    return Records.of(features, times, solved, CUTOFF, cutoffs=cutoffs, feature_cost=np.full(n, 0.5))


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("cap", [None, 5.0])
def test_kinds_are_told_apart(name: str, cap: float | None) -> None:
    fresh = three_kinds(seed=1)
    fitted = make_selector(name).fit(three_kinds(cap=cap))
    costs = plan_costs(fresh, fitted.plans(fresh.features))[0]
    limit = 60.0 if name == "cluster" else 5.0  # strangers, one in twenty or so, get the single best
    assert costs.mean() < limit  # 1.5 is perfect; one wrong choice in a hundred costs 10 more
    single = make_selector("single").fit(three_kinds(cap=cap))
    assert plan_costs(fresh, single.plans(fresh.features), features=False)[0].mean() > 500.0


@pytest.mark.parametrize("name", SELECTORS)
def test_written_and_read_it_answers_the_same(name: str) -> None:
    fitted = make_selector(name).fit(three_kinds(60, missing=0.1))
    text = json.dumps(fitted.to_dict(), allow_nan=False)
    again = read_selector(json.loads(text))
    asked = np.random.default_rng(5).normal(size=(40, 3))
    asked[3, 1] = np.nan
    assert again.plans(asked) == fitted.plans(asked)
    assert again.options == fitted.options
    assert again.to_dict() == fitted.to_dict()


@pytest.mark.parametrize("name", SELECTORS)
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_any_records_give_plans_that_can_be_run(name: str, seed: int) -> None:
    """One instance, no features, all features missing or constant, nobody solves anything, everything capped at 0."""
    rng = np.random.default_rng(seed)
    n, k, f = int(rng.integers(1, 12)), int(rng.integers(1, 5)), int(rng.integers(0, 3))
    features = rng.choice([np.nan, 0.0, 1.0, 1e300, -1e300], size=(n, f))
    times = rng.choice([0.0, 1e-9, 3.0, CUTOFF], size=(n, k))
    cutoffs = rng.choice([0.0, 5.0, CUTOFF], size=(n, k))
    solved = (rng.random((n, k)) < rng.choice([0.0, 0.5, 1.0])) & (times <= cutoffs)
    records = Records.of(features, times, solved, CUTOFF, cutoffs=cutoffs)
    plans = make_selector(name).fit(records).plans(features)
    assert len(plans) == n
    for plan in plans:
        assert plan
        assert all(0 <= c < k and slot > 0.0 for c, slot in plan)
        assert plan[-1][1] == math.inf


@pytest.mark.parametrize("name", SELECTORS)
def test_misuse_is_said(name: str) -> None:
    selector = make_selector(name)
    with pytest.raises(ModelError, match="has not been fitted"):
        selector.plans([[1.0]])
    with pytest.raises(ModelError, match="has not been fitted"):
        selector.to_dict()
    with pytest.raises(ModelError, match=r"must be \(m, 3\)"):
        selector.fit(three_kinds(30)).plans([[1.0]])
    document = selector.to_dict()
    for change in (
        {"kind": "none"},
        {"kind": 3},
        {"options": {"nothing": 1}},
        {"options": [1]},
        {"records": {}},
        {"records": 3},
    ):
        with pytest.raises(ModelError):
            read_selector(document | change)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("knn", {"k": 0}),
        ("knn", {"k": 2.5}),
        ("knn", {"k": math.inf}),
        ("knn", {"k": "7"}),
        ("knn", {"k": True}),
        ("sunny", {"k": math.nan}),
        ("cluster", {"alpha": 0.0}),
        ("cluster", {"radius": -1.0}),
        ("cluster", {"min_size": 0}),
        ("pairwise", {"trees": 10**9}),
        ("regression", {"min_leaf": 0}),
        ("survival", {"seed": -1}),
    ],
)
def test_options_out_of_range_are_refused(name: str, options: dict[str, object]) -> None:
    document = make_selector(name).fit(three_kinds(30)).to_dict()
    assert set(options) <= set(document["options"])
    with pytest.raises(ModelError):
        read_selector(document | {"options": document["options"] | options})


def test_configurations_that_add_nothing_are_left_out() -> None:
    costs = np.array([[1.0, 9.0, 8.0, 1.0], [9.0, 1.0, 8.0, 9.0], [9.0, 9.0, 8.0, 9.0], [1.0, 1.5, 8.0, 1.0]])
    assert useful(costs) == [0, 1, 2]  # the fourth is as good as the first, and adds nothing after it
    assert useful(np.full((3, 4), 7.0)) == [0]


def test_neighbours_are_those_of_sklearn() -> None:
    records, asked = three_kinds(80), np.random.default_rng(2).normal(size=(20, 3))
    ours = Nearest(k=7).fit(records)
    scaling = Scaling(records.features)
    rows = NearestNeighbors(n_neighbors=7).fit(scaling(records.features)).kneighbors(scaling(asked), return_distance=False)
    best = [int(np.argmin(records.costs[r].mean(axis=0))) for r in rows]
    assert [plan[0][0] for plan in ours.plans(asked)] == best


def test_scaling() -> None:
    scaling = Scaling(np.array([[0.0, 7.0, np.nan], [10.0, 7.0, np.nan], [np.nan, 7.0, np.nan]]))
    assert scaling(np.array([[5.0, 1.0, 2.0], [np.nan, 0.0, 0.0], [1e9, 0.0, 0.0]])).tolist() == [[0.0], [0.0], [2.0]]


def test_strangers_get_the_single_best() -> None:
    records = three_kinds(120)
    fitted = NearestCluster().fit(records)
    assert len(fitted.centres) >= 3
    far = [[1e6, -1e6, 1e6]]
    assert fitted.plans(far) == make_selector("single").fit(records).plans(far)


def test_sunny_by_hand() -> None:
    """Five neighbours: configuration 0 solves two, 1 solves two others, 2 one of each; one is solved by nobody near."""
    no = CUTOFF
    times = np.array([[2, no, 9], [4, no, no], [no, 6, 9], [no, 8, no], [no, no, no]] + [[no, no, 1.0]] * 5, dtype=float)
    features = np.array([0.0, 0.1, 0.2, 0.3, 0.4] + [9.0] * 5)[:, None]
    records = Records.of(features, times, times < no, CUTOFF)
    fitted = Sunny(k=5)
    fitted.fit(records)
    (plan,) = fitted.plans([[0.2]])  # the unsolved one is left out of training: a stranger takes its place
    assert dict(plan[:-1]).keys() | {plan[-1][0]} == {0, 1, 2}
    assert dict(plan[:-1])[0] == pytest.approx(CUTOFF * 2 / 7)


# --- survival ---


def kaplan_meier_cost(weights: np.ndarray, times: np.ndarray, solved: np.ndarray, cutoff: float) -> float:
    """E[PAR10] by the definition, one time after another."""
    survival, area, last = 1.0, 0.0, 0.0
    for time in sorted(set(times.tolist())):
        area += survival * (time - last)
        last = time
        at_risk = weights[times >= time].sum()
        if at_risk > 1e-12:
            survival *= 1.0 - weights[(times == time) & solved].sum() / at_risk
    return area + survival * (cutoff - last) + 9.0 * cutoff * survival


def test_expected_cost_against_the_definition() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        n = int(rng.integers(1, 30))
        times = np.sort(rng.integers(1, 15, size=n).astype(float))
        solved = rng.random(n) < 0.6
        weights = rng.random((4, n)) * (rng.random((4, n)) < 0.7)
        ours = expected_cost(weights, times, solved, 20.0)
        theirs = [kaplan_meier_cost(row, times, solved, 20.0) for row in weights]
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def test_without_censoring_the_expectation_is_the_mean() -> None:
    times = np.array([1.0, 2.0, 2.0, 7.0])
    weights = np.array([[1.0, 2.0, 3.0, 4.0]])
    assert expected_cost(weights, times, np.ones(4, dtype=bool), 20.0) == pytest.approx([(1 + 4 + 6 + 28) / 10])


def test_log_rank_scores() -> None:
    scores = log_rank_scores(np.array([1.0, 2.0, 2.0, 5.0]), np.array([True, True, False, True]))
    np.testing.assert_allclose(scores, [1 - 1 / 4, 1 - 1 / 4 - 1 / 3, -1 / 4 - 1 / 3, 1 - 1 / 4 - 1 / 3 - 1])
    assert scores.sum() == pytest.approx(0.0)  # as log-rank scores must


def test_shared_leaves() -> None:
    weights = shared_leaves(np.array([[1.0], [5.0]]), np.array([[1.0, 1.0, 2.0], [4.0, 5.0, 4.0]]))
    assert weights.tolist() == [[0.25, 0.75, 0.0]]


# --- capped runs ---


def test_capped_runs_are_completed_and_never_below_their_cap() -> None:
    records = three_kinds(cap=5.0)
    costs = completed(records)
    capped = records.capped
    assert capped.mean() > 0.2
    assert np.all(costs[capped] >= 5.0)
    assert np.all(costs <= 10 * CUTOFF + 1e-6)
    np.testing.assert_array_equal(costs[~capped], np.maximum(records.costs[~capped], 1e-3))
    assert np.median(costs[capped]) > 100.0  # the truth: nearly all of them are timeouts


# --- automatic choice ---


def test_the_choice_learns_what_can_be_learnt() -> None:
    records = three_kinds()
    found = choose(records, seed=1)
    assert found.selector.name != "single"
    assert found.costs is not None
    assert found.costs[found.selector.name] == min(found.costs.values())
    fresh = three_kinds(seed=2)
    assert found.evaluate(fresh).mean() < 5.0
    again = Selection.from_dict(json.loads(json.dumps(found.to_dict())))
    assert again.presolve == found.presolve
    np.testing.assert_array_equal(again.evaluate(fresh), found.evaluate(fresh))


def test_features_that_say_nothing_are_not_computed() -> None:
    rng = np.random.default_rng(0)
    times = np.stack([rng.lognormal(1.0, 0.5, 100), rng.lognormal(1.5, 0.5, 100)], axis=1)
    records = Records.of(rng.normal(size=(100, 4)), times, times <= CUTOFF, CUTOFF, feature_cost=np.full(100, 2.0))
    found = choose(records)
    assert found.selector.name == "single"
    assert found.evaluate(records)[0] == pytest.approx(times[0, 0])  # no feature cost
    assert choose(records.take(np.arange(5))).selector.name == "single"


def test_a_presolving_slot_saves_features() -> None:
    records = three_kinds()
    slow = Records.of(records.features, records.times, records.solved, CUTOFF, feature_cost=np.full(len(records), 30.0))
    found = choose(slow)
    assert found.presolve
    assert found.evaluate(slow).mean() < 30.0


def test_selections_that_are_none() -> None:
    good = choose(three_kinds(40), ["knn"]).to_dict()
    for change in ({"presolve": [[9, 1.0]]}, {"presolve": [[0, -1.0]]}, {"presolve": 3}, {"selector": None}):
        with pytest.raises(ModelError):
            Selection.from_dict(good | change)
    with pytest.raises(ModelError):
        Selection.from_dict([])
