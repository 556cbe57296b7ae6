"""Conditions and forbidden clauses: a small language over parameters, as data.

A condition ("active only if …") and a forbidden clause ("never …") are the same thing: a boolean expression over
parameter values. Every file format is read into these classes and written from them; nothing is ever evaluated as
program text. Expressions are evaluated on whole columns at once.

An inactive parameter has no value, so a comparison with it is neither true nor false. An expression *holds* only where
it is true whatever that missing value would have been (Kleene's logic). There is no negation node: ``negate`` pushes
negations down to the comparisons, which makes "treat unknown as false" exactly that rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from capra.errors import SpaceError, did_you_mean
from capra.runs import Value
from capra.space.parameters import LARGEST_REAL, Discrete, Parameter

__all__ = [
    "And",
    "Apply",
    "Compare",
    "Expression",
    "Literal",
    "Member",
    "Name",
    "Or",
    "Term",
    "equals",
    "holds",
    "is_in",
    "names_in",
    "negate",
    "resolve",
]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Name:
    """The value of a parameter."""

    name: str


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant."""

    value: Value


@dataclass(frozen=True, slots=True)
class Apply:
    """An arithmetic operator or function (a key of FUNCTIONS) applied to terms."""

    function: str
    arguments: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Compare:
    """``left operator right`` with one of == != < <= > >=."""

    operator: str
    left: Term
    right: Term


@dataclass(frozen=True, slots=True)
class Member:
    """The parameter's value is one of ``values``."""

    name: str
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class And:
    """All parts hold."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """At least one part holds."""

    parts: tuple[Expression, ...]


Term = Name | Literal | Apply
Expression = Compare | Member | And | Or

COMPARISONS: Mapping[str, Callable[[Any, Any], Mask]] = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_MIRRORED = {"==": "==", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}

FUNCTIONS: Mapping[str, tuple[int, Callable[..., Floats]]] = {
    "+": (2, np.add),
    "-": (2, np.subtract),
    "*": (2, np.multiply),
    "/": (2, np.divide),
    "^": (2, np.power),
    "%": (2, np.mod),
    "negative": (1, np.negative),
    "abs": (1, np.abs),
    "exp": (1, np.exp),
    "log": (1, np.log),
    "log2": (1, np.log2),
    "log10": (1, np.log10),
    "sqrt": (1, np.sqrt),
    "cbrt": (1, np.cbrt),
    "ceil": (1, np.ceil),
    "floor": (1, np.floor),
    "sin": (1, np.sin),
    "cos": (1, np.cos),
    "tan": (1, np.tan),
    "asin": (1, np.arcsin),
    "acos": (1, np.arccos),
    "atan": (1, np.arctan),
    "sinh": (1, np.sinh),
    "cosh": (1, np.cosh),
    "tanh": (1, np.tanh),
    "min": (2, np.minimum),
    "max": (2, np.maximum),
}


def equals(name: str, value: Value) -> Compare:
    """``name == value``."""
    return Compare("==", Name(name), Literal(value))


def is_in(name: str, values: Sequence[Value]) -> Member:
    """``name in values``."""
    return Member(name, tuple(values))


def negate(expression: Expression) -> Expression:
    """The expression that holds where this one is false (and neither holds where a parameter is inactive)."""
    match expression:
        case Compare(operator, left, right):
            return Compare(_OPPOSITE[operator], left, right)
        case Member(name, values):
            differ = tuple(Compare("!=", Name(name), Literal(value)) for value in values)
            return differ[0] if len(differ) == 1 else And(differ)
        case And(parts):
            return Or(tuple(negate(part) for part in parts))
        case Or(parts):
            return And(tuple(negate(part) for part in parts))


def names_in(node: Expression | Term) -> Iterator[str]:
    """Every parameter named in the expression, in order, repetitions included."""
    match node:
        case Name(name):
            yield name
        case Member(name, _):
            yield name
        case Compare(_, left, right):
            yield from names_in(left)
            yield from names_in(right)
        case Apply(_, arguments):
            for argument in arguments:
                yield from names_in(argument)
        case And(parts) | Or(parts):
            for part in parts:
                yield from names_in(part)
        case Literal():
            return


# --- resolution: literals become legal values of the parameters they are compared with ---


def resolve(expression: Expression, parameters: Mapping[str, Parameter]) -> Expression:
    """The same expression with every literal turned into a value of the parameter it is compared with.

    Raises SpaceError for unknown parameters, values outside the domain, order comparisons or arithmetic on parameters
    that have no order or no number, and parts that look at no parameter at all.
    """
    match expression:
        case And(()) | Or(()) | Member(_, ()):
            raise SpaceError("an expression without parts")
        case And(parts):
            return And(tuple(resolve(part, parameters) for part in parts))
        case Or(parts):
            return Or(tuple(resolve(part, parameters) for part in parts))
        case Member(name, values):
            parameter = _lookup(name, parameters)
            return Member(name, tuple(_literal(value, parameter, ordered=False) for value in values))
        case Compare(operator, Literal() as left, right) if not isinstance(right, Literal):
            return resolve(Compare(_MIRRORED[operator], right, left), parameters)
        case Compare(operator, Name(name), Literal(value)):
            parameter = _lookup(name, parameters)
            ordered = operator not in ("==", "!=")
            return Compare(operator, Name(name), Literal(_literal(value, parameter, ordered=ordered)))
        case Compare(_, left, right):
            _require_numbers(left, parameters)
            _require_numbers(right, parameters)
            if next(names_in(expression), None) is None:
                raise SpaceError("a comparison that looks at no parameter")
            return expression


def _lookup(name: str, parameters: Mapping[str, Parameter]) -> Parameter:
    if name not in parameters:
        raise SpaceError(f"unknown parameter {name!r}", hint=did_you_mean(name, parameters))
    return parameters[name]


def _literal(value: Value, parameter: Parameter, *, ordered: bool) -> Value:
    if ordered and not parameter.ordered:
        raise SpaceError(
            f"{parameter.name!r} is categorical: its values have no order to compare by",
            hint="declare it as ordinal, or name the values",
        )
    if ordered and not isinstance(parameter, Discrete):
        return parameter.read_number(value)
    return parameter.coerce(value)


def _require_numbers(term: Term, parameters: Mapping[str, Parameter]) -> None:
    match term:
        case Name(name):
            if isinstance(_lookup(name, parameters), Discrete):
                raise SpaceError(f"{name!r} is not a number: it cannot be computed with or compared with another parameter")
        case Literal(value):
            if isinstance(value, str) or not abs(value) <= LARGEST_REAL:
                raise SpaceError(f"{value!r} is not a number", hint=did_you_mean(str(value), parameters))
        case Apply(_, arguments):
            for argument in arguments:
                _require_numbers(argument, parameters)


# --- evaluation on columns ---


def holds(expression: Expression, parameters: Mapping[str, Parameter], column: Callable[[str], Floats]) -> Mask:
    """Where the (resolved) expression is certainly true.

    ``column(name)`` gives the parameter's ranks, see ``Parameter.ranks``: shape (n,), NaN where inactive.
    """
    match expression:
        case And(parts):
            return reduce(np.logical_and, (holds(part, parameters, column) for part in parts))
        case Or(parts):
            return reduce(np.logical_or, (holds(part, parameters, column) for part in parts))
        case Member(name, values):
            ranks = column(name)
            return reduce(np.logical_or, (ranks == parameters[name].rank(value) for value in values))
        case Compare(operator, Name(name), Literal(value)):
            ranks = column(name)
            return COMPARISONS[operator](ranks, parameters[name].rank(value)) & ~np.isnan(ranks)
        case Compare(operator, left_term, right_term):
            with np.errstate(all="ignore"):
                left, right = _value(left_term, column), _value(right_term, column)
                return COMPARISONS[operator](left, right) & ~np.isnan(left) & ~np.isnan(right)


def _value(term: Term, column: Callable[[str], Floats]) -> Floats:
    match term:
        case Name(name):
            return column(name)
        case Literal(value):
            return np.asarray(value, dtype=np.float64)
        case Apply(function, arguments):
            return FUNCTIONS[function][1](*(_value(argument, column) for argument in arguments))
