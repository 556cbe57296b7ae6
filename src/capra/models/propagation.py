"""Expectation propagation: the censored points' means and deviations, which Laplace's method gets wrong.

What a censored value says about f is one-sided, so that the posterior is skewed: its mean can lie more than half a deviation
beyond the mode on which Laplace's method rests. Here each censored point is replaced by the normal factor that leaves mean
and variance of f as they truly are given all other factors (Rasmussen & Williams 2006, §3.6, all factors at once; the Tobit
term is their probit with the noise as its scale). Every sweep costs a Cholesky factor. So where the noise is learnt, the
hyperparameters are learnt with Laplace's evidence, and this comes once, at the end. With hardly any noise a bound is a wall.
Laplace's method takes one that the mode touches for an observed value, and prefers lengths so short that nothing touches
anything; the evidence here does not.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpotrs

from capra.models.base import Floats
from capra.models.laplace import Belief, Factors, Tobit, inverse_of
from capra.models.numerics import excess, hazard, log_density, log_survival, unit_variance

__all__ = ["covariance_slopes", "log_evidence", "propagate"]

SWEEPS = 100  # about ten are taken, with all rows censored up to all of them
SHARE = 0.7  # of the way to the new factors that is gone: all of them at once overshoot, and with all rows censored for ever
PATIENCE = 30  # sweeps after which it is half of that
STILL = 1e-4


def propagate(K: Floats, tobit: Tobit, noise: float, start: Belief, *, moved: bool = False, still: float = STILL) -> Belief:
    """The normal distribution of f that expectation propagation arrives at from ``start``.

    ``moved``: that was found with another K and the same noise. ``still``: in the end no mean moves further, in deviations,
    and no variance by a larger share.
    """
    cut = slice(tobit.observed, None)
    factors = Factors(K, tobit.observed, noise)
    precision, shift = _parameters(start)
    belief = _belief(factors, precision, shift) if moved else start
    for sweep in range(SWEEPS if tobit.observed < len(K) else 0):
        variance = _variances(K, belief, cut)
        cavity = _cavity(np.diag(K)[cut], belief.f[cut], variance, precision[cut], shift[cut])
        new = _factors(tobit.y[cut], noise, *cavity)
        share = SHARE / (1.0 + sweep / PATIENCE)
        precision[cut] += share * (new[0] - precision[cut])
        shift[cut] += share * (new[1] - shift[cut])
        last, belief = belief, _belief(factors, precision, shift)
        moves = np.abs(belief.f - last.f)[cut] / np.sqrt(variance), np.abs(new[0] - precision[cut]) * variance
        if max(np.max(moves[0]), np.max(moves[1])) <= still:
            break
    return belief


def log_evidence(K: Floats, tobit: Tobit, noise: float, belief: Belief) -> float:
    """Log of the integral of prior times factors, each scaled so that its own integral is true (R&W §3.6, eq. 3.65).

    A factor is exp(−precision·f²/2 + shift·f); ``scales`` are what is missing in front of those of the censored points.
    """
    cut = slice(tobit.observed, None)
    precision, shift = _parameters(belief)
    centre, spread = _cavity(np.diag(K)[cut], belief.f[cut], _variances(K, belief, cut), precision[cut], shift[cut])
    z = (tobit.y[cut] - centre) / np.sqrt(spread + noise**2)
    flat = 1.0 + precision[cut] * spread
    product = 0.5 * (2.0 * shift[cut] * centre + shift[cut] ** 2 * spread - precision[cut] * centre**2) / flat
    scales = log_survival(z) + 0.5 * np.log(flat) - product
    seen = log_density(tobit.y[: tobit.observed] / noise) - np.log(noise)
    volume = 0.5 * float(shift @ belief.f) - float(np.log(np.diag(belief.factor)).sum())
    return volume + float(seen.sum()) + float(scales.sum())


def covariance_slopes(belief: Belief) -> Floats:
    """The matrix G with ∂evidence/∂θ = Σ G ∘ ∂K/∂θ: where it has arrived, the factors' own changes cancel (eq. 5.27)."""
    R = inverse_of(belief.factor) * belief.root * belief.root[:, None]
    return np.asarray(0.5 * (np.outer(belief.a, belief.a) - R))


def _parameters(belief: Belief) -> tuple[Floats, Floats]:
    """Precision of every factor, and precision times the value that it is centred at."""
    precision = belief.root**2
    return precision, precision * belief.f + belief.a


def _belief(factors: Factors, precision: Floats, shift: Floats) -> Belief:
    root = np.sqrt(precision)
    factor = factors.at(root)
    a = shift - root * dpotrs(factor, root * (factors.K @ shift), lower=1)[0]
    return Belief(a, factors.K @ a, root, factor)


def _variances(K: Floats, belief: Belief, rows: slice) -> Floats:
    gain = solve_triangular(belief.factor, belief.root[:, None] * K[:, rows], lower=True, check_finite=False)
    return np.asarray(np.diag(K)[rows] - np.sum(gain * gain, axis=0))


def _cavity(prior: Floats, mean: Floats, variance: Floats, precision: Floats, shift: Floats) -> tuple[Floats, Floats]:
    """Mean and variance of what all but one factor say about f there; never less than the prior alone says.

    A wall that the function leans on says nearly all there is, and the difference of two large precisions may be negative.
    """
    others = np.maximum(1.0 / variance - precision, 1.0 / prior)
    return (mean / variance - shift) / others, 1.0 / others


def _factors(bound: Floats, noise: float, centre: Floats, spread: Floats) -> tuple[Floats, Floats]:
    """Precision and shift of the factors that give f + noise ≥ bound its true mean and variance (R&W eqs. 3.56–3.59)."""
    total = spread + noise**2
    z = (bound - centre) / np.sqrt(total)
    slope = hazard(z) / np.sqrt(total)
    bend = slope * excess(z) / np.sqrt(total)
    # 1 − spread·bend, with the noise's share apart: nothing cancels far in the tail
    rest = (noise**2 + spread * unit_variance(z)) / total
    return bend / rest, (slope + bend * centre) / rest
