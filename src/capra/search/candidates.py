"""Candidates: many random configurations, mutants of the best ones, and one-exchange local search, scored in batches."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from capra import _kernels
from capra.search.breeding import completed, mutated
from capra.space import Space
from capra.space.design import distinct

__all__ = ["Score", "best_candidates", "mutants", "unseen"]

Floats = NDArray[np.float64]
Score = Callable[[Floats], Floats]
"""Rows (n, d) to values (n,), higher is better."""

STARTS = 10
"""Local searches: half from the best configurations seen, half from the best random ones."""
STEPS = 30
"""Moves of a local search at most; most end long before."""
FINER = (0.05, 0.0125, 0.003, 0.0008)
"""Deviations of the steps of further local searches, in shares of the range: to the digits that make a difference of 1 %."""
REFINED = 5
"""The best of the local searches are taken further."""
PARENTS = 10
"""Mutants are made of so many of the best configurations seen."""
STEP = 0.2
"""Standard deviation of a mutated number, in shares of the range, and of a one-exchange neighbour."""


def best_candidates(
    space: Space,
    score: Score,
    known: Floats,
    rng: np.random.Generator,
    *,
    count: int,
    random: int,
    seen: Floats | None = None,
    refine: bool = False,
) -> Floats:
    """Up to ``count`` different configurations with the best scores, best first, none of them in ``seen``.

    ``known`` (m, d) holds what the model has learnt from, the most promising first: local searches start there and from the
    best of ``random`` random ones (Hutter, Hoos & Leyton-Brown 2011, §4.3). ``seen`` are those of them that are not wanted
    again: all, unless an earlier tuning made some of the runs. ``refine``: local searches go on with finer and finer steps,
    which pays where the score is smooth and a percent of a number's range makes a difference.

    If more are wanted than local searches find, half as many mutants are looked at as well: a fit may have to feed a hundred
    races, and among random configurations of many parameters a model finds hardly any that are better than chance would
    have it.
    """
    seen = known if seen is None else seen
    near = mutants(space, known[:PARENTS], random // 2 if count > STARTS else 0, rng)
    fresh = np.vstack([space.sample(random, rng), near, unseen(known, seen)])
    scores = score(fresh)
    first = _best(scores, max(STARTS // 2, STARTS - len(known)))
    starts = np.vstack([known[: STARTS // 2], fresh[first]])
    found, values = local_search(space, score, starts, rng)
    if refine:
        found, values = _refined(space, score, found[_best(values, REFINED)], rng)
    rows = np.vstack([found, fresh])
    order = np.argsort(-np.concatenate([values, scores]), kind="stable")
    return unseen(rows[order], seen)[:count]


def mutants(space: Space, parents: Floats, count: int, rng: np.random.Generator) -> Floats:
    """Up to ``count`` legal configurations that differ from one of ``parents`` (m, d), best first, in some values.

    The number of changes is drawn log-uniformly from one to half of the parameters: few refine, many leave the valley. What
    they wake gets values from its whole range.
    """
    if not len(parents):
        return parents
    ranks = np.arange(len(parents), 0, -1)
    rows = parents[rng.choice(len(parents), count, p=ranks / ranks.sum())]
    changes = np.maximum(1.0, len(space) / 2.0) ** rng.random(count)
    active = np.maximum(1, np.count_nonzero(~np.isnan(rows), axis=1))
    changed = mutated(space, rows, (changes / active)[:, None], STEP, rng)
    found = space.repaired(completed(space, changed, rng))
    return found[~space.forbidden_rows(found)]


def local_search(
    space: Space, score: Score, starts: Floats, rng: np.random.Generator, *, sigma: float = STEP
) -> tuple[Floats, Floats]:
    """Where steepest ascent over one-exchange neighbours leads from each start, and the scores there.

    All searches move together, so that each step is one batch for the model.
    """
    rows, values = starts.copy(), score(starts)
    moving = np.arange(len(rows))
    for _ in range(STEPS):
        if not len(moving):
            break
        near, origin = space.neighbours(rows[moving], rng, sigma=sigma)
        if not len(near):
            break
        moving = _move(rows, values, moving, near, origin, score(near))
    return rows, values


def _refined(space: Space, score: Score, rows: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    for sigma in FINER:
        rows, values = local_search(space, score, rows, rng, sigma=sigma)
    return rows, values


def _move(
    rows: Floats, values: Floats, moving: NDArray[np.intp], near: Floats, origin: NDArray[np.intp], scores: Floats
) -> NDArray[np.intp]:
    """Each search goes to its best neighbour if that is better; those that did."""
    order = np.lexsort((-scores, origin))  # by search, best neighbour first
    first = order[np.r_[True, np.diff(origin[order]) > 0]]
    better = first[scores[first] > values[moving[origin[first]]]]
    went = moving[origin[better]]
    rows[went], values[went] = near[better], scores[better]
    return went


def _best(scores: Floats, count: int) -> NDArray[np.intp]:
    return np.argsort(-scores, kind="stable")[:count]


def unseen(rows: Floats, seen: Floats) -> Floats:
    """The rows that differ from each other and from all of ``seen``, in order."""
    rows = rows[distinct(rows)]
    return rows[~np.isin(_kernels.hash_rows(rows), _kernels.hash_rows(np.ascontiguousarray(seen)))] if len(seen) else rows
