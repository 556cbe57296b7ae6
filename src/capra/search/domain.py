"""What a search may try: the whole space, or the configurations of a pool, where every move ends at the nearest member."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from capra.runs import Configuration
from capra.space import Space

__all__ = ["Domain"]

Floats = NDArray[np.float64]
NEAREST = 20
"""Neighbours of a member of a pool."""


class Domain:
    """The configurations that there are, and who is next to whom."""

    def __init__(self, space: Space, pool: Sequence[Configuration] = ()) -> None:
        self.space = space
        self.pool = tuple(pool)
        self._rows = _comparable(space.encode(self.pool)) if pool else np.empty((0, len(space)))
        self._near: dict[Configuration, list[Configuration]] = {}
        """The nearest members of those that were asked for: a local search comes back to where it was again and again."""

    def sample(self, n: int, rng: np.random.Generator) -> list[Configuration]:
        """``n`` random configurations; of a small pool the same may come twice."""
        if self.pool:
            return [self.pool[i] for i in rng.integers(len(self.pool), size=n).tolist()]
        return self.space.decode(self.space.sample(n, rng))

    def neighbours(self, config: Configuration, rng: np.random.Generator, *, levels: int = 0) -> list[Configuration]:
        """All one-exchange neighbours in random order (see ``Space.neighbours``); in a pool, its nearest members."""
        if self.pool:
            return self._nearest_members(config, rng)
        near, _ = self.space.neighbours(self.space.encode([config]), rng, levels=levels)
        return self.space.decode(rng.permutation(near))

    def legal(self, rows: Floats) -> list[Configuration]:
        """The configurations of rows (n, d) as far as they are legal; in a pool, the member nearest to each."""
        if not self.pool:
            return self.space.decode(rows[~self.space.forbidden_rows(rows)])
        return [self.pool[int(np.argmin(self.distances(row)))] for row in rows]

    def _nearest_members(self, config: Configuration, rng: np.random.Generator) -> list[Configuration]:
        if config not in self._near:
            near = np.argsort(self.distances(self.space.encode([config])[0]), kind="stable")[: NEAREST + 1].tolist()
            self._near[config] = [self.pool[i] for i in near if self.pool[i] != config][:NEAREST]
        others = self._near[config]
        return [others[i] for i in rng.permutation(len(others)).tolist()]

    def distances(self, row: Floats) -> Floats:
        """Of all members from a row (d,): mean over the parameters of the difference, 1 for another category or activity
        (Gower 1971)."""
        return np.asarray(np.minimum(np.abs(self._rows - _comparable(row)), 1.0).mean(axis=1))


def _comparable(rows: Floats) -> Floats:
    """Inactive is at least 1 from every code, as one category is from another; numbers lie in the unit interval."""
    return np.where(np.isnan(rows), -1.0, rows)
