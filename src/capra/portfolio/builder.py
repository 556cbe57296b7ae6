"""What every builder of a portfolio is: a strategy made of steps, over one history.

A builder is written as its paper writes it: a program (a generator) that yields steps, each a strategy that works until a
share of the budget is used: it tunes on some instances, or measures some configurations. The builder is a ``Strategy``
itself, so that the loop of ``tune`` drives it and one store holds all of its runs. What one step has measured answers the
next one's requests free of charge: no cell is ever run twice to the same cutoff.

Replay: the number of the step stands in front of who asked for a run; the ends of steps, the free answers and whatever else
a program decides are stored as decisions. Telling the stored runs to a new builder runs the program again, through the
same steps.
"""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

import numpy as np

from capra.errors import InputError, StoreError
from capra.models.base import Floats
from capra.portfolio.cells import Cells
from capra.portfolio.views import Ceilings, View
from capra.runs import Configuration, History, Outcome, Run, RunRequest, Status
from capra.runs.history import Pair
from capra.scenario import Scenario
from capra.search.earlier import Earlier
from capra.strategies import Context, Strategy, make_strategy
from capra.strategies.listed import Listed
from capra.strategies.pairs import LARGEST_SEED

__all__ = ["Builder", "Program", "Step"]

_SEED, _STEP, _ORDER = 41, 42, 43
"""Streams of random numbers (see Context.rng)."""
FREE = 10_000
"""After so many free answers in a row a step has nothing left to learn."""
LEVELS = (0.001, 0.01, 0.1, 1.0)
"""How long members are compared, in shares of the cutoff, one after another."""
ENOUGH = 4.0
"""For choosing between members it is enough to know who takes this many times as long as the best."""
T = TypeVar("T")


@dataclass(slots=True)
class Step:
    """A strategy at work: until so much of the budget is used, or until it has finished."""

    what: str
    """For people."""
    strategy: Strategy
    until: float = math.inf
    view: View = field(default_factory=View)
    finished: bool = False

    @property
    def found(self) -> Configuration | None:
        """The configuration of the target that the strategy holds for the best."""
        incumbent = self.strategy.incumbent
        return None if incumbent is None else self.view.config(incumbent)


Program = Generator[Step, None, None]


@dataclass(slots=True)
class _UnderWay:
    asked: RunRequest
    real: RunRequest
    why: str
    stopped: bool = False


class Builder(ABC):
    """A ``Strategy`` whose answer is a portfolio. ``inner`` is the strategy that tunes, with its ``options``."""

    name: ClassVar[str]
    certificate: None = None

    def __init__(self, context: Context, *, inner: str = "smac", **options: Any) -> None:
        scenario = context.scenario
        if scenario.objective.kind != "runtime" or scenario.objective.utility is not None:
            raise InputError("portfolios are built for the objectives parK", hint='objective = "par10"')
        if len(scenario.instances) < 2:
            raise InputError("a portfolio needs at least two training instances")
        self.context = context
        self.inner, self.options = inner, options
        self.history = History(scenario.objective, scenario.cutoff)
        self.cells = Cells(scenario.cutoff)
        self.members: list[Configuration] = []
        """The portfolio so far."""
        self.trajectory: list[tuple[float, list[Configuration]]] = []
        """Target time spent, and the portfolio since then."""
        self.seeds = self._seeds()
        self.number = -1
        """Of the step under way."""
        self.step: Step | None = None
        self._told = self._free = 0
        self._wall = 0.0
        self._under_way: dict[tuple[str, str | None, int], _UnderWay] = {}
        self._held: list[RunRequest] = []
        """Requests of the strategy for cells that another request is running."""
        self._program = self.program()
        make_strategy(inner, Context(scenario, options=options))  # is it one? before anything is run
        self._advance()

    # --- what subclasses say ---

    @abstractmethod
    def program(self) -> Program:
        """The algorithm: yields one step after another, and looks at the history between them."""

    # --- what programs use ---

    @property
    def instances(self) -> list[str]:
        """Names of the training instances."""
        return [instance.name for instance in self.context.scenario.instances]

    def pairs(self, instances: Iterable[str] | None = None) -> list[Pair]:
        """All pairs of some instances (all), seed by seed, in an order that is the same for everybody."""
        order = self.context.rng(_ORDER).permutation(len(self.instances))
        chosen = set(self.instances if instances is None else instances)
        names = [self.instances[i] for i in order if self.instances[i] in chosen]
        return [(name, seed) for seed in self.seeds for name in names]

    def features(self, instances: Sequence[str]) -> Floats:
        """Features of instances, (m, f); f = 0 where the scenario has none."""
        table = self.context.scenario.features
        gaps = (math.nan,) * len(table.names)
        rows = np.array([table.rows.get(name, gaps) for name in instances], dtype=np.float64)
        return rows.reshape(len(instances), len(table.names))

    @property
    def selector(self) -> tuple[str, dict[str, float]]:
        """Who chooses between the members, with its options; "auto" is the best in cross-validation."""
        return "auto", {}

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

        Short runs of everybody come before long ones of anybody: where one member is quick the others need no long runs.
        """
        for level in LEVELS:
            most = level * self.context.scenario.cutoff
            view = Ceilings(partial(self._enough, most))
            yield self.measuring(f"comparing the members, {most:g} at most", self.members, self.pairs(), math.inf, view)

    def _enough(self, most: float, pair: Pair) -> float:
        return min(most, ENOUGH * self.cells.best_time(self.members, pair))

    def join(self, *configs: Configuration | None) -> None:
        """New members."""
        new = [config for config in dict.fromkeys(configs) if config is not None and config not in self.members]
        self.set_members([*self.members, *new])

    def set_members(self, members: Sequence[Configuration]) -> None:
        """From now on this is the portfolio; it is noted when, for curves."""
        if members != self.members:
            self.members = list(members)
            self.trajectory.append((self.history.spent, self.members))
            data = {"members": [dict(config) for config in members], "spent": self.history.spent, "runs": self._told}
            self.context.record("portfolio", str(self.number), data)

    def costs(self, configs: Sequence[Configuration], pairs: Sequence[Pair]) -> Floats:
        """Costs of complete runs, (k, n); NaN where there is none."""
        records = [self.history.record(config).costs for config in configs]
        return np.array([[costs.get(pair, math.nan) for pair in pairs] for costs in records]).reshape(
            len(configs), len(pairs)
        )

    def decided(self, key: str, compute: Callable[[], T]) -> T:
        """What ``compute`` says (JSON); a replay is told what it said then."""
        stored: T | None = self.context.recall("builder", f"{self.number} {key}")
        if stored is None:
            stored = compute()
            self.context.record("builder", f"{self.number} {key}", stored)
        return stored

    @property
    def share(self) -> float:
        """The used share of the budget."""
        budget = self.context.scenario.budget
        spent = self.history.spent + self.context.clock()
        return max(spent / budget.cpu, self._told / budget.runs, self._wall / budget.wall)

    def _seeds(self) -> tuple[int, ...]:
        """One seed for all, unless the scenario says which: more instances tell more than more seeds."""
        scenario = self.context.scenario
        if scenario.deterministic:
            return (0,) if scenario.seeds is None else scenario.seeds
        return scenario.seeds or (int(self.context.rng(_SEED).integers(LARGEST_SEED)),)

    def _on(self, instances: set[str], changes: Mapping[str, Any]) -> Scenario:
        """The scenario on some of its instances, with the portfolio's seeds."""
        scenario = copy.copy(self.context.scenario)
        chosen = tuple(instance for instance in scenario.instances if instance.name in instances)
        for name, value in {"instances": chosen, "seeds": self.seeds, **changes}.items():
            object.__setattr__(scenario, name, value)  # a copy of our own, which nobody has seen
        return scenario

    def _context(self, scenario: Scenario, earlier: Earlier | None = None) -> Context:
        """For the strategy of a step: its decisions are kept apart from those of others."""
        number, outer = self.number, self.context
        return Context(
            scenario,
            int(outer.rng(_STEP, number).integers(LARGEST_SEED)),
            lambda kind, key: outer.recall(f"{number} {kind}", key),
            lambda kind, key, data: outer.record(f"{number} {kind}", key, data),
            outer.clock,
            dict(self.options),
            earlier or Earlier(),
        )

    # --- the protocol ---

    @property
    def incumbent(self) -> Configuration | None:
        """The first member; before there is any, the incumbent of the step under way."""
        found = [*self.members[:1], *([self.step.found] if self.step else [])]
        records = [(config, self.history.record(config)) for config in found if config is not None]
        return next((config for config, record in records if record.costs and not record.wrong), None)

    def ask(self, n: int) -> list[RunRequest]:
        self._catch_up()
        found: list[RunRequest] = []
        while len(found) < n and self.step is not None:
            if self._is_over():
                if self._under_way:
                    break
                self._end_step()
            elif (asked := self._next(self.step)) is None:
                self.step.finished = not self._under_way
                if self._under_way:
                    break
            elif (request := self._started(self.step, asked)) is not None:
                found.append(request)
        return found

    def _is_over(self) -> bool:
        return self.step is None or self.step.finished or self._free >= FREE or self.share >= self.step.until

    def _next(self, step: Step) -> RunRequest | None:
        for place, asked in enumerate(self._held):
            if step.view.real(asked).cell not in self._under_way:
                return self._held.pop(place)
        return next(iter(step.strategy.ask(1)), None)

    def _started(self, step: Step, asked: RunRequest) -> RunRequest | None:
        """What is to be run for the strategy's request; None if that is known, or running already."""
        real, why = step.view.real(asked), step.strategy.why(asked)
        if (known := self.cells.answer(real)) is not None:
            self._answer(step, asked, real, known, why)
            return None
        if real.cell in self._under_way:
            self._held.append(asked)
            return None
        self._under_way[real.cell] = _UnderWay(asked, real, why)
        return real

    def why(self, request: RunRequest) -> str:
        run = self._under_way[request.cell]
        tag = "" if self.step is None else self.step.view.tag(run.asked)
        return f"{self.number}{'@' + tag if tag else ''} {run.why}"

    def tell(self, run: Run) -> None:
        self._catch_up()
        self.history.add(run)
        self.cells.add(run)
        under_way = self._under_way.pop(run.request.cell, None)
        place, _, why = run.asked_by.partition(" ")
        if run.outcome.status is not Status.LOST:  # a replay does not see what was lost
            self._told, self._free, self._wall = self._told + 1, 0, run.finished
        if self.step is None:
            return
        asked = under_way.asked if under_way else self.step.view.asked(run.request, place.partition("@")[2])
        self._show(self.step, asked, run.request, run.outcome, why or place)

    def _show(self, step: Step, asked: RunRequest, real: RunRequest, outcome: Outcome, why: str) -> None:
        """Tell the strategy of the step about a run, as it sees it."""
        request = RunRequest(asked.config, asked.instance, asked.seed, real.cutoff)
        order = len(step.strategy.history) + 1
        step.strategy.tell(Run(request, step.view.shown(request, outcome), why, order, self._wall))

    def tighten(self) -> list[tuple[RunRequest, float]]:
        if self.step is None:
            return []
        bounds = {request.cell: cutoff for request, cutoff in self.step.strategy.tighten()}
        over, found = self._is_over(), []
        for run in self._under_way.values():
            cutoff = 0.0 if over else bounds.get(run.asked.cell, math.inf)
            if cutoff < run.real.cutoff and not run.stopped:
                found.append((run.real, cutoff))
                run.stopped = cutoff <= 0.0
                if cutoff > 0.0:
                    run.real = RunRequest(run.real.config, run.real.instance, run.real.seed, cutoff)
        return found

    def describe(self) -> list[tuple[str, str]]:
        size = f"{len(self.members)} member{'' if len(self.members) == 1 else 's'}"
        if self.step is None:
            return [("portfolio", f"{self.name}: {size}, finished")]
        return [("portfolio", f"{self.name}: {size}; {self.step.what}"), *self.step.strategy.describe()]

    # --- steps and free answers, live and replayed ---

    def _advance(self) -> None:
        self.number += 1
        self._free = 0
        self._held = []
        self.step = next(self._program, None)

    def _end_step(self) -> None:
        self.context.record("step", str(self.number), {"runs": self._told})
        self._advance()

    def _answer(self, step: Step, asked: RunRequest, real: RunRequest, known: Outcome, why: str) -> None:
        """A free answer is a decision: which request it was for, when, and what was answered follows from the history."""
        cell = [real.config.id, real.instance, real.seed, real.cutoff]
        data = {"step": self.number, "cell": cell, "tag": step.view.tag(asked), "why": why}
        self.context.record("answer", self._place, data)
        self._free += 1
        self._show(step, asked, real, known, why)

    @property
    def _place(self) -> str:
        return f"{self.number} {self._told} {self._free}"

    def _catch_up(self) -> None:
        """Replay what was decided at this point: free answers, and the end of the step."""
        while self.step is not None:
            if (data := self.context.recall("answer", self._place)) is not None:
                self._answer_again(self.step, data)
            elif (end := self.context.recall("step", str(self.number))) is not None and end["runs"] <= self._told:
                self._advance()
            else:
                return

    def _answer_again(self, step: Step, data: dict[str, Any]) -> None:
        name, instance, seed, cutoff = data["cell"]
        real = RunRequest(self.cells.named(name), instance, seed, cutoff)
        if (known := self.cells.answer(real)) is None:
            raise StoreError("a free answer does not follow from the runs", hint="was the store edited?")
        self._free += 1
        self._show(step, step.view.asked(real, data["tag"]), real, known, data["why"])
