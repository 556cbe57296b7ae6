"""The covariance of the Gaussian process: configurations with numbers, categories and inactive parameters.

k(x, x') = amplitude · Matérn 5/2 of the numeric columns · exp(−Σ [xⱼ ≠ x'ⱼ] / lengthⱼ) over the categorical ones + 1. The
last term is the unknown mean level, a priori N(0, 1) in units of the standardised targets: far from all data the process
returns to the level that the data, censored ones too, speak for.

An inactive number is a place of its own: the middle of the range, one range off the line of the active values. Two inactive
ones are equal, and an inactive one is 1 to 1.12 ranges away from any active one. A distance exactly the same to *all* active
values would not be a covariance: no point of a Euclidean space is equally far from three points of a line. For categories,
inactive is one more value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from capra.models.base import Floats, Types

__all__ = ["Covariance", "Inputs"]

ROOT5 = float(np.sqrt(5.0))
LEVEL = 1.0  # a priori variance of the mean level


@dataclass(frozen=True, slots=True)
class Inputs:
    """Rows as the covariance sees them: ``numbers`` (n, 2p) hold value and inactivity, ``codes`` (n, c) are one-hot."""

    numbers: Floats
    codes: Floats

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, rows: slice) -> Inputs:
        return Inputs(self.numbers[rows], self.codes[rows])


@dataclass(frozen=True, slots=True)
class Parts:
    """What the slopes of a covariance matrix are made of: k without the level, and ∂k/∂(r²) times −2."""

    product: Floats
    slope: Floats


class Covariance:
    """``theta`` is always the natural logarithm of (length of each of the d columns, amplitude)."""

    def __init__(self, types: Types) -> None:
        self.types = types
        self._numeric, self._categorical = np.flatnonzero(types == 0), np.flatnonzero(types)
        self._number_of = np.tile(self._numeric, 2)  # the column that each column of Inputs.numbers comes from
        self._code_of = np.repeat(self._categorical, types[self._categorical] + 1)

    def inputs(self, rows: Floats) -> Inputs:
        values = rows[:, self._numeric]
        inactive = np.isnan(values)
        columns = [self._one_hot(rows[:, j], int(self.types[j])) for j in self._categorical]
        codes = np.hstack(columns) if columns else np.empty((len(rows), 0))
        return Inputs(np.hstack([np.where(inactive, 0.5, values), inactive]), codes)

    @staticmethod
    def _one_hot(column: Floats, size: int) -> Floats:
        """(n, size + 1); the last one is inactive."""
        index = np.where(np.isnan(column), size, column).astype(np.int64)
        return np.asarray(np.eye(size + 1)[index])

    def matrix(self, left: Inputs, right: Inputs, theta: Floats) -> Floats:
        """Covariances, (n, m)."""
        return self.parts(left, right, theta).product + LEVEL

    def variance(self, theta: Floats) -> float:
        """k(x, x), the same everywhere."""
        return float(np.exp(theta[-1])) + LEVEL

    def parts(self, left: Inputs, right: Inputs, theta: Floats) -> Parts:
        """(1 + r + r²/3)·decay and 5/3·(1 + r)·decay for r = √5·distance, in place: new matrices are what costs here."""
        r = self._squared_distances(left, right, theta)
        np.sqrt(r, out=r)
        r *= ROOT5
        decay = (theta[-1] - self._mismatches(left, right, theta)) - r
        np.exp(decay, out=decay)
        linear = r + 1.0
        linear *= decay
        r *= r
        r *= decay
        r /= 3.0
        r += linear
        linear *= 5.0 / 3.0
        return Parts(r, linear)

    def _squared_distances(self, left: Inputs, right: Inputs, theta: Floats) -> Floats:
        weights = np.exp(-theta[self._number_of])
        middle = left.numbers.mean(axis=0)  # nearer to zero, fewer digits cancel
        a, b = (left.numbers - middle) * weights, (right.numbers - middle) * weights
        squares = a @ (-2.0 * b.T)
        squares += np.sum(a * a, axis=1)[:, None]
        squares += np.sum(b * b, axis=1)
        return np.asarray(np.maximum(squares, 0.0, out=squares))

    def _mismatches(self, left: Inputs, right: Inputs, theta: Floats) -> Floats | float:
        if not len(self._categorical):
            return 0.0
        weights = np.exp(-theta[self._code_of])
        total = float(np.exp(-theta[self._categorical]).sum())
        return np.asarray(np.maximum(total - (left.codes * weights) @ right.codes.T, 0.0))

    def slopes(self, inputs: Inputs, theta: Floats, parts: Parts, G: Floats) -> Floats:
        """Σ_ab G_ab ∂K_ab/∂theta, (d + 1,), for symmetric G and K = matrix(inputs, inputs).

        One product with G serves all columns: Σ_ab A_ab (x_a − x_b)² = 2 (Σ_a x_a² Σ_b A_ab − xᵀA x).
        """
        result = np.zeros(len(theta))
        scaled = (inputs.numbers - inputs.numbers.mean(axis=0)) * np.exp(-theta[self._number_of])
        A = G * parts.slope
        squares = 2.0 * (A.sum(axis=1) @ (scaled * scaled) - np.sum(scaled * (A @ scaled), axis=0))
        np.add.at(result, self._number_of, squares)
        A = G * parts.product
        result[-1] = A.sum()
        agreeing = np.zeros(len(theta))
        np.add.at(agreeing, self._code_of, np.sum(inputs.codes * (A @ inputs.codes), axis=0))
        each = self._categorical
        result[each] = (result[-1] - agreeing[each]) * np.exp(-theta[each])
        return result

    def features(self, theta: Floats, count: int, rng: np.random.Generator) -> Features:
        """Random features whose products have the covariance, without the level, as their expectation."""
        width, chi = len(self._number_of), rng.chisquare(5.0, size=count)
        # the spectrum of a Matérn 5/2 is a multivariate t with five degrees of freedom (Rahimi & Recht 2007)
        frequencies = rng.standard_normal((width, count)) * np.sqrt(5.0 / chi) * np.exp(-theta[self._number_of])[:, None]
        agreement = np.exp(-np.exp(-theta[self._categorical]))
        # with probability `agreement` all values of a category share one random sign, else each has its own
        bits = rng.integers(0, 2, size=(len(self._code_of), count))
        first = np.searchsorted(self._code_of, self._categorical)
        shared = rng.random((len(self._categorical), count)) < agreement[:, None]
        owner = np.searchsorted(self._categorical, self._code_of)
        bits = np.where(shared[owner], bits[first[owner]], bits)
        return Features(frequencies, bits.astype(np.float64), rng.uniform(0.0, 2.0 * np.pi, count), float(np.exp(theta[-1])))


@dataclass(frozen=True, slots=True)
class Features:
    """sqrt(2 · amplitude / count) · cos(frequency · x + phase) · sign, (n, count)."""

    frequencies: Floats
    bits: Floats
    phases: Floats
    amplitude: float

    def __call__(self, inputs: Inputs) -> Floats:
        waves = np.cos(inputs.numbers @ self.frequencies + self.phases)
        signs = 1.0 - 2.0 * ((inputs.codes @ self.bits) % 2.0)
        return np.asarray(np.sqrt(2.0 * self.amplitude / len(self.phases)) * waves * signs)
