"""Expectation propagation: the censored points' means and deviations, which Laplace's method gets wrong.

What a censored value says about f is one-sided, so that the posterior is skewed: its mean can lie more than half a deviation
beyond the mode on which Laplace's method rests. Here each censored point is replaced by the normal factor that leaves mean
and variance of f as they truly are given all other factors (Rasmussen & Williams 2006, §3.6, all factors at once; the Tobit
term is their probit with the noise as its scale). Every sweep costs a Cholesky factor. So the hyperparameters are learnt
with Laplace's evidence, and this comes once, at the end.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpotrs

from capra.models.base import Floats
from capra.models.laplace import Belief, Factors, Tobit
from capra.models.numerics import excess, hazard, unit_variance

__all__ = ["propagate"]

SWEEPS = 100  # about ten are taken, with all rows censored up to all of them
SHARE = 0.7  # of the way to the new factors that is gone: all of them at once overshoot, and with all rows censored for ever
PATIENCE = 30  # sweeps after which it is half of that
STILL = 1e-4  # no mean moves further than this, in deviations


def propagate(K: Floats, tobit: Tobit, noise: float, start: Belief) -> Belief:
    """The normal distribution of f that expectation propagation arrives at from ``start``."""
    cut = slice(tobit.observed, None)
    factors = Factors(K, tobit.observed, noise)
    precision = start.root**2
    shift = precision * start.f + start.a  # precision times the value that each factor is centred at
    belief = start
    for sweep in range(SWEEPS if tobit.observed < len(K) else 0):
        variance = _variances(K, belief, cut)
        new = _factors(tobit.y[cut], noise, belief.f[cut], variance, precision[cut], shift[cut])
        share = SHARE / (1.0 + sweep / PATIENCE)
        precision[cut] += share * (new[0] - precision[cut])
        shift[cut] += share * (new[1] - shift[cut])
        last, belief = belief, _belief(factors, precision, shift)
        if np.max(np.abs(belief.f - last.f)[cut] / np.sqrt(variance)) <= STILL:
            break
    return belief


def _belief(factors: Factors, precision: Floats, shift: Floats) -> Belief:
    root = np.sqrt(precision)
    factor = factors.at(root)
    a = shift - root * dpotrs(factor, root * (factors.K @ shift), lower=1)[0]
    return Belief(a, factors.K @ a, root, factor)


def _variances(K: Floats, belief: Belief, rows: slice) -> Floats:
    gain = solve_triangular(belief.factor, belief.root[:, None] * K[:, rows], lower=True, check_finite=False)
    return np.asarray(np.diag(K)[rows] - np.sum(gain * gain, axis=0))


def _factors(
    bound: Floats, noise: float, mean: Floats, variance: Floats, precision: Floats, shift: Floats
) -> tuple[Floats, Floats]:
    """Precision and shift of the factors that give f + noise ≥ bound its true mean and variance (R&W eqs. 3.56–3.59)."""
    others = 1.0 / variance - precision  # the cavity: what all but this point say about f
    centre, spread = (mean / variance - shift) / others, 1.0 / others
    total = spread + noise**2
    z = (bound - centre) / np.sqrt(total)
    slope = hazard(z) / np.sqrt(total)
    bend = slope * excess(z) / np.sqrt(total)
    # 1 − spread·bend, with the noise's share apart: nothing cancels far in the tail
    rest = (noise**2 + spread * unit_variance(z)) / total
    return bend / rest, (slope + bend * centre) / rest
