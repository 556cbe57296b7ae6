"""Runs as growing columns: what an update adds is appended, what a plot needs is worked out over whole arrays."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from capra.runs import Configuration, Run, Status

__all__ = ["STATUSES", "Cells", "Columns", "Floats", "Indices", "Mask"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]
STATUSES = tuple(Status)
"""The number of a status is its place here."""
_NUMBER = {status: number for number, status in enumerate(STATUSES)}
_CENSORED = np.array([status.censored for status in STATUSES])
_SUCCESS = _NUMBER[Status.SUCCESS]

T = TypeVar("T", bound=Hashable)


class _Numbers(Generic[T]):
    """Things in the order in which they were met, each with its number."""

    def __init__(self) -> None:
        self.things: list[T] = []
        self._number: dict[T, int] = {}

    def of(self, thing: T) -> int:
        number = self._number.get(thing)
        if number is None:
            number = self._number[thing] = len(self.things)
            self.things.append(thing)
        return number

    def get(self, thing: T) -> int | None:
        return self._number.get(thing)


@dataclass(frozen=True)
class Cells:
    """One row per (configuration, instance, seed): its first complete run, else its longest censored one."""

    config: Indices
    instance: Indices
    time: Floats
    censored: Mask
    """Only known to take at least ``time``. Runs that broke down (crashes and alike) have no row."""


class Columns:
    """All runs in their order; configurations and instances by number."""

    def __init__(self) -> None:
        self.configs: _Numbers[Configuration] = _Numbers()
        self.instances: _Numbers[str | None] = _Numbers()
        self._whole = {name: array("q") for name in ("config", "instance", "seed", "status")}
        self._real = {name: array("d") for name in ("time", "cutoff", "finished")}

    def add(self, run: Run) -> None:
        request, outcome = run.request, run.outcome
        whole, real = self._whole, self._real
        whole["config"].append(self.configs.of(request.config))
        whole["instance"].append(self.instances.of(request.instance))
        whole["seed"].append(request.seed)
        whole["status"].append(_NUMBER[outcome.status])
        real["time"].append(outcome.time)
        real["cutoff"].append(outcome.cutoff)
        real["finished"].append(run.finished)

    def __len__(self) -> int:
        return len(self._real["time"])

    def numbers(self, configs: Iterable[Configuration]) -> Indices:
        """The numbers of those configurations that were run."""
        found = (self.configs.get(config) for config in configs)
        return np.array([number for number in found if number is not None], dtype=np.int64)

    def whole(self, name: str) -> Indices:
        """A copy of a column of whole numbers: config, instance, seed or status."""
        return np.array(self._whole[name], dtype=np.int64)

    def real(self, name: str) -> Floats:
        """A copy of a column of numbers: time, cutoff or finished."""
        return np.array(self._real[name], dtype=np.float64)

    def cells(self) -> Cells:
        """What is known of each cell."""
        config, instance, seed, status = (self.whole(name) for name in ("config", "instance", "seed", "status"))
        time, censored = self.real("time"), _CENSORED[status]
        usable = np.flatnonzero(censored | (status == _SUCCESS))
        rank = np.where(censored, -time, -np.inf)  # complete ones first, then the longest
        order = usable[np.lexsort((usable, rank[usable], seed[usable], instance[usable], config[usable]))]
        keys = np.stack([config[order], instance[order], seed[order]])
        first = np.ones(len(order), dtype=np.bool_)
        first[1:] = (keys[:, 1:] != keys[:, :-1]).any(axis=0)
        kept: Any = order[first]
        return Cells(config[kept], instance[kept], time[kept], censored[kept])
