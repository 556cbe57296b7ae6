"""Neural networks trained on censored data (Eggensperger et al. 2021, "Neural Model-based Optimization with Right-Censored
Observations").

A network predicts location and scale of log10 cost. Its loss takes the density at observed values and the survival function
at censored ones, so that a capped run says "at least" and nothing more (eq. 4). An ensemble's uncertainty is the spread of
its members' means (eq. 5). The arithmetic is in ``kernels/network*``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from capra.errors import ModelError
from capra.models.base import Floats, Mask, checked_data, checked_inputs
from capra.models.encoding import Encoder
from capra.models.numerics import truncated_mean
from capra.models.training import FAST, HEADS, LEAST_SCALE, Recipe, initial_weights, predicted, trained

__all__ = ["TobitEnsemble", "TobitNetwork"]

Censoring = Literal["tobit", "mean", "drop", "ignore"]
Head = Literal["normal", "weibull", "logistic"]


class Options(TypedDict, total=False):
    """What a network and an ensemble both take; ``TobitNetwork`` says what it means."""

    types: ArrayLike | None
    head: Head
    hidden: Sequence[int]
    recipe: Recipe
    warm: Recipe | None
    upper: float | None
    iterations: int
    known_noise: float | None


BLOCK = 16_384  # rows of (configuration, instance) that are expanded at a time
MOST = 4096  # units, members, iterations, threads: more is a mistake
LEAST_STD = 1e-6  # of the targets' deviation
LEAST_NOISE = 0.05  # of the targets' deviation, where it is known


@dataclass(frozen=True)
class _Fitted:
    """What a fit leaves: encoder, layer sizes, weights (members, weights), and the scaling of the targets."""

    encoder: Encoder
    sizes: list[int]
    weights: NDArray[np.float32]
    centre: float
    scale: float


class _Networks:
    """Networks of one shape, trained on the same data from different weights."""

    def __init__(
        self,
        size: int,
        censoring: Censoring,
        seed: int,
        *,
        types: ArrayLike | None = None,
        head: Head = "normal",
        hidden: Sequence[int] = (50, 50, 50),
        recipe: Recipe = FAST,
        warm: Recipe | None = None,
        upper: float | None = None,
        iterations: int = 5,
        known_noise: float | None = None,
        threads: int = 1,
    ) -> None:
        _check(size, censoring, head, hidden, iterations, threads)
        if not isinstance(seed, int | np.integer) or not 0 <= seed < 2**64:
            raise ModelError(f"seed must be a whole number of at least 0 and below 2^64, not {seed!r}")
        if known_noise is not None and not 0.0 <= known_noise < np.inf:
            raise ModelError(f"known_noise must be a number that is not negative: {known_noise}")
        self.size, self.censoring, self.seed, self.types, self.head = size, censoring, seed, types, head
        self.hidden, self.recipe, self.warm, self.upper = list(hidden), recipe, warm, upper
        self.iterations, self.threads, self.known_noise = iterations, threads, known_noise
        self._fitted: _Fitted | None = None

    def fit(self, X: ArrayLike, y: ArrayLike, censored: ArrayLike | None = None) -> Self:
        rows, values, mask, self._kinds = checked_data(X, y, censored, self.types)
        if self.censoring == "ignore":
            mask = np.zeros_like(mask)
        if self.censoring == "drop" and not mask.all():
            rows, values, mask = rows[~mask], values[~mask], mask[~mask]
        before = self._fitted if self.warm is not None else None
        if self.censoring == "mean":
            self._fit_imputed(rows, values, mask, before)
        else:
            self._fitted = self._train(rows, values, mask & (self.censoring == "tobit"), before)
        return self

    def _fit_imputed(self, rows: Floats, values: Floats, censored: Mask, before: _Fitted | None) -> None:
        """Schmee & Hahn 1979: fit, replace each censored value by its mean given that it is at least that, fit again.

        The first fit sees the uncensored values alone, as in Hutter et al. 2011, Alg. 1: if it took the bounds for values,
        the imputation would believe it, and five iterations do not lead away from that.
        """
        known = ~censored if not censored.all() else np.ones_like(censored)
        nothing = np.zeros_like(censored)
        self._fitted = self._train(rows[known], values[known], nothing[known], before)
        for _ in range(self.iterations if censored.any() else 0):
            imputed = truncated_mean(*self.predict_runs(rows[censored]), values[censored])
            complete = values.copy()
            complete[censored] = np.maximum(self._bounded(imputed), values[censored])
            self._fitted = self._train(rows, complete, nothing, before)

    def _train(self, rows: Floats, values: Floats, censored: Mask, before: _Fitted | None) -> _Fitted:
        encoder = Encoder.learnt(rows, self._kinds)
        sizes = [encoder.width, *self.hidden, 2]
        centre, scale = float(values.mean()), float(values.std())
        scale = scale if scale > 1e-12 * max(1.0, abs(centre)) else 1.0
        frozen = self.known_noise is not None
        if self.known_noise is not None:  # targets in units in which it is the least scale
            scale = max(self.known_noise, LEAST_NOISE * scale) / LEAST_SCALE
        seeds = np.random.SeedSequence(self.seed).spawn(self.size)
        if before is not None and before.sizes == sizes and self.warm is not None:
            start, recipe = _rescaled(before, centre, scale), self.warm
        else:
            drawn = [initial_weights(sizes, np.random.default_rng(seed), frozen=frozen) for seed in seeds]
            start, recipe = np.stack(drawn), self.recipe
        shuffles = np.array([seed.generate_state(1, np.uint64)[0] for seed in seeds])
        targets = ((values - centre) / scale).astype(np.float32)
        weights = trained(
            sizes, start, encoder.encode(rows), targets, censored, shuffles, self.head, recipe, threads=self.threads
        )
        return _Fitted(encoder, sizes, weights, centre, scale)

    def predict_runs(self, X: ArrayLike) -> tuple[Floats, Floats]:
        """Mean and deviation of a single run: the members' noise and their disagreement."""
        means, stds = self._members(X)
        return means.mean(axis=0), np.sqrt(np.mean(stds**2, axis=0) + np.var(means, axis=0))

    def _members(self, X: ArrayLike) -> tuple[Floats, Floats]:
        """Mean and deviation of every member at every row, (size, n) each."""
        fitted = self._known()
        return self._moments(fitted.encoder.encode(checked_inputs(X, self._kinds)))

    def _moments(self, columns: NDArray[np.float32]) -> tuple[Floats, Floats]:
        fitted = self._known()
        out = predicted(fitted.sizes, fitted.weights, columns, threads=self.threads)
        shift, stretch = HEADS[self.head]
        means = fitted.centre + fitted.scale * (out[:, :, 0] + shift * out[:, :, 1])
        return self._bounded(means), fitted.scale * stretch * out[:, :, 1]

    def _marginals(self, X: ArrayLike, instances: ArrayLike) -> tuple[Floats, Floats]:
        """log10 of every member's mean of 10^mean over instances, and the deviation its noise leaves there; (size, n)."""
        fitted = self._known()
        features = np.asarray(instances, dtype=np.float64)
        if features.ndim != 2 or not len(features) or not 0 <= features.shape[1] < len(self._kinds):
            raise ModelError(f"instances must have shape (m, f) with at least one row, not {features.shape}")
        first = len(self._kinds) - features.shape[1]
        configurations = fitted.encoder.encode(checked_inputs(X, self._kinds[:first]))
        tail = fitted.encoder.encode(checked_inputs(features, self._kinds[first:]), first)
        step = max(1, BLOCK // len(tail))
        starts = range(0, len(configurations), step)
        blocks = [self._marginal_block(configurations[start : start + step], tail) for start in starts]
        empty = [(np.empty((self.size, 0)), np.empty((self.size, 0)))]
        means, stds = zip(*(blocks or empty), strict=True)
        return np.concatenate(means, axis=1), np.concatenate(stds, axis=1)

    def _marginal_block(self, configurations: NDArray[np.float32], tail: NDArray[np.float32]) -> tuple[Floats, Floats]:
        n, m = len(configurations), len(tail)
        rows = np.concatenate([np.repeat(configurations, m, axis=0), np.tile(tail, (n, 1))], axis=1)
        means, stds = (moment.reshape(self.size, n, m) for moment in self._moments(rows))
        top = means.max(axis=2, keepdims=True)
        powers = 10.0 ** (means - top)
        total = powers.sum(axis=2)
        shares = powers / total[:, :, None]  # the slope of the logarithm of the mean in each instance's logarithm
        return top[:, :, 0] + np.log10(total / m), np.sqrt(np.sum((shares * stds) ** 2, axis=2))

    def _bounded(self, means: Floats) -> Floats:
        """Censored data bounds a network only from below: nothing above ``upper`` is believed."""
        return means if self.upper is None else np.minimum(means, self.upper)

    def _known(self) -> _Fitted:
        if self._fitted is None:
            raise ModelError("the model has seen no data yet", hint="call fit first")
        return self._fitted


class TobitNetwork(_Networks):
    """One network. Trained from scratch it is one draw from what an ensemble would believe (Thompson sampling).

    ``censoring``: "tobit" takes censored values as lower bounds in the loss; "mean" imputes them (Schmee & Hahn,
    ``iterations`` times); "drop" leaves them out; "ignore" takes them as observed. ``types[j]``: 0 = numeric, k =
    categorical with k values. ``head``: the distribution of log10 cost. ``upper``: no predicted mean exceeds it. With
    ``warm`` given, later fits start from the weights of the one before and follow that recipe. ``known_noise`` (of a log10
    cost) is for those who know it, and is not learnt then: a network that sees mostly bounds takes the few low values for
    noise.
    """

    def __init__(self, censoring: Censoring = "tobit", seed: int = 0, **options: Unpack[Options]) -> None:
        super().__init__(1, censoring, seed, **options)

    def predict(self, X: ArrayLike) -> tuple[Floats, Floats]:
        """Mean and deviation of log10 cost; the deviation is that of a single run (the noise)."""
        means, stds = self._members(X)
        return means[0], stds[0]

    def predict_marginal(self, X: ArrayLike, instances: ArrayLike) -> tuple[Floats, Floats]:
        """log10 of the mean over instances, and the deviation that the noise of one run on each leaves in it."""
        means, stds = self._marginals(X, instances)
        return means[0], stds[0]

    def sample(self, X: ArrayLike, rng: np.random.Generator) -> Floats:
        """The network's mean: training it has been the draw. ``rng`` is not used."""
        return self.predict(X)[0]

    def sample_marginal(self, X: ArrayLike, instances: ArrayLike, rng: np.random.Generator) -> Floats:
        """The mean of ``predict_marginal``, as in ``sample``. ``rng`` is not used."""
        return self.predict_marginal(X, instances)[0]


class TobitEnsemble(_Networks):
    """``size`` networks that differ in their first weights and the order of the data; ``threads`` train at a time.

    The other arguments are those of ``TobitNetwork``. The result does not depend on ``threads``.
    """

    def __init__(
        self, size: int = 5, censoring: Censoring = "tobit", seed: int = 0, *, threads: int = 1, **options: Unpack[Options]
    ) -> None:
        super().__init__(size, censoring, seed, threads=threads, **options)

    def predict(self, X: ArrayLike) -> tuple[Floats, Floats]:
        """Mean and deviation of the members' means; the noise of a single run is left out on purpose (eq. 5)."""
        return self._moments_of(self._members(X)[0])

    def predict_marginal(self, X: ArrayLike, instances: ArrayLike) -> tuple[Floats, Floats]:
        """Mean and deviation over members of log10 of the mean over instances."""
        return self._moments_of(self._marginals(X, instances)[0])

    def sample(self, X: ArrayLike, rng: np.random.Generator) -> Floats:
        """The mean of one member, drawn with ``rng``."""
        means, _ = self._members(X)
        return np.asarray(means[rng.integers(self.size)])

    def sample_marginal(self, X: ArrayLike, instances: ArrayLike, rng: np.random.Generator) -> Floats:
        """Log10 of the arithmetic mean over instances by one member, drawn with ``rng``, (n,)."""
        return np.asarray(self._marginals(X, instances)[0][rng.integers(self.size)])

    def _moments_of(self, means: Floats) -> tuple[Floats, Floats]:
        return means.mean(axis=0), np.maximum(means.std(axis=0), LEAST_STD * self._known().scale)


def _rescaled(before: _Fitted, centre: float, scale: float) -> NDArray[np.float32]:
    """The old weights, their means (last layer, first unit) brought to the new scaling of the targets."""
    weights = before.weights.copy()
    width = before.sizes[-2] + 1
    mean = weights[:, -2 * width : -width]
    mean *= before.scale / scale
    mean[:, -1] += (before.centre - centre) / scale
    return weights


def _check(size: int, censoring: str, head: str, hidden: Sequence[int], iterations: int, threads: int) -> None:
    if censoring not in ("tobit", "mean", "drop", "ignore"):
        raise ModelError(f"unknown censoring {censoring!r}", hint="tobit, mean, drop or ignore")
    if head not in HEADS:
        raise ModelError(f"unknown head {head!r}", hint=f"one of {', '.join(HEADS)}")
    if censoring == "mean" and head != "normal":
        raise ModelError("mean imputation knows the normal distribution only", hint='head="normal", or censoring="tobit"')
    counts = [("size", size), ("iterations", iterations), ("threads", threads), *(("hidden", units) for units in hidden)]
    for name, value in counts:
        if not isinstance(value, int) or not 1 <= value <= MOST:
            raise ModelError(f"{name} must be a whole number from 1 to {MOST}, not {value!r}")
