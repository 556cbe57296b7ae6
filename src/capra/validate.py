"""Final configurations on test instances and fresh seeds: is the result real?"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from capra.analysis.statistics import bootstrap_interval, paired_permutation_test
from capra.budget import Meter
from capra.errors import InputError
from capra.folder import is_begun, open_store, store_and_engine
from capra.keeper import Keeper
from capra.runs import Configuration, History, RunRequest, Status, Value
from capra.scenario import Budget, Scenario
from capra.strategies.base import Context
from capra.strategies.listed import Listed
from capra.tune import Tuning, check_call, whole_number

if TYPE_CHECKING:
    from capra.engines import Engine
    from capra.runs.store import Store

__all__ = ["Validated", "measured", "validate"]

STORE = "validation.sqlite"
_SEEDS, _STATISTICS = 11, 12
"""Streams of random numbers: validation seeds are never training seeds of the same tuning."""


@dataclass(frozen=True, slots=True)
class Validated:
    """One configuration's test performance."""

    config: Configuration
    cost: float
    """Mean over instances of the mean over seeds."""
    interval: tuple[float, float]
    """95 % bootstrap interval of it."""
    solved: int
    runs: int
    p_value: float | None
    """Paired permutation test against the first configuration; None for that one itself."""


def validate(
    scenario: Scenario,
    configs: Sequence[Mapping[str, Value]],
    instances: str | Sequence[str] = "test",
    seeds: int = 10,
    *,
    workers: int | None = None,
    engine: str = "local",
    seed: int = 0,
    out: str | Path | None = None,
    watch: Callable[[Tuning], None] = lambda _: None,
    **where: Any,
) -> list[Validated]:
    """Run every configuration on every instance with ``seeds`` fresh seeds (one, if deterministic), at κ_max.

    Of a scenario that names its seeds the first ``seeds`` of those are used.

    The first configuration is what the others are tested against: give the default first. With ``out`` the runs are kept,
    and none that is kept is ever made again. ``where``: ``client``, ``calibrate`` and ``stage`` for ``engine="dask"``, as in
    ``tune``.
    """
    check_call(scenario, engine, out)
    if isinstance(configs, str | Mapping):
        raise InputError("configs is a list of configurations, not one of them", hint="validate(scenario, [config])")
    checked, names = [scenario.space.configuration(config) for config in configs], _instances(scenario, instances)
    seed = whole_number("seed", seed, 0)
    how: dict[str, Any] = {"workers": workers, "engine": engine, "seed": seed, "out": out, "watch": watch}
    return _summaries(checked, measured(scenario, checked, names, seeds, **how, **where), names, seed)


def measured(
    scenario: Scenario,
    configs: Sequence[Configuration],
    names: Sequence[str | None],
    seeds: int,
    *,
    workers: int | None = None,
    engine: str = "local",
    seed: int = 0,
    out: str | Path | None = None,
    watch: Callable[[Tuning], None] = lambda _: None,
    **where: Any,
) -> History:
    """The runs behind ``validate``."""
    if not configs:
        raise InputError("there is no configuration to validate")
    if not names:
        raise InputError("there is no instance to validate on", hint="leave instances out for the scenario's test instances")
    seeds, workers = whole_number("seeds", seeds, 1), None if workers is None else whole_number("workers", workers, 1)
    from capra.engines import make_engine  # `import capra` stays quick

    requests = _requests(scenario, list(configs), list(names), seeds, seed)
    with store_and_engine(
        lambda: open_store(scenario, {"engine": engine, "validation": True}, out, STORE),
        lambda: make_engine(scenario, engine, workers, **where),
        begun=is_begun(out, STORE),
    ) as (store, running):
        return _run(scenario, requests, store, running, watch)


def _instances(scenario: Scenario, instances: str | Sequence[str]) -> list[str | None]:
    if instances not in ("test", "train"):
        return list(instances) if not isinstance(instances, str) else [instances]
    chosen = scenario.test_instances if instances == "test" else scenario.instances
    if not chosen and scenario.instances:
        raise InputError("the scenario has no test instances", hint="set test_instances or split, or validate on 'train'")
    return [instance.name for instance in chosen] or [None]


def _requests(
    scenario: Scenario, configs: list[Configuration], names: list[str | None], seeds: int, seed: int
) -> list[RunRequest]:
    """Interleaved, so that an unfinished validation has seen every configuration equally often."""
    rng = np.random.default_rng([seed, _SEEDS])
    if scenario.seeds is not None:
        drawn = list(scenario.seeds[:seeds])
    else:
        drawn = [0] if scenario.deterministic else [int(s) for s in rng.integers(2**31, size=seeds)]
    return [RunRequest(config, name, s, scenario.cutoff) for s in drawn for name in names for config in configs]


def _run(
    scenario: Scenario, requests: list[RunRequest], store: Store, engine: Engine, watch: Callable[[Tuning], None]
) -> History:
    strategy = Listed(Context(scenario), requests)
    tuning = Tuning(scenario, strategy, engine, Keeper(store), Meter(Budget(), scenario.unit, overhead="ignore"))
    tuning.replay()
    tuning.run(watch)
    return strategy.history


def _summaries(configs: list[Configuration], history: History, names: list[str | None], seed: int) -> list[Validated]:
    rng = np.random.default_rng([seed, _STATISTICS])
    first = history.record(configs[0]).costs
    solved: dict[Configuration, int] = {}
    for run in history:
        solved[run.request.config] = solved.get(run.request.config, 0) + (run.outcome.status is Status.SUCCESS)
    found = []
    for config in configs:
        costs = history.record(config).costs
        groups = [np.array([cost for pair, cost in costs.items() if pair[0] == name]) for name in names]
        groups = [group for group in groups if len(group)]
        mean = float(np.mean([group.mean() for group in groups])) if groups else math.nan
        interval = bootstrap_interval(groups, rng) if groups else (math.nan, math.nan)
        shared = [pair for pair in costs if pair in first]
        p_value = None
        if config != configs[0] and shared:
            p_value = paired_permutation_test([costs[p] for p in shared], [first[p] for p in shared], rng)
        found.append(Validated(config, mean, interval, solved.get(config, 0), len(costs), p_value))
    return found
