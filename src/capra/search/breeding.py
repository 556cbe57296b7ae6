"""Crossover along the tree of conditions, and mutation (Ansótegui, Sellmann & Tierney 2009, §3.3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from capra.space import Space
from capra.space.expressions import names_in

__all__ = ["Breeder"]

Floats = NDArray[np.float64]
TOGETHER = 0.9
"""How often a parameter comes from the same parent as the one that its condition looks at."""
STEP = 0.3
"""Standard deviation of a mutation, in shares of the range."""
ATTEMPTS = 100


class Breeder:
    """Makes children of two configurations, as rows of the space."""

    def __init__(self, space: Space, mutation: float) -> None:
        self.space = space
        self.mutation = mutation
        column = {name: j for j, name in enumerate(space.names)}
        self._above = {
            column[child]: column[min(names_in(c), key=column.__getitem__)] for child, c in space.conditions.items()
        }
        """For each conditional column, the column above it in the tree: of several the first."""
        self._order = sorted(range(len(space)), key=self._depth)

    def child(self, one: Floats, two: Floats, rng: np.random.Generator) -> Floats:
        """A legal child (d,) of two rows; the first parent again where all attempts are forbidden."""
        for _ in range(ATTEMPTS):
            row = self.space.repaired(self.mutated(self.crossed(one, two, rng), rng)[None, :])
            if not self.space.forbidden_rows(row)[0]:
                return np.asarray(row[0])
        return one

    def crossed(self, one: Floats, two: Floats, rng: np.random.Generator) -> Floats:
        """Each subtree of conditions mostly from one parent; what that one lacks comes from the other, if it has it.

        From the top down every parameter is labelled with a parent, or is open, where the parents agree and all above it is
        open; below an open one chance decides.
        """
        second, same = np.zeros(len(self.space), dtype=np.bool_), (one == two) | (np.isnan(one) & np.isnan(two))
        is_open = np.zeros(len(self.space), dtype=np.bool_)
        for j in self._order:
            above, chance = self._above.get(j), rng.random()
            free = above is None or is_open[above]
            is_open[j] = free and same[j]
            second[j] = chance < 0.5 if free else second[above] != (chance >= TOGETHER)
        mine, other = np.where(second, two, one), np.where(second, one, two)
        return np.where(np.isnan(mine), other, mine)

    def mutated(self, row: Floats, rng: np.random.Generator) -> Floats:
        """Some of its values drawn anew: numbers near the old one, categories among all."""
        chosen = np.flatnonzero((rng.random(len(row)) < self.mutation) & ~np.isnan(row))
        points = rng.random(len(row))
        ordered = chosen[self.space.types[chosen] == 0]
        points[ordered] = np.clip(rng.normal(row[ordered], STEP), 0.0, 1.0)
        fresh = row.copy()
        for j in chosen.tolist():
            parameter = self.space.parameters[self.space.names[j]]
            fresh[j] = parameter.spread(points[j : j + 1])[0]
        return fresh

    def _depth(self, column: int) -> int:
        return 1 + self._depth(self._above[column]) if column in self._above else 0
