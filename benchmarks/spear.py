"""SPEAR-SWV as a table: 1,000 recorded configurations on 604 software-verification instances, cutoff 300 s."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import shared_or_exit
from capra.models.instances import reduced_features
from capra.scenario import Scenario
from capra.space.pcs import parse_pcs
from capra.targets import Table

CUTOFF = 300.0
SPLIT_SEED = 0


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
    return shared_or_exit() / "configs" / "SPEAR-SWV.npz"


def encoded() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What models see: types of the columns, codes of the configurations (1,000, 26), reduced features of the instances."""
    data = np.load(recorded(), allow_pickle=False)
    space = parse_pcs(str(data["pcs"]))
    names = [str(name) for name in data["param_names"]]
    given = [
        {name: space[name].coerce(str(value)) for name, value in zip(names, row, strict=True)}
        for row in data["param_values"]
    ]
    codes = space._activate(space.encode(given))  # the record has values for inactive parameters too
    features = data["features"].astype(float)
    features = reduced_features(np.where(features == -512, np.nan, features))  # −512 stands for a missing one
    return np.append(space.types, np.zeros(features.shape[1])).astype(np.int64), codes, features


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
