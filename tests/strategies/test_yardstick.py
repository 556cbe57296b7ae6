"""The yardstick: how much less luck there is in it, and the lead that it asks for."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capra.runs import Configuration, Outcome, Run, Status
from capra.runs.history import Pair
from capra.strategies.race import Race
from capra.strategies.yardstick import FEW, LEAST, Yardstick, agreement
from tests.strategies.test_race import play, race, told

Costs = dict[Pair, float]


def costs(values: Sequence[float]) -> Costs:
    return {(None, seed): float(value) for seed, value in enumerate(values)}


def yardstick(values: Sequence[float], others: Sequence[Costs] = (), **options: object) -> Yardstick:
    given = {"everything": math.inf, "lead": 0.7, "positive": True} | options
    return Yardstick.of(costs(values), others, **given)  # type: ignore[arg-type]


def correlated(rng: np.random.Generator, share: float, size: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Costs of an incumbent and another, (…, pairs), mean 1, with so much of their logarithm's variance in common."""
    common = math.sqrt(share) * rng.standard_normal(size)
    return tuple(np.exp(0.5 * (common + math.sqrt(1.0 - share) * rng.standard_normal(size)) - 0.125) for _ in range(2))  # type: ignore[return-value]


@given(st.lists(st.floats(0.001, 1e6), min_size=1, max_size=20))
def test_without_a_lead_sums_over_the_same_pairs_are_compared(values: list[float]) -> None:
    others = [costs(values[::-1])] * 9
    assert yardstick(values, others, lead=0.0).bound(values) == sum(values)
    assert yardstick(values).bound(values[:3]) == sum(values[:3])  # nobody says that others disagree
    assert Yardstick().bound(values) == sum(values)


def test_agreement_is_the_correlation() -> None:
    rng = np.random.default_rng(0)
    mine, theirs = correlated(rng, 0.4, (60,))
    expected = np.corrcoef(mine, theirs)[0, 1]
    assert 0.1 < expected < 0.8
    assert agreement(costs(mine), [costs(theirs)] * 200) == pytest.approx(expected, abs=0.01)
    scaled = [{pair: 5.0 + 3.0 * cost for pair, cost in costs(theirs).items()}] * 200
    assert agreement(costs(mine), scaled) == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize(
    "other",
    [{}, costs([3.0, 1.0, 2.0]), costs([1.0] * 10), costs([math.inf, *range(9)]), {("elsewhere", 0): 1.0}],
    ids=["nothing", "too few", "constant", "infinite", "no pair in common"],
)
def test_who_says_nothing_about_agreement(other: Costs) -> None:
    assert FEW == 4
    assert agreement(costs(range(1, 11)), [other] * 50) == 1.0


def test_agreement_is_never_negative() -> None:
    assert agreement(costs(range(10)), [costs(range(10, 0, -1))] * 50) == 0.0


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_there_is_less_luck_in_it_than_in_sums_and_than_in_means(share: float) -> None:
    """The difference between two equals after four pairs, where the incumbent has forty."""
    rng = np.random.default_rng(1)
    incumbents, others = correlated(rng, share, (3000, 40))
    known = float(np.corrcoef(incumbents.ravel(), others.ravel())[0, 1])

    def spread(agreed: float) -> float:
        bounds = [Yardstick(row.mean(), 0.0, agreed, 40).bound(row[:4]) for row in incumbents]
        return float(np.std(others[:, :4].sum(axis=1) - bounds))

    assert spread(known) < 0.97 * min(spread(1.0), spread(0.0)) or share in (0.1, 0.9)
    assert spread(known) <= 1.01 * min(spread(1.0), spread(0.0))


@pytest.mark.parametrize(("count", "share"), [(1, 0.4), (4, 0.3), (40, 0.0)])
def test_the_error_of_the_difference_is_what_is_measured(count: int, share: float) -> None:
    rng = np.random.default_rng(2)
    incumbents, others = correlated(rng, share, (20_000, 40))
    known = max(0.0, float(np.corrcoef(incumbents.ravel(), others.ravel())[0, 1]))
    plain = [Yardstick(row.mean(), 0.0, known, 40).bound(row[:count]) for row in incumbents]
    measured = np.std((others[:, :count].sum(axis=1) - plain) / count)
    deviation = float(incumbents.std())
    asked = Yardstick(10.0, deviation, known, 40, lead=1.0)
    expected = known * 10.0 + (1.0 - known) * 10.0
    assert expected - asked.bound([10.0] * count) / count == pytest.approx(measured, rel=0.03)


def test_on_all_pairs_that_there_are_nothing_is_left_to_luck() -> None:
    values = [1.0, 5.0, 2.0, 8.0]
    others = [costs([2.0, 1.0, 8.0, 5.0])] * 50
    assert yardstick(values, others, everything=4).bound(values) == pytest.approx(sum(values))
    assert yardstick(values, others, everything=5).bound(values) < sum(values)
    assert yardstick(values, others, everything=4).bound(values[:2]) < sum(values) / 2


def test_costs_that_are_times_have_a_floor_and_qualities_have_none() -> None:
    values, others = [0.0, 0.0, 0.0, 100.0], [costs([100.0, 0.0, 0.0, 0.0])] * 50
    assert yardstick(values, others).bound([0.0]) == pytest.approx(LEAST * 25.0 * (1.0 - agreement(costs(values), others)))
    shifted = [value - 1000.0 for value in values]
    assert yardstick(shifted, others, positive=False).bound([-1000.0]) < -975.0


def test_an_infinite_cost_leaves_the_incumbents_sum() -> None:
    others = [costs([4.0, 3.0, 2.0, 1.0])] * 50
    assert yardstick([1.0, 2.0, 3.0, math.inf], others) == Yardstick()
    assert yardstick([1.0, 2.0, 3.0, 4.0], others).bound([1.0, math.inf]) == math.inf


# --- in a race ---

DISAGREEING = {f"other{k}": [9.0, 1.0, 9.0, 1.0, 9.0, 1.0, 9.0, 1.0] for k in range(20)}
ALTERNATING = [1.0, 9.0] * 4


def disagreed(lead: float, *challengers: str, instances: int = 8) -> tuple[Race, dict[str, Configuration]]:
    """A race whose incumbent has met twenty others, all of them hard where it is easy: its mean is what counts."""
    strategy, configs = race(instances, *challengers, *DISAGREEING, slack=1.0, lead=lead)
    for name, values in DISAGREEING.items():
        for k, value in enumerate(values, 1):
            told(strategy, configs[name], f"i{k}", value, "somebody")
    for k, value in enumerate(ALTERNATING, 1):
        told(strategy, configs["incumbent"], f"i{k}", value)
    return strategy, configs


@pytest.mark.parametrize(("lead", "goes_on"), [(0.0, False), (0.1, True), (3.0, False)])
def test_a_first_run_is_measured_by_the_mean(lead: float, goes_on: bool) -> None:
    """3 s where the incumbent was lucky with 1 s, and takes 5 s on average."""
    strategy, configs = disagreed(lead, "one")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(strategy, "_common_pairs", lambda: [("i1", 0)])
        (request,) = strategy.ask(1)
    assert (request.config, request.instance) == (configs["one"], "i1")
    solved = request.cutoff >= 3.0
    outcome = Outcome(Status.SUCCESS if solved else Status.CAPPED, min(3.0, request.cutoff), request.cutoff)
    strategy.tell(Run(request, outcome, strategy.why(request)))
    assert (configs["one"] in strategy._racing) == goes_on


@pytest.mark.parametrize(("instances", "expected"), [(8, "one"), (9, "incumbent")])
def test_a_lead_on_all_pairs_of_the_incumbent(instances: int, expected: str) -> None:
    """Better on all eight, by less than luck may do; eight of eight leave nothing to luck."""
    strategy, configs = disagreed(0.7, "one", instances=instances)
    strategy.incumbent_pairs = lambda idle=False: 8  # type: ignore[method-assign]
    strategy.batch = lambda finished: 8  # type: ignore[method-assign]
    play(strategy, {"one": [4.0] * 4 + [5.5] * 5, "incumbent": [*ALTERNATING, 5.0]}, most=8)
    assert strategy.incumbent == configs[expected]
