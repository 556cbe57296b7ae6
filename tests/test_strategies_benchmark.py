"""The benchmark of all strategies: its landscapes and its arithmetic."""

from __future__ import annotations

import math

import numpy as np
import pytest
from benchmarks.strategies.landscapes import CUTOFF, landscape
from benchmarks.strategies.settings import SETTINGS, is_planned
from benchmarks.strategies.table import at, finals, ranks

from capra.strategies import STRATEGIES


def row(strategy: str, budget: float, seed: int, *curve: tuple[float, float]) -> dict[str, object]:
    points = [list(point) for point in curve]
    return {"strategy": strategy, "budget": budget, "seed": seed, "default": 99.0, "curve": points}


def test_every_strategy_of_the_registry_takes_part() -> None:
    assert set(STRATEGIES) <= set(SETTINGS)
    assert {setting["strategy"] for setting in SETTINGS.values()} <= set(STRATEGIES)


def test_a_curve_is_read_where_the_budget_ends() -> None:
    """Before there is an incumbent, a tuning has nothing to show but the default."""
    made = row("roar", 100.0, 0, (1.0, 50.0), (10.0, 20.0), (80.0, 5.0))
    assert [at(made, budget) for budget in (0.5, 5.0, 10.0, 79.0, 100.0)] == [99.0, 50.0, 20.0, 20.0, 5.0]
    assert at(row("sp", 100.0, 0), 100.0) == 99.0


def test_a_planned_tuning_counts_only_for_its_own_budget() -> None:
    assert is_planned("irace")
    kept = [row("roar", 100.0, 0, (1.0, 9.0)), row("irace", 100.0, 0, (1.0, 3.0)), row("irace", 10.0, 0, (1.0, 4.0))]
    assert finals(kept, 10.0) == {"roar": {0: 9.0}, "irace": {0: 4.0}}
    assert finals(kept, 100.0) == {"roar": {0: 9.0}, "irace": {0: 3.0}}


def test_ranks_are_means_over_the_seeds_that_all_have() -> None:
    found = {"a": {0: 1.0, 1: 2.0, 2: 9.0, 3: 1.0}, "b": {0: 2.0, 1: 2.0, 2: 1.0}, "c": {0: 3.0, 1: 1.0, 2: 2.0}}
    expected = {"a": (1 + 2.5 + 3) / 3, "b": (2 + 2.5 + 1) / 3, "c": (3 + 1 + 2) / 3, "new": math.nan}
    assert ranks(found | {"new": {0: 1.0}}) == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("name", ["smooth", "rugged"])
def test_landscapes_are_repeatable_and_reward_a_search(name: str) -> None:
    made, again = landscape(name), landscape(name)
    default = dict(made.space.default)
    assert made(default, "i3", 7, CUTOFF) == again(default, "i3", 7, CUTOFF)
    assert made(default, "i3", 7, CUTOFF) != made(default, "i3", 8, CUTOFF)
    others = made.space.decode(made.space.sample(25, np.random.default_rng(0)))
    assert min(made.test_cost(config) for config in others) < 0.5 * made.test_cost(default)
