"""Which parameters matter: functional analysis of variance of the censored forest, and what moves around a configuration.

Hutter, Hoos & Leyton-Brown 2014, "An efficient approach for assessing hyperparameter importance". A tree is constant on
boxes, so that means over all configurations are sums over its boxes: nothing is sampled. The forest is fitted to log10 of
the cost, with capped runs as the bounds that they are.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from capra.analysis.domain import domain_of, grid_of
from capra.errors import InputError, did_you_mean
from capra.formats.plain import plain
from capra.models import CensoredForest
from capra.runs import Configuration, History, Value
from capra.scenario import Scenario
from capra.strategies.base import Context
from capra.strategies.smac import make_suggester

__all__ = ["Curve", "Importance", "Share"]

Floats = NDArray[np.float64]
Types = NDArray[np.int64]
TREES = 32
LEAST = 4
"""Configurations that must have been run."""
POINTS = 41
"""Values of a number at which curves are computed."""
TOP = 10
"""Parameters whose pairs are looked at, unless somebody names others."""


@dataclass(frozen=True, slots=True)
class Share:
    """The share of the variance of the cost that one parameter explains alone, or two together beyond that."""

    names: tuple[str, ...]
    share: float
    """Mean over the trees."""
    spread: float
    """Deviation over the trees."""

    @property
    def name(self) -> str:
        return " × ".join(self.names)


@dataclass(frozen=True, slots=True)
class Curve:
    """The predicted cost for values of one parameter; ``low`` to ``high`` is one deviation over the trees to either side."""

    name: str
    values: list[Value]
    cost: list[float]
    low: list[float]
    high: list[float]


class Importance:
    """What a forest that was fitted to the runs of a tuning says about its parameters.

    The function that is taken apart is the mean over the training instances of the log cost, for configurations drawn
    uniformly from the space. A parameter that is inactive somewhere has no effect there. ``censoring`` is that of
    ``CensoredForest``: anything but "sample" is for comparison.
    """

    def __init__(
        self,
        scenario: Scenario,
        history: History,
        *,
        trees: int = TREES,
        seed: int = 0,
        censoring: Literal["sample", "mean", "drop", "ignore"] = "sample",
    ) -> None:
        if len(list(history.configurations)) < LEAST:
            raise InputError(f"importance needs runs of at least {LEAST} configurations", hint="let the tuning run on")

        def forest(types: Types, number: int, upper: float | None) -> CensoredForest:
            threads = os.cpu_count() or 1  # the result does not depend on them
            return CensoredForest(trees, censoring, types, upper, number, threads=threads)

        suggester = make_suggester(Context(scenario, seed), forest, plain=True)
        model, self._instances = suggester.learn(history, np.random.default_rng(seed))
        if not isinstance(model, CensoredForest):
            raise InputError("importance is worked out from forests only")
        self.model = model
        self.space = scenario.space
        self._logarithm = scenario.objective.kind == "runtime"
        self._domain, self.simplified = domain_of(scenario.space)
        """Parameters with conditions that cannot be followed (arithmetic): they count as always active."""

    # --- of the whole space ---

    @cached_property
    def _variances(self) -> tuple[Floats, Floats]:
        try:
            return self.model.variances(self._domain, self._instances)
        except ValueError as error:  # the kernel gives up where conditions cut the space into too many pieces
            raise InputError(f"this space cannot be taken apart: {error}") from None

    def parameters(self) -> list[Share]:
        """Every parameter's share, the largest first."""
        total, effects = self._variances
        return _ranked([(name,) for name in self.space.names], effects, total)

    def pairs(self, names: Sequence[str] | None = None) -> list[Share]:
        """What two parameters do together, beyond what each does alone; of ``names``, or of the ten that matter most."""
        chosen = [share.names[0] for share in self.parameters()[:TOP]] if names is None else list(names)
        columns = [self._column(name) for name in chosen]
        both = list(combinations(range(len(chosen)), 2))
        if not both:
            return []
        joint = self.model.interactions(self._domain, self._instances, [(columns[i], columns[k]) for i, k in both])
        return _ranked([(chosen[i], chosen[k]) for i, k in both], joint, self._variances[0])

    def curve(self, name: str, points: int = POINTS) -> Curve:
        """The mean over all other parameters, for values of this one, where it is active.

        Means are those of the logarithm (for runtimes), so the cost is a geometric mean.
        """
        column = self._column(name)
        codes = grid_of(self.space[name], points)
        return self._curve(name, codes, self.model.curve(self._domain, self._instances, column, codes))

    # --- around one configuration ---

    def local(self, config: Configuration) -> list[tuple[Share, Curve]]:
        """How much the cost moves when one parameter leaves its value in ``config`` and all others stay.

        Shares of the sum over parameters of the variance over each one's values (Biedenkapp et al. 2018), the largest
        first. What a value activates takes its default; forbidden combinations are left out.
        """
        there = self.space.encode([config])
        active = [name for j, name in enumerate(self.space.names) if not np.isnan(there[0, j])]
        found = [self._moved(name, there) for name in active]
        variances = np.array([trees.var(axis=1) for _, trees in found]).T
        shares = _ranked([(name,) for name in active], variances, variances.sum(axis=1))
        curves = {name: self._curve(name, *moved) for name, moved in zip(active, found, strict=True)}
        return [(share, curves[share.names[0]]) for share in shares]

    def _moved(self, name: str, there: Floats) -> tuple[Floats, Floats]:
        """Codes of a parameter, and what each tree says of them, (trees, n)."""
        column = self._column(name)
        codes = np.union1d(grid_of(self.space[name], POINTS), there[0, column])
        rows = np.repeat(there, len(codes), axis=0)
        rows[:, column] = codes
        rows = self.space.repaired(rows)
        rows = rows[~self.space.forbidden_rows(rows)]
        return rows[:, column], self._predicted(rows)

    def _predicted(self, rows: Floats) -> Floats:
        if self._instances.shape[1]:
            return self.model.marginal_trees(rows, self._instances)
        return self.model.predict_trees(rows)

    def expected(self, rows: Floats) -> tuple[Floats, Floats, Floats]:
        """The predicted cost of configurations (n, d), and one deviation below and above, (n,) each."""
        trees = self._predicted(rows)
        return self._costs(trees.mean(axis=0), trees.std(axis=0))

    # --- helpers ---

    def _column(self, name: str) -> int:
        if name not in self.space.names:
            raise InputError(f"unknown parameter {name!r}", hint=did_you_mean(name, self.space.names))
        return self.space.names.index(name)

    def _curve(self, name: str, codes: Floats, trees: Floats) -> Curve:
        mean, low, high = self._costs(trees.mean(axis=0), trees.std(axis=0))
        return Curve(name, self.space[name].decode(codes), mean.tolist(), low.tolist(), high.tolist())

    def _costs(self, mean: Floats, std: Floats) -> tuple[Floats, Floats, Floats]:
        found = (mean, mean - std, mean + std)
        return tuple(10.0**part for part in found) if self._logarithm else found  # type: ignore[return-value]

    def to_dict(self, *, pairs: bool = False, curves: bool = True, around: Configuration | None = None) -> dict[str, Any]:
        """Everything as plain data; ``around`` adds local importance."""
        ranked = self.parameters()
        document: dict[str, Any] = {
            "parameters": [{"name": one.name, "share": one.share, "spread": one.spread} for one in ranked],
            "simplified": self.simplified,
        }
        if pairs:
            document["pairs"] = [{"names": list(s.names), "share": s.share, "spread": s.spread} for s in self.pairs()]
        if curves:
            document["curves"] = [plain(self.curve(one.name)) for one in ranked]
        if around is not None:
            document["local"] = [
                {"name": one.name, "share": one.share, "spread": one.spread, "curve": plain(curve)}
                for one, curve in self.local(around)
            ]
        return document


def _ranked(names: list[tuple[str, ...]], variances: Floats, totals: Floats) -> list[Share]:
    """Shares of each tree's variance, (trees, n) of (trees,); trees that are constant say nothing."""
    moving = totals > 1e-12
    shares = variances[moving] / totals[moving, None] if moving.any() else np.zeros((1, len(names)))
    found = [Share(name, float(part.mean()), float(part.std())) for name, part in zip(names, shares.T, strict=True)]
    return sorted(found, key=lambda one: -one.share)
