"""Figures as a person reads them."""

from __future__ import annotations

import re
from typing import Any

import pytest

from capra.report.rows import configuration_rows, status_rows
from capra.report.words import amount, clock, count, speed_up_of, standing
from capra.runs import Configuration, History, Objective, Outcome, Run, RunRequest, Status

DEFAULT, OTHER = Configuration({"x": 1}), Configuration({"x": 2})
STATUS: dict[str, Any] = {
    "name": "",
    "runs": 65,
    "statuses": {"SUCCESS": 57, "CAPPED": 8},
    "under_way": 1,
    "interrupted": 0,
    "target_time": 15.5662674685,
    "own_time": 0.47300602599999997,
    "wall": 3658.07772299700082,
    "unit": "cpu",
    "budget": {"cpu": 120.0, "wall": None, "runs": 500},
    "incumbent": {"x": 2, "mode": "fast"},
    "standing": "abc: cost 1 on 3 pairs",
    "command": "solver --x=2",
    "audited_rejections": {"checked": 1, "wrong": 0},
    "repeats": {"runs": 3, "changed": 0, "spread": 0.074999, "drift": None},
    "warnings": ["busy", "full"],
}


def history(times: dict[Configuration, list[float]]) -> History:
    """Each configuration on the first so many instances."""
    made = History(Objective.parse("par10"), 100.0)
    for config, row in times.items():
        for instance, time in enumerate(row):
            made.add(Run(RunRequest(config, f"i{instance}", 1, 100.0), Outcome(Status.SUCCESS, time, 100.0)))
    return made


def test_configurations_are_compared_on_what_both_have_run() -> None:
    made = history({DEFAULT: [6.0, 2.0], OTHER: [1.0, 1.0, 40.0]})
    assert speed_up_of(made, OTHER, DEFAULT) == (2, 4.0)  # by means over all pairs the default would be faster
    assert standing(made, OTHER, DEFAULT) == (
        f"{OTHER.id[:6]}: cost 14 on 3 pairs, of which the default has run 2: too few to compare"
    )


def test_the_default_is_a_yardstick_where_enough_is_shared() -> None:
    made = history({DEFAULT: [6.0, 2.0, 4.0, 4.0, 4.0], OTHER: [1.0, 1.0, 1.0, 1.0, 1.0, 55.0]})
    assert standing(made, OTHER, DEFAULT) == (
        f"{OTHER.id[:6]}: cost 10 on 6 pairs, 4 times as fast as the default on the 5 they share"
    )


@pytest.mark.parametrize("times", [{DEFAULT: [6.0]}, {DEFAULT: [], OTHER: [3.0]}])
def test_nothing_to_compare(times: dict[Configuration, list[float]]) -> None:
    config = list(times)[-1]
    assert speed_up_of(history(times), config, DEFAULT)[1] is None
    assert standing(history(times), config, DEFAULT).endswith("on 1 pair")


def test_figures_have_units_and_few_digits() -> None:
    assert amount(0.123456, "cpu") == "0.123 s"
    assert amount(40.0, "steps") == "40 steps"
    assert clock(3661.9) == "1:01:01"
    assert [count(n, "run") for n in (0, 1, 2000)] == ["0 runs", "1 run", "2,000 runs"]


def test_status_in_words() -> None:
    rows = status_rows(STATUS)
    assert [name for name, _ in rows] == [
        "runs", "spent", "incumbent", "parameters", "command", "audit", "repeats", "warning", "warning"
    ]  # fmt: skip
    words = dict(rows)
    assert words["runs"] == "65 (57 success, 8 capped), 1 under way"
    crashed = dict(status_rows(STATUS | {"under_way": 0, "interrupted": 2}))
    assert crashed["runs"] == "65 (57 success, 8 capped), 0 under way, 2 interrupted"
    assert words["spent"] == ("15.6 s by the target, 0.473 s by Capra; 1:00:58 on the clock; the budget is 120 s, 500 runs")
    assert words["parameters"] == "x=2, mode=fast"
    assert words["audit"] == "0 of 1 checked rejection wrong"
    assert words["repeats"] == "3 runs made again: with the same seed their time varies by 7.5 %"
    assert not re.search(r"\d\.\d{4}", str(rows))


def test_advice_says_what_it_rests_on() -> None:
    alike = {"advice": "one configuration is enough (W = 0.86)", "configurations": 7, "instances": 40, "capped": 0.0}
    words = dict(status_rows(STATUS | {"homogeneity": alike}))
    assert words["advice"] == "one configuration is enough (W = 0.86), by runs of 7 configurations on 40 instances"
    words = dict(status_rows(STATUS | {"homogeneity": alike | {"capped": 0.051}}))
    assert words["advice"].endswith("on 40 instances (5 % capped)")


def test_status_before_anything_was_found() -> None:
    nothing = {"runs": 0, "statuses": {}, "incumbent": None, "audited_rejections": None, "warnings": []}
    budget = {"cpu": None, "wall": 60.0, "runs": None}
    words = dict(status_rows(STATUS | nothing | {"budget": budget, "repeats": {"runs": 0}, "unit": "steps"}))
    assert words["runs"] == "0 (none yet), 1 under way"
    assert words["incumbent"] == "none yet"
    assert "15.6 steps by the target" in words["spent"]
    assert words["spent"].endswith("the budget is 0:01:00 on the clock")


def test_a_configuration_in_words() -> None:
    run = {"instance": "a.cnf", "seed": 7, "status": "CAPPED", "time": 0.51234, "cutoff": 0.5, "asked_by": "challenger 3"}
    crash = run | {"instance": None, "status": "CRASHED", "cutoff": None, "reason": "exit code 1"}
    document = {"id": "abc", "unit": "wall", "cost": None, "pairs": 0, "config": {"x": 2}, "command": "solver"}
    rows = configuration_rows(document | {"runs": [run | {"reason": None}, crash]})
    assert rows[1] == ("cost", "unknown on 0 pairs")
    assert rows[-2:] == [
        ("CAPPED", "0.512 s of 0.5 s on a.cnf, seed 7, asked by challenger 3"),
        ("CRASHED", "0.512 s, seed 7, asked by challenger 3: exit code 1"),
    ]
