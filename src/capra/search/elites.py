"""New configurations around the best ones: irace's sampling (López-Ibáñez et al. 2016, §2.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from capra.space import Space

__all__ = ["Model", "child_of", "chosen_elite", "truncated_normal"]

Floats = NDArray[np.float64]
WIDEST = 0.5
"""The first standard deviation: half of the range."""


@dataclass(frozen=True)
class Model:
    """How the children of one elite are distributed."""

    deviation: float
    """Of numbers, in shares of the range."""
    chances: dict[int, Floats]
    """For each categorical column, how often each category is drawn."""

    @classmethod
    def uniform(cls, space: Space) -> Model:
        """As nothing is known."""
        counts = {j: int(count) for j, count in enumerate(space.types) if count > 0}
        return cls(WIDEST, {j: np.full(count, 1.0 / count) for j, count in counts.items()})

    def sharpened(self, row: Floats, children: int, iteration: int, iterations: int) -> Model:
        """For iteration j: σ_j = σ_{j−1}·(1/N_new)^(1/d), p_j = p_{j−1}·(1 − (j−1)/N_iter) + (j−1)/N_iter for its value."""
        share = min(1.0, (iteration - 1) / iterations)
        chances = {j: _moved(old, row[j], share) for j, old in self.chances.items()}
        return Model(self.deviation * (1.0 / max(1, children)) ** (1.0 / len(row)), chances)

    def softened(self) -> Model:
        """Soft restart, where children are all alike: the distribution is made wider again."""
        chances = {j: 0.9 * old + 0.1 * old.max() for j, old in self.chances.items()}
        return Model(min(WIDEST, 4.0 * self.deviation), {j: new / new.sum() for j, new in chances.items()})


def _moved(chances: Floats, code: float, share: float) -> Floats:
    if np.isnan(code):
        return chances
    moved = chances * (1.0 - share)
    moved[int(code)] += share
    return np.asarray(moved / moved.sum())


def truncated_normal(centre: Floats, deviation: float, u: Floats) -> Floats:
    """The quantiles ``u`` of normal distributions around ``centre`` (n,) that are cut to the unit interval."""
    from scipy.special import ndtr, ndtri  # scipy takes its time to load

    low, high = ndtr(-centre / deviation), ndtr((1.0 - centre) / deviation)
    return np.asarray(np.clip(centre + deviation * ndtri(low + u * (high - low)), 0.0, 1.0))


def chosen_elite(count: int, rng: np.random.Generator) -> int:
    """Elite z of the best ``count`` (from 0) with probability 2·(count − z)/(count·(count + 1))."""
    weights = np.arange(count, 0, -1) / (count * (count + 1) / 2.0)
    return int(rng.choice(count, p=weights))


def child_of(space: Space, row: Floats, model: Model, rng: np.random.Generator) -> Floats:
    """A configuration near an elite's row (d,); what is inactive there is drawn uniformly. Clauses are not looked at."""
    points = rng.random(len(row))
    near = ~np.isnan(row) & (space.types == 0)
    points[near] = truncated_normal(row[near], model.deviation, points[near])
    child = np.empty(len(row))
    for j, parameter in enumerate(space.parameters.values()):
        if j in model.chances:
            child[j] = np.searchsorted(np.cumsum(model.chances[j])[:-1], points[j], side="right")
        else:
            child[j] = parameter.spread(points[j : j + 1])[0]
    return np.asarray(space.repaired(child[None, :])[0])
