"""What every configuration would cost on every instance: observed where it was run, else what a censored forest expects."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from capra.models import CensoredForest
from capra.models.base import Floats
from capra.models.instances import hardness, reduced_features
from capra.runs import Configuration, History
from capra.runs.history import Pair
from capra.scenario import Scenario
from capra.search.observations import Observations

__all__ = ["estimated_costs"]


def estimated_costs(
    scenario: Scenario,
    history: History,
    configs: Sequence[Configuration],
    pairs: Sequence[Pair],
    features: Floats,
    seed: int,
) -> Floats:
    """Costs, (configurations, pairs); ``features`` are those of the scenario's instances, (m, f), f may be 0.

    The forest's rows are a configuration's codes, the features of the instance and how hard it was for everybody. A run that
    was stopped costs at least its bound.
    """
    names: list[str | None] = [instance.name for instance in scenario.instances]
    known = Observations(scenario.space, names)
    known.update(history)
    config, instance, y, censored = known.arrays()
    columns = np.column_stack([reduced_features(features), hardness(config, instance, y, len(names))])
    upper = math.log10(scenario.objective.worst(scenario.cutoff))
    types = np.append(scenario.space.types, np.zeros(columns.shape[1])).astype(np.int64)
    forest = CensoredForest(10, "mean", types=types, upper=upper, seed=seed)
    forest.fit(np.hstack([known.codes[config], columns[instance]]), y, censored)
    places = columns[[known.column(name) for name, _ in pairs]]
    found = np.empty((len(configs), len(pairs)))
    for row, (code, one) in enumerate(zip(scenario.space.encode(configs), configs, strict=True)):
        expected = forest.predict(np.hstack([np.repeat(code[None, :], len(pairs), axis=0), places]))[0]
        found[row] = _corrected(np.power(10.0, np.minimum(expected, upper)), history, one, pairs)
    return found


def _corrected(expected: Floats, history: History, config: Configuration, pairs: Sequence[Pair]) -> Floats:
    """What is known instead of what was expected."""
    record = history.record(config)
    for j, pair in enumerate(pairs):
        if pair in record.costs:
            expected[j] = record.costs[pair]
        elif pair in record.bounds:
            expected[j] = max(expected[j], record.bounds[pair])
    return expected
