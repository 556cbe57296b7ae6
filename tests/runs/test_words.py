"""The vocabulary: what a request, an outcome and an objective promise."""

from __future__ import annotations

import math
import pickle

import pytest

from capra import Configuration, InputError, Objective, Outcome, RunRequest, Status

CONFIG = Configuration({"x": 1})


@pytest.mark.parametrize("cutoff", [0.0, -1.0, math.nan])
def test_a_request_has_a_positive_cutoff(cutoff: float) -> None:
    with pytest.raises(InputError, match="positive cutoff"):
        RunRequest(CONFIG, "a", 1, cutoff)


def test_the_cell_of_a_request_ignores_its_cutoff() -> None:
    assert RunRequest(CONFIG, "a", 1, 2.0).cell == RunRequest(CONFIG, "a", 1, 3.0).cell
    assert RunRequest(CONFIG, "a", 1, 2.0).cell != RunRequest(CONFIG, "b", 1, 2.0).cell


def test_only_capped_and_timeout_are_censored() -> None:
    assert {status for status in Status if status.censored} == {Status.CAPPED, Status.TIMEOUT}


def test_a_censored_run_lasts_exactly_its_cutoff() -> None:
    assert Outcome(Status.CAPPED, 2.0, 2.0).censored
    with pytest.raises(InputError, match="exactly its cutoff"):
        Outcome(Status.CAPPED, 2.1, 2.0)


@pytest.mark.parametrize("time", [-1.0, math.nan, math.inf])
def test_times_are_finite_and_not_negative(time: float) -> None:
    with pytest.raises(InputError, match="finite"):
        Outcome(Status.SUCCESS, time, 10.0)


# METHODS: the meaning of each status under PAR10 with κ_max = 100 (cost; censored for a model of cost; of time).
MEANING = [
    (Outcome(Status.SUCCESS, 3.0, 50.0), 3.0, False, False),
    (Outcome(Status.CAPPED, 50.0, 50.0), 50.0, True, True),
    (Outcome(Status.TIMEOUT, 100.0, 100.0), 1000.0, False, True),
    (Outcome(Status.MEMOUT, 3.0, 50.0), 1000.0, False, False),
    (Outcome(Status.CRASHED, 3.0, 50.0), 1000.0, False, False),
    (Outcome(Status.WRONG, 3.0, 50.0), 1000.0, False, False),
]


@pytest.mark.parametrize(("outcome", "cost", "of_cost", "of_time"), MEANING)
def test_what_each_status_means(outcome: Outcome, cost: float, of_cost: bool, of_time: bool) -> None:
    objective = Objective.parse("par10")
    assert objective.cost(outcome, 100.0) == cost
    assert objective.censored(outcome) is of_cost
    assert objective.censored(outcome, of_time=True) is of_time


def test_a_lost_run_costs_nothing() -> None:
    lost = Outcome(Status.LOST, 3.0, 50.0)
    assert math.isnan(Objective().cost(lost, 100.0))
    assert not Objective().censored(lost)


def test_under_par1_a_timeout_is_censored() -> None:
    assert Objective.parse("mean").censored(Outcome(Status.TIMEOUT, 100.0, 100.0))


def test_quality_objectives() -> None:
    objective = Objective.parse("quality", crash_cost=99.0)
    assert objective.cost(Outcome(Status.SUCCESS, 3.0, 50.0, quality=-7.0), 100.0) == -7.0
    assert objective.cost(Outcome(Status.CRASHED, 3.0, 50.0), 100.0) == 99.0
    assert not objective.censored(Outcome(Status.TIMEOUT, 100.0, 100.0), of_time=True)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("PAR10", "par10"),
        ("mean", "par1"),
        ("MEAN10", "par10"),
        ("runtime", "par10"),
        ("Quality", "quality"),
    ],
)
def test_objectives_by_name(text: str, name: str) -> None:
    assert str(Objective.parse(text)) == name


@pytest.mark.parametrize("text", ["par", "par0", "par-1", "median", "par1.5", "", "par" + "9" * 400])
def test_unknown_objectives(text: str) -> None:
    with pytest.raises(InputError):
        Objective.parse(text)


def test_configurations_travel_between_processes() -> None:
    copy = pickle.loads(pickle.dumps(CONFIG))  # noqa: S301 (our own bytes; workers get configurations this way)
    assert copy == CONFIG
    assert copy.id == CONFIG.id
