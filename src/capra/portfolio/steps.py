"""A strategy made of steps, over one history.

A program (a generator) yields steps, each a strategy that works until a share of the budget is used. All of it is one
``Strategy``, so that the loop of ``tune`` drives it and one store holds all runs. What one step has measured answers the
next one's requests free of charge: no cell is ever run twice to the same cutoff.

Replay: the number of the step stands in front of who asked for a run; the ends of steps, the free answers and whatever else
a program decides are stored as decisions. Telling the stored runs to a new strategy runs the program again, through the
same steps.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from capra.errors import StoreError
from capra.portfolio.cells import Cells
from capra.portfolio.views import View
from capra.runs import Configuration, History, Outcome, Run, RunRequest, Status
from capra.strategies import Context, Strategy

__all__ = ["Program", "Step", "Steps"]

FREE = 10_000
"""After so many free answers in a row a step has nothing left to learn."""
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


class Steps(ABC):
    """A ``Strategy`` that runs a program's steps, one after another."""

    certificate: None = None
    lines: Sequence[str] = ()

    def __init__(self, context: Context) -> None:
        scenario = context.scenario
        self.context = context
        self.history = History(scenario.objective, scenario.cutoff)
        self.cells = Cells(scenario.cutoff)
        self.number = -1
        """Of the step under way."""
        self.step: Step | None = None
        self.told = 0
        """Runs so far, without lost ones: a replay does not see them."""
        self._free = 0
        """Free answers since the last run."""
        self._wall = 0.0
        self._under_way: dict[tuple[str, str | None, int], _UnderWay] = {}
        self._held: list[RunRequest] = []
        """Requests of the strategy for cells that another request is running."""
        self._program = self.program()
        self._advance()

    # --- what subclasses say ---

    @abstractmethod
    def program(self) -> Program:
        """The algorithm: yields one step after another, and looks at the history between them."""

    @property
    @abstractmethod
    def incumbent(self) -> Configuration | None: ...

    @abstractmethod
    def describe(self) -> list[tuple[str, str]]: ...

    # --- what programs use ---

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
        return max(spent / budget.cpu, self.told / budget.runs, self._wall / budget.wall)

    # --- the protocol ---

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
            self.told, self._free, self._wall = self.told + 1, 0, run.finished
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

    # --- steps and free answers, live and replayed ---

    def _advance(self) -> None:
        self.number += 1
        self._free = 0
        self._held = []
        self.step = next(self._program, None)

    def _end_step(self) -> None:
        self.context.record("step", str(self.number), {"runs": self.told})
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
        return f"{self.number} {self.told} {self._free}"

    def _catch_up(self) -> None:
        """Replay what was decided at this point: free answers, and the end of the step."""
        while self.step is not None:
            if (data := self.context.recall("answer", self._place)) is not None:
                self._answer_again(self.step, data)
            elif (end := self.context.recall("step", str(self.number))) is not None and end["runs"] <= self.told:
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
