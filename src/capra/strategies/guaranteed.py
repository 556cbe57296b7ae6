"""Strategies with guarantees: a sequential algorithm over numbers, driven through the same loop as everything else.

The algorithm (a ``Core``) only ever waits for one run. Whatever the history knows answers it at once, so telling a stored
history brings a new strategy to the same state, and its theorem holds as it was proved, with any number of workers: further
workers make the runs that it is likely to want next.

Means are those of the scenario's objective: a run that timed out has the time k·κ_max under PARk (κ_max under PAR1). A cap
beyond κ_max needs no longer run than κ_max.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from capra.runs import Configuration, Outcome, Run, RunRequest, Status
from capra.runs.history import History, Pair, Record
from capra.runs.utility import Utility
from capra.strategies.base import Context
from capra.strategies.certificate import Certificate, Promise
from capra.strategies.pool import Columns, Pool

__all__ = ["SHORTEST", "Core", "Guaranteed", "Step"]

SHORTEST = 0.001
"""No run takes less: means are compared by their ratio."""
IDLE, ENDLESS = 1_000_000, 20_000
"""After so many steps without a new run there is nothing left to learn: for cores that finish, and for those that do not."""
MANY = 30
"""Shared pairs that a warning needs."""
Step = tuple[int, int, float]
"""(configuration, column, cap)"""
_NOTHING: dict[Pair, tuple[float, float]] = {}


class Core(Protocol):
    """A sequential algorithm.

    ``wanted`` is the run that it cannot go on without, None when it has finished; ``take`` tells it how that went: whether
    the run ended within the cap, and then its value. ``ahead`` are up to so many runs that it is likely to want, the wanted
    one first. ``exclude`` removes a configuration whose answer was refuted. ``answer`` is -1 as long as there is none.
    """

    @property
    def answer(self) -> int: ...

    def wanted(self) -> Step | None: ...

    def take(self, value: float, done: bool) -> None: ...

    def ahead(self, count: int) -> list[Step]: ...

    def exclude(self, config: int) -> None: ...


class Guaranteed:
    """A ``Strategy`` around a core; ``promise`` says what holds for its answer now."""

    lines: Sequence[str] = ()

    def __init__(
        self,
        context: Context,
        name: str,
        core: Core,
        pool: Pool,
        promise: Callable[[], Promise],
        *,
        utility: Utility | None = None,
        trims: bool = False,
        is_endless: bool = False,
    ) -> None:
        """``utility`` of the time, if that is the core's value. ``trims``: its promise leaves out a share of the runs.

        ``is_endless``: the core never finishes by itself.
        """
        scenario = context.scenario
        self.name = name
        self.core = core
        self.pool = pool
        self.columns = Columns(context)
        self.history = History(scenario.objective, scenario.cutoff)
        self.kappa_max = scenario.cutoff
        self.resumed = 0.0
        """Target time had every longer run continued the shorter one."""
        self._promise, self._utility, self._trims = promise, utility, trims
        self._cells: dict[Configuration, dict[Pair, tuple[float, float]]] = {}
        """Of complete runs: the least cap that shows that they are, and their value."""
        self._pending: dict[tuple[Configuration, Pair], RunRequest] = {}
        self._excluded: set[Configuration] = set()
        self._stopped: list[RunRequest] = []
        self._ahead: deque[Step] = deque()
        """Runs for further workers."""
        self._look_at = 0
        self._patience = ENDLESS if is_endless else IDLE
        self._idle = 0
        self._advance()

    # --- the loop's side ---

    def ask(self, n: int) -> list[RunRequest]:
        found: dict[tuple[Configuration, Pair], RunRequest] = {}
        for request in self._candidates(n) if n > 0 else ():  # 0: a run that is made again takes the last worker
            found.setdefault((request.config, (request.instance, request.seed)), request)
            if len(found) >= n:
                break
        self._pending.update(found)
        return list(found.values())

    def _candidates(self, n: int) -> Iterator[RunRequest]:
        """Runs that are neither known nor under way: the wanted one, then what is likely to be wanted."""
        step = None if self._idle >= self._patience else self.core.wanted()
        if step is None:
            return
        yield from self._request(step)
        if n == 1 and not self._pending:
            return
        while self._ahead or self._look_ahead(n + len(self._pending)):
            yield from self._request(self._ahead.popleft())

    def _look_ahead(self, wanted: int) -> bool:
        """Ask the core what may come, but not after every run: most of it stays the same."""
        told = len(self.history)
        if told < self._look_at:
            return False
        self._look_at = told + 1 + wanted // 8
        self._ahead.extend(self.core.ahead(4 * wanted))
        return bool(self._ahead)

    def _request(self, step: Step) -> Iterator[RunRequest]:
        config, pair = self.pool[step[0]], self.columns[step[1]]
        if (config, pair) not in self._pending and self._look(step) is None and config not in self._excluded:
            yield RunRequest(config, *pair, min(step[2], self.kappa_max))

    def tell(self, run: Run) -> None:
        request, outcome = run.request, run.outcome
        pair = (request.instance, request.seed)
        before = self.history.record(request.config).bounds.get(pair, 0.0)
        self.history.add(run)
        self._pending.pop((request.config, pair), None)
        if outcome.status is not Status.LOST:
            self.resumed += max(0.0, outcome.time - before)
            self._idle = 0
            self._note(request.config, pair, outcome)
        if outcome.status is Status.WRONG:
            self._exclude(request.config)
        self._advance()

    def _exclude(self, config: Configuration) -> None:
        if config in self._excluded:
            return
        self._excluded.add(config)
        self._stopped += [request for request in self._pending.values() if request.config == config]
        for number in self.pool.numbers(config):
            self.core.exclude(number)

    def tighten(self) -> list[tuple[RunRequest, float]]:
        stopped, self._stopped = self._stopped, []
        return [(request, 0.0) for request in stopped]

    def why(self, request: RunRequest) -> str:
        return self.name

    # --- the core's side ---

    def _advance(self) -> None:
        """As far as the history can answer."""
        while self._idle < self._patience and (step := self.core.wanted()) is not None:
            if self.pool[step[0]] in self._excluded:  # sampled again
                self.core.exclude(step[0])
                continue
            answer = self._look(step)
            if answer is None:
                return
            self._idle += 1
            self.core.take(*answer)

    def _note(self, config: Configuration, pair: Pair, outcome: Outcome) -> None:
        cells = self._cells.setdefault(config, {})
        cost = self.history.record(config).costs.get(pair)
        if cost is None or pair in cells:
            return
        if self._utility is None:
            cells[pair] = max(cost, SHORTEST), max(cost, SHORTEST)
        elif outcome.status is Status.SUCCESS:
            cells[pair] = outcome.time, self._utility.of(outcome.time)
        else:
            cells[pair] = self.kappa_max, 0.0

    def _look(self, step: Step) -> tuple[float, bool] | None:
        """What the run would show (its value, whether it ended), if that is known."""
        number, column, cap = step
        config, pair = self.pool[number], self.columns[column]
        cell = self._cells.get(config, _NOTHING).get(pair)
        if cell is not None:
            return cell[1], cell[0] <= cap
        return (0.0, False) if self.history.record(config).outlasted(pair, cap) else None

    # --- the answer ---

    @property
    def incumbent(self) -> Configuration | None:
        """The core's answer, if a run of it was complete; before there is one, the configuration that is known best."""
        if (number := self.core.answer) >= 0:
            config = self.pool[number]
            record = self.history.record(config)
            if record.costs and not record.wrong:
                return config
        return self.history.best()

    @property
    def certificate(self) -> Certificate:
        """What is promised of the incumbent now."""
        incumbent, number = self.incumbent, self.core.answer
        promise = self._promise()
        if promise.parameters and (number < 0 or incumbent != self.pool[number]):
            promise = Promise({}, "Nothing is promised yet.", promise.more)
        return Certificate(
            self.name,
            None if incumbent is None else incumbent.id,
            promise.parameters,
            promise.says,
            promise.more,
            self.history.spent + self.history.continued,
            self.resumed,
            self.history.spent,
            tuple(self._warnings(incumbent, promise)),
        )

    def describe(self) -> list[tuple[str, str]]:
        return [("promise", self._promise().says)]

    def _warnings(self, incumbent: Configuration | None, promise: Promise) -> Iterator[str]:
        """Is somebody better on the mean, if runs that were cut off go on as the tail says?"""
        trims = promise.parameters.get("delta", 0.0) if self._trims else 0.0
        if incumbent is None or trims < 0.1:
            return
        record = self.history.record(incumbent)
        known = record.costs | run_out(record, self.history.objective.worst(self.kappa_max))
        rivals = ((theirs / ours, config) for config, ours, theirs in self._on_shared_pairs(incumbent, known))
        ratio, rival = min(rivals, default=(1.0, incumbent), key=lambda rival: rival[0])
        if ratio < 1.0:
            yield (
                f"The promise leaves out the slowest {100 * trims:.3g} % of the runs. If those go on as the answer's tail "
                f"says, {rival.id[:6]} has {ratio:.2g} times its mean: ask for a smaller delta."
            )

    def _on_shared_pairs(
        self, incumbent: Configuration, known: dict[Pair, float]
    ) -> Iterator[tuple[Configuration, float, float]]:
        """(rival, cost of the incumbent, of the rival) on the pairs where the rival is complete, if there are many."""
        for config in self.history.configurations:
            costs = self.history.record(config).costs
            shared = costs.keys() & known.keys()
            if config != incumbent and config not in self._excluded and len(shared) >= MANY:
                yield config, sum(known[pair] for pair in shared), sum(costs[pair] for pair in shared)


def run_out(record: Record, worst: float) -> dict[Pair, float]:
    """What runs that were cut off may cost: as a Pareto tail says that is fitted to the longest fifth (Hill, censored)."""
    costs = sorted(record.costs.values())
    start = costs[int(0.8 * len(costs))] if costs else 0.0
    ended = sum(cost > start for cost in costs)
    logs = sum(math.log(cost / start) for cost in costs if cost > start > 0.0)
    logs += sum(math.log(bound / start) for bound in record.bounds.values() if bound > start > 0.0)
    index = ended / logs if logs > 0.0 else 0.0
    factor = index / (index - 1.0) if index > 1.0 else math.inf  # E[T | T > c] = c · α/(α − 1)
    return {pair: min(worst, bound * factor) for pair, bound in record.bounds.items()}
