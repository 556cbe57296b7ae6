"""Random forests that understand "at least": Hutter, Hoos & Leyton-Brown 2013, Algorithm 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike

from capra._kernels import Domain, Forest
from capra.errors import ModelError
from capra.models.base import Floats, Mask, Types, checked_data, checked_inputs
from capra.models.imputation import Belief, Indices, conditional_means, conditional_quantiles, impute
from capra.models.noise import fitted_noise

__all__ = ["CensoredForest"]

Censoring = Literal["sample", "mean", "drop", "ignore"]
MAX_CATEGORIES = 65_535
"""Of one column: the kernel's codes have two bytes."""


class CensoredForest:
    """Regression trees on bootstrap samples; the forest's belief is the mean and variance over its trees.

    ``censoring`` says what is made of values that are only lower bounds:

    - ``"sample"``: each copy of a censored point gets a quantile of what the forest believes about it, lower ones in the
      first trees and higher ones in the last. Trees then disagree about what is not known (Hutter et al. 2013).
    - ``"mean"``: all copies get the mean of that belief (Schmee & Hahn 1979). Better than the two below, but the forest
      becomes sure of values it has invented.
    - ``"drop"``: censored points are left out. ``"ignore"``: bounds are taken for values.

    ``upper``: no censored point's mean is imputed above this (log10 of the largest cost there is). ``types``: 0 = numeric
    column, k = categorical with k values. A split looks at ``feature_fraction`` of the columns; a leaf keeps at least
    ``min_leaf`` copies, and a node with fewer than ``min_split`` is not split. The defaults are those of SMAC for
    algorithm configuration: many noisy observations. While imputing there are at most so many ``refits``. The result depends
    on the data and ``seed`` alone, not on ``threads``.
    """

    tolerance = 0.01
    """Imputing ends when values move by less than this on average: 2 % of a cost, since values are log10."""
    min_std = 1e-5
    """Deviations are not below this: trees may agree by chance, and an acquisition function divides by them."""

    def __init__(
        self,
        n_trees: int = 10,
        censoring: Censoring = "sample",
        types: ArrayLike | None = None,
        upper: float | None = None,
        seed: int = 0,
        *,
        min_leaf: int = 3,
        min_split: int = 3,
        feature_fraction: float = 5 / 6,
        bootstrap: bool = True,
        refits: int = 10,
        threads: int = 1,
    ) -> None:
        if censoring not in get_args(Censoring):
            raise ModelError(f"censoring is {censoring!r}", hint=f"use one of {', '.join(get_args(Censoring))}")
        if upper is not None and not np.isfinite(upper):
            raise ModelError(f"upper must be a finite number or None, not {upper}")
        whole = {"n_trees": n_trees, "min_leaf": min_leaf, "min_split": min_split, "refits": refits, "threads": threads}
        for name, value in whole.items():
            if not 1 <= value < 2**32:
                raise ModelError(f"{name} must be at least 1 and below 2^32, not {value}")
        if not 0 <= seed < 2**64:
            raise ModelError(f"seed must be at least 0 and below 2^64, not {seed}")
        if not 0.0 < feature_fraction <= 1.0:
            raise ModelError(f"feature_fraction must be above 0 and at most 1, not {feature_fraction}")
        self.n_trees = n_trees
        self.censoring = censoring
        self.types = types
        self.upper = upper
        self.seed = seed
        self.min_leaf = min_leaf
        self.min_split = min_split
        self.feature_fraction = feature_fraction
        self.bootstrap = bootstrap
        self.refits = refits
        self.threads = threads
        self._forest: Forest | None = None
        self._types: Types = np.zeros(0, dtype=np.int64)
        self._noise: float | None = None

    def fit(self, X: ArrayLike, y: ArrayLike, censored: ArrayLike | None = None) -> Self:
        """Grow the trees; values to be imputed are drawn, and the trees refitted, until they come no nearer (Alg. 1)."""
        rows, values, mask, types = checked_data(X, y, censored, self.types)
        if np.any(types > MAX_CATEGORIES):
            raise ModelError(f"a column has more than {MAX_CATEGORIES:,} categories")
        if self.censoring == "ignore" or (self.censoring == "drop" and mask.all()):
            mask = np.zeros_like(mask)  # bounds are all that is left to learn from
        elif self.censoring == "drop":
            rows, values, mask = np.ascontiguousarray(rows[~mask]), values[~mask], mask[~mask]
        forest = self._plant(rows, mask, types)
        self._grow(forest, rows, values, mask)
        self._forest, self._types = forest, types
        self._data, self._noise = (rows, values, mask), None
        return self

    def _plant(self, rows: Floats, mask: Mask, types: Types) -> Forest:
        """Trees with their bootstrap samples, but without targets (Alg. 1 l. 1–8)."""
        return Forest(
            x=rows,
            types=types.astype(np.uint32),
            apart=mask if self.censoring == "sample" else np.zeros_like(mask),
            trees=self.n_trees,
            bootstrap=self.bootstrap,
            seed=self.seed,
            min_leaf=self.min_leaf,
            min_split=self.min_split,
            features=max(1, int(self.feature_fraction * rows.shape[1])),
            threads=self.threads,
        )

    def _grow(self, forest: Forest, rows: Floats, y: Floats, mask: Mask) -> None:
        """Alg. 1 l. 9–17."""
        entries = forest.rows
        targets, unknown = y[entries], mask[entries]
        forest.fit(_first_targets(targets, unknown, forest.offsets))
        if not unknown.any():
            return
        points, lower = np.ascontiguousarray(rows[mask]), y[mask]
        point = (np.cumsum(mask) - 1)[entries[unknown]]  # of each unknown entry: which censored point it is a copy of
        level = _levels(point, len(lower))

        def values(belief: Belief) -> Floats:
            if self.censoring == "sample":
                return conditional_quantiles(belief, lower, self.upper, point, level)
            means: Floats = conditional_means(belief, lower, self.upper)[point]
            return means

        def refit(imputed: Floats) -> Belief:
            targets[unknown] = imputed
            forest.fit(targets)
            return self._observed(forest, points)

        impute(self._observed(forest, points), values, refit, limit=self.refits, tolerance=self.tolerance)

    def predict(self, X: ArrayLike) -> tuple[Floats, Floats]:
        """Mean and deviation of the trees' predictions, (n,) each: the deviation is doubt about the function, not noise."""
        return self._belief(self.predict_trees(X))

    def predict_runs(self, X: ArrayLike) -> tuple[Floats, Floats]:
        """Mean and deviation of a single run, (n,) each: what ``predict`` says, with ``noise``."""
        mean, std = self.predict(X)
        return mean, np.hypot(std, self.noise)

    @property
    def noise(self) -> float:
        """Deviation of a single run's log10 cost from the function, judged by trees that have not seen the run.

        The variance inside of leaves would be too small: trees have been grown to lessen it, and imputed values hardly
        vary. Worked out when it is first asked for. Without ``bootstrap`` all trees have seen all runs, and it is too small.
        """
        forest = self._fitted()
        if self._noise is None:
            rows, values, mask = self._data
            means, judged = _out_of_bag(forest, rows)
            doubt = self.predict(rows[judged])[1]
            self._noise = fitted_noise(values[judged] - means[judged], mask[judged], doubt)
        return self._noise

    def predict_trees(self, X: ArrayLike) -> Floats:
        """What each tree predicts, (n_trees, n)."""
        forest = self._fitted()
        return forest.predict(checked_inputs(X, self._types))

    def predict_marginal(self, X: ArrayLike, instances: ArrayLike) -> tuple[Floats, Floats]:
        """Mean and deviation over trees of log10 of the arithmetic mean over instances, (n,) each."""
        return self._belief(self.marginal_trees(X, instances))

    def marginal_trees(self, X: ArrayLike, instances: ArrayLike) -> Floats:
        """What each tree says of log10 of the mean cost over instances, (n_trees, n)."""
        forest, features = self._fitted(), self._features(instances)
        configurations = checked_inputs(X, self._types[: len(self._types) - features.shape[1]])
        return forest.predict_marginal(configurations, features)

    def variances(self, domain: Domain, instances: ArrayLike) -> tuple[Floats, Floats]:
        """Functional analysis of variance of each tree's mean over instances, configurations drawn from ``domain``.

        The variance, (n_trees,), and that of each parameter's effect, (n_trees, d).
        """
        return self._fitted().variances(domain, self._features(instances))

    def interactions(self, domain: Domain, instances: ArrayLike, pairs: Sequence[tuple[int, int]]) -> Floats:
        """Variance of what pairs of columns do together beyond what each does alone, (n_trees, pairs)."""
        return self._fitted().interactions(domain, self._features(instances), list(pairs))

    def curve(self, domain: Domain, instances: ArrayLike, column: int, codes: ArrayLike) -> Floats:
        """Mean over configurations and instances, given that a column is active and has each of ``codes``, (n_trees, n)."""
        return self._fitted().curve(domain, self._features(instances), column, np.ascontiguousarray(codes, dtype=np.float64))

    def _features(self, instances: ArrayLike) -> Floats:
        features = np.asarray(instances, dtype=np.float64)
        if features.ndim != 2 or len(features) == 0 or features.shape[1] > len(self._types):
            raise ModelError(f"instances must have shape (m, f) with at least one row, not {features.shape}")
        return checked_inputs(features, self._types[len(self._types) - features.shape[1] :])

    def sample(self, X: ArrayLike, rng: np.random.Generator) -> Floats:
        """One tree, drawn at random: a function that is as lucky at one censored point as at the others."""
        tree: Floats = self.predict_trees(X)[rng.integers(self.n_trees)]
        return tree

    def sample_marginal(self, X: ArrayLike, instances: ArrayLike, rng: np.random.Generator) -> Floats:
        """Log10 of the arithmetic mean over instances in one tree, drawn at random, (n,)."""
        tree: Floats = self.marginal_trees(X, instances)[rng.integers(self.n_trees)]
        return tree

    def _belief(self, trees: Floats) -> Belief:
        """Mean and deviation over trees: of the function, as in Hutter et al. 2013, section 2.

        The variance inside of leaves is left out: it is mostly the noise of single runs, which does not shrink where one
        learns more, and acquisition asks for what could still be learnt.
        """
        return trees.mean(axis=0), np.maximum(trees.std(axis=0), self.min_std)

    def _observed(self, forest: Forest, points: Floats) -> Belief:
        """Mean and deviation of an observation: the variance over trees and the mean variance inside of their leaves.

        What was censored is an observation. The paper truncates the belief about the function instead; with leaves of
        several points that is too narrow: the likelihood of new data was lower on all we tried, though on SPEAR-SWV the
        error was lower, too (benchmarks/forest_censoring.py).
        """
        means, variances = forest.predict_leaves(points)
        return means.mean(axis=0), np.maximum(np.sqrt(means.var(axis=0) + variances.mean(axis=0)), self.min_std)

    def _fitted(self) -> Forest:
        if self._forest is None:
            raise ModelError("the forest has not been fitted", hint="call fit(X, y, censored) first")
        return self._forest


def _out_of_bag(forest: Forest, rows: Floats) -> tuple[Floats, Mask]:
    """Mean over the trees that did not see a row, (n,), and where there are any; over all trees if that is nowhere."""
    unseen = np.ones((len(forest.offsets) - 1, len(rows)), dtype=np.bool_)
    unseen[np.repeat(np.arange(len(unseen)), np.diff(forest.offsets)), forest.rows] = False
    if not unseen.any():
        unseen[:] = True
    judges: Floats = np.sum(unseen, axis=0, dtype=np.float64)
    sums: Floats = np.sum(forest.predict(rows) * unseen, axis=0)
    return sums / np.maximum(judges, 1.0), judges > 0.0


def _first_targets(targets: Floats, unknown: Mask, offsets: Indices) -> Floats:
    """Targets of the first fit: NaN, so left out, where unknown (Alg. 1 l. 9).

    A tree that would be left with nothing takes its bounds for values.
    """
    known = np.add.reduceat(~unknown, offsets[:-1], dtype=np.int64)
    bare = np.repeat(known == 0, np.diff(offsets))
    return np.where(unknown & ~bare, np.nan, targets)


def _levels(point: Indices, points: int) -> Floats:
    """k/(N + 1) for the k-th of N copies of a point, counted in tree order (Alg. 1 l. 13–14).

    Low quantiles go to the first trees for all points alike, so a tree is lucky or unlucky throughout, and the variance of
    a mean of censored values does not average out.
    """
    order = np.argsort(point, kind="stable")
    copies = np.bincount(point, minlength=points)
    first = np.cumsum(copies) - copies
    rank = np.empty(len(point))
    rank[order] = np.arange(len(point)) - first[point[order]] + 1
    return rank / (copies[point] + 1)
