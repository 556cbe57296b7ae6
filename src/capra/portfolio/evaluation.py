"""Selectors on an ASlib scenario, by the scenario's own folds: ``capra select``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from capra.errors import InputError
from capra.models.base import Floats, Mask
from capra.portfolio.aslib import AslibScenario
from capra.portfolio.records import Indices, Records
from capra.portfolio.schedule import choice, plan_costs
from capra.portfolio.scores import Score, score, single_best, virtual_best
from capra.portfolio.selectors import SELECTORS, Selection, choose, folds_of, make_selector

__all__ = ["AUTO", "Evaluation", "Fold", "evaluate", "evaluate_fold", "joined", "scenario_folds"]

AUTO = "auto"
Told = Callable[[str, int, int], None]


@dataclass(slots=True)
class Evaluation:
    """PAR10 of every instance that somebody solves, when it was in the test fold."""

    scenario: str
    instances: int
    single: Floats
    virtual: Floats
    costs: dict[str, Floats]
    chosen: list[str] = field(default_factory=list)
    """What the automatic choice was, fold by fold."""
    seed: int = 0

    def score(self, name: str) -> Score:
        return score(self.costs[name], self.single, self.virtual, np.random.default_rng(self.seed))

    def to_dict(self) -> dict[str, Any]:
        """The document of ``capra select --json``."""
        scores = {name: _plain(self.score(name)) for name in self.costs}
        return {
            "scenario": self.scenario,
            "instances": self.instances,
            "scored": len(self.single),
            "sbs": float(self.single.mean()),
            "vbs": float(self.virtual.mean()),
            **({AUTO: scores.pop(AUTO) | {"chosen": self.chosen}} if AUTO in scores else {}),
            "selectors": scores,
        }


def _plain(score: Score) -> dict[str, Any]:
    return {
        "par10": score.par10,
        "par10_interval": list(score.interval),
        "npar10": score.npar10,
        "npar10_interval": None if score.npar10_interval is None else list(score.npar10_interval),
        "closed_gap": score.closed_gap,
    }


@dataclass(slots=True)
class Fold:
    """One test fold: PAR10 on its instances of the single best, of each selector, and what the automatic choice was."""

    single: Floats
    costs: dict[str, Floats]
    chosen: str | None = None


def evaluate(
    scenario: AslibScenario,
    names: Iterable[str] = (AUTO, *SELECTORS),
    *,
    seed: int = 0,
    told: Told = lambda name, fold, folds: None,
) -> Evaluation:
    """Each selector fitted to the other folds and asked about this one.

    A scenario without folds gets ten at random. Instances that nobody solves are left out of the scores, where they would
    only add the same to all.
    """
    names, folds = list(names), scenario_folds(scenario, seed)
    numbers = np.unique(folds)
    parts = []
    for at, number in enumerate(numbers, start=1):
        report = partial(_report, told, at, len(numbers))
        parts.append(evaluate_fold(scenario.records, folds == number, names, seed=seed, told=report))
    return joined(scenario, folds, parts, seed=seed)


def _report(told: Told, at: int, folds: int, name: str) -> None:
    told(name, at, folds)


def scenario_folds(scenario: AslibScenario, seed: int = 0) -> Indices:
    """(n,): the scenario's own folds, or ten at random. InputError if nothing can be tested."""
    if not scenario.records.solvable.any():
        raise InputError(f"nobody solves any instance of {scenario.name}")
    if not scenario.folds.any():
        return folds_of(len(scenario.instances), 10, np.random.default_rng(seed)) + 1
    if len(np.unique(scenario.folds)) < 2:
        raise InputError(f"{scenario.name} has a single fold", hint="cv.arff must have at least two; or leave it out")
    return scenario.folds


def evaluate_fold(
    records: Records, test: Mask, names: Iterable[str], *, seed: int = 0, told: Callable[[str], None] = lambda name: None
) -> Fold:
    """Learn from the instances that are not in ``test``, the single best, too, and look at those that are."""
    training, held_out = records.take(~test), records.take(test)
    best = [choice(single_best(training))] * len(held_out)
    found = Fold(plan_costs(held_out, best, features=False)[0], {})
    for name in names:
        told(name)
        selection = choose(training, seed=seed) if name == AUTO else Selection(make_selector(name, seed).fit(training))
        found.costs[name] = selection.evaluate(held_out)
        if name == AUTO:
            found.chosen = selection.selector.name
    return found


def joined(scenario: AslibScenario, folds: Indices, parts: Sequence[Fold], *, seed: int = 0) -> Evaluation:
    """The folds' results as one, on the instances that somebody solves; ``parts`` in the order of the folds' numbers."""
    where = [np.flatnonzero(folds == number) for number in np.unique(folds)]
    order = np.concatenate(where)
    kept = scenario.records.solvable[order]
    costs = {name: np.concatenate([part.costs[name] for part in parts])[kept] for name in parts[0].costs}
    single = np.concatenate([part.single for part in parts])[kept]
    virtual = virtual_best(scenario.records)[order][kept]
    chosen = [part.chosen for part in parts if part.chosen]
    return Evaluation(scenario.name, len(scenario.instances), single, virtual, costs, chosen, seed)
