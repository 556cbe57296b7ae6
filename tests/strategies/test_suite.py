"""Nobody escapes the conformance suite: what makes a strategy is registered, and what is registered is asked everything."""

from __future__ import annotations

import inspect
import pkgutil
from importlib import import_module

import pytest

import capra.strategies
from capra.runs import Configuration, Outcome, Run, RunRequest, Status
from capra.runs.history import History
from capra.strategies import GUARANTEED, STRATEGIES
from tests.strategies import test_conformance
from tests.strategies.conformance import KAPPA, drive, lognormal, scenario

REGISTERED = {tuple(place.split(":")) for place in STRATEGIES.values()}


def factories() -> set[tuple[str, str]]:
    """Public functions of the package that make something with ``ask`` and ``tell`` of a context."""
    found = set()
    for module in pkgutil.iter_modules(capra.strategies.__path__):
        loaded = import_module(f"capra.strategies.{module.name}")
        for name, function in inspect.getmembers(loaded, inspect.isfunction):
            given = list(inspect.signature(function).parameters.values())
            makes = getattr(loaded, str(function.__annotations__.get("return")), None)
            if (
                function.__module__ == loaded.__name__
                and not name.startswith("_")
                and given
                and given[0].annotation == "Context"
                and hasattr(makes, "ask")
            ):
                found.add((module.name, name))
    return found


def test_every_function_that_makes_a_strategy_is_registered() -> None:
    assert factories() == REGISTERED


def test_the_suite_asks_every_registered_strategy_everything() -> None:
    (mark,) = [test_conformance.pytestmark]
    assert mark.args == ("name", STRATEGIES)
    tests = [function for name, function in inspect.getmembers(test_conformance) if name.startswith("test_")]
    assert len(tests) >= 17
    assert all("name" in inspect.signature(test).parameters for test in tests)
    assert set(STRATEGIES) >= GUARANTEED


class Careless:
    """Always wants the same run, and believes whoever answered last."""

    certificate: None = None
    lines: tuple[str, ...] = ()

    def __init__(self, *, twice: bool) -> None:
        self.history = History(scenario().objective, KAPPA)
        self.incumbent: Configuration | None = None
        self.twice = twice

    def ask(self, n: int) -> list[RunRequest]:
        config = scenario().default
        return [RunRequest(config, "i0", 0, KAPPA)] * (n if self.twice else 1)

    def tell(self, run: Run) -> None:
        self.history.add(run)
        self.incumbent = run.request.config

    def why(self, request: RunRequest) -> str:
        return "carelessness"

    def describe(self) -> list[tuple[str, str]]:
        return []

    def tighten(self) -> list[tuple[RunRequest, float]]:
        return []


def test_the_driver_of_the_suite_sees_what_is_wrong() -> None:
    def liar(request: RunRequest) -> Outcome:
        return Outcome(Status.WRONG, 1.0, KAPPA)

    with pytest.raises(AssertionError, match="twice"):
        drive(Careless(twice=True), 100.0, 2)
    with pytest.raises(AssertionError, match="refuted"):
        drive(Careless(twice=False), 100.0, 1, liar)
    with pytest.raises(AssertionError, match="complete"):
        drive(Careless(twice=False), 100.0, 1, lambda request: Outcome(Status.CAPPED, 1.0, 1.0))
    assert drive(Careless(twice=False), 1.0, 1, lognormal)[0]
