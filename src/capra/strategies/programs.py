"""Strategies written as their papers write them: programs that wait for runs.

A program is a generator. It yields what it wants to be run now, is woken when something about that became known, looks at
the history and yields again. Programs move only when a run is told (or when one is begun, which is on record), so that a
stored history brings a new strategy to the same state: the programs are simply run again. What is asked for but not told
is remembered only to not ask for it twice.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field

from capra.errors import InputError
from capra.runs import Configuration, Run, RunRequest, Status
from capra.runs.history import History, Pair
from capra.strategies.base import Context
from capra.strategies.pairs import PairOrder

__all__ = ["Program", "Programs", "Want", "caps"]

Cell = tuple[Configuration, Pair]


@dataclass(frozen=True, slots=True)
class Want:
    """A run that a program waits for."""

    config: Configuration
    pair: Pair
    cutoff: float


Program = Generator[Sequence[Want], None, None]
"""Yields all that it wants to be run, most wanted first, each time something of it became known. A run under way that is not
among it any more is stopped, one with a smaller cutoff than before is tightened."""


@dataclass(slots=True)
class _UnderWay:
    request: RunRequest
    asked_by: str
    cutoff: float


@dataclass(slots=True)
class _Process:
    """A program at work."""

    number: int
    name: str
    program: Program
    wants: dict[Cell, Want] = field(default_factory=dict)


def caps(context: Context, capping: bool | str, *others: str) -> bool | str:
    """The option ``capping``, checked: a truth value or one of ``others``; no run of a quality objective is ever capped."""
    if not isinstance(capping, bool) and capping not in others:
        raise InputError(f"capping is {', '.join(['true', 'false', *map(repr, others)])}, not {capping!r}")
    return capping if context.scenario.objective.kind == "runtime" else False


class Programs(ABC):
    """A ``Strategy`` that runs programs. Subclasses begin them, and say who the incumbent is."""

    certificate: None = None
    lines: Sequence[str] = ()

    def __init__(self, context: Context) -> None:
        scenario = context.scenario
        self.context = context
        self.kappa_max = scenario.cutoff
        self.history = History(scenario.objective, scenario.cutoff)
        self.pairs = PairOrder(context)
        self.incumbent: Configuration | None = None
        self.told = 0
        """Runs so far, without lost ones: a replay does not see them."""
        self._begun = 0
        self._processes: dict[int, _Process] = {}
        self._waiting: set[int] = set()
        """Processes that may want something that is not under way."""
        self._wanted: dict[Cell, dict[int, float]] = {}
        """Cutoffs that processes want for a cell, by the process."""
        self._under_way: dict[Cell, _UnderWay] = {}
        self._own: dict[str, int] = {}
        """Programs at work, each with the number of runs under way that it asked for itself."""
        self._idle: set[str] = set()
        """Those of them that have none."""
        self._moved: dict[Cell, None] = {}
        """Cells under way that are wanted otherwise than before."""

    # --- what subclasses say ---

    @abstractmethod
    def consider(self, config: Configuration) -> None:
        """A run of ``config`` was told: is it the incumbent now? Called before the programs are woken."""

    @abstractmethod
    def describe(self) -> list[tuple[str, str]]: ...

    def more(self) -> bool:
        """Nothing is left to ask for though a worker is free: begin another program? True if that was done."""
        return False

    # --- programs ---

    def begin(self, name: str, program: Program) -> None:
        """Run a program as far as it goes."""
        process = self._processes[self._begun] = _Process(self._begun, name, program)
        self._own[name] = 0
        self._idle.add(name)
        self._begun += 1
        self._advance(process)

    def wake(self) -> None:
        """Have every program look again."""
        for process in list(self._processes.values()):
            self._advance(process)

    def is_known(self, want: Want) -> bool:
        """Does the history answer it: was it run to the end, or for at least as long as is wanted?"""
        record = self.history.record(want.config)
        return want.pair in record.costs or record.outlasted(want.pair, want.cutoff)

    def cutoff(self, cost: float) -> float:
        """How long a run may take that may cost so much at most; 0: nothing is left to spend."""
        return min(self.kappa_max, self.history.objective.time_for(cost))

    @property
    def all_busy(self) -> bool:
        """Has every program a run under way that it asked for itself?"""
        return not self._idle

    def _advance(self, process: _Process) -> None:
        if process.number not in self._processes:
            return
        wants = next(process.program, None)
        if wants is None:
            del self._processes[process.number]
            del self._own[process.name]
            self._idle.discard(process.name)
        self._settle(process, {(want.config, want.pair): want for want in wants or ()})

    def _settle(self, process: _Process, wants: dict[Cell, Want]) -> None:
        for cell in process.wants.keys() - wants.keys():
            del self._wanted[cell][process.number]
            if not self._wanted[cell]:
                del self._wanted[cell]
        for cell, want in wants.items():
            self._wanted.setdefault(cell, {})[process.number] = want.cutoff
        for cell in process.wants | wants:
            if cell in self._under_way:
                self._moved[cell] = None
        process.wants = wants
        self._waiting.add(process.number)

    # --- the protocol ---

    def ask(self, n: int) -> list[RunRequest]:
        found: list[RunRequest] = []
        while len(found) < n:
            found += self._requests(n - len(found))
            if len(found) < n and not self.more():
                break
        return found

    def _requests(self, n: int) -> list[RunRequest]:
        found: list[RunRequest] = []
        for number in sorted(self._waiting):
            process = self._processes.get(number)
            wants = [want for cell, want in process.wants.items() if cell not in self._under_way] if process else []
            found += [self._start(want, process.name) for want in wants[: n - len(found)] if process]
            if len(found) == n:
                break
            self._waiting.discard(number)
        return found

    def _start(self, want: Want, asked_by: str) -> RunRequest:
        request = RunRequest(want.config, *want.pair, want.cutoff)
        self._under_way[want.config, want.pair] = _UnderWay(request, asked_by, want.cutoff)
        self._own[asked_by] += 1
        self._idle.discard(asked_by)
        return request

    def why(self, request: RunRequest) -> str:
        return self._under_way[request.config, (request.instance, request.seed)].asked_by

    def tell(self, run: Run) -> None:
        request = run.request
        cell = request.config, (request.instance, request.seed)
        self._is_over(cell)
        if run.outcome.status is Status.LOST:  # it is wanted as before
            self.history.add(run)
            self._waiting.update(self._wanted.get(cell, ()))
            return
        self.history.add(run)
        self.told += 1
        self.consider(request.config)
        for process in [self._processes[number] for number in self._wanted.get(cell, ())]:
            self._advance(process)

    def _is_over(self, cell: Cell) -> None:
        self._moved.pop(cell, None)
        run = self._under_way.pop(cell, None)
        if run is not None and run.asked_by in self._own:
            self._own[run.asked_by] -= 1
            if not self._own[run.asked_by]:
                self._idle.add(run.asked_by)

    def tighten(self) -> list[tuple[RunRequest, float]]:
        found = []
        for cell in self._moved:
            run = self._under_way[cell]
            cutoff = max(self._wanted.get(cell, {}).values(), default=0.0)
            if cutoff < run.cutoff:
                found.append((run.request, cutoff))
                run.cutoff = cutoff
        self._moved.clear()
        return found
