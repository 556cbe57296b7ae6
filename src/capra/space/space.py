"""Space: all configurations of a target, as arrays.

A set of configurations is a float64 matrix with one row each and one column per parameter, in the order of declaration:
the code of the value (see ``parameters``), NaN where the parameter is inactive. Sampling, neighbours, conditions and
forbidden clauses work on the whole matrix; a ``Configuration`` is made only for what is really run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from capra.errors import SpaceError, did_you_mean
from capra.runs import Configuration, Value
from capra.space.expressions import Expression, holds, names_in, resolve
from capra.space.parameters import Parameter

__all__ = ["Space"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

HOPELESS = 10_000
"""So many samples in a row that are all forbidden mean that the space is empty for all purposes."""


class Space:
    """Parameters, conditions ("child is active only if …") and forbidden clauses.

    ``switches`` maps parameters to the text that stands before their value on a command line, for formats that say so
    (irace); it does not count when spaces are compared. With ``suggested_default`` the parameters' defaults are only
    our guess (the format has none), and a legal sample replaces them where they are forbidden together. Raises
    SpaceError for anything contradictory: duplicate names, conditions in a cycle, a forbidden default, forbidden clauses
    that leave (nearly) nothing.
    """

    def __init__(
        self,
        parameters: Iterable[Parameter],
        conditions: Mapping[str, Expression] | None = None,
        forbidden: Sequence[Expression] = (),
        *,
        switches: Mapping[str, str] | None = None,
        suggested_default: bool = False,
    ) -> None:
        self.parameters: dict[str, Parameter] = {}
        for parameter in parameters:
            if parameter.name in self.parameters:
                raise parameter.error("is declared twice")
            self.parameters[parameter.name] = parameter
        if not self.parameters:
            raise SpaceError("a space needs at least one parameter")
        self._default_codes = self._codes_of_defaults()
        self._column = {name: j for j, name in enumerate(self.parameters)}
        self.conditions = self._resolve_conditions(conditions or {})
        self.forbidden = self._resolve_forbidden(forbidden)
        self.switches = dict(switches or {})
        self._conditional = self._parents_first()
        self._check_not_empty()
        self._check_default(suggested_default)

    # --- construction ---

    def _resolve_conditions(self, conditions: Mapping[str, Expression]) -> dict[str, Expression]:
        resolved = {}
        for child, condition in conditions.items():
            if child not in self.parameters:
                raise SpaceError(
                    f"condition for an unknown parameter {child!r}",
                    part=("condition", child),
                    hint=did_you_mean(child, self.parameters),
                )
            resolved[child] = self._resolve(condition, ("condition", child))
        return resolved

    def _resolve_forbidden(self, forbidden: Sequence[Expression]) -> tuple[Expression, ...]:
        return tuple(self._resolve(clause, ("forbidden", i)) for i, clause in enumerate(forbidden))

    def _resolve(self, expression: Expression, part: tuple[str, str | int]) -> Expression:
        try:
            return resolve(expression, self.parameters)
        except SpaceError as error:
            error.part = part
            raise

    def _parents_first(self) -> list[str]:
        """The conditional parameters, each after every parameter its condition looks at."""
        parents = {child: set(names_in(condition)) for child, condition in self.conditions.items()}
        try:
            order = list(TopologicalSorter(parents).static_order())
        except CycleError as error:
            cycle = error.args[1]
            raise SpaceError("conditions in a cycle: " + " needs ".join(cycle[::-1]), part=("condition", cycle[0])) from None
        return [name for name in order if name in self.conditions]

    @cached_property
    def _below(self) -> dict[int, list[str]]:
        """For each column that some condition looks at: the parameters that depend on it, parents first."""
        above: dict[str, set[str]] = {}
        below: dict[int, list[str]] = {}
        for child in self._conditional:
            parents = set(names_in(self.conditions[child]))
            above[child] = parents.union(*(above.get(parent, set()) for parent in parents))
            for name in above[child]:
                below.setdefault(self._column[name], []).append(child)
        return below

    def _check_default(self, suggested: bool) -> None:
        row = self._activate(self._default_codes[None, :].copy())
        for i, clause in enumerate(self.forbidden):
            if holds(clause, self.parameters, _Columns(self, row))[0]:
                if suggested:
                    return self._sample_default()
                raise SpaceError("the default configuration is forbidden by this clause", part=("forbidden", i))

    def _sample_default(self) -> None:
        chosen = self.decode(self.sample(1, np.random.default_rng(0)))[0]
        for name, value in chosen.items():
            self.parameters[name] = self.parameters[name].with_default(value)
        self._default_codes = self._codes_of_defaults()

    def _codes_of_defaults(self) -> Floats:
        """Rounded as all codes are: a default may be written with more digits than are ever drawn."""
        return np.array([p.encode(p.decode(p.encode([p.default])))[0] for p in self.parameters.values()])

    def _check_not_empty(self) -> None:
        if self.forbidden:
            self.sample(1, np.random.default_rng(0))

    # --- what it is ---

    @property
    def names(self) -> tuple[str, ...]:
        """Parameter names, in the order of the columns."""
        return tuple(self.parameters)

    @cached_property
    def types(self) -> NDArray[np.intp]:
        """Per column: 0 for numbers and ordinals, k for a categorical with k values (what the models take)."""
        return np.array([parameter.categories for parameter in self.parameters.values()], dtype=np.intp)

    @property
    def default(self) -> Configuration:
        """The default configuration: the declared defaults of the parameters that are active in it."""
        active = ~np.isnan(self._activate(self._default_codes[None, :].copy())[0])
        pairs = zip(self.parameters.values(), active, strict=True)
        return Configuration({parameter.name: parameter.default for parameter, on in pairs if on})

    def __len__(self) -> int:
        return len(self.parameters)

    def __getitem__(self, name: str) -> Parameter:
        return self.parameters[name]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Space):
            return NotImplemented
        return (
            list(self.parameters.values()) == list(other.parameters.values())
            and self.conditions == other.conditions
            and self.forbidden == other.forbidden
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Space: {len(self)} parameters, {len(self.conditions)} conditions, {len(self.forbidden)} forbidden clauses>"

    # --- codes and configurations ---

    def encode(self, configurations: Sequence[Mapping[str, Value]]) -> Floats:
        """Codes of legal configurations (of this space; see ``configuration``), shape (n, d)."""
        rows = np.full((len(configurations), len(self)), np.nan)
        for name, j in self._column.items():
            values = [configuration.get(name) for configuration in configurations]
            active = [i for i, value in enumerate(values) if value is not None]
            if active:
                rows[active, j] = self.parameters[name].encode([v for v in values if v is not None])
        return rows

    def decode(self, rows: Floats) -> list[Configuration]:
        """The configurations of encoded rows (n, d)."""
        values: list[dict[str, Value]] = [{} for _ in range(len(rows))]
        for name, j in self._column.items():
            column = rows[:, j]
            active = np.flatnonzero(~np.isnan(column))
            for i, value in zip(active.tolist(), self.parameters[name].decode(column[active]), strict=True):
                values[i][name] = value
        return [Configuration(value) for value in values]

    def configuration(self, values: Mapping[str, Any]) -> Configuration:
        """A checked configuration; values may be given as text.

        Raises SpaceError for unknown or missing parameters, values outside their domain, values for inactive
        parameters, and forbidden combinations.
        """
        for name in values:
            if name not in self.parameters:
                raise SpaceError(f"unknown parameter {name!r}", hint=did_you_mean(name, self.parameters))
        given = {name: self.parameters[name].coerce(values[name]) for name in self.parameters if name in values}
        row = self.encode([given])
        self._check_activity(row, given)
        if self.forbidden_rows(row)[0]:
            raise SpaceError("this combination of values is forbidden")
        return Configuration(given)

    def _check_activity(self, row: Floats, given: Mapping[str, Value]) -> None:
        for name, code in zip(self.parameters, self._activate(row.copy())[0], strict=True):
            on = name not in self.conditions or not np.isnan(code)
            if on and name not in given:
                raise SpaceError(f"{name} is active and needs a value", part=("parameter", name))
            if not on and name in given:
                raise SpaceError(f"{name} is inactive here and takes no value", part=("parameter", name))

    # --- activity and legality ---

    def _activate(self, rows: Floats, names: Sequence[str] | None = None) -> Floats:
        """Make activity right, in place: inactive entries become NaN, newly active ones their default.

        ``names`` are the parameters to look at, parents first, if only they can have changed.
        """
        columns = _Columns(self, rows)
        for name in self._conditional if names is None else names:
            j = self._column[name]
            active = holds(self.conditions[name], self.parameters, columns)
            rows[~active, j] = np.nan
            rows[active & np.isnan(rows[:, j]), j] = self._default_codes[j]
        return rows

    def repaired(self, rows: Floats) -> Floats:
        """The same rows (n, d) with their activity made right: inactive entries are NaN, newly active ones the default."""
        return self._activate(rows.copy())

    def forbidden_rows(self, rows: Floats) -> Mask:
        """Which rows match a forbidden clause, shape (n,)."""
        columns = _Columns(self, rows)
        hit = np.zeros(len(rows), dtype=np.bool_)
        for clause in self.forbidden:
            hit |= holds(clause, self.parameters, columns)
        return hit

    # --- sampling and neighbours ---

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        """``n`` legal configurations drawn uniformly (forbidden ones are drawn again), shape (n, d)."""
        rows = self.spread(rng.random((n, len(self))))
        bad = np.flatnonzero(self.forbidden_rows(rows))
        barren = 0
        while bad.size:
            extra = self.spread(rng.random((max(2 * bad.size, 1000), len(self))))
            legal = extra[~self.forbidden_rows(extra)][: bad.size]
            barren = 0 if len(legal) else barren + len(extra)
            if barren >= HOPELESS:
                raise SpaceError(f"{barren:,} samples in a row are all forbidden", part=("forbidden", 0))
            rows[bad[: len(legal)]] = legal
            bad = bad[len(legal) :]
        return rows

    def spread(self, points: Floats) -> Floats:
        """Points of the unit cube (n, d) as configurations (n, d): how designs and samplers enter the space.

        Forbidden clauses are not looked at.
        """
        rows = np.empty_like(points, order="F")  # all work here goes column by column
        for j, parameter in enumerate(self.parameters.values()):
            rows[:, j] = parameter.spread(points[:, j])
        return np.ascontiguousarray(self._activate(rows))

    def neighbours(
        self, rows: Floats, rng: np.random.Generator, *, count: int = 4, sigma: float = 0.2, levels: int = 0
    ) -> tuple[Floats, NDArray[np.intp]]:
        """All legal one-exchange neighbours of ``rows`` (n, d): (m, d) and the row (m,) each comes from.

        Categorical parameters take every other value, ordinals the next smaller and larger, numbers ``count`` Gaussian
        steps of ``sigma`` of the unit interval, or each of ``levels`` values that are evenly spread over it. A child that
        becomes active takes its default. No neighbour stands twice.
        """
        count = levels or count
        active = ~np.isnan(rows)
        columns, origins = np.nonzero(active.T)  # grouped by column
        codes = rows[origins, columns]
        draws = np.zeros((len(codes), count))
        ordered = self.types[columns] == 0
        draws[ordered] = np.linspace(0, 1, levels) if levels else _gaussian_around(codes[ordered], count, sigma, rng)
        found = self._moves(columns, codes, draws)
        widths = [moves.shape[1] for moves in found]
        per_pair = np.repeat(widths, np.count_nonzero(active, axis=0))
        moved = np.concatenate([moves.ravel() for moves in found])
        real = ~np.isnan(moved)
        origins, columns = np.repeat(origins, per_pair)[real], np.repeat(columns, per_pair)[real]
        neighbours = rows.take(origins, axis=0)
        neighbours[np.arange(len(origins)), columns] = moved[real]
        self._wake(neighbours, columns)
        legal = np.flatnonzero(~self.forbidden_rows(neighbours))
        if len(legal) < len(neighbours):
            neighbours, origins = neighbours.take(legal, axis=0), origins[legal]
        return neighbours, origins

    def _moves(self, columns: NDArray[np.intp], codes: Floats, draws: Floats) -> list[Floats]:
        """For each column, the codes one exchange away from its entries in ``codes`` (see ``Parameter.moves``)."""
        ends = np.searchsorted(columns, np.arange(len(self) + 1))
        return [
            parameter.moves(codes[ends[j] : ends[j + 1]], draws[ends[j] : ends[j + 1]])
            for j, parameter in enumerate(self.parameters.values())
        ]

    def _wake(self, rows: Floats, changed: NDArray[np.intp]) -> None:
        """Make activity right, in place, below the one column (m,), in ascending order, that changed in each row."""
        for j, names in self._below.items():
            start, end = np.searchsorted(changed, [j, j + 1])
            self._activate(rows[start:end], names)


def _gaussian_around(points: Floats, count: int, sigma: float, rng: np.random.Generator) -> Floats:
    """``count`` draws of a normal distribution around each point, truncated to the unit interval: (n, count)."""
    centres = np.repeat(points, count)
    draws = rng.normal(centres, sigma)
    while (outside := np.flatnonzero((draws < 0.0) | (draws > 1.0))).size:
        draws[outside] = rng.normal(centres[outside], sigma)
    return draws.reshape(-1, count)


class _Columns:
    """Ranks of each column, computed when first asked for."""

    def __init__(self, space: Space, rows: Floats) -> None:
        self._space = space
        self._rows = rows
        self._ranks: dict[str, Floats] = {}

    def __call__(self, name: str) -> Floats:
        if name not in self._ranks:
            column = self._rows[:, self._space._column[name]]
            self._ranks[name] = self._space.parameters[name].ranks(column)
        return self._ranks[name]
