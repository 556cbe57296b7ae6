"""A Gaussian process with the Tobit likelihood: for few runs and few parameters, and smooth where a forest is not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from capra.errors import ModelError
from capra.models.base import Floats, Mask, checked_data, checked_inputs
from capra.models.covariance import LEVEL, Covariance, Inputs
from capra.models.laplace import Belief, Tobit, evidence_slopes, find_mode
from capra.models.posterior import Posterior
from capra.models.propagation import covariance_slopes, log_evidence, propagate
from capra.models.threads import in_one_thread

__all__ = ["CensoredGP"]

LARGEST = 1_000  # rows; time grows with the cube of it
BLOCK = 1_000  # rows predicted at once: bounds the memory
DRAWS = 256  # of the costs on all instances, for their mean
STEPS = 60  # of the optimiser, from each start
ENOUGH = 1e-6  # relative gain of evidence below which the optimiser stops
ROUGHLY = 1e-4  # the same where every evaluation is a propagation, which is dearer
NEARLY = 1e-3  # how still propagations have to be for that
SPREAD = 1.5  # deviation of every prior, in natural logarithms; hyperparameters stay within three of them
LEAST_NOISE = (
    1e-2  # of the targets' deviation: with a tenth, propagations were slow to settle, and slopes drowned in the rest
)


class CensoredGP:
    """Gaussian process on standardised log costs; implements ``Surrogate``.

    Lengths of all columns, amplitude and noise maximise Laplace's approximation of the evidence times weak log-normal
    priors, from the priors' centre and from ``restarts`` further points drawn with ``seed``; with them, the posterior comes
    from expectation propagation. Answers are about the latent function, without the noise of single runs, whose deviation
    is ``noise``. At most 1,000 rows.

    ``known_noise`` (of a log10 cost) is for those who know it, and is not learnt then. Where nearly all values are bounds
    they cannot tell a function that varies from a constant with much noise; and with noise, a bound says little about f.
    """

    largest = LARGEST
    """More rows than this are refused."""
    candidates = 1_000
    """Configurations that it should be asked about at a time where there are instances: it takes them one by one."""

    def __init__(
        self, types: ArrayLike | None = None, *, restarts: int = 1, seed: int = 0, known_noise: float | None = None
    ) -> None:
        if restarts < 0:
            raise ModelError(f"restarts must not be negative: {restarts}")
        if not isinstance(seed, int | np.integer) or not 0 <= seed < 2**64:
            raise ModelError(f"seed must be a whole number of at least 0 and below 2^64, not {seed!r}")
        if known_noise is not None and not 0.0 <= known_noise < np.inf:
            raise ModelError(f"known_noise must be a number that is not negative: {known_noise}")
        self.types = types
        self.restarts = restarts
        self.seed = seed
        self.known_noise = known_noise
        self._fitted: Posterior | None = None

    @in_one_thread
    def fit(self, X: ArrayLike, y: ArrayLike, censored: ArrayLike | None = None) -> Self:
        rows, values, mask, kinds = checked_data(X, y, censored, self.types)
        if len(rows) > LARGEST:
            raise ModelError(
                f"{len(rows)} rows are too many for a Gaussian process: at most {LARGEST}",
                hint="take CensoredForest or TobitNetwork, or fit a part of the runs",
            )
        problem = _Problem.of(Covariance(kinds), rows, values, mask, self.known_noise)
        centre = problem.prior_centre()
        draws = np.random.default_rng(self.seed).standard_normal((self.restarts, len(centre)))
        self._fitted = problem.posterior(problem.best([centre, *(centre + problem.spread * np.clip(draws, -3.0, 3.0))]))
        return self

    @property
    def noise(self) -> float:
        """Deviation of a single run's log10 cost from the latent function."""
        return self._posterior.noise * self._posterior.scale

    @property
    def lengths(self) -> Floats:
        """Per column: how far one has to go (in its range; in mismatches, for categories) for costs to change; (d,)."""
        return np.asarray(np.exp(self._posterior.theta[:-1]))

    @in_one_thread
    def predict(self, X: ArrayLike) -> tuple[Floats, Floats]:
        posterior = self._posterior
        inputs = self._inputs(X)
        blocks = [posterior.marginals(inputs[i : i + BLOCK]) for i in range(0, len(inputs), BLOCK)]
        mean, std = (np.concatenate([block[k] for block in blocks]) for k in (0, 1)) if blocks else np.empty((2, 0))
        return mean, std

    def predict_runs(self, X: ArrayLike) -> tuple[Floats, Floats]:
        mean, std = self.predict(X)
        return mean, np.hypot(std, self.noise)

    @in_one_thread
    def predict_marginal(self, X: ArrayLike, instances: ArrayLike) -> tuple[Floats, Floats]:
        """Mean and deviation of log10 of the mean cost over instances.

        Costs of one configuration on several instances are dependent, and their mean is no linear function of their
        logarithms. So the instances' values are drawn together, 256 times with mirrored numbers that are the same for every
        configuration: answers are repeatable and differences between configurations are not drowned by chance.
        """
        posterior = self._posterior
        features = np.asarray(instances, dtype=np.float64)
        configurations = np.asarray(X, dtype=np.float64)
        if features.ndim != 2 or configurations.ndim != 2 or len(features) == 0:
            raise ModelError("X must be (n, d − f) configurations, instances (m, f) features of at least one instance")
        numbers = _mirrored(len(features), np.random.default_rng(self.seed))
        means = np.empty((2, len(configurations)))
        for i, configuration in enumerate(configurations):
            rows = np.hstack([np.tile(configuration, (len(features), 1)), features])
            mean, root = posterior.joint(self._inputs(rows))
            marginal = _log_mean(mean + numbers @ root.T)
            means[:, i] = marginal.mean(), marginal.std()
        return means[0], means[1]

    @in_one_thread
    def sample(self, X: ArrayLike, rng: np.random.Generator) -> Floats:
        """One function drawn from the posterior, at all rows of ``X``; memory grows with the rows, not their square.

        ``Posterior.function`` says how. Over many calls mean and covariance are exactly the posterior's.
        """
        draw = self._posterior.function(rng)
        inputs = self._inputs(X)
        blocks = [draw(inputs[i : i + BLOCK]) for i in range(0, len(inputs), BLOCK)]
        return np.concatenate(blocks) if blocks else np.empty(0)

    def sample_marginal(self, X: ArrayLike, instances: ArrayLike, rng: np.random.Generator) -> Floats:
        features, configurations = np.asarray(instances, dtype=np.float64), np.asarray(X, dtype=np.float64)
        joint = np.hstack([np.repeat(configurations, len(features), axis=0), np.tile(features, (len(configurations), 1))])
        return _log_mean(self.sample(joint, rng).reshape(len(configurations), len(features)))

    @property
    def _posterior(self) -> Posterior:
        if self._fitted is None:
            raise ModelError("this model has not seen any data", hint="call fit first")
        return self._fitted

    def _inputs(self, X: ArrayLike) -> Inputs:
        covariance = self._posterior.covariance
        return covariance.inputs(checked_inputs(X, covariance.types))


@dataclass(slots=True)
class _Problem:
    """The data of one fit, standardised, and the evidence as a function of ``theta``.

    ``theta`` is the logarithm of all lengths, the amplitude and, last, the noise.
    """

    covariance: Covariance
    inputs: Inputs
    tobit: Tobit
    centre: float
    scale: float
    known_noise: float | None = None
    """In units of ``scale``."""
    _mode: Floats | None = None
    _belief: Belief | None = None

    @classmethod
    def of(
        cls, covariance: Covariance, rows: Floats, y: Floats, censored: Mask, known_noise: float | None = None
    ) -> _Problem:
        centre, spread = float(y.mean()), float(y.std())
        scale = spread if spread > 1e-12 * max(1.0, abs(centre)) else 1.0
        order = np.argsort(censored, kind="stable")  # observed rows first
        tobit = Tobit((y[order] - centre) / scale, int(np.sum(~censored)))
        noise = None if known_noise is None else max(known_noise / scale, LEAST_NOISE)
        return cls(covariance, covariance.inputs(rows[order]), tobit, centre, scale, noise)

    def prior_centre(self) -> Floats:
        """Distances grow with the root of the number of columns, mismatches with the number itself; so do the lengths."""
        width = len(self.covariance.types)
        lengths = np.where(self.covariance.types == 0, 0.5 * np.sqrt(width), width)
        return np.asarray(np.log(np.append(lengths, [1.0, 0.3 if self.known_noise is None else self.known_noise])))

    @property
    def spread(self) -> Floats:
        """Of the priors; what is known has none."""
        spread = np.full(len(self.covariance.types) + 2, SPREAD)
        spread[-1] *= self.known_noise is None
        return spread

    def best(self, starts: list[Floats]) -> Floats:
        from scipy.optimize import minimize  # a fifth of a second that only fits need

        centre = self.prior_centre()
        bounds = np.column_stack([centre - 3.0 * self.spread, centre + 3.0 * self.spread])
        options = {"maxiter": STEPS, "ftol": ENOUGH if self.known_noise is None else ROUGHLY}
        results = [
            minimize(self.loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options) for start in starts
        ]
        return np.asarray(min(results, key=lambda result: float(result.fun)).x)

    def loss(self, theta: Floats) -> tuple[float, Floats]:
        """Minus log evidence and log prior, and its slopes."""
        value, slopes = self.evidence(theta) if self.known_noise is None else self.propagated_evidence(theta)
        off = (theta - self.prior_centre()) / SPREAD
        return 0.5 * float(off @ off) - value, off / SPREAD - slopes

    def evidence(self, theta: Floats) -> tuple[float, Floats]:
        """Approximate log evidence of the standardised data and its slopes; starts from the mode found last."""
        noise = float(np.exp(theta[-1]))
        parts = self.covariance.parts(self.inputs, self.inputs, theta[:-1])
        K = parts.product + LEVEL
        mode = find_mode(K, self.tobit, noise, self._mode)
        self._mode = mode.f
        G, along_noise = evidence_slopes(K, self.tobit, noise, mode)
        return mode.evidence, np.append(self.covariance.slopes(self.inputs, theta[:-1], parts, G), along_noise)

    def propagated_evidence(self, theta: Floats) -> tuple[float, Floats]:
        """The same for known noise, by expectation propagation; starts from the factors found last."""
        noise = float(np.exp(theta[-1]))
        parts = self.covariance.parts(self.inputs, self.inputs, theta[:-1])
        K = parts.product + LEVEL
        start = self._belief or find_mode(K, self.tobit, noise)
        self._belief = propagate(K, self.tobit, noise, start, moved=start is self._belief, still=NEARLY)
        slopes = self.covariance.slopes(self.inputs, theta[:-1], parts, covariance_slopes(self._belief))
        return log_evidence(K, self.tobit, noise, self._belief), np.append(slopes, 0.0)

    def posterior(self, theta: Floats) -> Posterior:
        kernel, noise = theta[:-1], float(np.exp(theta[-1]))
        K = self.covariance.matrix(self.inputs, self.inputs, kernel)
        start = self._belief or find_mode(K, self.tobit, noise)
        belief = propagate(K, self.tobit, noise, start, moved=start is self._belief)
        return Posterior(self.covariance, self.inputs, kernel, noise, belief, self.centre, self.scale)


def _mirrored(width: int, rng: np.random.Generator) -> Floats:
    """(DRAWS, width) normal numbers whose columns have mean 0 and mean square 1 exactly."""
    half = rng.standard_normal((DRAWS // 2, width))
    half /= np.sqrt(np.mean(half * half, axis=0))
    return np.asarray(np.vstack([half, -half]))


def _log_mean(logs: Floats) -> Floats:
    """Log10 of the mean of 10^x along the last axis, of numbers of any size."""
    highest = logs.max(axis=-1)
    return np.asarray(highest + np.log10(np.mean(10.0 ** (logs - highest[..., None]), axis=-1)))
