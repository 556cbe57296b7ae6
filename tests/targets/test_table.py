"""Recorded runtimes as a target: what a run with that cutoff would have shown."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capra.errors import InputError
from capra.runs import Configuration, RunRequest, Status
from capra.space import Categorical, Real, Space
from capra.targets import FunctionTarget, Table

TIMES = [[1.0, 20.0, 0.0], [100.0, 99.0, 3.0]]
SOLVED = [[True, True, True], [False, True, True]]
CONFIGS = [{"heuristic": "vsids", "level": 1}, {"heuristic": "vmtf", "level": 1}]
NAMES = ["i", "j", "k"]


def table(**changes: Any) -> Table:
    given: dict[str, Any] = {"times": TIMES, "solved": SOLVED, "configs": CONFIGS, "instances": NAMES, "cutoff": 100.0}
    return Table(**(given | changes))


def request(row: int, instance: str | None, cutoff: float) -> RunRequest:
    return RunRequest(Configuration(CONFIGS[row]), instance, 1, cutoff)


@pytest.mark.parametrize(
    ("row", "instance", "cutoff", "status", "time"),
    [
        (0, "i", 100.0, Status.SUCCESS, 1.0),
        (0, "i", 1.0, Status.SUCCESS, 1.0),  # exactly at its cutoff
        (0, "i", 0.999, Status.CAPPED, 0.999),
        (0, "j", 19.0, Status.CAPPED, 19.0),
        (0, "k", 100.0, Status.SUCCESS, 0.001),  # logarithms need a floor
        (0, "k", 0.0001, Status.CAPPED, 0.0001),
        (1, "i", 100.0, Status.TIMEOUT, 100.0),
        (1, "i", 99.0, Status.CAPPED, 99.0),
        (1, "i", 500.0, Status.TIMEOUT, 100.0),  # nobody knows what happened after κ_max
        (1, "j", 500.0, Status.SUCCESS, 99.0),
    ],
)
def test_cells(row: int, instance: str, cutoff: float, status: Status, time: float) -> None:
    outcome = table().run(request(row, instance, cutoff))
    assert (outcome.status, outcome.time, outcome.backend) == (status, time, "table")
    assert not outcome.censored or outcome.cutoff == time


def test_solved_after_the_cutoff_is_unsolved() -> None:
    late = table(times=[[1.0, 100.5, 0.0], [100.0, 99.0, 3.0]])
    for cutoff in (100.0, 1000.0):
        assert late.run(request(0, "j", cutoff)).status is Status.TIMEOUT


@given(st.data())
def test_agrees_with_the_minimum(data: st.DataObject) -> None:
    """time = min(t, κ), solved iff t <= κ <= κ_max and it was solved."""
    rows, columns, kappa = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4)), data.draw(st.floats(0.01, 1e5))
    solved = np.array(data.draw(st.lists(st.booleans(), min_size=rows * columns, max_size=rows * columns))).reshape(
        rows, columns
    )
    times = np.array(data.draw(st.lists(st.floats(0.001, 1.0), min_size=rows * columns, max_size=rows * columns)))
    times = np.where(solved, times.reshape(rows, columns) * kappa, kappa)
    recorded = Table(times, solved, [{"c": c} for c in range(rows)], [f"i{j}" for j in range(columns)], kappa)
    for c in range(rows):
        for j in range(columns):
            cutoff = data.draw(st.floats(1e-4, 2.0)) * kappa
            outcome = recorded.run(RunRequest(Configuration({"c": c}), f"i{j}", 1, cutoff))
            t, bound = max(times[c, j], 0.001), min(cutoff, kappa)
            assert outcome.time == min(t, bound)
            assert (outcome.status is Status.SUCCESS) == (solved[c, j] and t <= bound)
            assert (outcome.status is Status.TIMEOUT) == (outcome.status is not Status.SUCCESS and cutoff >= kappa)


def test_called_as_a_function() -> None:
    recorded = table()
    assert recorded(CONFIGS[0], "i", 1, 100.0) == {"status": "SUCCESS", "time": 1.0}
    assert recorded(CONFIGS[0], "j", 1, 5.0) == {"status": "TIMEOUT", "time": 5.0}


def test_space_of_the_pool() -> None:
    recorded = table(default=1)
    assert recorded.space.default == Configuration(CONFIGS[1])
    assert recorded.space.parameters["heuristic"] == Categorical("heuristic", ("vsids", "vmtf"), "vmtf")
    assert len(table(configs=[{"a": 1}, {"a": True}]).configs) == 2  # as everywhere, two values


@pytest.mark.parametrize("features", [[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], np.arange(1.0, 7.0).reshape(3, 2)])
def test_features_in_the_order_of_the_instances(features: object) -> None:
    assert table(features=features).scenario().features.rows == {"i": (1.0, 2.0), "j": (3.0, 4.0), "k": (5.0, 6.0)}


def test_scenario() -> None:
    recorded = table(features={name: [1.0, 2.0] for name in NAMES})
    scenario = recorded.scenario(train=["i", "j"], test=["k"], objective="par1", budget={"cpu": "1h"}, name="recorded")
    assert [i.name for i in scenario.instances] == ["i", "j"]
    assert [i.name for i in scenario.test_instances] == ["k"]
    assert scenario.configurations == recorded.configs
    assert (str(scenario.objective), scenario.cutoff, scenario.budget.cpu, scenario.name) == (
        "par1",
        100.0,
        3600.0,
        "recorded",
    )
    assert scenario.deterministic
    assert scenario.features.rows["k"] == (1.0, 2.0)
    assert [i.name for i in table().scenario().instances] == NAMES
    assert scenario.target is recorded


def test_it_is_not_started_as_a_process() -> None:
    with pytest.raises(Exception, match="not a function"):
        FunctionTarget(table().scenario())


def test_whole_spaces() -> None:
    space = Space([Real("x", 0.0, 1.0, 0.5)])
    recorded = table(configs=[{"x": 0.5}, {"x": 1.0}], space=space)
    assert recorded.run(RunRequest(space.configuration({"x": 1.0}), "k", 1, 100.0)).time == 3.0
    with pytest.raises(InputError, match="another default"):
        table(configs=[{"x": 0.5}, {"x": 1.0}], space=space, default=1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"times": [[1.0, 2.0, 3.0]]}, r"times has the shape \(1, 3\), not \(2, 3\)"),
        ({"solved": [[True], [True]]}, r"solved has the shape \(2, 1\), not \(2, 3\)"),
        ({"times": [[float("nan"), 1, 1], [100, 1, 1]]}, "finite"),
        ({"times": [[float("inf"), 1, 1], [100, 1, 1]]}, "finite"),
        ({"times": [[-1.0, 1, 1], [100, 1, 1]]}, "not negative"),
        ({"times": [[1.0, 1, 1], [50, 1, 1]]}, "before the cutoff"),
        ({"configs": [CONFIGS[0], CONFIGS[0]]}, "stands twice"),
        ({"instances": ["i", "i", "k"]}, "stands twice"),
        ({"configs": []}, "at least one"),
        ({"configs": [{"a": 1}, {"b": 1}]}, "different parameters"),
        ({"default": 2}, "position"),
        ({"default": -1}, "position"),
        ({"cutoff": -5}, "a cutoff is a positive number, not -5"),
        ({"cutoff": None}, "a cutoff is a positive number, not None"),
        ({"cutoff": "soon"}, "'soon' is not a duration"),
        ({"instances": "ijk"}, r"instances is a list of instances, not 'ijk'"),
        ({"features": [[1.0], [2.0]]}, "a row of numbers for every instance"),
        ({"features": 3.0}, "a row of numbers for every instance"),
        ({"features": {"i": [1.0], "j": ["x"], "k": [1.0]}}, "a row of numbers"),
        ({"features": {"i": [1.0], "j": 2.0, "k": [1.0]}}, "a row of numbers"),
        ({"features": {"i": [1.0], "j": [1.0, 2.0], "k": [1.0]}}, "the same number of features"),
    ],
)
def test_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        table(**changes)


def test_not_in_the_table() -> None:
    for unknown in (
        RunRequest(Configuration({"heuristic": "none", "level": 1}), "i", 1, 1.0),
        request(0, "z", 1.0),
        request(0, None, 1.0),
    ):
        with pytest.raises(InputError, match="not in the table"):
            table().run(unknown)


def test_a_shorter_cutoff_is_what_would_have_been_recorded() -> None:
    table = Table([[1.0, 5.0]], [[True, True]], [{"a": "x"}], ["i", "j"], cutoff=10.0)
    target = table.scenario(cutoff=2.0).target
    requests = [RunRequest(table.configs[0], name, 0, 2.0) for name in ("i", "j")]
    assert [target.run(request).status for request in requests] == [Status.SUCCESS, Status.TIMEOUT]
    with pytest.raises(InputError, match="cutoff of 10"):
        table.scenario(cutoff=20.0)


def test_cutoffs_are_durations_as_in_scenarios() -> None:
    recorded = table(cutoff="100s")
    assert recorded.cutoff == 100.0
    assert recorded.scenario(cutoff="1m").cutoff == 60.0
    assert recorded.scenario(cutoff="100s").target is recorded
    assert table(cutoff=np.float32(100.0)).cutoff == 100.0
    with pytest.raises(InputError, match="'soon' is not a duration"):
        recorded.scenario(cutoff="soon")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"train": "i"}, r"train is a list of instances, not 'i' \(for example \['i'\]\)"),
        ({"train": ["i"], "test": "k"}, "test is a list of instances, not 'k'"),
        ({"train": 5}, "train is a list of instances, not 5"),
        ({"train": ["i", "z"]}, "train: the table has no instance 'z'"),
        ({"train": ["i"], "test": ["kk"]}, r"test: the table has no instance 'kk' \(did you mean 'k'\?\)"),
    ],
)
def test_a_scenario_takes_instances_of_the_table_alone(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        table().scenario(**changes)
