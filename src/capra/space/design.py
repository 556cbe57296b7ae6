"""Initial designs: the first configurations to try, spread over the space."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from capra import _kernels
from capra.errors import InputError, did_you_mean, shown
from capra.space.space import Space

__all__ = ["DESIGNS", "distinct", "initial_design"]

Floats = NDArray[np.float64]


def initial_design(space: Space, kind: str, n: int, rng: np.random.Generator) -> Floats:
    """Up to ``n`` different legal configurations (n, d): ``"lhd"`` (Latin hypercube), ``"sobol"`` or ``"random"``.

    Points that are forbidden or fall on an earlier configuration are replaced by random ones; a space with fewer than
    ``n`` configurations gives fewer.
    """
    if kind not in DESIGNS:
        raise InputError(f"unknown design {shown(kind)}", hint=did_you_mean(str(kind), DESIGNS) or ", ".join(DESIGNS))
    rows = space.spread(DESIGNS[kind](n, len(space), rng))
    rows = rows[~space.forbidden_rows(rows)]
    spare = space.sample(2 * n, rng)
    rows = np.vstack([rows, spare])
    return rows[distinct(rows)][:n]


def distinct(rows: Floats) -> NDArray[np.intp]:
    """Positions of the first of equal rows, in order (NaN equals NaN)."""
    return np.sort(np.unique(_kernels.hash_rows(rows), return_index=True)[1])


def _latin_hypercube(n: int, d: int, rng: np.random.Generator) -> Floats:
    """One point in each of n equal slices of every axis (McKay, Beckman & Conover 1979)."""
    slices = rng.permuted(np.tile(np.arange(n)[:, None], d), axis=0)
    return (slices + rng.random((n, d))) / n


def _sobol(n: int, d: int, rng: np.random.Generator) -> Floats:
    from scipy.stats import qmc  # slow to import

    engine = qmc.Sobol(d, scramble=True, rng=rng)
    points: Floats = engine.random_base2(max(0, (n - 1).bit_length()))[:n]
    return points


def _random(n: int, d: int, rng: np.random.Generator) -> Floats:
    return rng.random((n, d))


DESIGNS: Mapping[str, Callable[[int, int, np.random.Generator], Floats]] = {
    "lhd": _latin_hypercube,
    "sobol": _sobol,
    "random": _random,
}
