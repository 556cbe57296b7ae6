"""Crossover along the tree of conditions, and mutation (Ansótegui, Sellmann & Tierney 2009, §3.3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from capra.space import Space
from capra.space.expressions import names_in

__all__ = ["Breeder", "completed", "mutated"]

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
            crossed = self.crossed(one, two, rng)[None, :]
            row = self.space.repaired(mutated(self.space, crossed, self.mutation, STEP, rng))
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

    def _depth(self, column: int) -> int:
        return 1 + self._depth(self._above[column]) if column in self._above else 0


def mutated(space: Space, rows: Floats, chance: float | Floats, step: float, rng: np.random.Generator) -> Floats:
    """Rows (n, d), each of whose values is drawn anew with a ``chance`` (of all, or of each row: (n, 1)).

    Numbers are drawn near the old one, with a deviation of ``step`` of the range, categories among all. Neither activity nor
    clauses are looked at.
    """
    chosen = (rng.random(rows.shape) < chance) & ~np.isnan(rows)
    points = rng.random(rows.shape)
    ordered = chosen & (space.types == 0)
    points[ordered] = np.clip(rng.normal(rows[ordered], step), 0.0, 1.0)
    fresh = rows.copy()
    for j, parameter in enumerate(space.parameters.values()):
        fresh[chosen[:, j], j] = parameter.spread(points[chosen[:, j], j])
    return fresh


def completed(space: Space, rows: Floats, rng: np.random.Generator) -> Floats:
    """Rows (n, d) with values drawn from the whole range where they are inactive: for those that a change of others wakes.

    With defaults instead (see ``Space.repaired``) every way into a branch of the space would end in the same place.
    """
    filled = rows.copy()
    for j, parameter in enumerate(space.parameters.values()):
        asleep = np.flatnonzero(np.isnan(rows[:, j]))
        filled[asleep, j] = parameter.spread(rng.random(len(asleep)))
    return filled
