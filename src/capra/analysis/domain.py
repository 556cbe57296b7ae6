"""A space as the forest's kernel sees it: what values there are, how likely each is, and when a parameter is active."""

from __future__ import annotations

import math
from itertools import chain, product

import numpy as np
from numpy.typing import NDArray

from capra._kernels import Domain
from capra.space import Categorical, Integer, Ordinal, Space
from capra.space.expressions import COMPARISONS, And, Compare, Expression, Member, Name, Or
from capra.space.expressions import Literal as Constant
from capra.space.parameters import Parameter

__all__ = ["atoms_of", "domain_of", "grid_of"]

Floats = NDArray[np.float64]
Literal = tuple[int, float, float, list[int]]
Terms = list[list[Literal]]
"""One of these lists must hold, and with it all of its literals."""
MOST_ATOMS = 1000
"""Integers with more values than this are taken for a continuum."""
MOST_TERMS = 1000
_NEVER: Terms = [[(0, math.inf, -math.inf, [])]]


def domain_of(space: Space) -> tuple[Domain, list[str]]:
    """The space for the kernel, and the parameters whose condition it cannot express: they count as always active.

    Forbidden clauses are not looked at: the analysis of variance needs parameters that are drawn independently.
    """
    columns = {name: j for j, name in enumerate(space.names)}
    conditions: list[Terms] = []
    skipped = []
    for name in space.names:
        try:
            terms = _terms(space.conditions[name], space, columns) if name in space.conditions else []
            conditions.append(terms or _NEVER if name in space.conditions else [])
        except _InexpressibleError:
            conditions.append([])
            skipped.append(name)
    atoms = [[] if parameter.categories else atoms_of(parameter).tolist() for parameter in space.parameters.values()]
    return Domain(categories=[int(k) for k in space.types], atoms=atoms, conditions=conditions), skipped


def atoms_of(parameter: Parameter) -> Floats:
    """The codes of all values of a parameter, ascending; empty for a continuum."""
    if isinstance(parameter, Categorical):
        return np.arange(len(parameter.choices), dtype=np.float64)
    if isinstance(parameter, Ordinal):
        return parameter.encode(parameter.choices)
    if isinstance(parameter, Integer) and parameter.size <= MOST_ATOMS:
        return parameter.encode(range(parameter.lower, parameter.upper + 1))
    return np.empty(0)


def grid_of(parameter: Parameter, points: int) -> Floats:
    """Codes of up to ``points`` values, evenly spread over a parameter's range; of a categorical all."""
    atoms = atoms_of(parameter)
    if parameter.categories or 0 < len(atoms) <= points:
        return atoms
    if len(atoms):
        return atoms[np.unique(np.linspace(0, len(atoms) - 1, points).round().astype(np.intp))]
    return np.unique(parameter.spread(np.linspace(0.0, 1.0, points)))


class _InexpressibleError(Exception):
    """A comparison that is no set of values of one parameter."""


def _terms(expression: Expression, space: Space, columns: dict[str, int]) -> Terms:
    """The expression as alternatives (disjunctive normal form)."""
    match expression:
        case Or(parts):
            return [term for part in parts for term in _terms(part, space, columns)]
        case And(parts):
            alternatives = [_terms(part, space, columns) for part in parts]
            if math.prod(map(len, alternatives)) > MOST_TERMS:
                raise _InexpressibleError
            return [list(chain.from_iterable(chosen)) for chosen in product(*alternatives)]
        case Member(name, values):
            return [term for value in values for term in _comparison("==", name, value, space, columns)]
        case Compare(operator, Name(name), Constant(value)):
            return _comparison(operator, name, value, space, columns)
        case _:
            raise _InexpressibleError


def _comparison(operator: str, name: str, value: object, space: Space, columns: dict[str, int]) -> Terms:
    """Intervals (low, high] of codes, or a set of categories."""
    parameter, column = space[name], columns[name]
    rank = parameter.rank(value)  # type: ignore[arg-type]
    codes = atoms_of(parameter)
    if not len(codes):
        return [[(column, low, high, [])] for low, high in _intervals(operator, rank, parameter)]
    there = COMPARISONS[operator](parameter.ranks(codes), rank)
    if parameter.categories:
        return [[(column, 0.0, 0.0, np.flatnonzero(there).tolist())]] if there.any() else []
    edges = np.concatenate([[-math.inf], (codes[1:] + codes[:-1]) / 2, [math.inf]])
    turns = np.flatnonzero(np.diff(np.concatenate([[False], there, [False]]).astype(np.int8)))
    return [[(column, float(edges[a]), float(edges[b]), [])] for a, b in zip(turns[::2], turns[1::2], strict=True)]


def _intervals(operator: str, rank: float, parameter: Parameter) -> list[tuple[float, float]]:
    """Of a continuum: a single real value has no share of it, a single large integer a small one."""
    half = 0.5 if isinstance(parameter, Integer) else 0.0
    below, above = (_code(parameter, rank + shift) for shift in (-half, half))
    return {
        "==": [(below, above)] if half else [],
        "!=": [(-math.inf, below), (above, math.inf)],
        "<": [(-math.inf, below)],
        "<=": [(-math.inf, above)],
        ">": [(above, math.inf)],
        ">=": [(below, math.inf)],
    }[operator]


def _code(parameter: Parameter, number: float) -> float:
    low, high = parameter.lower, parameter.upper  # type: ignore[attr-defined]
    return -math.inf if number < low else math.inf if number > high else float(parameter.encode([number])[0])
