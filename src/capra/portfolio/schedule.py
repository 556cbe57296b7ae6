"""Plans: configurations run one after another, each for a slot of time; and what a plan costs on recorded runs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from capra.models.base import Floats, Mask
from capra.portfolio.records import PENALTY, Records

__all__ = ["Plan", "Slot", "choice", "plan_costs", "presolving"]

Slot = tuple[int, float]
"""A configuration's index, and the time it gets; the last slot of a plan is usually infinite."""
Plan = tuple[Slot, ...]
"""Slots in order. Each run starts from the beginning; the first that solves the instance ends the plan."""

SLOTS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05)
"""Of a presolving schedule, as shares of the cutoff."""
MOST_SLOTS = 3


def choice(configuration: int) -> Plan:
    """The plan that runs one configuration."""
    return ((int(configuration), math.inf),)


def plan_costs(
    records: Records, plans: Sequence[Plan], *, before: Plan = (), features: bool = True
) -> tuple[Floats, Floats, Mask]:
    """PAR10, time used and whether it was solved, (n,) each, if instance i gets ``plans[i]``.

    The clock runs through the slots ``before``, then (unless ``features`` is false) the computation of features, which may
    itself solve the instance, then the plan; at the cutoff it ends. Slots beyond a capped run count as unsolved.
    """
    clock, done = np.zeros(len(records)), np.zeros(len(records), dtype=np.bool_)
    for configuration, slot in before:
        _run(records, np.full(len(records), configuration), np.full(len(records), slot), clock, done)
    if features:
        clock += np.where(done, 0.0, records.feature_cost)
        done |= records.presolved & (clock <= records.cutoff)
    for step in range(max((len(plan) for plan in plans), default=0)):
        slots = [plan[step] if step < len(plan) else (0, 0.0) for plan in plans]
        _run(records, np.array([s[0] for s in slots]), np.array([s[1] for s in slots]), clock, done)
    solved = done & (clock <= records.cutoff)
    time = np.where(solved, clock, records.cutoff)
    return np.where(solved, time, PENALTY * records.cutoff), time, solved


def _run(records: Records, configurations: Floats, slots: Floats, clock: Floats, done: Mask) -> None:
    """One slot on every instance that is still open; ``clock`` and ``done`` are brought up to date."""
    rows = np.arange(len(records))
    times, solved = records.times[rows, configurations], records.solved[rows, configurations]
    left = np.minimum(slots, records.cutoff - clock)
    finishes = solved & (times <= left)
    clock += np.where(done, 0.0, np.where(finishes, times, np.minimum(slots, records.cutoff)))
    done |= finishes


def presolving(records: Records, plans: Sequence[Plan], *, features: bool = True) -> Plan:
    """Slots before the features that lower the mean PAR10 of ``plans``; greedily, none if none is surely worth it.

    ``plans`` must not have seen the instances they are for, otherwise presolving looks worse than it is. A slot is added
    only if the mean saving is above its standard error.
    """
    best: Plan = ()
    costs = plan_costs(records, plans, features=features)[0]
    while len(best) < MOST_SLOTS:
        tried = [(*best, (c, s * records.cutoff)) for c in range(records.configurations) for s in SLOTS]
        found = [plan_costs(records, plans, before=plan, features=features)[0] for plan in tried]
        first = min(range(len(tried)), key=lambda i: float(found[i].mean()))
        saved = costs - found[first]
        if saved.mean() <= saved.std(ddof=1) / math.sqrt(len(saved)):
            break
        best, costs = tried[first], found[first]
    return best
