"""The problems: recorded runs of SPEAR (a pool, with its real parameters), two synthetic landscapes, and clasp for real."""

from __future__ import annotations

from functools import cache
from typing import Any, Protocol

import numpy as np

from benchmarks import spear
from benchmarks.strategies.landscapes import CUTOFF, landscape
from capra.runs import Configuration
from capra.scenario import Scenario
from capra.space import Space
from capra.targets import Table

HOURS = (1.0, 3.0, 10.0)


class Problem(Protocol):
    """Something to tune on the virtual clock, in three budgets."""

    budgets: tuple[float, ...]

    def scenario(self, seed: int, budget: float) -> Scenario: ...

    def test_cost(self, config: dict[str, Any]) -> float: ...

    def default_cost(self, seed: int) -> float:
        """Of the configuration that a tuning begins with: what it has to show before it has an incumbent."""


class Recorded:
    """The 1,000 recorded configurations of SPEAR on 302 training instances, each under its 26 parameters.

    There is no recorded default: every seed starts from another configuration.
    """

    budgets = tuple(3600.0 * hours for hours in HOURS)

    def __init__(self) -> None:
        self._spear = spear.load()
        self._space, configs, _ = spear.configurations()
        self._rows = {config: row for row, config in reversed(list(enumerate(configs)))}

    def scenario(self, seed: int, budget: float) -> Scenario:
        configs, rows = zip(*self._rows.items(), strict=True)
        kept, recorded = list(rows), self._spear.table
        space = _starting_from(self._space, self._first(seed))
        table = Table(recorded.times[kept], recorded.solved[kept], configs, recorded.instances, spear.CUTOFF, space)
        return table.scenario(train=self._spear.train, budget={"cpu": budget})

    def _first(self, seed: int) -> Configuration:
        configs = list(self._rows)
        return configs[int(np.random.default_rng(seed).integers(len(configs)))]

    def test_cost(self, config: dict[str, Any]) -> float:
        row = self._rows[Configuration(config)]
        return float(self._spear.costs[row, self._spear.test].mean())

    def default_cost(self, seed: int) -> float:
        return self.test_cost(dict(self._first(seed)))


def _starting_from(space: Space, config: Configuration) -> Space:
    """The same space with another default."""
    parameters = [p.with_default(config[p.name]) if p.name in config else p for p in space.parameters.values()]
    return Space(parameters, space.conditions, space.forbidden)


class Synthetic:
    """A landscape, with budgets of 12, 36 and 120 cutoffs, as SPEAR has them."""

    budgets = (12 * CUTOFF, 36 * CUTOFF, 120 * CUTOFF)

    def __init__(self, name: str) -> None:
        self._landscape = landscape(name)

    def scenario(self, seed: int, budget: float) -> Scenario:
        return self._landscape.scenario(budget)

    def test_cost(self, config: dict[str, Any]) -> float:
        return self._landscape.test_cost(config)

    def default_cost(self, seed: int) -> float:
        return self.test_cost(dict(self._landscape.space.default))


BUDGETS = {"spear": Recorded.budgets, "smooth": Synthetic.budgets, "rugged": Synthetic.budgets}
NAMES = tuple(BUDGETS)


@cache
def problem(name: str) -> Problem:
    return Recorded() if name == "spear" else Synthetic(name)
