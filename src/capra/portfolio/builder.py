"""What every builder of a portfolio is: tunings and measurements, one after another, over one history.

A builder is written as its paper writes it: a program that yields steps (see ``steps.py``), made with the methods of this
class.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from capra.errors import InputError
from capra.models.base import Floats
from capra.portfolio.steps import Program, Step, Steps
from capra.portfolio.views import Ceilings, View
from capra.runs import Configuration, RunRequest, Status
from capra.runs.history import Pair
from capra.scenario import Scenario
from capra.search.earlier import Earlier
from capra.strategies import BUILDERS, Context, make_strategy
from capra.strategies.listed import Listed
from capra.strategies.pairs import LARGEST_SEED

__all__ = ["Builder", "Program", "Step"]

_SEED, _STEP, _ORDER = 41, 42, 43
"""Streams of random numbers (see Context.rng)."""
LEVELS = (0.001, 0.01, 0.03, 0.1, 0.3, 1.0)
"""How long members are compared, in shares of the cutoff, one after another."""
SHORT = 0.01
"""So long everybody is run, whatever the others do."""
ENOUGH = (4.0, 16.0, 64.0)
"""For choosing between members it is enough to know who takes this many times as long as the best; more if time is left."""


class Builder(Steps):
    """A ``Strategy`` whose answer is a portfolio. ``inner`` is the strategy that tunes, with its ``options``."""

    name: ClassVar[str]

    def __init__(self, context: Context, *, inner: str = "smac", **options: Any) -> None:
        scenario = context.scenario
        if scenario.objective.kind != "runtime" or scenario.objective.utility is not None:
            raise InputError("portfolios are built for the objectives parK", hint='objective = "par10"')
        if len(scenario.instances) < 2:
            raise InputError("a portfolio needs at least two training instances")
        if inner in BUILDERS:
            raise InputError(f"{inner} builds portfolios: it cannot tune inside of one", hint="the strategy smac can")
        make_strategy(inner, Context(scenario, options=options))  # is it one? before anything is run
        self.inner, self.options = inner, options
        self.members: list[Configuration] = []
        """The portfolio so far."""
        self.trajectory: list[tuple[float, list[Configuration]]] = []
        """Target time spent, and the portfolio since then."""
        self.instances = [instance.name for instance in scenario.instances]
        """Names of the training instances."""
        self.seeds = _seeds(context)
        order = context.rng(_ORDER).permutation(len(self.instances))
        self.pairs: list[Pair] = [(self.instances[i], seed) for seed in self.seeds for i in order]
        """All pairs, seed by seed, in an order that is the same for everybody."""
        super().__init__(context)

    # --- what programs use ---

    def features(self, instances: Sequence[str]) -> Floats:
        """Features of instances, (m, f); f = 0 where the scenario has none."""
        table = self.context.scenario.features
        gaps = (math.nan,) * len(table.names)
        rows = np.array([table.rows.get(name, gaps) for name in instances], dtype=np.float64)
        return rows.reshape(len(instances), len(table.names))

    @property
    def selectors(self) -> Mapping[str, Mapping[str, float]]:
        """Options of selectors that are others for this builder's members, by the selector's name."""
        return {}

    def tuning(
        self,
        what: str,
        instances: Sequence[str],
        until: float,
        *,
        first: Sequence[Configuration] = (),
        view: View | None = None,
        changes: Mapping[str, Any] = MappingProxyType({}),
    ) -> Step:
        """A step that tunes on some of the instances, begins with the configurations ``first``, and knows earlier runs.

        ``changes`` are options of the scenario that are others for it.
        """
        view = view or View()
        names = set(instances)
        cells = [cell for cell in self.history.cells() if cell[1][0] in names]
        scenario = self._on(names, changes)
        context = self._context(scenario, Earlier(tuple(dict.fromkeys(first)), tuple(view.cells(cells))))
        return Step(what, make_strategy(self.inner, context), until, view)

    def measuring(
        self, what: str, configs: Iterable[Configuration], pairs: Iterable[Pair], until: float, view: View | None = None
    ) -> Step:
        """A step that runs configurations on pairs, pair by pair."""
        kappa_max, chosen = self.context.scenario.cutoff, list(dict.fromkeys(configs))
        requests = [RunRequest(config, *pair, kappa_max) for pair in pairs for config in chosen]
        return Step(what, Listed(self._context(self.context.scenario), requests), until, view or View())

    def comparing(self) -> Program:
        """Steps that run all members on all instances, as long as it takes to see which is best: selectors need that.

        Short runs of everybody come first. Then, where nobody has answered yet, longer and longer ones, and first of who has
        solved most. That one is run to the end: every choice has to beat it. What is left of the budget tells slow members
        from hopeless ones.
        """
        for level in LEVELS:
            most = level * self.context.scenario.cutoff
            view = Ceilings(partial(self._unanswered, most))
            yield self.measuring(f"comparing the members, {most:g} at most", self._ranked(), self.pairs, math.inf, view)
        yield self.measuring("comparing the members, the best one to the end", self._ranked()[:1], self.pairs, math.inf)
        for factor in ENOUGH:
            view = Ceilings(partial(self._enough, factor))
            yield self.measuring(f"comparing, {factor:g} times the best", self._ranked(), self.pairs, math.inf, view)

    def _unanswered(self, most: float, pair: Pair) -> float:
        is_solved = self.cells.best_time(self.members, pair) < math.inf
        return min(most, SHORT * self.context.scenario.cutoff) if is_solved else most

    def _enough(self, factor: float, pair: Pair) -> float:
        return factor * self.cells.best_time(self.members, pair)

    def _ranked(self) -> list[Configuration]:
        """Who has solved most comes first."""
        solved = {c: sum(o.status is Status.SUCCESS for o in self.cells.pairs(c).values()) for c in self.members}
        return sorted(self.members, key=lambda config: -solved[config])

    def join(self, *configs: Configuration | None) -> None:
        """New members."""
        new = [config for config in dict.fromkeys(configs) if config is not None and config not in self.members]
        self.set_members([*self.members, *new])

    def set_members(self, members: Sequence[Configuration]) -> None:
        """From now on this is the portfolio; it is noted when, for curves."""
        if members != self.members:
            self.members = list(members)
            self.trajectory.append((self.history.spent, self.members))
            data = {"members": [dict(config) for config in members], "spent": self.history.spent, "runs": self.told}
            self.context.record("portfolio", str(self.number), data)

    def costs(self, configs: Sequence[Configuration], pairs: Sequence[Pair]) -> Floats:
        """Costs of complete runs, (k, n); NaN where there is none."""
        records = [self.history.record(config).costs for config in configs]
        return np.array([[costs.get(pair, math.nan) for pair in pairs] for costs in records]).reshape(
            len(configs), len(pairs)
        )

    def _on(self, instances: set[str], changes: Mapping[str, Any]) -> Scenario:
        """The scenario on some of its instances, with the portfolio's seeds."""
        scenario = copy.copy(self.context.scenario)
        chosen = tuple(instance for instance in scenario.instances if instance.name in instances)
        for name, value in {"instances": chosen, "seeds": self.seeds, **changes}.items():
            object.__setattr__(scenario, name, value)  # a copy of our own, which nobody has seen
        return scenario

    def _context(self, scenario: Scenario, earlier: Earlier | None = None) -> Context:
        """For the strategy of a step: its decisions are kept apart from those of others, and its clock starts at 0."""
        number, outer, began = self.number, self.context, self.context.clock()
        return Context(
            scenario,
            int(outer.rng(_STEP, number).integers(LARGEST_SEED)),
            lambda kind, key: outer.recall(f"{number} {kind}", key),
            lambda kind, key, data: outer.record(f"{number} {kind}", key, data),
            lambda: outer.clock() - began,
            dict(self.options),
            earlier or Earlier(),
        )

    @property
    def incumbent(self) -> Configuration | None:
        """The first member; before there is any, the incumbent of the step under way."""
        found = [*self.members[:1], *([self.step.found] if self.step else [])]
        records = [(config, self.history.record(config)) for config in found if config is not None]
        return next((config for config, record in records if record.costs and not record.wrong), None)

    def describe(self) -> list[tuple[str, str]]:
        size = f"{len(self.members)} member{'' if len(self.members) == 1 else 's'}"
        if self.step is None:
            return [("portfolio", f"{self.name}: {size}, finished")]
        return [("portfolio", f"{self.name}: {size}; {self.step.what}"), *self.step.strategy.describe()]


def _seeds(context: Context) -> tuple[int, ...]:
    """One seed for all, unless the scenario says which: more instances tell more than more seeds."""
    scenario = context.scenario
    if scenario.deterministic:
        return scenario.seeds or (0,)
    return scenario.seeds or (int(context.rng(_SEED).integers(LARGEST_SEED)),)
