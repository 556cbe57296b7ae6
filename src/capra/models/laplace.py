"""Laplace's approximation of a Gaussian process under the Tobit likelihood, its evidence and the slopes of it.

Rasmussen & Williams, *Gaussian Processes for Machine Learning* (2006), Algorithms 3.1 and 5.1: everything goes through the
Cholesky factor of B = I + W^½ K W^½, whose eigenvalues are at least 1, so that neither equal rows nor points that say
nothing (W = 0) do harm. The likelihood (Tobin 1958; for processes Ertin 2007) is log-concave: there is one mode.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from capra.models.base import Floats, Mask
from capra.models.numerics import excess, hazard, log_density, log_survival, unit_variance

__all__ = ["Belief", "Factors", "Mode", "Tobit", "evidence_slopes", "find_mode", "inverse_of"]

STEPS = 100  # of Newton; about five are taken
HALVINGS = 30
STILL = 1e-8  # a Newton step that moves no value further than this (in noise deviations) is not taken
SETTLED = 1e-11  # relative gain below which a step is the last one: after it, the quadratic error is that of rounding


@dataclass(frozen=True, slots=True)
class Terms:
    """log p(y | f) summed, its first slope at each f, and W, minus its second slope."""

    value: float
    first: Floats
    weight: Floats


@dataclass(frozen=True, slots=True)
class Tobit:
    """Observed values have a normal density around f, censored ones the probability of lying beyond ``y``.

    The first ``observed`` rows are the observed ones.
    """

    y: Floats
    observed: int

    @property
    def censored(self) -> Mask:
        return np.asarray(np.arange(len(self.y)) >= self.observed)

    def terms(self, f: Floats, noise: float) -> Terms:
        z = (self.y - f) / noise
        seen, cut = z[: self.observed], z[self.observed :]
        value = float(log_survival(cut).sum() + log_density(seen).sum()) - len(seen) * float(np.log(noise))
        h = hazard(cut)
        first, weight = np.append(seen, h), np.append(np.ones(len(seen)), h * excess(cut))
        return Terms(value, first / noise, weight / noise**2)

    def bends(self, f: Floats, noise: float) -> Floats:
        """Third slope over W. With e = excess, v = unit variance: hazard' = h·e, hazard'' = h·(e² − v)."""
        z = (self.y - f)[self.observed :] / noise
        e = excess(z)
        return np.append(np.zeros(self.observed), (e - unit_variance(z) / e) / noise)

    def noise_slopes(self, f: Floats, noise: float, bends: Floats) -> tuple[float, Floats, Floats]:
        """∂/∂log noise of the value, of the first slopes, and of log W."""
        z, terms = (self.y - f) / noise, self.terms(f, noise)
        value = z * noise * terms.first - np.where(self.censored, 0.0, 1.0)
        return float(value.sum()), -terms.first - z * noise * terms.weight, -2.0 - z * noise * bends


class Factors:
    """Lower Cholesky factors of B = I + W^½ K W^½ for changing weights of the censored rows.

    Those of the observed rows, the first ones, are 1/noise² for good. So their block of the factor, and what they explain of
    the covariance of the others, is worked out once; each new factor then costs the cube of the censored rows only.
    """

    def __init__(self, K: Floats, observed: int, noise: float) -> None:
        self.K = K
        self._observed = observed
        self._top = _cholesky_of_one_plus(K[:observed, :observed] / noise**2)
        self._side = np.asarray(solve_triangular(self._top, K[:observed, observed:] / noise, lower=True, check_finite=False))
        self._rest = K[observed:, observed:] - self._side.T @ self._side

    def at(self, root: Floats) -> Floats:
        """The factor for W^½ = ``root``."""
        m, cut = self._observed, root[self._observed :]
        factor = np.zeros(self.K.shape, order="F")
        factor[:m, :m] = self._top
        factor[m:, :m] = cut[:, None] * self._side.T
        factor[m:, m:] = _cholesky_of_one_plus(cut[:, None] * self._rest * cut)
        return factor


def _cholesky_of_one_plus(A: Floats) -> Floats:
    """Of I + A, which is overwritten."""
    if not len(A):
        return A
    np.fill_diagonal(A, np.diag(A) + 1.0)
    return np.asarray(dpotrf(A.T, lower=1, overwrite_a=1)[0])  # A is symmetric; A.T has the order LAPACK wants


@dataclass(frozen=True, slots=True)
class Belief:
    """A normal distribution of f at the data: mean f = K a, covariance (K⁻¹ + W)⁻¹; ``root`` = W^½, ``factor`` is B's."""

    a: Floats
    f: Floats
    root: Floats
    factor: Floats

    def inner(self, columns: Floats) -> Floats:
        """B⁻¹ columns."""
        return np.asarray(dpotrs(self.factor, columns, lower=1)[0])


@dataclass(frozen=True, slots=True)
class Mode(Belief):
    """Laplace's approximation: f is where the posterior is highest. With it comes the approximate log evidence."""

    evidence: float


def find_mode(K: Floats, tobit: Tobit, noise: float, start: Floats | None = None) -> Mode:
    """Newton's method (R&W Alg. 3.1) from ``start``, or from the data; a step that would lower the posterior is halved."""
    factors = Factors(K, tobit.observed, noise)
    a, f = _first_step(factors, tobit, noise, tobit.y if start is None else start)
    terms, settled = tobit.terms(f, noise), False
    for _ in range(STEPS):
        root = np.sqrt(terms.weight)
        factor = factors.at(root)
        slope = terms.first - a  # of the log posterior, as a combination of the columns of K
        step = slope - root * dpotrs(factor, root * (K @ slope), lower=1)[0]
        move = K @ step
        if settled or np.max(np.abs(move)) <= STILL * noise:
            break
        settled = 0.5 * float(slope @ move) <= SETTLED * max(1.0, abs(terms.value))  # what the step can gain
        a, f, terms = _climb(tobit, noise, (a, f, terms), step, move)
    return Mode(a, f, root, factor, -0.5 * float(a @ f) + terms.value - float(np.log(np.diag(factor)).sum()))


def _first_step(factors: Factors, tobit: Tobit, noise: float, f: Floats) -> tuple[Floats, Floats]:
    """A full step from any f; written so that its ``a`` need not be known (R&W Alg. 3.1 ll. 5–6)."""
    terms = tobit.terms(f, noise)
    root = np.sqrt(terms.weight)
    b = terms.weight * f + terms.first
    a = b - root * dpotrs(factors.at(root), root * (factors.K @ b), lower=1)[0]
    return a, factors.K @ a


def _climb(
    tobit: Tobit, noise: float, here: tuple[Floats, Floats, Terms], step: Floats, move: Floats
) -> tuple[Floats, Floats, Terms]:
    a, f, terms = here
    height = terms.value - 0.5 * float(a @ f)
    height -= SETTLED * max(1.0, abs(height))  # rounding is no fall
    share = 1.0
    for _ in range(HALVINGS):
        new_a, new_f = a + share * step, f + share * move
        new = tobit.terms(new_f, noise)
        if new.value - 0.5 * float(new_a @ new_f) >= height:
            break
        share /= 2.0
    return new_a, new_f, new


def evidence_slopes(K: Floats, tobit: Tobit, noise: float, mode: Mode) -> tuple[Floats, float]:
    """Slopes of ``mode.evidence``: the matrix G with ∂evidence/∂θ = Σ G ∘ ∂K/∂θ, and ∂evidence/∂log noise.

    R&W eqs. 5.22–5.24; since W also depends on θ through the mode, u carries that implicit part for all θ at once.
    """
    inverse = inverse_of(mode.factor)
    known = 1.0 - np.diag(inverse)  # W_i times the posterior variance of f_i
    inverse *= mode.root
    inverse *= mode.root[:, None]  # now R = (K + W⁻¹)⁻¹
    bends = tobit.bends(mode.f, noise)
    s = 0.5 * known * bends
    u = s - inverse @ (K @ s)
    value, first, weight = tobit.noise_slopes(mode.f, noise, bends)
    along_noise = value - 0.5 * float(known @ weight) + float(u @ (K @ first))
    inverse *= -0.5
    half = np.outer(mode.a, 0.25 * mode.a + 0.5 * u)
    inverse += half
    inverse += half.T
    return inverse, along_noise


def inverse_of(factor: Floats) -> Floats:
    """B⁻¹ from B's lower Cholesky factor."""
    inverse = dpotri(factor, lower=1)[0]  # the lower triangle; above it are zeros
    inverse = inverse + inverse.T
    np.fill_diagonal(inverse, 0.5 * np.diag(inverse))
    return np.asarray(inverse)
