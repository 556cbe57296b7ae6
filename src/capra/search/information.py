"""How long to let a run go on, so that it tells most about who is better for the time it takes. Pure functions.

A model believes that the log10 cost of a challenger is ``gap`` + δ above the incumbent's, δ ~ N(0, doubt²): the challenger
is faster or slower than thought on all instances alike. One run of it then takes T = 10^y with y = mean + δ + ε, so that
y ~ N(mean, std²) has the correlation ρ = doubt/std with δ. What we want to know is W, "the challenger is better": δ ≤ −gap.
A run that is stopped at κ shows min(T, κ). Its information about W is the expected loss of entropy (in bits)

    I(κ) = H(W) − E[H(W | min(T, κ))],

its price E[min(T, κ)]. With t = (y − mean)/std, P(W | t) = Φ((−gap/doubt − ρ·t)/√(1 − ρ²)); the integrals over t are sums
over Gauss–Legendre nodes. Where T is known to be above ``lower``, all of it is conditional on that.

To choose κ for "the most information per time spent" is future work in Hutter, Hoos & Leyton-Brown, censored response data,
§4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, ndtr

from capra.models.numerics import excess, hazard, log_density, log_survival

__all__ = ["Belief", "chance", "expected_time", "information", "informed", "telling_cutoff"]

Floats = NDArray[np.float64]
LN10 = math.log(10.0)
STEP = 0.25
"""Widest panel of the integrals, in deviations of y."""
REACH = 9.0
"""So many deviations away nothing is left of a normal distribution."""
CLOSEST = 0.99
"""ρ is not above this: a run never tells everything."""
CHOICES = 40
"""Cutoffs that are compared."""
SHORTEST = -4.0
"""The smallest of them, in deviations of y: one run in 30,000 is shorter."""
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)


@dataclass(frozen=True, slots=True)
class Belief:
    """What a model believes of a challenger, the incumbent, and one run of the challenger; all of it log10 of costs."""

    gap: float
    """The challenger's expected cost minus the incumbent's: below 0 the challenger is better."""
    doubt: float
    """Standard deviation of the challenger's cost."""
    mean: float
    """Of the run's cost, and its standard deviation, doubt included."""
    std: float

    @property
    def correlation(self) -> float:
        """ρ, of the run with the challenger's cost."""
        return min(self.doubt / self.std, CLOSEST)

    def z(self, time: float | Floats) -> Floats:
        """A time in deviations of the run's log10 cost."""
        with np.errstate(divide="ignore"):
            return (np.log10(np.asarray(time, dtype=np.float64)) - self.mean) / self.std


def informed(belief: Belief, runs: Sequence[tuple[float, float, float, bool]]) -> Belief:
    """The belief after other runs of the same challenger, each (log10 cost, mean, std, censored) as the model foresaw it.

    Exact for complete runs; after a censored one δ is taken for normal with the moments that it then has.
    """
    shift, variance = 0.0, belief.doubt**2
    for y, mean, std, censored in runs:
        total = variance + _noise(std, belief.doubt)
        deviation, left = math.sqrt(total), y - mean - shift
        gain = variance / total
        if censored:
            h, over = float(hazard(left / deviation)), float(excess(left / deviation))
            shift, variance = shift + gain * deviation * h, variance * (1.0 - gain * h * over)
        else:
            shift, variance = shift + gain * left, variance * (1.0 - gain)
    std = math.sqrt(_noise(belief.std, belief.doubt) + variance)
    return replace(belief, gap=belief.gap + shift, doubt=math.sqrt(variance), mean=belief.mean + shift, std=std)


def _noise(std: float, doubt: float) -> float:
    """The variance of a run whose challenger's cost is known."""
    return max(std**2 - doubt**2, (1.0 - CLOSEST**2) * std**2)


def expected_time(belief: Belief, cutoff: float | Floats, lower: float = 0.0) -> Floats:
    """E[min(T, κ) | T > lower] for cutoffs κ ≥ lower, in closed form: the partial mean of a log-normal distribution."""
    v = belief.std * LN10
    first, last = belief.z(lower), belief.z(cutoff)
    mean = belief.mean * LN10 + 0.5 * v * v - log_survival(first)
    below = np.exp(np.minimum(mean, 700.0)) * _between(first - v, last - v)
    return np.asarray(below + np.asarray(cutoff) * np.exp(log_survival(last) - log_survival(first)))


def _between(low: Floats, high: Floats) -> Floats:
    """Φ(high) − Φ(low), from the tail in which both are small."""
    return np.asarray(np.where(low > 0.0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low)))


def chance(belief: Belief, lower: float = 0.0) -> float:
    """P(W | T > lower): how likely the challenger is better, although this run takes at least that long."""
    if lower <= 0.0:
        return float(ndtr(-belief.gap / belief.doubt))
    _, win, _ = _panels(belief, float(belief.z(lower)), np.empty(0))
    return min(1.0, float(win.sum()))


def information(belief: Belief, cutoff: float | Floats, lower: float = 0.0) -> Floats:
    """I(κ) in bits for cutoffs κ ≥ lower, given T > lower."""
    return _prospects(belief, cutoff, lower)[0]


def _prospects(belief: Belief, cutoff: float | Floats, lower: float) -> tuple[Floats, Floats]:
    """I(κ), and P(W | T > κ): what is left of the challenger's chance if the run is stopped."""
    last = np.atleast_1d(belief.z(cutoff))
    first = float(belief.z(lower))
    edges, win, doubt = _panels(belief, first, last)
    place = np.searchsorted(edges, np.clip(last, edges[0], edges[-1]))
    seen = np.concatenate([[0.0], np.cumsum(doubt)])[place]  # E[H(W | T); T ≤ κ]
    winning = np.concatenate([np.cumsum(win[::-1])[::-1], [0.0]])[place]  # P(W, T > κ)
    rest = np.exp(log_survival(last) - log_survival(first))  # P(T > κ)
    after = np.minimum(winning / np.maximum(rest, 1e-300), 1.0)
    return np.maximum(0.0, _entropy(win.sum()) - seen - rest * _entropy(after)), after


def _panels(belief: Belief, first: float, cuts: Floats) -> tuple[Floats, Floats, Floats]:
    """Edges of panels that begin at ``first`` and include ``cuts``; per panel P(W, t) and the entropy of W given t."""
    start = max(first, -REACH)
    end = max(start, 0.0) + REACH
    steps = np.linspace(start, end, math.ceil((end - start) / STEP) + 1)
    edges = np.unique(np.concatenate([steps, np.clip(cuts, start, end)]))
    half = 0.5 * np.diff(edges)[:, None]
    t = edges[:-1, None] + half * (1.0 + _NODES)
    weight = half * _WEIGHTS * np.exp(log_density(t) - log_survival(first))
    rho = belief.correlation
    p = ndtr((-belief.gap / belief.doubt - rho * t) / math.sqrt(1.0 - rho * rho))
    return edges, (weight * p).sum(axis=1), (weight * _entropy(p)).sum(axis=1)


def _entropy(p: float | Floats) -> Floats:
    """H of a yes or no with probability p, in bits."""
    p = np.clip(p, 0.0, 1.0)
    return np.asarray((entr(p) + entr(1.0 - p)) / math.log(2.0))


def telling_cutoff(belief: Belief, upper: float, lower: float = 0.0, *, hopeless: float) -> float:
    """The cutoff up to ``upper`` with the most information per expected second, given T > lower.

    A run that is made again starts from the beginning. So a cutoff below ``upper`` comes into question only if a run that
    reaches it leaves the challenger a chance below ``hopeless``, and need not be made again.
    """
    least, most = max(SHORTEST, float(belief.z(lower))), float(belief.z(upper))
    if least >= most:
        return upper
    cutoffs = 10.0 ** (belief.mean + belief.std * np.linspace(least, min(most, REACH), CHOICES + 1)[1:])
    cutoffs[-1] = upper
    told, after = _prospects(belief, cutoffs, lower)
    rates = np.where(after < hopeless, told / expected_time(belief, cutoffs, lower), 0.0)
    rates[-1] = told[-1] / expected_time(belief, upper, lower)
    return float(cutoffs[np.argmax(rates)]) if rates.max() > 0.0 else upper
