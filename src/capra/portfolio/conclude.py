"""From what a builder has measured to a portfolio: the selector is fitted, or the schedule optimised."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from capra.formats.plain import plain
from capra.portfolio.builder import Builder
from capra.portfolio.cedalion import Cedalion
from capra.portfolio.lanes import MOST_MEMBERS, Lanes, best_schedule, finish_times
from capra.portfolio.nearest import SingleBest
from capra.portfolio.product import RUN_OPTIONS, Portfolio
from capra.portfolio.records import PENALTY, Records
from capra.portfolio.selectors import INNER_FOLDS, SELECTORS, Selection, choose, folds_of
from capra.runs import Configuration
from capra.runs.history import Pair
from capra.scenario import Scenario
from capra.space.json import write_json

__all__ = ["as_seen", "concluded"]

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
    """Who decides between the members: whatever did best on instances it had not seen; of Cedalion's a schedule always.

    The single best is always among the candidates, and stays unless another one beats it by a standard error. After short
    slots of others it is a schedule, too.
    """
    own = builder.schedule if isinstance(builder, Cedalion) else ()
    if len(own) > 1:  # on several cores
        return None, own
    records = _records(builder, members, pairs, costs)
    free = len(members) > 1 and records.features.shape[1] > 0 and not isinstance(builder, Cedalion)
    selection = choose(records, SELECTORS if free else (SingleBest.name,), seed=seed, options=builder.selectors)
    if selection.costs is None:  # too few instances to compare anything
        return (None, own) if any(own) else (selection, ())
    if 1 < len(members) <= MOST_MEMBERS:
        expected, schedule = _scheduled(records, seed)
        if expected < selection.costs[selection.selector.name]:
            return None, schedule
    return selection, ()


def _scheduled(records: Records, seed: int) -> tuple[float, Lanes]:
    """The best schedule of the members, and what to expect of one: on each fold the best of the others."""
    times = np.where(records.solved, records.times, np.inf)[records.solvable]
    fold = folds_of(len(times), INNER_FOLDS, np.random.default_rng(seed))
    costs = np.empty(len(times))
    for f in range(INNER_FOLDS):
        lanes = best_schedule(times[fold != f], records.cutoff, PENALTY)
        finish = finish_times(times[fold == f], lanes)
        costs[fold == f] = np.where(finish <= records.cutoff, finish, PENALTY * records.cutoff)
    return float(costs.mean()), best_schedule(times, records.cutoff, PENALTY)


def _pairs(builder: Builder, members: tuple[Configuration, ...]) -> list[Pair]:
    """The pairs on which all members were run, if those are enough: where one was not, nobody knows who is best."""
    known = [pair for pair in builder.pairs if all(builder.cells.get(member, pair) is not None for member in members)]
    return known if len(known) >= ENOUGH else builder.pairs


def _records(builder: Builder, members: tuple[Configuration, ...], pairs: list[Pair], costs: Mapping[str, float]) -> Records:
    names = [str(instance) for instance, _ in pairs]
    found = builder.cells.records(members, pairs, builder.features(names))
    paid = np.array([costs.get(name, 0.0) for name in names])
    return as_seen(Records(found.features, found.times, found.cutoffs, found.solved, found.cutoff, paid, found.presolved))


def as_seen(records: Records) -> Records:
    """Runs that were stopped count as unsolved: a portfolio relies on nothing that nobody has seen.

    Members are compared until it is clear who is best (``Builder.comparing``), so what was stopped has lost by far, and much
    of it would have timed out. The price: a member that is slow but would answer looks hopeless.
    """
    return Records.of(
        records.features,
        np.where(records.capped, records.cutoff, records.times),
        records.solved,
        records.cutoff,
        feature_cost=records.feature_cost,
        presolved=records.presolved,
    )


def _run_options(scenario: Scenario) -> dict[str, Any]:
    """How to run the target, as the scenario was told; nothing where that takes Python objects."""
    if not isinstance(scenario.target, tuple) or not all(isinstance(word, str) for word in scenario.target):
        return {}
    given = {name: scenario.given[name] for name in RUN_OPTIONS if name in scenario.given}
    return {name: value for name, value in plain(given).items() if not (isinstance(value, float) and math.isinf(value))}
