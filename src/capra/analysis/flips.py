"""The steps between two configurations: which parameters differ, and what changes with each of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, islice

import numpy as np
from numpy.typing import NDArray

from capra.runs import Configuration, Value
from capra.space import Space

__all__ = ["Flip", "flips"]

Floats = NDArray[np.float64]
MOST = 2000
"""Combinations that are tried where no parameter can change alone."""


@dataclass(frozen=True, slots=True)
class Flip:
    """One step from a configuration towards a target: ``names`` take the target's values, and ``config`` is the result."""

    names: tuple[str, ...]
    config: Configuration

    @property
    def label(self) -> str:
        return " + ".join(self.names)

    def changes(self, before: Configuration) -> dict[str, tuple[Value | None, Value | None]]:
        """Everything that differs, with what became active or inactive: (before, after), None for inactive."""
        names = [*self.names, *(name for name in {**before, **self.config} if name not in self.names)]
        pairs = {name: (before.get(name), self.config.get(name)) for name in names}
        return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def flips(space: Space, source: Configuration, target: Configuration) -> list[Flip]:
    """All legal steps from ``source`` towards ``target``: one parameter each, with all that it activates.

    A parameter is its own step where it is active on both sides; what a step activates takes the target's value at once,
    and what it deactivates is gone. Where every single step is forbidden, the smallest legal combinations take their place.
    """
    here, there = space.encode([source])[0], space.encode([target])[0]
    names = [name for j, name in enumerate(space.names) if not np.isnan(here[j] + there[j]) and here[j] != there[j]]
    for size in range(1, len(names)):
        tried = islice(combinations(names, size), MOST)
        rows = {chosen: _flipped(space, here, there, chosen) for chosen in tried}
        legal = [chosen for chosen, row in rows.items() if not space.forbidden_rows(row[None, :])[0]]
        if legal:
            return [Flip(chosen, _exact(space, rows[chosen], source, target)) for chosen in legal]
    return [Flip(tuple(names), target)] if names else []


def _exact(space: Space, row: Floats, source: Configuration, target: Configuration) -> Configuration:
    """The configuration of a row, with the values as they stand in the two: a decoded real has ten digits only."""
    given = {(name, value): exact for config in (source, target) for (name, value), exact in _encoded(space, config)}
    config = space.decode(row[None, :])[0]
    place = {name: j for j, name in enumerate(space.names)}
    return Configuration({name: given.get((name, row[place[name]]), value) for name, value in config.items()})


def _encoded(space: Space, config: Configuration) -> list[tuple[tuple[str, float], Value]]:
    row = space.encode([config])[0]
    return [((name, row[j]), config[name]) for j, name in enumerate(space.names) if name in config]


def _flipped(space: Space, here: Floats, there: Floats, chosen: tuple[str, ...]) -> Floats:
    row = here.copy()
    for name in chosen:
        j = space.names.index(name)
        row[j] = there[j]
    while True:
        woken = space.repaired(row[None, :])[0]
        new = np.isnan(row) & ~np.isnan(woken) & ~np.isnan(there)
        done = np.array_equal(woken, row, equal_nan=True)
        row = np.where(new, there, woken)
        if done:
            return row
