"""What SPC may promise: (ε, δ) from confidence bands around the distributions of all configurations, at any time.

The bounds that SPC chooses by have constants for the analysis of its running time; what is promised leans on others.

Let S(v) be the share of a configuration's times above v, and Ŝ(v) that of the first r instances. For a level g let v_g be
the least v with S(v) ≤ g. Then at most g of the times are above v_g and at least g are not below it, so by Chernoff each of
"Ŝ(v_g) > g and r · kl(Ŝ(v_g), g) ≥ L" and the same from the other side has a probability of at most e^−L. If neither
happens for any g of a grid, then for all v at once S(v) is at least the largest level of the grid that is below Ŝ(v) by
kl ≥ L/r, since Ŝ falls with v; and at most the least one above it. With the grid 1/r, 2/r, …, 1, n configurations, both
sides, and all r, L = ln(2 n r² (r + 1)/ζ) makes the sum of all these probabilities ζ · Σ 1/(r (r + 1)) = ζ. So with
probability 1 − ζ no band is ever left, whenever and however SPC decides to go on: the promise is anytime.

From bands to means, with times rounded down to RESOLUTION (the rounded ones are as independent as the exact ones):

* A run that was put off counts as its last cap. That can only lower Ŝ, so the lower band stays one, and its integral is at
  most the mean.
* Below the least cap of a run that was put off, Ŝ is exact. Let u be there, or at it. The mean of the answer, cut at u, is
  at most the integral of the upper band up to u, and RESOLUTION. At most δ of its times are above u: the upper band at u,
  or, if a run was put off at u, just below it. So its δ-quantile is at most u and RESOLUTION, and its mean cut at its own
  δ-quantile is at most the same.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from capra._guarantees import Confidence

__all__ = ["RESOLUTION", "band", "confident"]

Floats = NDArray[np.float64]
RESOLUTION = 0.001
"""Of the times in the core (native/confidence.hpp)."""
HALVINGS = 40
LOOSE = 2.0
"""The answer's mean is cut where the upper band is so many times the share itself: beyond there it says little."""


def confident(core: Confidence, n: int, zeta: float) -> dict[str, float]:
    """(ε, δ, ζ) that hold for the answer now; empty while they do not."""
    sound = [i for i in range(n) if not core.is_out(i)]
    if core.answer < 0 or any(core.begun(i) == 0 for i in sound):
        return {}
    least = min(_least_mean(core, i, n, zeta) for i in sound)
    mean, delta = _most_mean(core, core.answer, n, zeta)
    if least <= 0.0 or delta >= 1.0:
        return {}
    return {"epsilon": max(0.0, mean / least - 1.0), "delta": delta, "zeta": zeta}


def _least_mean(core: Confidence, i: int, n: int, zeta: float) -> float:
    values, above = _shares(core, i)
    lower, _ = band(above, core.begun(i), n, zeta)
    return float(np.diff(values, prepend=0.0) @ lower)


def _most_mean(core: Confidence, i: int, n: int, zeta: float) -> tuple[float, float]:
    """What the mean is at most if times are cut at u, and how many of them are above u at most."""
    (values, above), known = _shares(core, i), core.known_below(i)
    _, upper = band(np.append(above, 0.0), core.begun(i), n, zeta)
    sure = int(np.sum((values <= known) & (upper[:-1] <= LOOSE * above)))
    if sure == 0:
        return math.inf, 1.0
    delta = upper[sure] if values[sure - 1] < known else upper[sure - 1]
    return float(np.diff(values[:sure], prepend=0.0) @ upper[:sure]) + RESOLUTION, float(delta)


def _shares(core: Confidence, i: int) -> tuple[Floats, Floats]:
    """The distinct times v_1 < v_2 < …, and the share of v_j or more: Ŝ from v_{j−1} up to v_j."""
    values, counts = (np.asarray(part, dtype=np.float64) for part in core.seen(i))
    return values, np.cumsum(counts[::-1])[::-1] / counts.sum()


def band(shares: Floats, r: int, n: int, zeta: float) -> tuple[Floats, Floats]:
    """Lower and upper band at the shares Ŝ of ``r`` instances: the levels 1/r, 2/r, … that kl puts at a distance of L/r."""
    far = math.log(2.0 * n * r**2 * (r + 1.0) / zeta) / r
    low, inside = np.zeros_like(shares), shares.copy()
    for _ in range(HALVINGS):  # kl(Ŝ, ·) falls up to Ŝ
        middle = 0.5 * (low + inside)
        out = kl(shares, middle) >= far
        low, inside = np.where(out, middle, low), np.where(out, inside, middle)
    high, inside = np.ones_like(shares), shares.copy()
    for _ in range(HALVINGS):  # and rises from there
        middle = 0.5 * (high + inside)
        out = kl(shares, middle) >= far
        high, inside = np.where(out, middle, high), np.where(out, inside, middle)
    return np.floor(r * low) / r, np.minimum(1.0, np.ceil(r * high) / r)


def kl(p: Floats, q: Floats) -> Floats:
    """Kullback–Leibler divergence of Bernoulli variables; infinite where q excludes what p allows."""
    with np.errstate(divide="ignore", invalid="ignore"):
        first = np.where(p > 0.0, p * np.log(p / q), 0.0)
        second = np.where(p < 1.0, (1.0 - p) * np.log((1.0 - p) / (1.0 - q)), 0.0)
    return np.asarray(first + second)
