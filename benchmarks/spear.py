"""SPEAR-SWV as a table: 1,000 recorded configurations on 604 software-verification instances, cutoff 300 s."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import shared_or_exit
from capra.errors import SpaceError
from capra.models.instances import reduced_features
from capra.runs import Configuration
from capra.scenario import Scenario
from capra.space import Space
from capra.space.pcs import parse_pcs
from capra.targets import SurrogateTarget, Table

CUTOFF = 300.0
SPLIT_SEED = 0
MISSING = -512
"""What the feature extractor writes where it has no value."""


@dataclass(frozen=True)
class Spear:
    """The table, and half of its instances each for training and test."""

    table: Table
    train: list[str]
    test: np.ndarray
    costs: np.ndarray
    """PAR10 of every (configuration, instance)."""

    def scenario(self, seed: int, budget: dict[str, Any], rows: np.ndarray | None = None) -> Scenario:
        """Tuning among ``rows`` (all). There is no recorded default: every seed starts from another configuration."""
        table = self.table
        rows = np.arange(len(table.configs)) if rows is None else rows
        first = int(np.random.default_rng(seed).integers(len(rows)))
        pool = [table.configs[row] for row in rows]
        started = Table(table.times[rows], table.solved[rows], pool, table.instances, CUTOFF, default=first)
        return started.scenario(train=self.train, budget=budget)

    def test_cost(self, config: dict[str, object]) -> float:
        """Mean PAR10 over the test instances."""
        return float(self.costs[int(str(config["row"])), self.test].mean())


def recorded() -> Path:
    return shared_or_exit("configs/SPEAR-SWV.npz")


def configurations() -> tuple[Space, list[Configuration], np.ndarray]:
    """The space of SPEAR's 26 parameters, the recorded configurations, and the features of the instances (NaN = missing)."""
    data = np.load(recorded(), allow_pickle=False)
    space = parse_pcs(str(data["pcs"]))
    names = [str(name) for name in data["param_names"]]
    configs = [_active(space, dict(zip(names, map(str, row), strict=True))) for row in data["param_values"]]
    return space, configs, np.where(data["features"] == MISSING, np.nan, data["features"]).astype(float)


def _active(space: Space, values: dict[str, str]) -> Configuration:
    """The recorded values with those of inactive parameters left out."""
    while True:
        try:
            return space.configuration(values)
        except SpaceError as error:
            if error.part is None or "inactive" not in error.message:
                raise
            del values[str(error.part[1])]


def whole_space() -> SurrogateTarget:
    """A model of SPEAR on these instances that answers for every configuration."""
    space, configs, features = configurations()
    return SurrogateTarget.of_table(load().table, space, configs, features=features)


def encoded() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What models see: types of the columns, codes of the configurations (1,000, 26), reduced features of the instances."""
    space, configs, features = configurations()
    columns = reduced_features(features)
    return np.append(space.types, np.zeros(columns.shape[1])).astype(np.int64), space.encode(configs), columns


def load() -> Spear:
    """Read the recorded runtimes; a configuration is known by its row alone, as a member of a finite pool."""
    data = np.load(recorded(), allow_pickle=False)
    times, solved = data["runtime"].astype(float), data["solved"]
    instances = [str(name) for name in data["instances"]]
    order = np.random.default_rng(SPLIT_SEED).permutation(len(instances))
    half = len(instances) // 2
    table = Table(times, solved, [{"row": str(row)} for row in range(len(times))], instances, CUTOFF)
    costs = np.where(solved, table.times, 10 * CUTOFF)
    return Spear(table, [instances[j] for j in order[:half]], order[half:], costs)
