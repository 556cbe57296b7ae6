"""Selectors made of forests: pairwise votes, regression of costs, survival curves."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from capra.models.base import Floats, Mask
from capra.portfolio.base import FASTEST, Selector, completed, useful, whole
from capra.portfolio.records import PENALTY, Records
from capra.portfolio.schedule import Plan, choice

if TYPE_CHECKING:
    from capra.models import CensoredForest

__all__ = ["Pairwise", "Regression", "Survival"]


class _Forests(Selector):
    """Options that all forests have."""

    def __init__(self, trees: int = 30, min_leaf: int = 1, seed: int = 0) -> None:
        self.trees = whole("trees", trees, 1, 10_000)
        self.min_leaf = whole("min_leaf", min_leaf, 1, 1_000_000)
        self.seed = whole("seed", seed, 0, 2**40)

    def _forest(self, features: Floats, number: int, **options: float | str) -> CensoredForest:
        """Forest ``number``, not fitted: each split looks at log2(f) + 1 features, as in SATzilla'11."""
        from capra.models import CensoredForest  # scipy takes its time to load

        fraction = min(1.0, (np.log2(max(features.shape[1], 1)) + 1.0) / max(features.shape[1], 1))
        return CensoredForest(
            self.trees,
            min_leaf=self.min_leaf,
            min_split=2,
            feature_fraction=float(fraction),
            seed=self.seed * 100_003 + number,
            **options,  # type: ignore[arg-type]
        )


class Pairwise(_Forests):
    """SATzilla'11 (Xu et al. 2012): for each pair of configurations a cost-sensitive forest votes which is better.

    A leaf's cost-sensitive majority is the sign of the sum of its cost differences, which is the sign of their mean: the
    trees are regression trees of differences, and only their splits differ from those of weighted classification. The
    configuration with most pairs won is chosen; then the one with most trees.
    """

    name = "pairwise"

    def _learn(self, records: Records) -> None:
        costs = completed(records, self.seed)
        rows = _columns(records.features)
        self._count = records.configurations
        self._members = useful(costs)
        self._pairs = list(itertools.combinations(self._members, 2))
        self._fits = [
            self._forest(rows, number).fit(rows, costs[:, a] - costs[:, b]) for number, (a, b) in enumerate(self._pairs)
        ]

    def _plans(self, rows: Floats) -> list[Plan]:
        rows = _columns(rows)
        won = np.full((len(rows), self._count), -np.inf)
        won[:, self._members] = 0.0
        for (a, b), forest in zip(self._pairs, self._fits, strict=True):
            votes = np.mean(np.sign(forest.predict_trees(rows)), axis=0)  # above 0: b is cheaper
            won[:, b] += (votes > 0) + 1e-3 * votes
            won[:, a] += (votes < 0) - 1e-3 * votes
        return [choice(int(c)) for c in np.argmax(won, axis=1)]


class Regression(_Forests):
    """For each configuration a censored forest of log PAR10; the lowest prediction is chosen."""

    name = "regression"

    def _learn(self, records: Records) -> None:
        rows = _columns(records.features)
        upper = float(np.log10(PENALTY * records.cutoff))
        logs, capped = np.log10(np.maximum(records.costs, FASTEST)), records.capped
        self._members = useful(completed(records, self.seed))
        self._fits = [
            self._forest(rows, c, upper=upper).fit(rows, logs[:, c], np.ascontiguousarray(capped[:, c]))
            for c in self._members
        ]

    def _plans(self, rows: Floats) -> list[Plan]:
        rows = _columns(rows)
        means = np.stack([forest.predict(rows)[0] for forest in self._fits], axis=1)
        return [choice(self._members[c]) for c in np.argmin(means, axis=1)]


class Survival(_Forests):
    """For each configuration a survival forest; the lowest expected PAR10 is chosen (Run2Survive, Tornede et al. 2020).

    Trees are grown on log-rank scores (Hothorn & Lausen 2003), so that a split tells lasting runs from short ones whether
    they were censored or not. An instance's curve is the Kaplan–Meier estimate over the training runs that share its leaves.
    """

    name = "survival"

    def __init__(self, trees: int = 30, min_leaf: int = 3, seed: int = 0) -> None:
        super().__init__(trees, min_leaf, seed)

    def _learn(self, records: Records) -> None:
        rows = _columns(records.features)
        self._cutoff = records.cutoff
        self._members = useful(completed(records, self.seed))
        self._curves = []
        for c in self._members:
            order = np.argsort(np.where(records.solved[:, c], records.times[:, c], records.cutoffs[:, c]), kind="stable")
            times = np.where(records.solved[:, c], records.times[:, c], records.cutoffs[:, c])[order]
            solved = np.ascontiguousarray(records.solved[order, c])
            inputs = np.ascontiguousarray(rows[order])
            forest = self._forest(rows, c).fit(inputs, log_rank_scores(times, solved))
            self._curves.append((forest, forest.predict_trees(inputs), times, solved))

    def _plans(self, rows: Floats) -> list[Plan]:
        rows = _columns(rows)
        expected = []
        for forest, leaves, times, solved in self._curves:
            weights = shared_leaves(forest.predict_trees(rows), leaves)
            expected.append(expected_cost(weights, times, solved, self._cutoff))
        return [choice(self._members[c]) for c in np.argmin(np.stack(expected, axis=1), axis=1)]


def log_rank_scores(times: Floats, solved: Mask) -> Floats:
    """1 − Λ(t) for solved and −Λ(t) for censored runs, Λ the Nelson–Aalen estimate; ``times`` ascend. Low = lasting."""
    n = len(times)
    first = np.searchsorted(times, times, side="left")
    last = np.searchsorted(times, times, side="right") - 1
    events = np.cumsum(np.where(solved, 1.0 / (n - first), 0.0))
    return np.asarray(solved - events[last])


def shared_leaves(asked: Floats, known: Floats) -> Floats:
    """(m, n): how much training row j says about row i: its share of the leaf that i ends in, averaged over trees.

    Leaves are told apart by their means, (trees, m) and (trees, n): two of the same mean say the same.
    """
    weights = np.zeros((asked.shape[1], known.shape[1]))
    for one, other in zip(asked, known, strict=True):
        same = one[:, None] == other[None, :]
        weights += same / np.maximum(same.sum(axis=1, keepdims=True), 1)
    return weights / len(asked)


def expected_cost(weights: Floats, times: Floats, solved: Mask, cutoff: float) -> Floats:
    """E[PAR10] of weighted Kaplan–Meier curves, (m,): ∫ S(t) dt up to κ, and 9κ more with probability S(κ).

    ``times`` ascend. A curve that is cut off before κ stays where it is: what was only ever capped is not believed solved.
    """
    at_risk = np.cumsum(weights[:, ::-1], axis=1)[:, ::-1]
    first = np.searchsorted(times, times, side="left")  # runs of equal times are at risk together
    hazard = np.where(solved, weights / np.maximum(at_risk[:, first], 1e-12), 0.0)
    ends = np.append(np.flatnonzero(np.diff(times)), len(times) - 1)  # the last of each time
    summed = np.diff(np.cumsum(hazard, axis=1)[:, ends], axis=1, prepend=0.0)
    survival = np.cumprod(np.clip(1.0 - summed, 0.0, 1.0), axis=1)
    grid = np.minimum(np.append(times[ends], cutoff), cutoff)
    area = grid[0] + (survival * np.diff(grid)).sum(axis=1)
    return np.asarray(area + (PENALTY - 1.0) * cutoff * survival[:, -1])


def _columns(features: Floats) -> Floats:
    """A forest needs a column."""
    return np.ascontiguousarray(features if features.shape[1] else np.zeros((len(features), 1)))
