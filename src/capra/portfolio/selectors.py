"""All selectors by name, the automatic choice between them, and both as JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from inspect import signature
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from capra.errors import ModelError, did_you_mean
from capra.models.base import Floats
from capra.portfolio.base import Selector
from capra.portfolio.forests import Pairwise, Regression, Survival
from capra.portfolio.nearest import Nearest, NearestCluster, SingleBest, Sunny
from capra.portfolio.records import Indices, Records
from capra.portfolio.schedule import Plan, plan_costs, presolving

__all__ = ["INNER_FOLDS", "SELECTORS", "Selection", "choose", "folds_of", "make_selector", "read_selector"]

SELECTORS: dict[str, type[Selector]] = {
    kind.name: kind for kind in (SingleBest, NearestCluster, Nearest, Sunny, Pairwise, Regression, Survival)
}
INNER_FOLDS = 5


def make_selector(name: str, seed: int = 0, options: Mapping[str, float] = MappingProxyType({})) -> Selector:
    """A selector by its name, not fitted, with its usual options but for those given. ModelError if there is none."""
    if name not in SELECTORS:
        raise ModelError(
            f"unknown selector {name!r}", hint=did_you_mean(name, SELECTORS) or "one of " + ", ".join(SELECTORS)
        )
    kind = SELECTORS[name]
    return kind(**({"seed": seed} if "seed" in signature(kind).parameters else {}), **options)


def read_selector(document: Any) -> Selector:
    """What ``Selector.to_dict`` wrote, fitted again: it answers as the one that was written."""
    if not isinstance(document, dict) or not isinstance(document.get("kind"), str) or "records" not in document:
        raise ModelError("this is not a selector", hint="an object with kind, options and records")
    kind = type(make_selector(document["kind"]))
    return kind.from_dict(document)


@dataclass(frozen=True, slots=True)
class Selection:
    """A selector with the slots that are run before features are computed. What the automatic choice ends in."""

    selector: Selector
    presolve: Plan = ()
    costs: Mapping[str, float] | None = None
    """Mean PAR10 in the inner cross-validation, by selector; what the choice was made on."""

    def plans(self, features: ArrayLike) -> list[Plan]:
        """What to run after presolving, one plan for each row of features, (m, f)."""
        return self.selector.plans(features)

    def evaluate(self, records: Records) -> Floats:
        """PAR10 on each instance, (n,), with presolving and the time of features."""
        plans = self.plans(records.features)
        return plan_costs(records, plans, before=self.presolve, features=self.selector.needs_features)[0]

    def to_dict(self) -> dict[str, Any]:
        """As plain data for JSON; the selector as what it learnt from."""
        return {
            "selector": self.selector.to_dict(),
            "presolve": [list(slot) for slot in self.presolve],
            "costs": None if self.costs is None else dict(self.costs),
        }

    @classmethod
    def from_dict(cls, document: Any) -> Selection:
        """What ``to_dict`` wrote, its selector fitted again. ModelError if it is anything else."""
        try:
            presolve = tuple((int(c), float(slot)) for c, slot in document["presolve"])
            selector, costs = document["selector"], document.get("costs")
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ModelError(f"this is not a selection: {type(error).__name__} {error}") from None
        found = read_selector(selector)
        if not all(0 <= c < found.records.configurations and 0.0 < slot < math.inf for c, slot in presolve):
            raise ModelError("a presolving slot needs a known configuration and a positive time")
        return cls(found, presolve, costs)


def folds_of(n: int, folds: int, rng: np.random.Generator) -> Indices:
    """(n,): folds of nearly equal size in random order, from 0."""
    return rng.permutation(np.arange(n, dtype=np.int64) % folds)


def choose(
    records: Records,
    names: Iterable[str] = tuple(SELECTORS),
    *,
    seed: int = 0,
    options: Mapping[str, Mapping[str, float]] = MappingProxyType({}),
    told: Callable[[str], None] = lambda _: None,
) -> Selection:
    """The selector with the lowest PAR10 in an inner cross-validation, features and presolving counted, fitted to all.

    ``options`` are those of selectors by name, where they are not the usual ones.

    The single best stays, and no features are computed, unless another beats it by one standard error of the difference:
    with few instances, and costs that differ by a factor of ten thousand, the best of six is often best by luck.
    """
    known = records.take(records.solvable) if records.solvable.any() else records
    if len(known) < 2 * INNER_FOLDS:
        return Selection(SingleBest().fit(records))
    makers = {name: partial(make_selector, name, seed, options.get(name, {})) for name in (SingleBest.name, *names)}
    found: dict[str, tuple[Floats, Plan]] = {}
    for name, make in makers.items():
        told(name)
        found[name] = _inner(make, known, seed)
    means = {name: float(costs.mean()) for name, (costs, _) in found.items()}
    best = min(means, key=lambda name: means[name])
    saved = found[SingleBest.name][0] - found[best][0]
    if saved.mean() <= saved.std(ddof=1) / math.sqrt(len(saved)):
        best = SingleBest.name
    return Selection(makers[best]().fit(records), found[best][1], means)


def _inner(make: Callable[[], Selector], records: Records, seed: int) -> tuple[Floats, Plan]:
    """PAR10 of instances that the selector had not seen, (n,), with the presolving slots that suit it."""
    fold = folds_of(len(records), INNER_FOLDS, np.random.default_rng(seed))  # the same for all selectors
    plans: list[Plan] = [()] * len(records)
    for f in range(INNER_FOLDS):
        fitted = make().fit(records.take(fold != f))
        rows = np.flatnonzero(fold == f)
        for i, plan in zip(rows, fitted.plans(records.features[rows]), strict=True):
            plans[i] = plan
    features = make().needs_features
    before = presolving(records, plans, features=features)
    return plan_costs(records, plans, before=before, features=features)[0], before
