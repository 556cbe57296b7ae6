"""Utility functions, and what runs cost under them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capra.errors import InputError
from capra.runs import Objective, Outcome, Status
from capra.runs.utility import Utility
from capra.strategies.capping import next_cutoff

ALL = ["uniform(60)", "loglaplace(60, 1)", "loglaplace(60, 2.5)", "exponential(60)", "step(60)", "par10(300)", "par1(60)"]


@pytest.mark.parametrize("text", ALL)
def test_they_fall_from_one_to_zero(text: str) -> None:
    utility = Utility.parse(text)
    assert str(utility) == text
    times = np.concatenate([[0.0], np.geomspace(1e-3, 1e6, 500), [math.inf]])
    values = utility(times)
    assert values[0] == 1.0
    assert values[-1] == 0.0
    assert (np.diff(values) <= 0.0).all()
    assert utility.of(30.0) == utility(np.array([30.0]))[0]


def test_formulas() -> None:
    """By hand, at and around K = 60."""
    at = {text: [Utility.parse(text).of(t) for t in (30.0, 60.0, 120.0)] for text in ALL}
    assert at["uniform(60)"] == [0.5, 0.0, 0.0]
    assert at["loglaplace(60, 1)"] == [0.75, 0.5, 0.25]
    assert at["loglaplace(60, 2.5)"] == pytest.approx([1 - 0.5**2.5 / 2, 0.5, 0.5**2.5 / 2])
    assert at["exponential(60)"] == pytest.approx([math.exp(-0.5), math.exp(-1), math.exp(-2)])
    assert at["step(60)"] == [1.0, 1.0, 0.0]
    assert at["par10(300)"] == pytest.approx([0.99, 0.98, 0.96])
    assert Utility.parse("par10(300)").of(301.0) == 0.0


@pytest.mark.parametrize("text", ALL)
@given(time=st.floats(1e-3, 1e4))
def test_the_latest_time_is_the_inverse(text: str, time: float) -> None:
    utility = Utility.parse(text)
    value = utility.of(time)
    latest = utility.latest(value)
    assert latest >= time * (1 - 1e-3) or value > 1 - 1e-9  # what is worth almost 1 cannot be told from it
    if value > 0.0 and math.isfinite(latest):
        assert utility.of(latest * (1 + 1e-9) + 1e-9) <= value + 1e-12
    assert utility.latest(0.0) == math.inf
    assert utility.latest(1.5) == 0.0


@pytest.mark.parametrize(
    "text",
    ["uniform", "uniform()", "uniform(0)", "uniform(-1)", "step(1, 2)", "loglaplace(60)", "log(3)", "par0(3)", "step(nan)"],
)
def test_nonsense_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        Objective.parse(f"utility:{text}")


def test_costs_under_a_utility() -> None:
    objective = Objective.parse("utility:loglaplace(60, 1)")
    assert str(objective) == "utility:loglaplace(60, 1)"
    assert objective.cost(Outcome(Status.SUCCESS, 30.0, 300.0), 300.0) == 0.25
    assert objective.cost(Outcome(Status.CAPPED, 60.0, 60.0), 300.0) == 0.5
    assert objective.cost(Outcome(Status.TIMEOUT, 300.0, 300.0), 300.0) == 1.0
    assert objective.cost(Outcome(Status.CRASHED, 1.0, 300.0), 300.0) == 1.0
    assert objective.censored(Outcome(Status.CAPPED, 60.0, 60.0))
    assert not objective.censored(Outcome(Status.TIMEOUT, 300.0, 300.0))
    assert objective.failed(1.0, 300.0)
    assert not objective.failed(0.99, 300.0)


def test_a_challenger_may_use_what_its_cost_allows() -> None:
    """The incumbent's runs cost 0.25 and 0.5; after one of 0.5, what is left of 0.75 is 0.25: half a minute."""
    objective = Objective.parse("utility:loglaplace(60, 1)")
    assert next_cutoff(0.75, 0.5, 1.0, 300.0, objective) == 30.0
    assert next_cutoff(0.75, 0.75, 1.0, 300.0, objective) == 0.0
    assert next_cutoff(2.0, 0.5, 1.0, 300.0, objective) == 300.0
    assert next_cutoff(6.0, 3.0, 1.0, 300.0) == 3.0
