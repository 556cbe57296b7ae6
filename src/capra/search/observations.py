"""The history as a model sees it: one row per cell, kept up to date run by run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from capra.runs import Configuration, History, Run, Status
from capra.runs.history import Pair
from capra.search.earlier import Cell
from capra.space import Space

__all__ = ["Observations", "distances"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Indices = NDArray[np.intp]
LEAST = 0.1
"""Of the costs that qualities become: better than everything known."""


class Observations:
    """Cells of a history as growing arrays; ``update`` looks only at runs that are new."""

    def __init__(
        self,
        space: Space,
        instances: Sequence[str | None],
        *,
        kind: str = "runtime",
        floor: float = 1e-4,
        earlier: Sequence[Cell] = (),
    ) -> None:
        """``kind`` is the objective's: what costs are; a runtime below ``floor`` counts as that. "plain": costs as they are.

        ``earlier`` are cells of other tunings: of these instances, or of others that come after them in number. Each gives
        way to the first run of its cell in this one.
        """
        self._space = space
        self.own = len(instances)
        """So many of the instances are the history's own."""
        names = dict.fromkeys([*instances, *(instance for _, (instance, _), _, _ in earlier)])
        self._instances = {name: j for j, name in enumerate(names)}
        self._kind, self._floor = kind, floor
        self.configs: list[Configuration] = []
        """Every configuration with a row, in order of appearance."""
        self._tried: list[bool] = []
        self._row_of: dict[Configuration, int] = {}
        self._cell_of: dict[tuple[int, str | None, int], int] = {}
        self._codes: Floats = np.empty((0, len(space)))
        self._seen = 0
        self._config: list[int] = []
        self._instance: list[int] = []
        self._costs: list[float] = []
        self._censored: list[bool] = []
        self._borrowed: set[int] = set()
        for config, pair, cost, censored in earlier:
            self._put(self._row(config), pair, cost, censored)
        self._borrowed = set(range(len(self._costs)))

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
        self._put(config, (request.instance, request.seed), cost, censored)

    def _row(self, config: Configuration) -> int:
        row = self._row_of.setdefault(config, len(self.configs))
        if row == len(self.configs):
            self.configs.append(config)
            self._tried.append(False)
        return row

    def _put(self, config: int, pair: Pair, cost: float, censored: bool) -> None:
        """A complete outcome settles its cell; of censored ones the longest counts."""
        instance, seed = pair
        cell = self._cell_of.setdefault((config, instance, seed), len(self._costs))
        if cell == len(self._costs):
            self._config.append(config)
            self._instance.append(self._instances[instance])
            self._costs.append(cost)
            self._censored.append(censored)
        elif cell in self._borrowed or (self._censored[cell] and (not censored or cost > self._costs[cell])):
            self._costs[cell], self._censored[cell] = cost, censored
            self._borrowed.discard(cell)

    def unknown(self, config: Configuration, history: History, *, besides: Pair) -> list[tuple[Pair, float, bool]]:
        """(pair, log10 cost, censored) of a configuration's cells that were not taken in, ``besides`` one of them."""
        record, row = history.record(config), self._row_of.get(config, -1)
        cells = [(pair, cost, False) for pair, cost in record.costs.items()]
        cells += [(pair, bound, True) for pair, bound in record.bounds.items()]
        new = [cell for cell in cells if cell[0] != besides and not self._took((row, *cell[0]))]
        y = self._scaled(np.array([cost for _, cost, _ in new])).tolist()
        return [(pair, value, censored) for (pair, _, censored), value in zip(new, y, strict=True)]

    def _took(self, cell: tuple[int, str | None, int]) -> bool:
        """Was a run of this history taken in for the cell?"""
        return cell in self._cell_of and self._cell_of[cell] not in self._borrowed

    def _scaled(self, costs: Floats) -> Floats:
        if self._kind == "runtime":
            return np.log10(np.maximum(costs, self._floor))
        known = np.array(self._costs)
        return finite(costs, known) if self._kind == "plain" else distances(costs, known)

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
        return len(self._costs)

    def index(self, config: Configuration) -> int:
        """The number of a configuration that has a row."""
        return self._row_of[config]

    @property
    def codes(self) -> Floats:
        """The configurations' rows of the space, (c, d)."""
        return self._codes

    @property
    def borrowed(self) -> Mask:
        """Which of the cells are another tuning's, (n,)."""
        found = np.zeros(len(self), dtype=np.bool_)
        found[list(self._borrowed)] = True
        return found

    def arrays(self) -> tuple[Indices, Indices, Floats, Mask]:
        """Configuration and instance number, log10 cost and censoring of every cell, (n,) each."""
        return (
            np.array(self._config, dtype=np.intp),
            np.array(self._instance, dtype=np.intp),
            self._scaled(np.array(self._costs)),
            np.array(self._censored, dtype=np.bool_),
        )


def distances(qualities: Floats, among: Floats) -> Floats:
    """Qualities as log10 of positive costs: 1 is the best one ``among`` what is known, 2 the median.

    Models average costs over instances, not their logarithms. Costs that are linear in the quality have its mean's order,
    whatever its sign and unit, and logarithms keep a penalty of 1e9 from hiding all other differences.
    """
    known = among[np.isfinite(among)]
    if not len(known):
        return np.zeros(len(qualities))
    costs: Floats = 1.0 + (finite(qualities, among) - known.min()) / _unit(known)
    return np.log10(np.maximum(costs, LEAST))


def finite(qualities: Floats, among: Floats) -> Floats:
    """A run without a quality counts as about twice as far from the best as the worst one."""
    known = among[np.isfinite(among)]
    if not len(known):
        return np.zeros(len(qualities))
    best, worst = float(known.min()), float(known.max())
    return np.minimum(qualities, worst + max(worst - best, _unit(known)))


def _unit(known: Floats) -> float:
    """From the best to the median; where they are equal, to the worst."""
    best = known.min()
    return float(np.median(known) - best) or float(known.max() - best) or 1.0
