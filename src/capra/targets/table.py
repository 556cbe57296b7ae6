"""Recorded runtimes as a target: a finite pool of configurations, answered from a matrix."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from capra.errors import InputError, did_you_mean, shown
from capra.formats.instances import Features, Instance
from capra.formats.quantities import duration, positive_number
from capra.runs import Configuration, Outcome, RunRequest, Status, Value
from capra.scenario import Scenario
from capra.space import Categorical, Space

__all__ = ["Table"]

SHORTEST = 0.001
"""Recorded times have a resolution; zeros occur. Logarithms need a floor."""


class Table:
    """``times[c, j]`` of configuration c on instance j, and whether it was ``solved[c, j]`` by then.

    ``cutoff`` is the bound under which the times were recorded: unsolved cells are known to take at least that. It is a
    number, or a duration ("5min"). ``space`` may be left out: then every key of ``configs`` becomes a categorical parameter
    with the values that occur. ``features`` are rows of numbers, by the name of the instance or in the order of the
    instances. ``default`` is the position of the default configuration (the first).
    """

    def __init__(
        self,
        times: Any,
        solved: Any,
        configs: Sequence[Mapping[str, Value]],
        instances: Sequence[str],
        cutoff: float | str,
        space: Space | None = None,
        features: Mapping[str, Sequence[float]] | Sequence[Sequence[float]] | None = None,
        default: int | None = None,
    ) -> None:
        self.times: NDArray[np.float64] = np.asarray(times, dtype=np.float64)
        self.solved: NDArray[np.bool_] = np.asarray(solved, dtype=np.bool_)
        self.cutoff = _cutoff(cutoff)
        self.instances = tuple(_listed("instances", instances))
        if not 0 <= (default or 0) < max(1, len(configs)):
            raise InputError(f"default is the position of one of {len(configs)} configurations, not {default}")
        self.space = space or _space_of(configs, default or 0)
        self.configs = tuple(self.space.configuration(config) for config in configs)
        self.features = None if features is None else _rows(features, self.instances)
        self._check()
        if default is not None and self.configs[default] != self.space.default:
            raise InputError("the space has another default than this position", hint="leave default out")
        self.times = np.maximum(self.times, SHORTEST)
        self._row = {config: i for i, config in enumerate(self.configs)}
        self._column = {name: j for j, name in enumerate(self.instances)}

    def _check(self) -> None:
        shape = (len(self.configs), len(self.instances))
        for name, matrix in (("times", self.times), ("solved", self.solved)):
            if matrix.shape != shape:
                raise InputError(f"{name} has the shape {matrix.shape}, not {shape} (configurations × instances)")
        if not (np.isfinite(self.times) & (self.times >= 0.0)).all():
            raise InputError("times must be finite and not negative: give the cutoff where a run was not solved")
        if len(set(self.configs)) != len(self.configs) or len(set(self.instances)) != len(self.instances):
            raise InputError("a configuration or an instance stands twice")
        if (self.times[~self.solved] < self.cutoff).any():
            raise InputError(f"an unsolved cell ends before the cutoff of {self.cutoff:g}")

    def run(self, request: RunRequest) -> Outcome:
        """The recorded outcome of a request: what a run with that cutoff would have shown."""
        try:
            cell = self._row[request.config], self._column[request.instance or ""]
        except KeyError as error:
            raise InputError(f"not in the table: {error.args[0]!r}") from None
        time = float(self.times[cell])
        bound = min(request.cutoff, self.cutoff)
        if self.solved[cell] and time <= bound:
            return Outcome(Status.SUCCESS, time, request.cutoff, backend="table")
        status = Status.CAPPED if bound < self.cutoff else Status.TIMEOUT
        return Outcome(status, bound, bound, reason="stopped by its cutoff", backend="table")

    def scenario(
        self,
        train: Sequence[str] | None = None,
        test: Sequence[str] = (),
        objective: str = "par10",
        budget: Mapping[str, Any] | None = None,
        cutoff: float | str | None = None,
        **options: Any,
    ) -> Scenario:
        """A scenario over this table: its configurations are the pool, ``train`` (all) and ``test`` its instances.

        ``cutoff`` may be shorter than the one under which the times were recorded, never longer.
        """
        if cutoff is not None and (bound := _cutoff(cutoff)) != self.cutoff:
            return self._cut(bound).scenario(train, test, objective, budget, **options)
        given: dict[str, Any] = {
            "target": self,
            "space": self.space,
            "configurations": self.configs,
            "instances": list(self.instances) if train is None else self._chosen("train", train),
            "cutoff": self.cutoff,
            "objective": objective,
            "deterministic": True,
        }
        if chosen := self._chosen("test", test):
            given["test_instances"] = chosen
        if budget:
            given["budget"] = budget
        if self.features:
            names = tuple(f"f{i}" for i in range(len(next(iter(self.features.values())))))
            given["features"] = Features(names, self.features)
        return Scenario(**(given | options))

    def _chosen(self, what: str, names: Sequence[str]) -> list[str]:
        """Some of the instances; InputError for one that nothing was recorded of."""
        found = _listed(what, names)
        for one in found:
            name = one.name if isinstance(one, Instance) else one
            if name not in self._column:
                hint = did_you_mean(str(name), self.instances) or "give names of the table's instances"
                raise InputError(f"{what}: the table has no instance {shown(name)}", hint=hint)
        return found

    def _cut(self, cutoff: float) -> Table:
        """What would have been recorded under a shorter cutoff."""
        if not 0.0 < cutoff < self.cutoff:
            raise InputError(f"the times were recorded under a cutoff of {self.cutoff:g}: {cutoff:g} cannot be answered")
        solved = self.solved & (self.times <= cutoff)
        times = np.where(solved, self.times, cutoff)
        return Table(times, solved, self.configs, self.instances, cutoff, self.space, self.features)

    def __call__(self, config: Mapping[str, Value], instance: str, seed: int, cutoff: float) -> dict[str, Any]:
        """As a Python target: ``f(config, instance, seed, cutoff)``."""
        outcome = self.run(RunRequest(Configuration(config), instance, seed, cutoff))
        return {"status": "SUCCESS" if outcome.status is Status.SUCCESS else "TIMEOUT", "time": outcome.time}


def _cutoff(value: object) -> float:
    """As a scenario takes it: a number, also one of numpy's, or a duration."""
    plain = value.item() if isinstance(value, np.generic) else value
    return duration(plain) if isinstance(plain, str) else positive_number(plain, "a cutoff")


def _listed(what: str, names: Iterable[Any]) -> list[Any]:
    """Several names: a text is one, and would become its letters."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InputError(f"{what} is a list of instances, not {shown(names)}", hint=f"for example [{shown(names)}]")
    return list(names)


def _rows(features: Mapping[str, Sequence[float]] | Any, instances: Sequence[str]) -> dict[str, tuple[float, ...]]:
    """By the names of the instances; a matrix has them in their order."""
    try:
        named = features if isinstance(features, Mapping) else dict(zip(instances, features, strict=True))
        rows = {name: tuple(float(value) for value in row) for name, row in named.items()}
    except (TypeError, ValueError):
        what = "features are a row of numbers for every instance, by name or in their order"
        raise InputError(what, hint="NaN where a value is not known") from None
    if len({len(row) for row in rows.values()}) > 1:
        raise InputError("every instance has the same number of features", hint="NaN where a value is not known")
    return rows


def _space_of(configs: Sequence[Mapping[str, Value]], default: int) -> Space:
    """One categorical parameter per key, with the values that occur; every configuration must set every key."""
    if not configs:
        raise InputError("a table needs at least one configuration")
    names = list(configs[0])
    if any(set(config) != set(names) for config in configs):
        raise InputError("configurations with different parameters need a space", hint="pass space=…")
    return Space(Categorical(name, _values(configs, name), configs[default][name]) for name in names)


def _values(configs: Sequence[Mapping[str, Value]], name: str) -> tuple[Value, ...]:
    """The values that occur, in order; 1 and True are two."""
    return tuple({(type(config[name]), config[name]): config[name] for config in configs}.values())
