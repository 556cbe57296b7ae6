"""Expressions as data: resolution, Kleene's logic, negation, the grammar that reads and writes them."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capra.errors import FormatError, SpaceError
from capra.formats.text import Scanner
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
    Real,
    Space,
    equals,
)
from capra.space.draft import Draft
from capra.space.expressions import FUNCTIONS, holds, names_in, negate, resolve
from capra.space.grammar import DEEPEST, IRACE, LONGEST, MOST_OPERATORS, SMAC2, format_expression, parse_expression
from tests.space import oracle
from tests.space.strategies import EVERYTHING, conditions, some, spaces

PARAMETERS = {
    p.name: p
    for p in (
        Categorical("c", ("u", "v", "0.1"), "u"),
        Ordinal("o", ("low", "mid", "high"), "low"),
        Integer("i", 0, 10, 5),
        Real("x", 0.0, 1.0, 0.5),
        Real("y", 0.0, 1.0, 0.5),
        Integer("x-y", 0, 10, 5),
    )
}


def parse(text: str, dialect=SMAC2) -> Expression:
    draft = Draft("<test>")
    for parameter in PARAMETERS.values():
        draft.declare(1, lambda parameter=parameter: parameter)
    scanner = Scanner(text, "<test>", 1)
    found = parse_expression(scanner, draft.name_at, dialect)
    scanner.finish()
    return found


def where(expression: Expression, **columns: list[float]) -> list[bool]:
    ranks = {name: np.array(column, dtype=float) for name, column in columns.items()}
    return holds(resolve(expression, PARAMETERS), PARAMETERS, ranks.__getitem__).tolist()


x, y, i = Name("x"), Name("y"), Name("i")
nan = float("nan")


# --- meaning ---


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        ("==", [False, True, False, False]),
        ("!=", [True, False, True, False]),
        ("<", [True, False, False, False]),
        ("<=", [True, True, False, False]),
        (">", [False, False, True, False]),
        (">=", [False, True, True, False]),
    ],
)
def test_comparisons_and_the_inactive(operator: str, expected: list[bool]) -> None:
    assert where(Compare(operator, i, Literal(5)), i=[4, 5, 6, nan]) == expected
    assert where(Compare(operator, Name("o"), Literal("mid")), o=[0, 1, 2, nan]) == expected


def test_unknown_decides_nothing_alone() -> None:
    true, unknown = Compare(">", i, Literal(1)), Compare("<", x, Literal(0.5))
    rows = {"i": [5.0, 0.0], "x": [nan, nan]}
    assert where(And((true, unknown)), **rows) == [False, False]
    assert where(Or((true, unknown)), **rows) == [True, False]
    assert where(negate(unknown), **rows) == [False, False]
    assert where(negate(Member("c", ("u",))), c=[0, 1, nan]) == [False, True, False]


@some
@given(spaces(most=4), st.data())
def test_negation_swaps_true_and_false_and_keeps_unknown(space: Space, data: st.DataObject) -> None:
    expression = resolve(data.draw(conditions(list(space.parameters.values()), EVERYTHING)), space.parameters)
    opposite = negate(expression)
    for config in space.decode(space.sample(10, np.random.default_rng(0))):
        before, after = oracle.truth(expression, config, space), oracle.truth(opposite, config, space)
        assert (before, after) in [(True, False), (False, True), (None, None)]
    assert resolve(negate(opposite), space.parameters) is not None


def test_arithmetic() -> None:
    circle = Compare("<", Apply("+", (Apply("^", (x, Literal(2))), Apply("^", (y, Literal(2))))), Literal(1))
    assert where(circle, x=[0.5, 1.0, nan], y=[0.5, 0.5, 0.0]) == [True, False, False]
    no_number = Compare(">=", Apply("/", (x, y)), Literal(0))
    assert where(no_number, x=[0.0, 1.0], y=[0.0, 0.0]) == [False, True]  # 0/0 is unknown, 1/0 is large
    assert where(Compare("!=", Apply("log", (x,)), Literal(0)), x=[-1.0]) == [False]


def test_every_function_computes() -> None:
    for name, (arity, function) in FUNCTIONS.items():
        term = Apply(name, (x,) * arity)
        value = float(function(*([np.array([0.5])] * arity))[0])
        assert where(Compare("==", term, Literal(value)), x=[0.5]) == [True], name


def test_names_in_order() -> None:
    expression = And((equals("a", 1), Or((Member("b", (1,)), Compare("<", Apply("+", (Name("c"), Literal(1))), Name("a"))))))
    assert list(names_in(expression)) == ["a", "b", "c", "a"]


# --- resolution ---


def test_literals_become_values_of_their_parameter() -> None:
    assert resolve(equals("c", "0.10"), PARAMETERS) == equals("c", "0.1")
    assert resolve(equals("i", "7"), PARAMETERS) == equals("i", 7)
    assert resolve(Compare("<", Literal(3), i), PARAMETERS) == Compare(">", i, Literal(3.0))
    assert resolve(Compare("<", i, Literal(99)), PARAMETERS) == Compare("<", i, Literal(99.0)), "need not be in range"


@pytest.mark.parametrize(
    ("expression", "words", "hint"),
    [
        (equals("cc", "u"), "unknown parameter 'cc'", "did you mean 'c'?"),
        (equals("c", "w"), "not one of", None),
        (equals("o", "hihg"), "not one of", "did you mean 'high'?"),
        (equals("i", 11), "not an integer", None),
        (Member("x", (0.5, 2.0)), "not in", None),
        (Compare("<", Name("c"), Literal("u")), "no order", "declare it as ordinal, or name the values"),
        (Compare("<", i, Literal("ten")), "not a number", None),
        (Compare("<", i, Literal(float("inf"))), "not a number", None),
        (Compare("<", Name("c"), i), "is not a number", None),
        (Compare("<", Apply("+", (Name("o"), i)), Literal(1)), "is not a number", None),
        (Compare("<", Apply("+", (Name("z"), i)), Literal(1)), "unknown parameter", None),
        (Compare("<", Apply("+", (i, Literal("y1"))), Literal(1)), "is not a number", "did you mean 'y'?"),
        (Compare("<", Apply("+", (i, Literal(10**400))), Literal(1)), "is not a number", None),
        (Compare("==", Literal(1), Literal(1)), "no parameter", None),
        (And((equals("i", 1), Compare("<", Apply("abs", (Literal(1),)), Literal(2)))), "no parameter", None),
        (And(()), "without parts", None),
        (Or(()), "without parts", None),
        (Member("c", ()), "without parts", None),
    ],
)
def test_resolution_refuses(expression: Expression, words: str, hint: str | None) -> None:
    with pytest.raises(SpaceError, match=words) as caught:
        resolve(expression, PARAMETERS)
    assert caught.value.hint == hint


# --- grammar ---


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "i < 5 && x > 0.5 || y == 1",
            Or((And((Compare("<", i, Literal(5)), Compare(">", x, Literal(0.5)))), equals("y", 1))),
        ),
        (
            "i < 5 && (x > 0.5 || y == 1)",
            And((Compare("<", i, Literal(5)), Or((Compare(">", x, Literal(0.5)), equals("y", 1))))),
        ),
        ("c == 'u'", equals("c", "u")),
        ('c == "u"', equals("c", "u")),
        ("c == u", equals("c", "u")),
        ("!(i < 5)", Compare(">=", i, Literal(5))),
        ("!i < 5", Compare(">=", i, Literal(5))),
        ("i != 5", Compare("!=", i, Literal(5))),
        ("x + y * 2 < 1", Compare("<", Apply("+", (x, Apply("*", (y, Literal(2))))), Literal(1))),
        ("x - y - 1 < 1", Compare("<", Apply("-", (Apply("-", (x, y)), Literal(1))), Literal(1))),
        ("-x^2 < 1", Compare("<", Apply("negative", (Apply("^", (x, Literal(2))),)), Literal(1))),
        ("x^y^2 < 1", Compare("<", Apply("^", (x, Apply("^", (y, Literal(2))))), Literal(1))),
        ("i % 2 == 1", Compare("==", Apply("%", (i, Literal(2))), Literal(1))),
        ("max(x, y) >= .5e0", Compare(">=", Apply("max", (x, y)), Literal(0.5))),
        ("x-y < 5", Compare("<", Name("x-y"), Literal(5))),
        ("x - y < 5", Compare("<", Apply("-", (x, y)), Literal(5))),
        ("i == -1", equals("i", -1)),
    ],
)
def test_smac2_grammar(text: str, expected: Expression) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("c %in% c('u', \"v\", 0.1)", Member("c", ("u", "v", 0.1))),
        ("i %in% c(1L, -2)", Member("i", (1, -2))),
        ("i %% 2 == 1", Compare("==", Apply("%", (i, Literal(2))), Literal(1))),
        ("(i < 5) & (x > 0.5)", And((Compare("<", i, Literal(5)), Compare(">", x, Literal(0.5))))),
        ("i < 5 && x > 0.5", And((Compare("<", i, Literal(5)), Compare(">", x, Literal(0.5))))),
        ("i < 5 | x > 0.5", Or((Compare("<", i, Literal(5)), Compare(">", x, Literal(0.5))))),
        ("c == TRUE", equals("c", True)),
        ("ceiling(x) == 1", Compare("==", Apply("ceil", (x,)), Literal(1))),
        ("!(c %in% c(u, v))", And((Compare("!=", Name("c"), Literal("u")), Compare("!=", Name("c"), Literal("v"))))),
    ],
)
def test_irace_grammar(text: str, expected: Expression) -> None:
    assert parse(text, IRACE) == expected


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("i <", 4, "expected a parameter"),
        ("i < 5 5", 7, "unexpected text"),
        ("i < 5; import os", 6, "unexpected text"),
        ("i", 2, "expected a comparison"),
        ("i + 1", 6, "expected a comparison"),
        ("i < 5 && x", 11, "expected a comparison"),
        ("(i < 5) + 1 < 2", 11, "cannot be computed with"),
        ("(i < 5", 7, "expected ')'"),
        ("__import__('os') == 1", 1, "unknown function"),
        ("system('ls') == 1", 1, "unknown function"),
        ("squrt(x) > 1", 1, "unknown function"),
        ("sqrt(x, y) > 1", 1, "takes 1 argument, not 2"),
        ("max(x) > 1", 1, "takes 2 arguments, not 1"),
        ("c == 'u", 6, "expected a parameter"),
        ("i < 5 < 6", 7, "unexpected text"),
        ("c %in% c(u)", 9, "expected a comparison"),
    ],
)
def test_smac2_grammar_refuses_with_the_column(text: str, column: int, words: str) -> None:
    with pytest.raises(FormatError, match=re.escape(words)) as caught:
        parse(text)
    assert caught.value.line == 1
    assert caught.value.column == column


def test_an_attribute_is_only_an_unknown_word() -> None:
    assert parse("x.__class__ == 1") == Compare("==", Literal("x.__class__"), Literal(1))
    with pytest.raises(SpaceError, match="is not a number"):
        resolve(parse("x.__class__ == 1"), PARAMETERS)


def test_unknown_function_has_a_hint() -> None:
    with pytest.raises(FormatError) as caught:
        parse("squrt(x) > 1")
    assert caught.value.hint == "did you mean 'sqrt'?"


@pytest.mark.parametrize(
    ("head", "opening", "inner", "tail"),
    [
        ("", "(", "x < 1", ""),
        ("", "!(", "x < 1", ""),
        ("", "!", "x < 1", ""),
        ("x < ", "-(", "1", ""),
        ("", "abs(", "x", " < 1"),
        ("", "2^", "x", " < 1"),
    ],
)
def test_nesting_has_a_limit(head: str, opening: str, inner: str, tail: str) -> None:
    def nested(depth: int) -> str:
        return head + opening * depth + inner + ")" * (depth * opening.count("(")) + tail

    assert parse(nested(DEEPEST // 2))
    for depth in (DEEPEST + 1, 2000):
        with pytest.raises(FormatError, match="nested"):
            parse(nested(depth))


def test_length_has_a_limit() -> None:
    chain = "+x" * MOST_OPERATORS
    assert where(parse(f"x{chain} > 1"), x=[1.0]) == [True]
    with pytest.raises(FormatError, match="arithmetic operators"):
        parse(f"x{chain}+x > 1")
    with pytest.raises(FormatError, match="characters"):
        parse("x < 1" + " && x < 1" * (LONGEST // 9))


@some
@given(spaces(most=4))
def test_both_dialects_read_what_they_write(space: Space) -> None:
    draft = Draft("<test>")
    for parameter in space.parameters.values():
        draft.declare(1, lambda parameter=parameter: parameter)
    for expression in (*space.conditions.values(), *space.forbidden):
        for dialect in (SMAC2, IRACE):
            try:
                text = format_expression(expression, dialect)
            except SpaceError:
                continue  # test_what_a_dialect_cannot_say
            scanner = Scanner(text, "<test>", 1)
            again = parse_expression(scanner, draft.name_at, dialect)
            scanner.finish()
            assert resolve(again, space.parameters) == expression


@pytest.mark.parametrize(
    ("expression", "dialect", "words"),
    [
        (Member("c", ("u",)), SMAC2, "no 'in'"),
        (equals("c", True), SMAC2, "no word for True"),
        (equals("c", "it's"), SMAC2, "cannot quote"),
        (equals("c", "back\\slash"), IRACE, "cannot quote"),
        (equals("c", "two\nlines"), IRACE, "cannot quote"),
    ],
)
def test_what_a_dialect_cannot_say(expression: Expression, dialect, words: str) -> None:
    with pytest.raises(SpaceError, match=words):
        format_expression(expression, dialect)
