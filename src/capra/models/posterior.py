"""What a fitted Gaussian process believes: at single rows, at rows together, and as a whole function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from capra.models.base import Floats
from capra.models.covariance import LEVEL, Covariance, Inputs
from capra.models.laplace import Belief

__all__ = ["Posterior"]

FEATURES = 1_000  # random features of a drawn function
JITTER = 1e-10  # of the prior variance: above rounding, below anything that matters


@dataclass(frozen=True, slots=True)
class Posterior:
    """The belief about f at the data's rows, and how standardised values become log10 of costs again."""

    covariance: Covariance
    inputs: Inputs
    theta: Floats
    noise: float
    belief: Belief
    centre: float
    scale: float

    def marginals(self, at: Inputs) -> tuple[Floats, Floats]:
        """Mean and deviation at each row, (n,) each."""
        mean, gain = self._update(at)
        prior = self.covariance.variance(self.theta)
        variance = np.maximum(prior - np.sum(gain * gain, axis=0), JITTER * prior)
        return mean, self.scale * np.sqrt(variance)

    def joint(self, at: Inputs) -> tuple[Floats, Floats]:
        """Mean (n,) and a lower triangular root (n, n) of the covariance of all rows together."""
        mean, gain = self._update(at)
        covariance = self.covariance.matrix(at, at, self.theta) - gain.T @ gain
        covariance[np.diag_indices_from(covariance)] += JITTER * self.covariance.variance(self.theta)
        return mean, np.asarray(self.scale * np.linalg.cholesky(covariance), dtype=np.float64)

    def _update(self, at: Inputs) -> tuple[Floats, Floats]:
        """Mean, and the matrix whose Gram matrix the data took off the prior covariance (R&W Alg. 3.2 ll. 4–6)."""
        cross = self.covariance.matrix(self.inputs, at, self.theta)
        gain = solve_triangular(self.belief.factor, self.belief.root[:, None] * cross, lower=True, check_finite=False)
        return self.centre + self.scale * (self.belief.a @ cross), gain

    def function(self, rng: np.random.Generator) -> Callable[[Inputs], Floats]:
        """A function drawn from the posterior, as prior draw plus correction (Wilson et al. 2020, "pathwise" sampling).

        For g drawn from the prior and ξ standard normal, g + k(·, X)(a − R g(X) − W^½ B⁻¹ ξ), with R = W^½ B⁻¹ W^½, has the
        posterior's mean and covariance. The features of g are drawn anew each time, so that this is exact on average over
        the draws, and no matrix over the rows asked for is needed.
        """
        features = self.covariance.features(self.theta, FEATURES, rng)
        weights, level = rng.standard_normal(FEATURES), np.sqrt(LEVEL) * rng.standard_normal()
        belief, at_data = self.belief, features(self.inputs) @ weights + level
        pull = belief.a - belief.root * belief.inner(belief.root * at_data + rng.standard_normal(len(at_data)))

        def value(at: Inputs) -> Floats:
            cross = self.covariance.matrix(at, self.inputs, self.theta)
            return np.asarray(self.centre + self.scale * (features(at) @ weights + level + cross @ pull))

        return value
