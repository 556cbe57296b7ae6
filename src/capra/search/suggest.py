"""Challengers proposed by a model of the censored history (Hutter, Hoos & Leyton-Brown, Alg. 2 l. 3–4 and Alg. 3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from capra.errors import InputError
from capra.models.base import Surrogate
from capra.models.instances import hardness
from capra.runs import Configuration, History
from capra.runs.history import Pair
from capra.search.acquisition import ACQUISITIONS
from capra.search.candidates import Score, best_candidates, unseen
from capra.search.information import Belief, informed
from capra.search.observations import Observations
from capra.space import Space

__all__ = ["Pending", "Suggester"]

Floats = NDArray[np.float64]
Pending = tuple[Configuration, str | None]
"""A configuration, and the instance on which it is running."""
BELIEVED = 0.01
"""Runs under way count if they are more than this share of those that are known."""


class ModelFactory(Protocol):
    """Makes the surrogate of one fit, to so many rows."""

    def __call__(self, types: NDArray[np.int64], seed: int, rows: int) -> Surrogate: ...


class Suggester:
    """Fits a model to everything known and lists the configurations that are worth a run, best first.

    Rows of the model are a configuration's codes followed by what is known of the instance: its features and how hard it
    has been. ``acquisition`` is one of ``ACQUISITIONS``, or "thompson": the minimiser of one function drawn from the model.
    ``refine``: its maximum is looked for to more digits.
    """

    def __init__(
        self,
        space: Space,
        observations: Observations,
        features: Floats,
        make_model: ModelFactory,
        *,
        acquisition: str,
        candidates: int,
        pool: Floats | None = None,
        refine: bool = False,
    ) -> None:
        self.space = space
        self.observations = observations
        self._features = features
        self._make_model = make_model
        self._acquisition = acquisition
        self._candidates = candidates
        self._pool = pool
        self._refine = refine
        self.learnt: tuple[Surrogate, Floats] | None = None
        """The last model, and the rows of the instances that it was shown."""
        self._marginals: dict[Configuration, tuple[float, float]] = {}

    def suggest(
        self,
        history: History,
        incumbent: Configuration | None,
        rng: np.random.Generator,
        *,
        count: int,
        pending: Sequence[Pending] = (),
    ) -> list[Configuration]:
        """Up to ``count`` configurations that were not run yet; ``pending`` runs are under way."""
        model, instances = self.learn(history, rng)
        under_way = len(pending) > BELIEVED * len(self.observations)
        if under_way:
            model, instances = self._fit(int(rng.integers(2**31)), self._believed(model, instances, pending))
        codes = self.observations.codes
        mean, _ = self._predict(model, codes, instances)
        best = float(mean[self.observations.index(incumbent)]) if incumbent else float(mean.min())
        if under_way:  # to improve on the incumbent is no longer enough
            best = min(best, float(self._predict(model, self._codes(pending), instances)[0].min()))
        score = self._score(model, instances, best, rng)
        tried = codes[self.observations.tried]
        if self._pool is not None:
            fresh = rng.permutation(unseen(self._pool, tried))  # among equals by chance, not in the pool's order
            rows = fresh[np.argsort(-score(fresh), kind="stable")[:count]] if len(fresh) else fresh
        else:
            known = codes[np.argsort(mean, kind="stable")]
            random = self._candidates
            if instances.shape[1]:
                random = min(random, getattr(model, "candidates", random))  # a Gaussian process takes them one by one
            rows = best_candidates(
                self.space, score, known, rng, count=count, random=random, seen=tried, refine=self._refine
            )
        return self.space.decode(rows)

    def learn(self, history: History, rng: np.random.Generator, until: int | None = None) -> tuple[Surrogate, Floats]:
        """The model of the history, or of its first ``until`` runs, and the rows of the instances that it was shown."""
        self.observations.update(history, until)
        self.learnt = self._fit(int(rng.integers(2**31)))
        self._marginals.clear()
        return self.learnt

    def expected(self, rows: Floats) -> Floats:
        """Log10 of the mean cost over the instances that the last model expects of configurations (n, d): (n,)."""
        if self.learnt is None:
            raise InputError("nothing was learnt yet")
        return self._predict(self.learnt[0], rows, self.learnt[1])[0]

    def belief(self, config: Configuration, incumbent: Configuration, pair: Pair, history: History) -> Belief | None:
        """What the last model says of a challenger's run on a pair, after the runs of it that the model has not seen.

        None before there is a model. The pair's own runs are left out: how long it takes at least is known to whoever asks.
        """
        if self.learnt is None:
            return None
        model, instances = self.learnt
        (mine, doubt), (theirs, _) = self._marginal(config), self._marginal(incumbent)
        others = self.observations.unknown(config, history, besides=pair)
        codes = self.space.encode([config])
        columns = [self.observations.column(instance) for instance, _ in [pair, *(cell[0] for cell in others)]]
        means, stds = model.predict_runs(np.hstack([np.repeat(codes, len(columns), axis=0), instances[columns]]))
        foreseen = zip(others, means[1:].tolist(), stds[1:].tolist(), strict=True)
        belief = Belief(mine - theirs, doubt, float(means[0]), float(stds[0]))
        return informed(belief, [(y, mean, std, censored) for (_, y, censored), mean, std in foreseen])

    def _marginal(self, config: Configuration) -> tuple[float, float]:
        """Mean and deviation of a configuration's cost over the instances; each is asked for again and again."""
        if config not in self._marginals and self.learnt is not None:
            mean, std = self._predict(self.learnt[0], self.space.encode([config]), self.learnt[1])
            self._marginals[config] = float(mean[0]), float(std[0])
        return self._marginals[config]

    def _believed(self, model: Surrogate, instances: Floats, pending: Sequence[Pending]) -> tuple[Floats, Floats]:
        """Runs under way as if each went as the model expects (Ginsbourger et al. 2010, "Kriging believer").

        Where workers are at work already there is less to be learnt: a hundred of them spread.
        """
        X = np.hstack([self._codes(pending), instances[[self.observations.column(instance) for _, instance in pending]]])
        return X, model.predict(X)[0]

    def _codes(self, pending: Sequence[Pending]) -> Floats:
        return self.space.encode([config for config, _ in pending])

    def _fit(self, seed: int, believed: tuple[Floats, Floats] | None = None) -> tuple[Surrogate, Floats]:
        """The model of all cells (or of as many as it takes), and the rows of the instances that it was shown."""
        config, instance, y, censored = self.observations.arrays()
        rows = self._instance_rows(config, instance, y)
        instances = rows[: self.observations.own]  # those of other tunings only teach
        X = np.hstack([self.observations.codes[config], rows[instance]])
        if believed is not None:
            X, y = np.vstack([X, believed[0]]), np.concatenate([y, believed[1]])
            censored = np.append(censored, np.zeros(len(believed[1]), dtype=np.bool_))
        types = np.concatenate([self.space.types, np.zeros(instances.shape[1], dtype=np.intp)]).astype(np.int64)
        model = self._make_model(types, seed, len(y))
        shown = self._shown(len(y), getattr(model, "largest", len(y)), seed)
        return model.fit(X[shown], y[shown], censored[shown]), instances

    def _shown(self, rows: int, most: int, seed: int) -> NDArray[np.intp] | slice:
        """Which rows a model that takes only so many gets: by chance, but those of other tunings last."""
        if rows <= most:
            return slice(None)
        order = np.random.default_rng(seed).permutation(rows)
        borrowed = np.append(self.observations.borrowed, np.zeros(rows - len(self.observations), dtype=np.bool_))
        return order[np.argsort(borrowed[order], kind="stable")][:most]

    def _instance_rows(self, config: NDArray[np.intp], instance: NDArray[np.intp], y: Floats) -> Floats:
        if len(self._features) < 2:
            return np.empty((len(self._features), 0))
        return np.column_stack([self._features, hardness(config, instance, y, len(self._features))])

    def _predict(self, model: Surrogate, rows: Floats, instances: Floats) -> tuple[Floats, Floats]:
        return model.predict_marginal(rows, instances) if instances.shape[1] else model.predict(rows)

    def _score(self, model: Surrogate, instances: Floats, best: float, rng: np.random.Generator) -> Score:
        if self._acquisition == "thompson":
            return self._drawn(model, instances, int(rng.integers(2**31)))
        value: Callable[[Floats, Floats, float], Floats] = ACQUISITIONS[self._acquisition]
        return lambda rows: value(*self._predict(model, rows, instances), best)

    def _drawn(self, model: Surrogate, instances: Floats, seed: int) -> Score:
        """Minus one function of the model, the same at every call, averaged over instances where there are some."""

        def drawn(rows: Floats) -> Floats:
            rng = np.random.default_rng(seed)
            if not instances.shape[1]:
                return -model.sample(rows, rng)
            return -model.sample_marginal(rows, instances, rng)

        return drawn
