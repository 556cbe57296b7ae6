"""What a model believes: a censored forest on a sample of the cells, so that its time does not grow with the history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import nsmallest

import numpy as np

from capra.report.html.columns import Columns, Floats, Indices, Mask
from capra.runs import Configuration
from capra.space import Space

__all__ = ["CONFIGS", "Estimate", "estimated", "sampled"]

CONFIGS = 1200
"""Configurations that are drawn, at most."""
CELLS = 5000
"""Cells that the forest is fitted to, at most."""
INSTANCES = 200
"""Instances that a configuration's expected time is averaged over, at most."""
SHORTEST = 1e-3
"""Times have a resolution; logarithms need a floor."""
FEWEST = 12


@dataclass(frozen=True)
class Estimate:
    """Beliefs about a sample of cells (n,), in log10 time, and about a sample of configurations (c,)."""

    configs: list[Configuration]
    codes: Floats
    """(c, d)"""
    cost: Floats
    """Log10 of the mean time over the instances that is expected of each configuration, (c,)."""
    config: Indices
    """Of each cell its place in ``configs``."""
    instance: Indices
    y: Floats
    censored: Mask
    predicted: Floats
    imputed: Floats
    """What a censored cell probably took, given that it took at least ``y``; ``y`` for the others."""


def sampled(columns: Columns, keep: Sequence[Configuration], most: int = CONFIGS) -> list[Configuration]:
    """Up to ``most`` configurations in the order of their first run: those to ``keep`` and others by chance.

    By their ids, which are hashes: whoever was drawn stays drawn while a tuning goes on.
    """
    known = columns.configs.things
    if len(known) <= most:
        return list(known)
    chosen = dict.fromkeys([*keep, *nsmallest(most, known, key=lambda config: config.id)])
    return [known[number] for number in np.sort(columns.numbers(list(chosen)[:most]))]


def estimated(columns: Columns, space: Space, cutoff: float, keep: Sequence[Configuration]) -> Estimate | None:
    """A forest fitted to the cells of a sample of configurations; None below a dozen of them, or if all are censored."""
    from capra.models import CensoredForest  # scipy takes its time to load
    from capra.models.imputation import conditional_means
    from capra.models.instances import hardness

    cells = columns.cells()
    configs = sampled(columns, keep)
    place = np.full(len(columns.configs.things), -1)
    place[columns.numbers(configs)] = np.arange(len(configs))
    mine = np.flatnonzero(place[cells.config] >= 0)
    if len(mine) > CELLS:
        mine = np.sort(np.random.default_rng(0).choice(mine, CELLS, replace=False))
    if len(mine) < FEWEST or cells.censored[mine].all():
        return None
    config, instance, censored = place[cells.config[mine]], cells.instance[mine], cells.censored[mine]
    y = np.log10(np.maximum(cells.time[mine], SHORTEST))
    instances = len(columns.instances.things)
    hard = hardness(config.astype(np.intp), instance.astype(np.intp), y, instances)[:, None]
    codes = space.encode(configs)
    X = np.hstack([codes[config], hard[instance]])
    types = np.append(space.types, 0).astype(np.int64)
    upper = float(np.log10(10.0 * cutoff))
    forest = CensoredForest(types=types, upper=upper, seed=0).fit(X, y, censored)
    belief = forest.predict_runs(X)
    imputed = y.copy()
    imputed[censored] = conditional_means((belief[0][censored], belief[1][censored]), y[censored], upper)
    shown = hard[:: -(-instances // INSTANCES)]
    cost = forest.predict_marginal(codes, shown)[0]
    return Estimate(configs, codes, cost, config, instance, y, censored, belief[0], imputed)
