"""What every selector promises, and what several of them share."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from capra.errors import ModelError
from capra.models.base import Floats
from capra.portfolio.greedy import greedy_portfolio
from capra.portfolio.records import PENALTY, Records
from capra.portfolio.schedule import Plan

__all__ = ["FASTEST", "Scaling", "Selector", "completed", "useful", "whole"]

FASTEST = 1e-3
"""Shorter times are taken for this: the clock cannot tell them apart, and logarithms need a floor."""

MOST_MEMBERS = 15
WORTH = 0.01


class Selector(ABC):
    """Learns which configuration, or which schedule, an instance should get.

    The answer depends on the records, the options and the seed alone. That is why a selector is written as these three:
    reading one back fits it again, which takes less time than reading thousands of trees, and a file that somebody has
    changed can spoil a choice but not the program.
    """

    name: ClassVar[str]
    needs_features: ClassVar[bool] = True
    """Whether features must be computed (and paid for) before ``plans`` can be asked."""

    @abstractmethod
    def _learn(self, records: Records) -> None:
        """Fit to complete records: at least one instance, each solved by some configuration if any is."""

    @abstractmethod
    def _plans(self, rows: Floats) -> list[Plan]:
        """One plan for each of the rows, which have been checked."""

    def plans(self, features: ArrayLike) -> list[Plan]:
        """One plan for each row of features, (m, f), NaN where one is missing."""
        return self._plans(self._checked(features))

    def fit(self, records: Records) -> Self:
        """Learn from the instances that somebody solves; on the others all choices are equal."""
        self.records = records
        self._learn(records.take(records.solvable) if records.solvable.any() else records)
        return self

    @property
    def options(self) -> dict[str, Any]:
        """What the selector was made with."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def _checked(self, features: ArrayLike) -> Floats:
        """Features to choose by, as an (m, f) matrix without infinities."""
        rows = np.asarray(features, dtype=np.float64)
        if not hasattr(self, "records"):
            raise ModelError(f"the selector {self.name} has not been fitted", hint="call fit(records) first")
        if rows.ndim != 2 or rows.shape[1] != self.records.features.shape[1]:
            raise ModelError(f"features must be (m, {self.records.features.shape[1]}), not {rows.shape}")
        return np.where(np.isinf(rows), np.nan, rows)

    def to_dict(self) -> dict[str, Any]:
        """For JSON; ``read_selector`` makes the same selector of it."""
        if not hasattr(self, "records"):
            raise ModelError(f"the selector {self.name} has not been fitted", hint="call fit(records) first")
        return {"kind": self.name, "options": self.options, "records": self.records.to_dict()}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        options = document.get("options", {})
        known = inspect.signature(cls).parameters
        if not isinstance(options, dict) or set(options) - set(known):
            raise ModelError(f"these are not options of the selector {cls.name}", hint="known: " + ", ".join(known))
        for name, value in options.items():
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise ModelError(f"the option {name} of the selector {cls.name} must be a number")
        return cls(**options).fit(Records.from_dict(document["records"]))


class Scaling:
    """Features for distances: missing ones get the median, constant ones are left out, the rest goes to [−1, 1].

    As in ISAC (Kadioglu et al. 2010), fitted to training rows; values beyond them are clipped to [−2, 2], so that one wild
    feature does not decide alone what is near.
    """

    def __init__(self, features: Floats) -> None:
        known = np.where(np.all(np.isnan(features), axis=0), 0.0, features)
        self._median = np.nanmedian(known, axis=0) if known.size else np.zeros(known.shape[1])
        filled = np.where(np.isnan(known), self._median, known)
        self._low, self._high = filled.min(axis=0), filled.max(axis=0)
        self._kept = self._high > self._low

    def __call__(self, features: Floats) -> Floats:
        filled = np.where(np.isnan(features), self._median, features)[:, self._kept]
        low, high = self._low[self._kept], self._high[self._kept]
        return np.asarray(np.clip(2.0 * (filled / (high - low) - low / (high - low)) - 1.0, -2.0, 2.0))


def completed(records: Records, seed: int = 0) -> Floats:
    """PAR10 of all runs, (n, k); a capped one gets what a censored forest of its configuration expects, at least its cap.

    Taking caps for times would make the configurations that were stopped most look fastest.
    """
    costs = np.maximum(records.costs, FASTEST)
    capped = records.capped
    if not capped.any():
        return costs
    from capra.models import CensoredForest  # scipy takes its time to load

    upper = float(np.log10(max(PENALTY * records.cutoff, FASTEST)))
    features = records.features if records.features.shape[1] else np.zeros((len(records), 1))
    for c in np.flatnonzero(capped.any(axis=0)):
        mask = np.ascontiguousarray(capped[:, c])
        forest = CensoredForest(30, "mean", upper=upper, seed=seed).fit(features, np.log10(costs[:, c]), mask)
        expected = np.power(10.0, np.minimum(forest.predict(features)[0], upper))
        costs[mask, c] = np.maximum(expected[mask], costs[mask, c])
    return costs


def whole(name: str, value: float, least: int, most: int) -> int:
    """An option as a whole number between two bounds. ModelError otherwise: options may come from a file."""
    if not least <= value <= most or value != int(value):
        raise ModelError(f"{name} must be a whole number from {least} to {most}, not {value}")
    return int(value)


def useful(costs: Floats) -> list[int]:
    """The configurations worth choosing between, of a complete (n, k) matrix, in their order.

    Greedily by marginal gain, the single best first, at most 15, as long as one closes 1 % of the gap between the single and
    the virtual best (SATzilla's solver subset selection, Xu et al. 2012, does it by search). Those left out could only be
    chosen by mistake.
    """
    members, gains = greedy_portfolio(costs.T, MOST_MEMBERS, float(costs.max()))
    kept = 1 + sum(gain >= WORTH * sum(gains[1:]) for gain in gains[1:])
    return sorted(members[:kept]) or [0]
