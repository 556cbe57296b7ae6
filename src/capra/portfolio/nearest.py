"""Selectors that ask which instances are near: clusters, neighbours, SUNNY's schedule."""

from __future__ import annotations

import itertools
import math

import numpy as np

from capra.errors import ModelError
from capra.models.base import Floats, Mask
from capra.portfolio.base import Scaling, Selector, completed, useful, whole
from capra.portfolio.clusters import g_means
from capra.portfolio.records import Indices, Records
from capra.portfolio.schedule import Plan, choice

__all__ = ["Nearest", "NearestCluster", "SingleBest", "Sunny"]


class SingleBest(Selector):
    """The configuration with the lowest mean PAR10, whatever the instance; no features are computed."""

    name = "single"
    needs_features = False

    def _learn(self, records: Records) -> None:
        self.best = int(np.argmin(completed(records).mean(axis=0)))

    def _plans(self, rows: Floats) -> list[Plan]:
        return [choice(self.best)] * len(rows)


class NearestCluster(Selector):
    """ISAC (Kadioglu et al. 2010): the best configuration of the nearest cluster of training instances.

    Beyond the cluster's mean distance plus ``radius`` deviations an instance belongs to nobody and gets the single best.
    """

    name = "cluster"

    def __init__(self, alpha: float = 1e-4, min_size: int = 10, radius: float = 2.0, seed: int = 0) -> None:
        if not (0.0 < alpha < 1.0 and radius >= 0.0):
            raise ModelError(f"alpha must be between 0 and 1, and radius not negative: {alpha}, {radius}")
        self.alpha = alpha
        self.min_size = whole("min_size", min_size, 1, 1_000_000)
        self.radius = radius
        self.seed = whole("seed", seed, 0, 2**40)

    def _learn(self, records: Records) -> None:
        costs = completed(records, self.seed)
        self._scaling = Scaling(records.features)
        points = self._scaling(records.features)
        self.centres = g_means(points, alpha=self.alpha, min_size=self.min_size)
        nearest, distance = self._nearest(points)
        single = int(np.argmin(costs.mean(axis=0)))
        self._best, self._reach = [single], [math.inf]  # the first is for strangers
        for c in range(len(self.centres)):
            inside = nearest == c
            self._best.append(int(np.argmin(costs[inside].mean(axis=0))) if inside.any() else single)
            spread = distance[inside] if inside.any() else np.zeros(1)
            self._reach.append(float(spread.mean() + self.radius * spread.std()))

    def _nearest(self, points: Floats) -> tuple[Indices, Floats]:
        distances = _distances(points, self.centres)
        nearest = np.argmin(distances, axis=1)
        return nearest, distances[np.arange(len(points)), nearest]

    def _plans(self, rows: Floats) -> list[Plan]:
        nearest, distance = self._nearest(self._scaling(rows))
        return [
            choice(self._best[c + 1] if d <= self._reach[c + 1] else self._best[0])
            for c, d in zip(nearest, distance, strict=True)
        ]


class Nearest(Selector):
    """The configuration with the lowest mean PAR10 on the ``k`` nearest training instances."""

    name = "knn"

    def __init__(self, k: int = 10) -> None:
        self.k = whole("k", k, 1, 1_000_000)

    def _learn(self, records: Records) -> None:
        self._costs = completed(records)
        self._scaling = Scaling(records.features)
        self._points = self._scaling(records.features)
        self._solved, self._times = records.solved, records.times

    def _neighbours(self, rows: Floats) -> Indices:
        """(m, k): rows of the nearest training instances; ties go to the earlier one."""
        distances = _distances(self._scaling(rows), self._points)
        found: Indices = np.argsort(distances, axis=1, kind="stable")[:, : self.k]
        return found

    def _plans(self, rows: Floats) -> list[Plan]:
        return [choice(int(np.argmin(self._costs[near].mean(axis=0)))) for near in self._neighbours(rows)]


class Sunny(Nearest):
    """SUNNY (Amadini, Gabbrielli & Mauro 2014): a schedule of what solves the ``k`` nearest training instances.

    The smallest set of at most three configurations that solves most of them; each gets time in proportion to what it
    solves, the single best also for those that nobody solves, and those that are fast there run first.
    """

    name = "sunny"
    MOST = 3

    def __init__(self, k: int = 16) -> None:
        super().__init__(k)

    def _learn(self, records: Records) -> None:
        super()._learn(records)
        self._cutoff = records.cutoff
        self._single = int(np.argmin(self._costs.mean(axis=0)))
        members = useful(self._costs)
        sizes = range(1, self.MOST + 1)
        self._sets = [list(s) for size in sizes for s in itertools.combinations(members, size)]
        self._inside = np.zeros((len(self._sets), records.configurations))
        for row, inside in zip(self._inside, self._sets, strict=True):
            row[inside] = 1.0

    def _plans(self, rows: Floats) -> list[Plan]:
        return [self._schedule(near) for near in self._neighbours(rows)]

    def _schedule(self, rows: Indices) -> Plan:
        solved, costs = self._solved[rows], self._costs[rows]
        members = self._portfolio(solved, costs.sum(axis=0))
        slots = {c: int(solved[:, c].sum()) for c in members}
        unsolved = int((~solved[:, members].any(axis=1)).sum())
        if unsolved:
            slots[self._single] = slots.get(self._single, 0) + unsolved
        order = sorted(slots, key=lambda c: (float(costs[:, c].mean()), c))
        share = self._cutoff / sum(slots.values())
        timed = [(c, slots[c] * share) for c in order if slots[c]]
        return (*timed[:-1], (timed[-1][0], math.inf))  # nothing comes after the last

    def _portfolio(self, solved: Mask, total: Floats) -> list[int]:
        """At most three configurations: most solved, then fewest members, then least time."""
        covered = (solved @ self._inside.T > 0.0).sum(axis=0)
        order = np.lexsort((self._inside @ total, self._inside.sum(axis=1), -covered))
        return self._sets[int(order[0])]


def _distances(points: Floats, centres: Floats) -> Floats:
    squared = (points**2).sum(axis=1)[:, None] + (centres**2).sum(axis=1)[None, :] - 2.0 * points @ centres.T
    return np.asarray(np.sqrt(np.maximum(squared, 0.0)))
