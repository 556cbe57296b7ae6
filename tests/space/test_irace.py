"""irace's parameters.txt: types, switches, conditions, sections, errors, round trips."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given

from capra.errors import FormatError, SpaceError
from capra.space import And, Apply, Categorical, Compare, Integer, Literal, Member, Name, Or, Ordinal, Real, Space, equals
from capra.space.arguments import Arguments
from capra.space.files import read_space
from capra.space.irace import irace3_forbidden, irace_digits, parse_irace, write_irace, write_irace3
from tests.space.strategies import IRACE, some, spaces

ACO = """\
# name       switch           type  values        [conditions]
algorithm    "--"             c     (as,mmas,acs)
localsearch  "--localsearch " c     (0, 1, 2, 3)  # 0 = none
ants         "--ants "        i,log (5, 100)
alpha        "--alpha "       r     (0.00, 5.00)
q0           "--q0 "          r     (0.0, 1.0)    | algorithm == "acs"
nnls         '--nnls '        i     (5, 50)       | localsearch %in% c(1,2,3)
level        ""               o     (low, "very high")

[forbidden]
(alpha == 0.0) & (ants > 50)

[global]
digits = 4
"""


def test_a_whole_file() -> None:
    space = parse_irace(ACO)
    assert list(space.parameters.values()) == [
        Categorical("algorithm", ("as", "mmas", "acs"), "as"),
        Categorical("localsearch", ("0", "1", "2", "3"), "0"),
        Integer("ants", 5, 100, 21, log=True),
        Real("alpha", 0.0, 5.0, 2.5),
        Real("q0", 0.0, 1.0, 0.5),
        Integer("nnls", 5, 50, 28),
        Ordinal("level", ("low", "very high"), "low"),
    ]
    assert space.conditions == {"q0": equals("algorithm", "acs"), "nnls": Member("localsearch", ("1", "2", "3"))}
    assert space.forbidden == (And((equals("alpha", 0.0), Compare(">", Name("ants"), Literal(50.0)))),)
    assert space.switches["ants"] == "--ants "
    config = {"algorithm": "mmas", "ants": 7, "nnls": 5, "level": "very high"}
    assert Arguments(switches=space.switches).tokens(config) == ["--mmas", "--ants", "7", "--nnls", "5", "very high"]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("a == 'x'", equals("a", "x")),
        ("a != x", Compare("!=", Name("a"), Literal("x"))),
        ("a %in% c('x', \"y\")", Member("a", ("x", "y"))),
        ("n >= 3 & n <= 5", And((Compare(">=", Name("n"), Literal(3.0)), Compare("<=", Name("n"), Literal(5.0))))),
        ("(a == x) | !(n > 3)", Or((equals("a", "x"), Compare("<=", Name("n"), Literal(3.0))))),
        ("n %% 2 == 0", Compare("==", Apply("%", (Name("n"), Literal(2))), Literal(0))),
        ("3 < n", Compare(">", Name("n"), Literal(3.0))),
    ],
)
def test_conditions(condition: str, expected: object) -> None:
    space = parse_irace(f'b "" c (u,v) | {condition}\na "" c (x,y)\nn "" i (0,9)\n')
    assert space.conditions == {"b": expected}


def test_the_default_is_the_middle_of_the_scale() -> None:
    space = parse_irace('l "" r,log (0.01,100)\nr "" r (-1,3)\ni "" i (0,10)\nw "" i,log (1,10000)\n')
    assert dict(space.default) == {"l": 1.0, "r": 1.0, "i": 5, "w": 71}


def test_a_forbidden_middle_gives_way() -> None:
    space = parse_irace('a "" i (0,10)\nb "" i (0,10)\n[forbidden]\na == b\n')
    assert space.default["a"] != space.default["b"]
    assert space.configuration(space.default) == space.default


def test_quotes_inside_quotes_stay() -> None:
    assert parse_irace("a \"\" c (\"'q'\", 'x#y', plain)\n")["a"].choices == ("'q'", "x#y", "plain")


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ('a "" c (x,y) z\n', 1, 14, "unexpected text"),
        ('a "" c (x,y); import os\n', 1, 13, "unexpected text"),
        ('a "" c (x,y\n', 1, 12, "',' or ')'"),
        ('a "" c ()\n', 1, 9, "expected a value"),
        ("a c (x,y)\n", 1, 3, "a switch in quotes"),
        ('a "" k (x,y)\n', 1, 6, "a type"),
        ('a "" c,log (x,y)\n', 1, None, "only numbers have a log scale"),
        ('a "" r,lag (0,1)\n', 1, 8, "expected log"),
        ('a "" r (0,1,2)\n', 1, None, "(lower, upper)"),
        ('a "" i (0,1.5)\n', 1, None, "integers"),
        ('a "" i (9,1)\n', 1, None, "is empty"),
        ('a "" i,log (5,-3)\n', 1, None, "is empty"),
        ('a "" i (1,1e30)\n', 1, None, "2^44"),
        ('a "" i (1e308,1.5e308)\n', 1, None, "2^44"),
        ('a "" r,log (0,1)\n', 1, None, "log scale"),
        ('a "" i (1,5)\nb "" i (1, "min(a,10)")\n', 2, 12, "depend on other parameters are not supported"),
        ('a "" i (1,5)\nb "" i (1, a)\n', 2, 12, "not supported"),
        ('a "" c (x,y)\na "" c (x,y)\n', 2, None, "declared twice, first on line 1"),
        ('a "" c (x,y)\nb "" c (u,v) | a == "z"\n', 2, None, "'z' is not one of"),
        ('a "" c (x,y)\nb "" c (u,v) | aa == "x"\n', 2, None, "'aa'"),
        ('a "" c (x,y)\nb "" c (u,v) | system("ls") == 1\n', 2, 16, "unknown function 'system'"),
        ('a "" c (x,y)\nb "" c (u,v) | a == "x"; q()\n', 2, 24, "unexpected text"),
        ('a "" c (x,y)\nb "" c (u,v) | 1 == 1\n', 2, None, "no parameter"),
        ('a "" c (x,y)\nb "" c (u,v) |\n', 2, 15, "expected a parameter"),
        ('a "" c (x,y)\n[forbidden]\na == "z"\n', 3, None, "'z'"),
        ('a "" c (x,y)\n[forbidden]\na %in% c(x,y)\n', 3, None, "all forbidden"),
        ('a "" c (x,y)\n[forbidden]\na\n', 3, 2, "expected a comparison"),
        ('a "" c (x,y)\n[global]\ndigit = 4\n', 3, 1, "digits = N"),
        ('a "" c (x,y)\n[elsewhere]\n', 2, 1, "a parameter name"),
    ],
)
def test_errors_know_their_place(text: str, line: int, column: int | None, words: str) -> None:
    with pytest.raises(FormatError) as caught:
        parse_irace(text, "parameters.txt")
    error = caught.value
    assert words in error.message
    assert (error.path, error.line, error.column) == ("parameters.txt", line, column)


def test_hints() -> None:
    with pytest.raises(FormatError) as caught:
        parse_irace('alpha "" i (0,5)\nb "" c (u,v) | alhpa + 1 == 2\n')
    assert caught.value.hint == "did you mean 'alpha'?"
    with pytest.raises(FormatError) as caught:
        parse_irace('b "" i (1, "min(a,10)")\n')
    assert caught.value.hint == "use the widest range and forbid what is outside it in [forbidden]"


def test_irace_is_recognised_by_what_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "parameters.pcs"
    path.write_text(ACO)
    assert read_space(path) == parse_irace(ACO)


# --- round trips ---


@some
@given(spaces(IRACE))
def test_irace_gives_all_but_the_defaults_back(space: Space) -> None:
    assume(not any("-" in name or name in ("if", "for", "in", "next", "break", "else") for name in space.names))
    again = parse_irace(write_irace(space))
    plain = [p.with_default(space[p.name].default) for p in again.parameters.values()]
    assert plain == list(space.parameters.values())
    assert again.conditions == space.conditions
    assert again.forbidden == space.forbidden
    assert again.switches == {name: f"--{name}=" for name in space.names}
    rows = space.sample(5, np.random.default_rng(0))
    assert np.array_equal(again.encode(space.decode(rows)), rows, equal_nan=True)


@pytest.mark.parametrize(
    ("space", "words"),
    [
        (Space([Categorical("a b", ("x",), "x")]), "cannot write this name"),
        (Space([Categorical("@1:q", ("x",), "x")]), "cannot write this name"),
        (Space([Categorical("_a", ("x",), "x")]), "cannot write this name"),
        (Space([Categorical("next", ("x",), "x")]), "cannot write this name"),
        (Space([Categorical("a-b", ("x",), "x"), Real("a.b", 0.0, 1.0, 0.5)]), "cannot tell this name from a-b"),
        (Space([Categorical("a", ("one|two", "y"), "y")]), "cannot write the value"),
        (Space([Categorical("a", ("#1", "y"), "y")]), "cannot write the value"),
        (Space([Categorical("a", (1, 2), 1)]), "the value 1"),
        (Space([Categorical("a", ('say "x"', "y"), "y")]), "cannot write the value"),
        (Space([Categorical("a", ("two\nlines", "y"), "y")]), "cannot write the value"),
        (Space([Categorical("a", ("x",), "x")], switches={"a": '"'}), "switch"),
    ],
)
def test_what_irace_cannot_say_is_named(space: Space, words: str) -> None:
    with pytest.raises(SpaceError, match=words) as caught:
        write_irace(space)
    assert caught.value.part == ("parameter", space.names[-1])


def test_names_with_a_minus_are_written_as_r_names() -> None:
    space = Space(
        [Categorical("sp-mode", ("x", "y"), "x"), Real("sp-rate", 1e-6, 0.1, 0.01, log=True), Integer("n", -3, 9, 2)],
        {"sp-rate": equals("sp-mode", "y")},
        [Compare("<", Apply("^", (Literal(-2), Name("n"))), Literal(-9)), Member("sp-mode", ("y",))],
        switches={"n": "-n "},
    )
    assert write_irace3(space).splitlines() == [
        'sp.mode "--sp-mode=" c ("x", "y")',
        'sp.rate "--sp-rate=" r,log (1e-06, 0.1) | sp.mode == "y"',
        'n "-n " i (-3, 9)',
    ]
    assert irace3_forbidden(space).splitlines() == ["((-2) ^ n) < -9", 'sp.mode %in% c("y")']
    assert irace_digits(space) == 6
    assert write_irace(space) == f"{write_irace3(space)}\n[forbidden]\n{irace3_forbidden(space)}\n[global]\ndigits = 6\n"


def test_functions_that_r_does_not_have() -> None:
    numbers = [Real("a", 0.0, 9.0, 1.0), Real("b", 0.0, 9.0, 1.0)]
    clause = Compare(">", Apply("ceil", (Name("a"),)), Literal(8))
    assert irace3_forbidden(Space(numbers, forbidden=[clause])) == "ceiling(a) > 8\n"
    with pytest.raises(SpaceError, match="no function 'cbrt'"):
        write_irace(Space(numbers, forbidden=[Compare(">", Apply("cbrt", (Name("a"),)), Literal(2))]))
