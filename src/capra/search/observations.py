"""The history as a model sees it: one row per cell, kept up to date run by run."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from capra.runs import Configuration, History, Run, Status
from capra.runs.history import Pair
from capra.search.earlier import Cell
from capra.space import Space

__all__ = ["Observations"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Indices = NDArray[np.intp]


class Observations:
    """Cells of a history as growing arrays; ``update`` looks only at runs that are new."""

    def __init__(
        self,
        space: Space,
        instances: Sequence[str | None],
        *,
        logarithm: bool = True,
        floor: float = 1e-4,
        earlier: Sequence[Cell] = (),
    ) -> None:
        """``earlier`` are cells of other tunings: of these instances, or of others that come after them in number."""
        self._space = space
        self.own = len(instances)
        """So many of the instances are the history's own."""
        names = dict.fromkeys([*instances, *(instance for _, (instance, _), _, _ in earlier)])
        self._instances = {name: j for j, name in enumerate(names)}
        self._logarithm, self._floor = logarithm, floor
        self.configs: list[Configuration] = []
        """Every configuration with a row, in order of appearance."""
        self._tried: list[bool] = []
        self._row_of: dict[Configuration, int] = {}
        self._cell_of: dict[tuple[int, str | None, int], int] = {}
        self._codes: Floats = np.empty((0, len(space)))
        self._seen = 0
        self._config: list[int] = []
        self._instance: list[int] = []
        self._y: list[float] = []
        self._censored: list[bool] = []
        for config, pair, cost, censored in earlier:
            self._put(self._row(config), pair, self._scaled(cost), censored)

    def update(self, history: History, until: int | None = None) -> None:
        """Take in the runs that came since the last time, or the first ``until`` of the history."""
        end = len(history) if until is None else until
        for run in history.runs[self._seen : end]:
            if run.outcome.status is not Status.LOST and run.request.instance in self._instances:
                self._take(run, history)
        self._seen = end
        missing = self.configs[len(self._codes) :]
        if missing:
            self._codes = np.vstack([self._codes, self._space.encode(missing)])

    def _take(self, run: Run, history: History) -> None:
        request = run.request
        config = self._row(request.config)
        self._tried[config] = True
        cost, censored = history.objective.cost(run.outcome, history.kappa_max), history.objective.censored(run.outcome)
        self._put(config, (request.instance, request.seed), self._scaled(cost), censored)

    def _row(self, config: Configuration) -> int:
        row = self._row_of.setdefault(config, len(self.configs))
        if row == len(self.configs):
            self.configs.append(config)
            self._tried.append(False)
        return row

    def _put(self, config: int, pair: Pair, y: float, censored: bool) -> None:
        """A complete outcome settles its cell; of censored ones the longest counts."""
        instance, seed = pair
        cell = self._cell_of.setdefault((config, instance, seed), len(self._y))
        if cell == len(self._y):
            self._config.append(config)
            self._instance.append(self._instances[instance])
            self._y.append(y)
            self._censored.append(censored)
        elif self._censored[cell] and (not censored or y > self._y[cell]):
            self._y[cell], self._censored[cell] = y, censored

    def unknown(self, config: Configuration, history: History, *, besides: Pair) -> list[tuple[Pair, float, bool]]:
        """(pair, log10 cost, censored) of a configuration's cells that were not taken in, ``besides`` one of them."""
        record, row = history.record(config), self._row_of.get(config, -1)
        cells = [(pair, cost, False) for pair, cost in record.costs.items()]
        cells += [(pair, bound, True) for pair, bound in record.bounds.items()]
        new = [cell for cell in cells if cell[0] != besides and (row, *cell[0]) not in self._cell_of]
        return [(pair, self._scaled(cost), censored) for pair, cost, censored in new]

    def _scaled(self, cost: float) -> float:
        return math.log10(max(cost, self._floor)) if self._logarithm else cost

    @property
    def instances(self) -> list[str | None]:
        """All instances, those of other tunings last."""
        return list(self._instances)

    @property
    def tried(self) -> Mask:
        """Which of the configurations the history itself knows, (c,)."""
        return np.array(self._tried, dtype=np.bool_)

    def column(self, instance: str | None) -> int:
        """The number of an instance."""
        return self._instances[instance]

    def __len__(self) -> int:
        return len(self._y)

    def index(self, config: Configuration) -> int:
        """The number of a configuration that has a row."""
        return self._row_of[config]

    @property
    def codes(self) -> Floats:
        """The configurations' rows of the space, (c, d)."""
        return self._codes

    def arrays(self) -> tuple[Indices, Indices, Floats, Mask]:
        """Configuration and instance number, log10 cost (or quality) and censoring of every cell, (n,) each."""
        return (
            np.array(self._config, dtype=np.intp),
            np.array(self._instance, dtype=np.intp),
            np.array(self._y),
            np.array(self._censored, dtype=np.bool_),
        )
