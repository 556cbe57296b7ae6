"""Would one configuration do for all instances? Homogeneity, and what a portfolio would save, from any history.

A race leaves holes: challengers meet few instances, and many of their runs are capped. All figures are about one block of
configurations × instances in which every cell was at least tried. A capped cell counts as never solved there: it ties for
the last rank, and no portfolio profits from its bound. Taking only cells that were run to the end would be worse than
saying little: they are complete *because* the configuration was good there. ``capped`` is the share of such cells.

Members are chosen on some instances and judged on others (cross-validation), and *which* member an instance gets must not be
decided by the run that it is then judged by: with noisy runs the best of several is always better than each of them. Hence
the ``basis``: ``exact`` for deterministic targets; ``seeds``: decided by one half of a cell's seeds, judged by the other;
``neighbours``, where a cell has one seed: decided by the instances on which all *other* configurations behaved alike.
The single configuration that a portfolio is compared with may be chosen with hindsight, on all instances and with all runs:
that can only make the saving look smaller.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from capra.portfolio.greedy import greedy_portfolio
from capra.runs import Configuration, History

__all__ = ["Homogeneity", "Saving", "homogeneity", "kendalls_w", "overlap_of_best"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Indices = NDArray[np.int64]

LEAST_CONFIGURATIONS = 3
LEAST_INSTANCES = 10
LEAST_WITNESSES = 4
"""Configurations besides the members that say which instances are alike."""
MOST_CONFIGURATIONS = 400
MOST_INSTANCES = 1000
MOST_MEMBERS = 5
FOLDS = 10
WORTH = 0.05
"""A portfolio that saves less is not advised: a second configuration has its own cost."""
BEST = 0.1


@dataclass(frozen=True, slots=True)
class Saving:
    """``share`` of the single best's cost that a portfolio would save; ± half of the 95 % interval over instances."""

    members: int
    share: float
    error: float

    @property
    def sure(self) -> bool:
        return self.share >= WORTH and self.share > self.error


@dataclass(frozen=True, slots=True)
class Homogeneity:
    """What a history says about how alike its instances are."""

    w: float | None
    """Kendall's W of the configurations' ranks: 1 if all instances rank them alike, near 0 if each ranks differently."""
    overlap: float | None
    """How much of the best tenth two instances share, on average: 1 all of it."""
    chance: float | None
    """What that overlap would be if instances had nothing in common."""
    configurations: int
    """Of the block that all figures are about; likewise ``instances``."""
    instances: int
    capped: float
    """Share of the block's cells that have no complete run."""
    savings: tuple[Saving, ...] = ()
    """Of portfolios of two members and more, cross-validated; none if too little is known."""
    basis: str | None = None
    """How savings were kept apart from noise: exact, seeds or neighbours."""

    @property
    def best(self) -> Saving | None:
        """The smallest portfolio that is, within the error, as good as the best; None if none surely saves something."""
        sure = [saving for saving in self.savings if saving.sure]
        if not sure:
            return None
        top = max(sure, key=lambda saving: saving.share)
        return next(saving for saving in sure if saving.share >= top.share - top.error / 2.0)

    @property
    def advice(self) -> str:
        """One sentence for ``capra status`` and reports."""
        w = "" if self.w is None else f" (W = {self.w:.2f})"
        if self.best is not None:
            share, error = 100.0 * self.best.share, 100.0 * self.best.error
            return f"a portfolio of {self.best.members} would save {share:.0f} % (± {error:.0f})"
        if self.savings:
            return f"one configuration is enough{w}"
        return f"too few runs to say whether a portfolio would save anything{w}"

    def to_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        savings = [{"members": s.members, "share": s.share, "error": s.error} for s in self.savings]
        names = ("w", "overlap", "chance", "configurations", "instances", "capped", "basis", "advice")
        return {name: getattr(self, name) for name in names} | {"savings": savings}


def homogeneity(history: History, *, deterministic: bool = False, seed: int = 0) -> Homogeneity | None:
    """How alike the instances of a history are; None if there is no block of 3 configurations × 10 instances to look at.

    ``deterministic`` says that a cell's cost has no noise. The answer is the same for the same history and seed.
    """
    table = _table(history)
    if table is None:
        return None
    savings, basis = _savings(table, deterministic, np.random.default_rng(seed))
    overlap, chance = overlap_of_best(table.costs)
    capped = 1.0 - float(table.complete.mean())
    rows, columns = table.costs.shape
    return Homogeneity(kendalls_w(table.costs), overlap, chance, rows, columns, capped, savings, basis)


# --- strong and weak homogeneity ---


def kendalls_w(costs: Floats) -> float | None:
    """Of (configurations, instances): 12 S / (m² (n³ − n) − m Σ (t³ − t)), with mid-ranks for ties; None if all are tied."""
    n, m = costs.shape
    sums, ties = np.zeros(n), 0.0
    for column in costs.T:
        _, inverse, counts = np.unique(column, return_inverse=True, return_counts=True)
        sums += (np.cumsum(counts) - (counts - 1) / 2.0)[inverse]
        ties += float((counts.astype(np.float64) ** 3 - counts).sum())
    most = m * m * (float(n) ** 3 - n) - m * ties
    return None if most <= 0.0 else float(12.0 * ((sums - sums.mean()) ** 2).sum() / most)


def overlap_of_best(costs: Floats) -> tuple[float | None, float | None]:
    """The share of the best tenth (at least one) that two instances have in common, on average, and that by chance.

    Configurations that tie for the last places share them. Instances on which all cost the same tell nothing.
    """
    costs = costs[:, costs.min(axis=0) < costs.max(axis=0)]
    n, m = costs.shape
    if m < 2:
        return None, None
    places = max(1, round(BEST * n))
    border = np.partition(costs, places - 1, axis=0)[places - 1]
    inside, tied = costs < border, costs == border
    member = inside + tied * ((places - inside.sum(axis=0)) / tied.sum(axis=0))
    common = (member.sum(axis=1) ** 2 - (member**2).sum(axis=1)).sum()
    return float(common / (m * (m - 1) * places)), places / n


# --- the table of a history ---


@dataclass(frozen=True, slots=True)
class _Table:
    """A block without holes, (configurations, instances)."""

    costs: Floats
    """Means over seeds; of a cell that was only capped, the worst there is."""
    halves: Floats
    """(2, configurations, instances): means over every second seed of the instance; NaN where there is none."""
    complete: Mask
    worst: float | None
    """None where costs are no times, so that nothing can be said of savings."""


def _table(history: History) -> _Table | None:
    """Of those configurations and instances that are known best; wrong answers disqualify."""
    configs = [config for config in history.configurations if not history.record(config).wrong]
    configs.sort(key=lambda c: -len(history.record(c).costs) - len(history.record(c).bounds))
    cells, bounds, instances = _cells(history, configs[:MOST_CONFIGURATIONS])
    sums = np.zeros((2, min(len(configs), MOST_CONFIGURATIONS), len(instances)))
    counts = np.zeros_like(sums)
    np.add.at(sums, (cells[2], cells[0], cells[1]), cells[3])
    np.add.at(counts, (cells[2], cells[0], cells[1]), 1.0)
    complete = counts.sum(axis=0) > 0
    tried = complete.copy()
    tried[bounds], complete[bounds] = True, False
    kept = np.sort(np.argsort(-tried.sum(axis=0), kind="stable")[:MOST_INSTANCES])
    rows, columns = _block(tried[:, kept])
    if not len(rows):
        return None
    at = np.ix_(rows, kept[columns])
    sums, counts, complete = sums[:, at[0], at[1]], counts[:, at[0], at[1]], complete[at]
    worst = history.objective.worst(history.kappa_max) if history.objective.kind == "runtime" else None
    with np.errstate(invalid="ignore", divide="ignore"):
        costs, halves = sums.sum(axis=0) / counts.sum(axis=0), sums / counts
    unsolved = np.inf if worst is None else worst
    return _Table(np.where(complete, costs, unsolved), np.where(complete, halves, unsolved), complete, worst)


def _cells(
    history: History, configs: Sequence[Configuration]
) -> tuple[tuple[Indices, Indices, Indices, Floats], tuple[Indices, Indices], dict[str | None, int]]:
    """Configuration, instance, half and cost of complete pairs; configuration and instance of those that were capped."""
    instances: dict[str | None, int] = {}
    halves: dict[str | None, dict[int, int]] = {}
    cells: list[tuple[int, int, int, float]] = []
    bounds: list[tuple[int, int]] = []
    for row, config in enumerate(configs):
        record = history.record(config)
        for (instance, seed), cost in record.costs.items():
            column = instances.setdefault(instance, len(instances))
            seeds = halves.setdefault(instance, {})
            cells.append((row, column, seeds.setdefault(seed, len(seeds)) % 2, cost))
        bounds += [(row, instances.setdefault(instance, len(instances))) for instance, _ in record.bounds]
    table = np.array(cells, dtype=np.float64).reshape(-1, 4).T
    rows, columns, parts = table[:3].astype(np.int64)
    capped = np.array(bounds, dtype=np.int64).reshape(-1, 2).T
    return (rows, columns, parts, table[3]), (capped[0], capped[1]), instances


def _block(known: Mask) -> tuple[Indices, Indices]:
    """Rows and columns of a large block without holes; empty if none has 3 × 10.

    From the row with most cells, again and again the row that leaves most columns; of all these blocks the one with the
    largest (rows − 1)(columns − 1), which is what a comparison of rankings has to work with.
    """
    nothing = np.zeros(0, dtype=np.int64)
    if known.shape[0] < LEAST_CONFIGURATIONS or known.shape[1] < LEAST_INSTANCES:
        return nothing, nothing
    weights, common = known.astype(np.float32), np.ones(known.shape[1], dtype=np.bool_)
    order: list[int] = []
    best, size = 0, 0
    left = np.zeros(len(known), dtype=np.float32)
    while len(order) < len(known):
        shared = weights @ common.astype(np.float32) + left  # −∞ for those that are in
        row = int(np.argmax(shared))
        if shared[row] < LEAST_INSTANCES:
            break
        order.append(row)
        left[row] = -np.inf
        common &= known[row]
        if (len(order) - 1) * (int(common.sum()) - 1) > size:
            best, size = len(order), (len(order) - 1) * (int(common.sum()) - 1)
    if best < LEAST_CONFIGURATIONS:
        return nothing, nothing
    rows = np.sort(np.array(order[:best], dtype=np.int64))
    return rows, np.flatnonzero(known[rows].all(axis=0))


# --- what a portfolio would save ---


def _savings(table: _Table, deterministic: bool, rng: np.random.Generator) -> tuple[tuple[Saving, ...], str | None]:
    """Of portfolios of 2, 3, … members, each instance judged when it was in the fold that members were not chosen on."""
    costs, single = table.costs, table.complete.all(axis=1)
    if table.worst is None or not single.any():
        return (), None
    basis = _basis(table.halves, deterministic)
    most = min(MOST_MEMBERS, len(costs) - (LEAST_WITNESSES if basis == "neighbours" else 0))
    if most < 2:
        return (), basis
    alone = costs[int(np.argmin(np.where(single, costs.mean(axis=1), np.inf)))]
    paid = np.zeros((most + 1, costs.shape[1]))
    fold = rng.permutation(np.arange(costs.shape[1]) % FOLDS)
    for number in range(FOLDS):
        train, test = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        members = greedy_portfolio(costs[:, train], most, table.worst)[0]
        for k in range(2, most + 1):
            paid[k, test] = _paid(table, members[:k], train, test, basis)
    return tuple(_saving(k, paid[k], alone, rng) for k in range(2, most + 1)), basis


def _basis(halves: Floats, deterministic: bool) -> str:
    if deterministic:
        return "exact"
    return "neighbours" if np.isnan(halves).any() else "seeds"


def _paid(table: _Table, members: list[int], train: Indices, test: Indices, basis: str) -> Floats:
    """What each test instance costs with the member that it gets."""
    costs, halves = table.costs, table.halves
    if basis == "exact":
        return np.asarray(costs[members][:, test].min(axis=0))
    at = np.arange(len(test))
    if basis == "seeds":
        one, other = halves[:, members][:, :, test]
        return np.asarray((other[np.argmin(one, axis=0), at] + one[np.argmin(other, axis=0), at]) / 2.0)
    expected = _neighbours_costs(costs, members, train, test)
    return np.asarray(costs[members][:, test][np.argmin(expected, axis=0), at])


def _neighbours_costs(costs: Floats, members: list[int], train: Indices, test: Indices) -> Floats:
    """(members, test): mean cost of the members on the √n training instances on which the other configurations do alike.

    Alike in logarithms, without what makes an instance hard or a configuration slow as a whole.
    """
    witnesses = np.setdiff1d(np.arange(len(costs)), members)
    logs = np.log(np.maximum(costs[witnesses], 1e-9 * costs.max() + 1e-300))
    profiles = logs - logs.mean(axis=0)
    profiles -= profiles[:, train].mean(axis=1, keepdims=True)
    ours, theirs = profiles[:, test], profiles[:, train]
    distance = (ours**2).sum(axis=0)[:, None] + (theirs**2).sum(axis=0)[None, :] - 2.0 * ours.T @ theirs
    count = max(LEAST_CONFIGURATIONS, round(np.sqrt(len(train))))
    near = np.argsort(distance, axis=1, kind="stable")[:, :count]
    return np.asarray(costs[members][:, train][:, near].mean(axis=2))


def _saving(members: int, paid: Floats, alone: Floats, rng: np.random.Generator, resamples: int = 1000) -> Saving:
    """1 − Σ paid / Σ alone, with instances drawn anew for its error."""
    picks = rng.integers(len(paid), size=(resamples, len(paid)))
    totals = alone[picks].sum(axis=1)
    shares = 1.0 - paid[picks].sum(axis=1)[totals > 0.0] / totals[totals > 0.0]
    if not shares.size:
        return Saving(members, 0.0, 0.0)
    low, high = np.quantile(shares, [0.025, 0.975])
    return Saving(members, float(1.0 - paid.sum() / alone.sum()), float((high - low) / 2.0))
