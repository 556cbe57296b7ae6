"""History: all runs so far, indexed. The only state that matters.

A *cell* (configuration, instance, seed) is known by its complete outcome, else by its longest capped one. Every query costs
as much as its answer is long, whatever the number of runs.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence

from capra.runs.configuration import Configuration
from capra.runs.objective import Objective
from capra.runs.outcome import Run, Status

__all__ = ["ROUNDED", "History", "Pair", "Record", "worth"]

Pair = tuple[str | None, int]
"""(instance, seed): what configurations are compared on."""
_CAPPED, _LOST, _WRONG = Status.CAPPED, Status.LOST, Status.WRONG  # looking one up in its class takes longer than a sum
ROUNDED = 1e-8
"""An engine may give a cutoff back rounded, or scaled to and fro: a run stopped there was not stopped before it."""


def worth(costs: Iterable[float]) -> tuple[int, float]:
    """What costs are compared by: how many are infinite, and the sum of the others.

    A run without a quality costs infinitely much where no ``crash_cost`` is set. Where everybody has one, sums say nothing.
    """
    known = list(costs)
    finite = [cost for cost in known if cost != math.inf]
    return len(known) - len(finite), sum(finite)


class Record:
    """What is known of one configuration."""

    __slots__ = ("bounds", "costs", "finished", "time", "total", "wrong")

    def __init__(self) -> None:
        self.costs: dict[Pair, float] = {}
        """Cost of every pair with a complete run, in order of completion."""
        self.bounds: dict[Pair, float] = {}
        """For pairs that were only capped: the longest time that did not suffice."""
        self.total = 0.0
        """Sum of ``costs``."""
        self.time = 0.0
        """Target time of its runs, but for those that only repeated one."""
        self.wrong = False
        """Some answer was refuted."""
        self.finished: set[str | None] | None = None
        """Instances that it has finished with some seed; not kept as long as there is none that it has not."""

    @property
    def known(self) -> bool:
        """Was it ever run, to the end or not?"""
        return bool(self.costs or self.bounds)

    @property
    def mean(self) -> float:
        """Mean cost of the complete runs; infinite where there is none."""
        return self.total / len(self.costs) if self.costs else math.inf

    def outlasted(self, pair: Pair, cutoff: float) -> bool:
        """Was a run of that pair stopped at this cutoff, or later?"""
        bound = self.bounds.get(pair, 0.0)
        return bound >= cutoff or math.isclose(bound, cutoff, abs_tol=ROUNDED)

    def estimate(self, objective: Objective) -> float:
        """What it costs, as far as that is known: ``at_least``; infinite while nothing of it was ever run to its end."""
        return self.at_least(objective) if self.costs else math.inf

    def at_least(self, objective: Objective) -> float:
        """Mean cost of all its pairs; those that were only capped count as the least that they can cost."""
        if not self.bounds:
            return self.mean
        bounds = sum(
            bound if objective.utility is None else 1.0 - objective.utility.of(bound) for bound in self.bounds.values()
        )
        return (self.total + bounds) / (len(self.costs) + len(self.bounds))


class History:
    """All runs, in order, and what they say about each configuration under one objective."""

    def __init__(self, objective: Objective, kappa_max: float) -> None:
        self.objective = objective
        self.kappa_max = kappa_max
        self.runs: list[Run] = []
        self.spent = 0.0
        """Target time of all runs that count, as far as it was really used."""
        self.continued = 0.0
        """Target time that was not used again, since runs were continued."""
        self.lost = 0.0
        """Target time of runs that the infrastructure lost."""
        self.saved = 0.0
        """Time that capped runs would have used at most, had they gone on to κ_max."""
        self.statuses: dict[Status, int] = dict.fromkeys(Status, 0)
        self._records: dict[Configuration, Record] = {}

    def add(self, run: Run) -> None:
        """Take note of a run. LOST runs are counted and otherwise ignored."""
        self.runs.append(run)
        outcome = run.outcome
        status, time = outcome.status, outcome.time
        self.statuses[status] += 1
        if status is _LOST:
            self.lost += time - outcome.continued
            return
        self.spent += time - outcome.continued
        self.continued += outcome.continued
        request = run.request
        record = self._records.get(request.config)
        if record is None:
            record = self._records[request.config] = Record()
        pair = (request.instance, request.seed)
        if pair not in record.costs:  # a second complete run of a cell tells nothing about its first, and decides nothing
            record.time += time
        if status is _CAPPED:
            self.saved += self.kappa_max - time
            if pair not in record.costs and time > record.bounds.get(pair, -1.0):
                record.bounds[pair] = time
        elif pair not in record.costs:
            record.costs[pair] = cost = self.objective.cost(outcome, self.kappa_max)
            record.total += cost
            if record.finished is not None or self.is_failure(cost):
                self._note_finished(record, pair[0], cost)
            record.bounds.pop(pair, None)
        if status is _WRONG:
            record.wrong = True

    def _note_finished(self, record: Record, instance: str | None, cost: float) -> None:
        if record.finished is None:
            record.finished = {known for (known, _), before in record.costs.items() if not self.is_failure(before)}
        elif not self.is_failure(cost):
            record.finished.add(instance)

    # --- questions ---

    def is_failure(self, cost: float) -> bool:
        """Is that the cost of a run that did not finish?"""
        return self.objective.failed(cost, self.kappa_max)

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    def __len__(self) -> int:
        return len(self.runs)

    @property
    def configurations(self) -> Collection[Configuration]:
        """Every configuration with at least one run, in order of appearance."""
        return self._records.keys()

    def record(self, config: Configuration) -> Record:
        """What is known of ``config``; empty for one that was never run."""
        return self._records.get(config, _NOTHING)

    def total(self, config: Configuration, pairs: Sequence[Pair]) -> float:
        """Sum of the costs of ``config`` on ``pairs``; infinite if one of them has no complete run."""
        costs = self.record(config).costs
        return sum(costs.get(pair, math.inf) for pair in pairs)

    def best(self) -> Configuration | None:
        """The configuration with the most pairs, and among those the lowest mean cost; never one that answered wrongly."""
        sound = [(config, record) for config, record in self._records.items() if record.costs and not record.wrong]
        return min(sound, key=lambda known: (-len(known[1].costs), known[1].mean), default=(None, None))[0]

    def cells(self) -> Iterator[tuple[Configuration, Pair, float, bool]]:
        """One row per cell for a model of cost: (configuration, pair, cost or bound, censored)."""
        for config, record in self._records.items():
            for pair, cost in record.costs.items():
                yield config, pair, cost, False
            for pair, bound in record.bounds.items():
                yield config, pair, bound, True


_NOTHING = Record()
