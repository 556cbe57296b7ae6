"""From what a builder has measured to a portfolio: the selector is fitted, or the schedule optimised."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from capra.formats.plain import plain
from capra.portfolio.base import completed
from capra.portfolio.builder import Builder
from capra.portfolio.cedalion import Cedalion
from capra.portfolio.lanes import MOST_MEMBERS, Lanes, best_schedule, schedule_cost
from capra.portfolio.nearest import SingleBest
from capra.portfolio.product import RUN_OPTIONS, Portfolio
from capra.portfolio.records import PENALTY, Records
from capra.portfolio.selectors import SELECTORS, Selection, choose, folds_of
from capra.runs import Configuration
from capra.runs.history import Pair
from capra.scenario import Scenario
from capra.space.json import write_json

__all__ = ["concluded", "imputed"]

ENOUGH = 10
"""Instances on which all members were run, before the others are left out of what a selector learns from."""


def concluded(builder: Builder, *, feature_costs: Mapping[str, float] | None = None, seed: int = 0) -> Portfolio:
    """The portfolio that a builder has found so far. Without any member it is the incumbent or the default alone."""
    scenario = builder.context.scenario
    members = tuple(builder.members) or (builder.incumbent or scenario.default,)
    pairs = _pairs(builder, members)
    selection, schedule = _choice(builder, members, pairs, feature_costs or {}, seed)
    facts: dict[str, Any] = {
        "builder": builder.name,
        "name": scenario.name,
        "runs": len(builder.history),
        "spent": builder.history.spent,
    }
    facts["instances"] = [str(instance) for instance, _ in pairs]  # the rows of what a selector learnt from
    options = _run_options(scenario)
    return Portfolio(
        members=members,
        cutoff=scenario.cutoff,
        selection=selection,
        schedule=schedule,
        features=scenario.features.command,
        names=scenario.features.names,
        options=options,
        space=write_json(scenario.space) if options else "",
        bases=tuple(str(base.resolve()) for base in scenario.bases),
        facts=facts,
    )


def _choice(
    builder: Builder, members: tuple[Configuration, ...], pairs: list[Pair], costs: Mapping[str, float], seed: int
) -> tuple[Selection | None, Lanes]:
    """Who decides between the members: the builder's own schedule or selector, or whatever did best on unseen instances."""
    if isinstance(builder, Cedalion) and any(builder.schedule):
        return None, builder.schedule
    records = _records(builder, members, pairs, costs)
    name, options = builder.selector
    if name != "auto":
        return Selection(SELECTORS[name](**options).fit(records)), ()
    names = tuple(SELECTORS) if len(members) > 1 and records.features.shape[1] else (SingleBest.name,)
    selection = choose(records, names, seed=seed)
    if 1 < len(members) <= MOST_MEMBERS and selection.costs is not None and len(records) >= 2 * ENOUGH:
        expected, schedule = _scheduled(records, seed)
        if expected < selection.costs[selection.selector.name]:
            return None, schedule
    return selection, ()


def _scheduled(records: Records, seed: int) -> tuple[float, Lanes]:
    """The best schedule of the members, and what to expect of one: on each half the best of the other half."""
    times = np.where(records.solved, records.times, np.inf)[records.solvable]
    half = folds_of(len(times), 2, np.random.default_rng(seed))
    found = [
        schedule_cost(times[half == f], best_schedule(times[half != f], records.cutoff, PENALTY), records.cutoff, PENALTY)
        for f in (0, 1)
    ]
    return float(np.mean(found)), best_schedule(times, records.cutoff, PENALTY)


def _pairs(builder: Builder, members: tuple[Configuration, ...]) -> list[Pair]:
    """The pairs on which all members were run, if those are enough: where one was not, nobody knows who is best."""
    known = [pair for pair in builder.pairs if all(builder.cells.get(member, pair) is not None for member in members)]
    return known if len(known) >= ENOUGH else builder.pairs


def _records(builder: Builder, members: tuple[Configuration, ...], pairs: list[Pair], costs: Mapping[str, float]) -> Records:
    names = [str(instance) for instance, _ in pairs]
    found = builder.cells.records(members, pairs, builder.features(names))
    paid = np.array([costs.get(name, 0.0) for name in names])
    return imputed(Records(found.features, found.times, found.cutoffs, found.solved, found.cutoff, paid, found.presolved))


def imputed(records: Records) -> Records:
    """Runs that were stopped as a censored forest of their configuration expects them to have gone on.

    Members are compared only until it is clear who is best (``Builder.comparing``). To count all that was stopped as
    unsolved would make every choice but the best look equally bad, and no selection look worth while.
    """
    costs = completed(records)
    solved = records.solved | (records.capped & (costs <= records.cutoff))
    times = np.where(records.capped & solved, costs, records.times)
    return Records.of(
        records.features, times, solved, records.cutoff, feature_cost=records.feature_cost, presolved=records.presolved
    )


def _run_options(scenario: Scenario) -> dict[str, Any]:
    """How to run the target, as the scenario was told; nothing where that takes Python objects."""
    if not isinstance(scenario.target, tuple) or not all(isinstance(word, str) for word in scenario.target):
        return {}
    given = {name: scenario.given[name] for name in RUN_OPTIONS if name in scenario.given}
    return {name: value for name, value in plain(given).items() if not (isinstance(value, float) and math.isinf(value))}
