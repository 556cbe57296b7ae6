"""Several tunings side by side: what each found, whether the difference is chance, and how they came there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from capra.analysis.statistics import bootstrap_interval, paired_permutation_test
from capra.errors import InputError
from capra.folder import Milestone
from capra.formats.plain import plain
from capra.overview import load_history, load_scenario, load_settings, load_validation
from capra.runs import Configuration, History
from capra.runs.history import Pair
from capra.scenario import Scenario

__all__ = ["compare"]

_STATISTICS = 14
"""Stream of random numbers."""


@dataclass(frozen=True)
class _Tuning:
    name: str
    path: Path
    scenario: Scenario
    history: History
    trajectory: list[Milestone]
    settings: dict[str, Any]
    tests: History | None

    @property
    def incumbent(self) -> Configuration:
        return self.trajectory[-1].config


def compare(runs: Sequence[str | Path], *, seed: int = 0) -> dict[str, Any]:
    """Statistics and curves of tunings of the same instances, as plain data.

    ``tunings`` holds for each its incumbent's training cost and, where it was validated, its test cost, with 95 % bootstrap
    intervals over instances, and the curve of incumbents over the budget. ``comparisons`` holds for every two of them the
    difference of their incumbents' costs on the pairs that both have run on, and the p-value of a paired permutation test.
    """
    if len(runs) < 2:
        raise InputError("a comparison needs at least two tunings")
    found = [_load(Path(run), name) for run, name in zip(runs, _names([Path(run) for run in runs]), strict=True)]
    _check_comparable(found)
    rng = np.random.default_rng([seed, _STATISTICS])
    return {
        "tunings": [_summary(one, rng) for one in found],
        "comparisons": [_comparison(one, other, rng) for one, other in combinations(found, 2)],
    }


def _names(paths: list[Path]) -> list[str]:
    """The folders' own names, where these tell them apart."""
    short = [path.resolve().name for path in paths]
    return short if len(set(short)) == len(short) else [str(path) for path in paths]


def _load(path: Path, name: str) -> _Tuning:
    scenario = load_scenario(path)
    history, trajectory = load_history(path, scenario)
    if not trajectory:
        raise InputError(f"{path} has no incumbent yet", hint="let it run for a while")
    return _Tuning(name, path, scenario, history, trajectory, load_settings(path), load_validation(path, scenario))


def _check_comparable(found: list[_Tuning]) -> None:
    first = found[0]
    for other in found[1:]:
        for what in ("objective", "cutoff", "unit"):
            one, two = getattr(first.scenario, what), getattr(other.scenario, what)
            if one != two:
                raise InputError(f"{first.name} and {other.name} cannot be compared: their {what} is {one} and {two}")
        if {i.name for i in first.scenario.instances} != {i.name for i in other.scenario.instances}:
            hint = "compare tunings of the same scenario"
            raise InputError(f"{first.name} and {other.name} were tuned on different instances", hint=hint)


def _summary(one: _Tuning, rng: np.random.Generator) -> dict[str, Any]:
    incumbent, default = one.incumbent, one.scenario.default
    return {
        "name": one.name,
        "run": str(one.path),
        "strategy": one.settings.get("strategy"),
        "seed": one.settings.get("seed"),
        "runs": len(one.history),
        "configurations": len(list(one.history.configurations)),
        "spent": one.history.spent,
        "id": incumbent.id,
        "incumbent": dict(incumbent),
        "train": _cost(one.history, incumbent, rng),
        "default_train": _cost(one.history, default, rng),
        "test": _cost(one.tests, incumbent, rng),
        "default_test": _cost(one.tests, default, rng),
        "curve": [_point(one, milestone, rng) for milestone in one.trajectory],
    }


def _point(one: _Tuning, milestone: Milestone, rng: np.random.Generator) -> dict[str, Any]:
    test = _cost(one.tests, milestone.config, rng)
    costs = {"cost": plain(milestone.cost), "test_cost": test["cost"] if test else None}
    return {"spent": milestone.spent, "wall": milestone.wall, "id": milestone.config.id, **costs}


def _cost(history: History | None, config: Configuration, rng: np.random.Generator) -> dict[str, Any] | None:
    """Mean over instances of the mean over seeds, with its interval; None where there is no complete run."""
    costs = history.record(config).costs if history is not None else {}
    if not costs:
        return None
    names = dict.fromkeys(instance for instance, _ in costs)
    groups = [np.array([cost for pair, cost in costs.items() if pair[0] == name]) for name in names]
    low, high = bootstrap_interval(groups, rng)
    return {"cost": float(np.mean([group.mean() for group in groups])), "interval": [low, high], "pairs": len(costs)}


def _comparison(one: _Tuning, other: _Tuning, rng: np.random.Generator) -> dict[str, Any]:
    train = _shared(one.history.record(one.incumbent).costs, other.history.record(other.incumbent).costs, rng)
    ours = one.tests.record(one.incumbent).costs if one.tests else {}
    theirs = other.tests.record(other.incumbent).costs if other.tests else {}
    return {"one": one.name, "other": other.name, "train": train, "test": _shared(ours, theirs, rng)}


def _shared(ours: dict[Pair, float], theirs: dict[Pair, float], rng: np.random.Generator) -> dict[str, Any] | None:
    """None where they share no pair: means over different pairs say nothing about each other."""
    pairs = [pair for pair in ours if pair in theirs]
    if not pairs:
        return None
    mine, others = np.array([ours[pair] for pair in pairs]), np.array([theirs[pair] for pair in pairs])
    means = {"one": float(mine.mean()), "other": float(others.mean())}
    return {"pairs": len(pairs), **means, "p_value": paired_permutation_test(mine, others, rng)}
