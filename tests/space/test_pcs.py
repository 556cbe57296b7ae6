"""PCS, both dialects: every rule of the grammars, errors with their place, round trips."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given

from capra.errors import FormatError, SpaceError
from capra.space import And, Apply, Categorical, Compare, Integer, Literal, Member, Name, Or, Ordinal, Real, Space, equals
from capra.space.files import read_space
from capra.space.pcs import parse_pcs, write_pcs
from tests.space.strategies import PCS, some, spaces


def only(text: str):
    """The one parameter of a text."""
    (parameter,) = parse_pcs(text).parameters.values()
    return parameter


# --- declarations ---


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("heur {a,b}[a]", Categorical("heur", ("a", "b"), "a")),
        ("heur{a,b}[a]", Categorical("heur", ("a", "b"), "a")),
        ("  heur  { a , b } [ a ]  # comment", Categorical("heur", ("a", "b"), "a")),
        ("f {0,0.001,0.05}[0.001]", Categorical("f", ("0", "0.001", "0.05"), "0.001")),
        ("@1:F:q {yes}[yes]", Categorical("@1:F:q", ("yes",), "yes")),
        ("a-b.c;d/e?f!g$h%i&j*k+l<m>n\\o {x}[x]", Categorical("a-b.c;d/e?f!g$h%i&j*k+l<m>n\\o", ("x",), "x")),
        ("r [0,1][0.5]", Real("r", 0.0, 1.0, 0.5)),
        ("r [1e-4, 1.5E2][.5]", Real("r", 1e-4, 150.0, 0.5)),
        ("r [1e-4,1][0.5]l", Real("r", 1e-4, 1.0, 0.5, log=True)),
        ("i [-5, 5][0]i", Integer("i", -5, 5, 0)),
        ("i [1, 1e3][10.0] i", Integer("i", 1, 1000, 10)),
        ("i [1,64][8]il", Integer("i", 1, 64, 8, log=True)),
        ("i [1,64][8]li", Integer("i", 1, 64, 8, log=True)),
    ],
)
def test_old_declarations(line: str, expected: object) -> None:
    assert only(line) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("heur categorical {a, b} [a]", Categorical("heur", ("a", "b"), "a")),
        ("heur categorical{a,b}[a]", Categorical("heur", ("a", "b"), "a")),
        ("o ordinal {low, mid, high} [mid]", Ordinal("o", ("low", "mid", "high"), "mid")),
        ("i integer [1, 64] [8]", Integer("i", 1, 64, 8)),
        ("i integer [1, 64] [8] log", Integer("i", 1, 64, 8, log=True)),
        ("i integer [1,64][8]log", Integer("i", 1, 64, 8, log=True)),
        ("r real [0.5, 2] [1]", Real("r", 0.5, 2.0, 1.0)),
        ("r real [0.5, 2] [1] log # scale", Real("r", 0.5, 2.0, 1.0, log=True)),
    ],
)
def test_new_declarations(line: str, expected: object) -> None:
    assert only(line) == expected


def test_headings_comments_and_blank_lines_are_skipped() -> None:
    space = parse_pcs("# top\n\nParameters:\na {x,y}[x]\r\nb {u,v}[u]\n\nConditionals:\nb|a in {y}\nForbidden:\n{a=y,b=v}\n")
    assert space.conditions == {"b": Member("a", ("y",))}
    assert space.forbidden == (And((equals("a", "y"), equals("b", "v"))),)


# --- conditions ---


OLD = "a {x,y,z}[x]\nn [1,9][5]i\nc {u,v}[u]\n"
NEW = "a categorical {x,y,z} [x]\nn integer [1,9] [5]\no ordinal {low,mid,high} [low]\nr real [0,1] [0]\nc categorical {u,v} [u]\n"


def test_old_condition_lines_of_one_child_all_hold() -> None:
    space = parse_pcs(OLD + "c|a in {x,y}\nc | n in {5}\n")
    assert space.conditions == {"c": And((Member("a", ("x", "y")), Member("n", (5,))))}


def test_conditions_may_come_first() -> None:
    assert parse_pcs("c | a in {x}\n" + OLD).conditions == {"c": Member("a", ("x",))}


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("a in {x, y}", Member("a", ("x", "y"))),
        ("a == x", equals("a", "x")),
        ("a==x", equals("a", "x")),
        ("a != x", Compare("!=", Name("a"), Literal("x"))),
        ("n < 5", Compare("<", Name("n"), Literal(5.0))),
        ("n>5", Compare(">", Name("n"), Literal(5.0))),
        ("r > 0.5", Compare(">", Name("r"), Literal(0.5))),
        ("o > low", Compare(">", Name("o"), Literal("low"))),
        ("a == x && n > 5", And((equals("a", "x"), Compare(">", Name("n"), Literal(5.0))))),
        ("a == x || n > 5", Or((equals("a", "x"), Compare(">", Name("n"), Literal(5.0))))),
        (
            "a == x && n > 5 || o in {mid}",
            Or((And((equals("a", "x"), Compare(">", Name("n"), Literal(5.0)))), Member("o", ("mid",)))),
        ),
    ],
)
def test_new_conditions(condition: str, expected: object) -> None:
    assert parse_pcs(NEW + f"c | {condition}\n").conditions == {"c": expected}


def test_the_longest_declared_name_is_meant() -> None:
    space = parse_pcs("a integer [0,9] [1]\na<b integer [0,9] [1]\nc real [0,1] [0]\nd real [0,1] [0]\nc | a<5\nd | a<b<5\n")
    assert space.conditions["c"] == Compare("<", Name("a"), Literal(5.0))
    assert space.conditions["d"] == Compare("<", Name("a<b"), Literal(5.0))


# --- forbidden clauses ---


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ("{a=y}", equals("a", "y")),
        ("{a=y,n=5}", And((equals("a", "y"), equals("n", 5)))),
        ("{ a = y , c = v }", And((equals("a", "y"), equals("c", "v")))),
    ],
)
def test_classic_clauses_in_both_dialects(clause: str, expected: object) -> None:
    assert parse_pcs(OLD + clause).forbidden == (expected,)
    assert parse_pcs(NEW + clause).forbidden == (expected,)


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ("{a == 'y' && n < 5}", And((equals("a", "y"), Compare("<", Name("n"), Literal(5.0))))),
        ("{n >= 8}", Compare(">=", Name("n"), Literal(8.0))),
        ("{a != x}", Compare("!=", Name("a"), Literal("x"))),
        ("{n^2 + r > 50}", Compare(">", Apply("+", (Apply("^", (Name("n"), Literal(2))), Name("r"))), Literal(50))),
        ("{r > n || o == high}", Or((Compare(">", Name("r"), Name("n")), equals("o", "high")))),
    ],
)
def test_expression_clauses(clause: str, expected: object) -> None:
    assert parse_pcs(NEW + clause).forbidden == (expected,)


# --- errors: place and hint ---


@pytest.mark.parametrize(
    ("text", "line", "column", "words", "hint"),
    [
        ("a {x,y}[x] z\n", 1, 12, "unexpected text", None),
        ("a {x,y}[x]; import os\n", 1, 11, "unexpected text", None),
        ("a {x,y}\n", 1, 8, "expected [default]", None),
        ("a {x,,y}[x]\n", 1, 6, "expected a value", None),
        ("a {x y}[x]\n", 1, 6, "expected ',' or '}'", None),
        ("a {}[x]\n", 1, 4, "expected a value", None),
        ("a [0,1][0.5]il2\n", 1, 15, "unexpected text", None),
        ("a [0;1][0.5]\n", 1, 5, "expected ','", None),
        ("a [zero,1][0.5]\n", 1, 4, "expected the lower bound", None),
        ("a\n", 1, 2, "expected a type", None),
        ("a float [0,1] [0]\n", 1, 3, "expected a type", None),
        ("a rael [0,1] [0]\n", 1, 3, "expected a type", "did you mean 'real'?"),
        ("b real [0,1] [0]\na categorial {x}[x]\n", 2, 3, "expected a type", "did you mean 'categorical'?"),
        ("a real [0,1] [0] logg\n", 1, 21, "unexpected text", None),
        ("a {x,y}[z]\n", 1, None, "default 'z'", None),
        ("a {yes,no}[yess]\n", 1, None, "default 'yess'", "did you mean 'yes'?"),
        ("a {x,x}[x]\n", 1, None, "listed twice", None),
        ("a [1,0][0]\n", 1, None, "is empty", "the lower bound comes first; a constant is a categorical with one value"),
        ("a [0,1][2]\n", 1, None, "outside", None),
        ("a [0,1][0]l\n", 1, None, "log scale", None),
        ("a [0.5,3][1]i\n", 1, None, "0.5 is not an integer", None),
        ("a {x}[x]\na {y}[y]\n", 2, None, "declared twice, first on line 1", None),
        ("a {x}[x]\nb real [0,1] [0]\n", 2, 1, "a declaration of the new format in a file of the old one", None),
        ("b real [0,1] [0]\na {x}[x]\n", 2, 1, "a declaration of the old format in a file of the new one", None),
        (OLD + "c | aa in {x}\n", 4, 5, "unknown parameter 'aa'", "did you mean 'a'?"),
        (OLD + "cc | a in {x}\n", 4, 1, "unknown parameter 'cc'", "did you mean 'c'?"),
        (OLD + "c | a == x\n", 4, 7, "only 'in'", None),
        (OLD + "c | a in {x} && n in {5}\n", 4, 14, "unexpected text", None),
        (OLD + "c | a in {x}; import os\n", 4, 13, "unexpected text", None),
        (OLD + "c | a in {w}\n", 4, None, "'w' is not one of", None),
        (OLD + "c | n in {11}\n", 4, None, "not an integer in", None),
        (OLD + "c |\n", 4, 4, "expected a parameter name", None),
        (OLD + "a | c in {u}\nc | a in {x}\n", 4, None, "cycle", None),
        (OLD + "{a=y\n", 4, 5, "expected '}'", None),
        (OLD + "{a=y} {c=v}\n", 4, 7, "unexpected text", None),
        (OLD + "{a=y,b=v}\n", 4, 6, "unknown parameter 'b'", None),
        (OLD + "{a=x}\n", 4, None, "default configuration is forbidden", None),
        (OLD + "{a=w}\n", 4, None, "'w' is not one of", None),
        (NEW + "c | a == x\nc | n > 5\n", 7, 1, "a second condition for c", "join them with && in one line"),
        (NEW + "c | (a == x)\n", 6, 5, "expected a parameter name", None),
        (NEW + "c | n <= 5\n", 6, 8, "expected a value", None),
        (NEW + "c | a < x\n", 6, None, "no order", "declare it as ordinal, or name the values"),
        (NEW + "{n < }\n", 6, 6, "expected a parameter", None),
        (NEW + "{squrt(n) < 2}\n", 6, 2, "unknown function 'squrt'", "did you mean 'sqrt'?"),
        ("", 1, None, "declares no parameter", None),
        ("# nothing\n", 1, None, "declares no parameter", None),
    ],
)
def test_errors_know_their_place(text: str, line: int, column: int | None, words: str, hint: str | None) -> None:
    with pytest.raises(FormatError) as caught:
        parse_pcs(text, "params.pcs")
    error = caught.value
    assert words in error.message
    assert (error.path, error.line, error.column, error.hint) == ("params.pcs", line, column, hint)
    assert str(error).startswith(f"params.pcs:{line}:")


# --- files ---


def test_files_are_recognised_by_what_they_hold(tmp_path: Path) -> None:
    for name, text in (("old.pcs", OLD), ("new.txt", NEW), ("clause_first.pcs", "{a=y,n=5}\n" + OLD)):
        (tmp_path / name).write_text(text)
        assert read_space(tmp_path / name) == parse_pcs(text)


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path: Path) -> None:
    path = tmp_path / "a.pcs"
    path.write_bytes(b"\xef\xbb\xbfa {x}[x]\n")
    assert read_space(path).names == ("a",)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="cannot be read") as caught:
        read_space(tmp_path / "none.pcs")
    assert caught.value.path.endswith("none.pcs")


# --- round trips ---


@some
@given(spaces(PCS))
def test_pcs_gives_the_space_back(space: Space) -> None:
    again = parse_pcs(write_pcs(space))
    assert again == space
    assert repr(again.parameters) == repr(space.parameters)
    assert again.default == space.default


@pytest.mark.parametrize("text", [OLD, NEW])
def test_written_files_are_new_format(text: str, tmp_path: Path) -> None:
    path = tmp_path / "out.pcs"
    path.write_text(write_pcs(parse_pcs(text)))
    assert " categorical {" in path.read_text()
    assert read_space(path) == parse_pcs(text)


def numbers(**extra: object) -> Space:
    return Space([Integer("n", 0, 9, 1), Real("r", 0.0, 1.0, 0.0), Categorical("c", ("u", "v"), "u")], **extra)


@pytest.mark.parametrize(
    ("space", "part", "words"),
    [
        (Space([Categorical("a b", ("x",), "x")]), ("parameter", "a b"), "cannot write this name"),
        (Space([Categorical("ä", ("x",), "x")]), ("parameter", "ä"), "cannot write this name"),
        (Space([Categorical("a", (1, 2), 1)]), ("parameter", "a"), "1 is a int"),
        (Space([Categorical("a", ("x", True), "x")]), ("parameter", "a"), "True is a bool"),
        (Space([Ordinal("a", (0.5, 1.0), 0.5)]), ("parameter", "a"), "0.5 is a float"),
        (Space([Categorical("a", ("x y", "z"), "z")]), ("parameter", "a"), "'x y'"),
        (Space([Categorical("a", ("", "z"), "z")]), ("parameter", "a"), "''"),
        (numbers(conditions={"c": Compare("<=", Name("n"), Literal(3))}), ("condition", "c"), "condition of c"),
        (numbers(conditions={"c": Compare("<", Name("n"), Name("r"))}), ("condition", "c"), "condition of c"),
        (
            numbers(conditions={"c": Compare("<", Apply("+", (Name("n"), Literal(1))), Literal(3))}),
            ("condition", "c"),
            "no arithmetic",
        ),
        (
            numbers(conditions={"c": And((equals("n", 1), Or((equals("r", 0.5), equals("n", 2)))))}),
            ("condition", "c"),
            "no brackets",
        ),
        (numbers(forbidden=[equals("c", "v"), Member("n", (2, 3))]), ("forbidden", 1), "no 'in'"),
    ],
)
def test_what_pcs_cannot_say_is_named(space: Space, part: object, words: str) -> None:
    with pytest.raises(SpaceError, match=words) as caught:
        write_pcs(space)
    assert caught.value.part == part
