"""New configurations around the best ones: irace's sampling (López-Ibáñez et al. 2016, §2.2, with irace 3.5's constants)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from capra.space import Space

__all__ = ["Model", "children_of", "chosen_elites", "similar", "truncated_normal", "variables"]

Floats = NDArray[np.float64]
WIDEST = 0.5
"""The first standard deviation: half of the range."""
LIKELIEST = 0.2
"""All categories together are never taken over from an elite with a higher probability."""
NEAR = 1e-4
"""Numbers that are no farther from each other, in shares of the range, are alike (irace's softRestartThreshold)."""


def variables(space: Space) -> int:
    """Parameters that can be varied: irace's N^param."""
    return max(1, int((space.types != 1).sum()))


@dataclass(frozen=True)
class Model:
    """How the children of one elite are distributed."""

    deviation: float
    """Of numbers, in shares of the range."""
    chances: dict[int, Floats]
    """For each categorical column, how often each category is drawn."""
    variables: int

    @classmethod
    def uniform(cls, space: Space) -> Model:
        """As nothing is known."""
        counts = {j: int(count) for j, count in enumerate(space.types) if count > 0}
        return cls(WIDEST, {j: np.full(count, 1.0 / count) for j, count in counts.items()}, variables(space))

    def sharpened(self, row: Floats, children: int, iteration: int, iterations: int) -> Model:
        """For iteration j: σ_j = σ_{j−1}·(1/N_new)^(1/d), p_j = p_{j−1}·(1 − (j−1)/N_iter) + (j−1)/N_iter for its value."""
        share, most = min(1.0, (iteration - 1) / iterations), LIKELIEST ** (1.0 / self.variables)
        chances = {j: _moved(old, row[j], share, most) for j, old in self.chances.items()}
        return Model(self.deviation * self._step(children), chances, self.variables)

    def softened(self, children: int) -> Model:
        """Soft restart, where children are alike: two steps back, but at most to where the second iteration began."""
        chances = {j: 0.9 * old + 0.1 * old.max() for j, old in self.chances.items()}
        back = min(self.deviation / self._step(children) ** 2, WIDEST * self._step(children))
        return Model(back, {j: new / new.sum() for j, new in chances.items()}, self.variables)

    def _step(self, children: int) -> float:
        return float((1.0 / max(1, children)) ** (1.0 / self.variables))


def _moved(chances: Floats, code: float, share: float, most: float) -> Floats:
    if np.isnan(code):
        return chances
    moved = chances * (1.0 - share)
    moved[int(code)] += share
    bounded = np.minimum(moved / moved.sum(), most)
    return np.asarray(bounded / bounded.sum())


def similar(space: Space, rows: Floats) -> list[int]:
    """Rows (n, d) that are like another one: the same categories and activity, and numbers that hardly differ."""
    numbers = np.flatnonzero(space.types == 0)
    groups: dict[bytes, list[int]] = {}
    for place, row in enumerate(rows):
        code = np.where(np.isnan(row), -1.0, np.where(space.types == 0, 0.0, row))
        groups.setdefault(code.tobytes(), []).append(place)
    found: list[int] = []
    for group in (places for places in groups.values() if len(places) > 1):
        values = np.nan_to_num(rows[group][:, numbers])
        alike = (np.abs(values[:, None, :] - values[None, :, :]) <= NEAR).all(axis=2).sum(axis=1) > 1
        found += [place for place, twin in zip(group, alike.tolist(), strict=True) if twin]
    return sorted(found)


def truncated_normal(centre: Floats, deviation: float, u: Floats) -> Floats:
    """The quantiles ``u`` of normal distributions around ``centre`` (n,) that are cut to the unit interval."""
    from scipy.special import ndtr, ndtri  # scipy takes its time to load

    low, high = ndtr(-centre / deviation), ndtr((1.0 - centre) / deviation)
    return np.asarray(np.clip(centre + deviation * ndtri(low + u * (high - low)), 0.0, 1.0))


def chosen_elites(count: int, draws: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """How many of the ``draws`` fall on each of the best ``count``: on elite z (from 0) with probability
    2·(count − z)/(count·(count + 1))."""
    weights = np.arange(count, 0, -1) / (count * (count + 1) / 2.0)
    return np.asarray(rng.multinomial(draws, weights), dtype=np.intp)


def children_of(space: Space, row: Floats, model: Model, count: int, rng: np.random.Generator) -> Floats:
    """Rows (count, d) near an elite's row (d,); what is inactive there is drawn uniformly. Clauses are not looked at."""
    points = rng.random((count, len(row)))
    near = ~np.isnan(row) & (space.types == 0)
    points[:, near] = truncated_normal(row[near], model.deviation, points[:, near])
    children = np.empty_like(points)
    for j, parameter in enumerate(space.parameters.values()):
        if j in model.chances:
            children[:, j] = np.searchsorted(np.cumsum(model.chances[j])[:-1], points[:, j], side="right")
        else:
            children[:, j] = parameter.spread(points[:, j])
    return space.repaired(children)
