"""Hypothesis strategies for spaces: all types, log scales, every operator, and/or, forbidden clauses."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from capra.errors import SpaceError
from capra.space import (
    And,
    Apply,
    Categorical,
    Compare,
    Expression,
    Integer,
    Literal,
    Member,
    Name,
    Or,
    Ordinal,
    Parameter,
    Real,
    Space,
)
from capra.space.parameters import Discrete

some = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
"""For properties that build a space per example."""


@dataclass(frozen=True)
class Limits:
    """What a format can say; the default is everything we can."""

    text_only: bool = False
    operators: tuple[str, ...] = ("==", "!=", "<", "<=", ">", ">=", "in")
    nested: bool = True
    """Or inside And, in conditions."""
    forbidden: tuple[str, ...] = ("classic", "relation", "order", "arithmetic", "or", "in")
    any_text: bool = False
    """Values may hold any character."""


EVERYTHING = Limits()
PCS = Limits(
    text_only=True,
    operators=("==", "!=", "<", ">", "in"),
    nested=False,
    forbidden=("classic", "relation", "order", "arithmetic", "or"),
)
JSON = Limits(operators=("==", "!=", "<", ">", "in"), forbidden=("classic", "relation", "in"), any_text=True)
IRACE = Limits(text_only=True)

names = st.from_regex(r"[a-z][a-z0-9_.-]{0,5}", fullmatch=True)
words = st.one_of(
    st.from_regex(r"[A-Za-z0-9_.+-]{1,6}", fullmatch=True), st.sampled_from(["0.1", "0.10", "1e-4", "-1", "yes", "no"])
)
any_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5)


def _values(limits: Limits) -> st.SearchStrategy:
    if limits.text_only:
        return words
    texts = any_text if limits.any_text else words
    return st.one_of(texts, st.integers(-9, 9), st.sampled_from([0.5, 1.0, -2.5]), st.booleans())


@st.composite
def integers(draw: st.DrawFn, name: str) -> Integer:
    log = draw(st.booleans())
    lower = draw(st.integers(1 if log else -50, 60))
    upper = lower + draw(st.one_of(st.integers(1, 6), st.integers(7, 10**7)))
    return Integer(name, lower, upper, draw(st.integers(lower, upper)), log)


@st.composite
def reals(draw: st.DrawFn, name: str) -> Real:
    """With bounds and defaults of few digits, so that a default can be drawn again exactly."""
    log = draw(st.booleans())
    scale = draw(st.sampled_from([1e-3, 0.01, 1.0, 100.0]))
    lower = draw(st.integers(1 if log else -50, 60))
    upper = lower + draw(st.integers(1, 10**4))
    default = draw(st.integers(lower, upper))
    low, high, middle = (round(x * scale, 6) for x in (lower, upper, default))
    return Real(name, low, high, middle, log)


@st.composite
def discretes(draw: st.DrawFn, name: str, limits: Limits = EVERYTHING) -> Discrete:
    kind = draw(st.sampled_from([Categorical, Ordinal]))
    unique = {"unique_by": lambda value: (type(value), value)}
    choices = draw(st.lists(_values(limits), min_size=1, max_size=6, **unique))
    return kind(name, tuple(choices), draw(st.sampled_from(choices)))


def parameters(name: str, limits: Limits = EVERYTHING) -> st.SearchStrategy[Parameter]:
    return st.one_of(discretes(name, limits), discretes(name, limits), integers(name), reals(name))


def values_of(parameter: Parameter) -> st.SearchStrategy:
    """Legal values, of few digits."""
    if isinstance(parameter, Discrete):
        return st.sampled_from(parameter.choices)
    if isinstance(parameter, Integer):
        return st.one_of(st.just(parameter.default), st.integers(parameter.lower, parameter.upper))
    return st.sampled_from([parameter.default, parameter.lower, parameter.upper])


@st.composite
def tests(draw: st.DrawFn, parameter: Parameter, limits: Limits) -> Expression:
    """One comparison of a parameter with a constant."""
    known = [op for op in limits.operators if parameter.ordered or op in ("==", "!=", "in")]
    operator = draw(st.sampled_from(known))
    if operator == "in":
        return Member(parameter.name, tuple(draw(st.lists(values_of(parameter), min_size=1, max_size=3))))
    value = draw(values_of(parameter))
    return Compare(operator, Name(parameter.name), Literal(value))


@st.composite
def conditions(draw: st.DrawFn, parents: list[Parameter], limits: Limits) -> Expression:
    leaf = st.sampled_from(parents).flatmap(lambda parent: tests(parent, limits))
    both = st.lists(leaf, min_size=2, max_size=3).map(lambda parts: And(tuple(parts)))
    either = st.lists(st.one_of(leaf, both), min_size=2, max_size=3).map(lambda parts: Or(tuple(parts)))
    shapes = [leaf, leaf, both, either]
    if limits.nested:
        shapes.append(st.lists(st.one_of(leaf, either), min_size=2, max_size=3).map(lambda parts: And(tuple(parts))))
    return draw(st.one_of(shapes))


def _terms(numbers: list[Parameter]) -> st.SearchStrategy:
    leaf = st.one_of(
        st.sampled_from([Name(p.name) for p in numbers]),
        st.sampled_from([Literal(2), Literal(-3), Literal(0.5)]),
    )
    two = st.tuples(st.sampled_from(["+", "-", "*", "/", "%", "min", "max"]), st.tuples(leaf, leaf))
    one = st.tuples(st.sampled_from(["negative", "abs"]), st.tuples(st.sampled_from([Name(p.name) for p in numbers])))
    return st.one_of(leaf, two.map(lambda p: Apply(*p)), one.map(lambda p: Apply(*p)))


@st.composite
def clauses(draw: st.DrawFn, declared: list[Parameter], limits: Limits) -> Expression:
    numbers = [p for p in declared if not isinstance(p, Discrete)]
    kinds = [kind for kind in limits.forbidden if numbers or kind not in ("relation", "arithmetic")]
    kind = draw(st.sampled_from(kinds))
    leaf = st.sampled_from(declared).flatmap(lambda p: tests(p, replace(limits, operators=("==",))))
    if kind == "relation":
        left, right = (Name(draw(st.sampled_from(numbers)).name) for _ in range(2))
        return Compare(draw(st.sampled_from(["==", "<", "<=", ">", ">="])), left, right)
    if kind == "arithmetic":
        name = Name(draw(st.sampled_from(numbers)).name)
        left = Apply(draw(st.sampled_from(["+", "*"])), (name, draw(_terms(numbers))))
        return Compare(draw(st.sampled_from(["<", ">="])), left, draw(_terms(numbers)))
    if kind == "in":
        return draw(st.sampled_from(declared).flatmap(lambda p: tests(p, replace(limits, operators=("in",)))))
    if kind in ("order", "or"):
        every = replace(limits, operators=tuple(op for op in EVERYTHING.operators if op != "in"))
        leaf = st.sampled_from(declared).flatmap(lambda p: tests(p, every))
    parts = tuple(draw(st.lists(leaf, min_size=1 if kind == "classic" else 2, max_size=3)))
    if len(parts) == 1:
        return parts[0]
    return (Or if kind == "or" else And)(parts)


@st.composite
def spaces(draw: st.DrawFn, limits: Limits = EVERYTHING, most: int = 6) -> Space:
    """A space within the limits of a format. Clauses that would forbid the default, or nearly everything, are left out."""
    used = draw(st.lists(names, min_size=1, max_size=most, unique=True))
    declared = [draw(parameters(name, limits)) for name in used]
    active_if = {
        child.name: draw(conditions(declared[:i], limits))
        for i, child in enumerate(declared)
        if i and draw(st.integers(0, 2)) > 0
    }
    shuffled = draw(st.permutations(declared))
    forbidden: list[Expression] = []
    for clause in draw(st.lists(clauses(declared, limits), max_size=3)):
        if _leaves_room(shuffled, active_if, [*forbidden, clause]):
            forbidden.append(clause)
    return Space(shuffled, active_if, forbidden)


def _leaves_room(declared: list[Parameter], active_if: dict[str, Expression], forbidden: list[Expression]) -> bool:
    """Whether the default and at least one in fifty samples stay legal, so that sampling has something to find."""
    try:
        space = Space(declared, active_if, forbidden)
    except SpaceError:
        return False
    rows = space.spread(np.random.default_rng(0).random((200, len(space))))
    return bool(np.mean(space.forbidden_rows(rows)) <= 0.98)
