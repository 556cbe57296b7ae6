"""ConfigSpace JSON without ConfigSpace: reading, places of errors, round trips."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from capra.errors import FormatError, InputError, SpaceError
from capra.space import And, Apply, Categorical, Compare, Integer, Literal, Member, Name, Or, Ordinal, Real, Space, equals
from capra.space.files import SPACE_FORMATS, read_space, space_format
from capra.space.json import parse_json, write_json
from tests.space.strategies import JSON, some, spaces

A = {"type": "categorical", "name": "a", "choices": ["x", "y"], "default_value": "x", "weights": None, "meta": None}
N = {"type": "uniform_int", "name": "n", "lower": 0, "upper": 9, "default_value": 1, "log": False}
R = {"type": "uniform_float", "name": "r", "lower": 0.5, "upper": 2, "default_value": 1, "log": True}
O = {"type": "ordinal", "name": "o", "sequence": ["low", "high"], "default_value": "low"}  # noqa: E741


def document(*parameters: Any, conditions: Any = (), forbiddens: Any = ()) -> str:
    """One entry per line, so that lines can be told: the first parameter stands on line 3."""
    parts = {"hyperparameters": parameters, "conditions": conditions, "forbiddens": forbiddens}
    sections = [
        f'"{key}": [\n' + ",\n".join(json.dumps(entry) for entry in entries) + "\n]" for key, entries in parts.items()
    ]
    return "{\n" + ",\n".join(sections) + "\n}\n"


# --- reading ---


def test_parameters() -> None:
    constant = {"type": "constant", "name": "k", "value": 3}
    space = parse_json(document(A, N, R, O, constant))
    assert list(space.parameters.values()) == [
        Categorical("a", ("x", "y"), "x"),
        Integer("n", 0, 9, 1),
        Real("r", 0.5, 2.0, 1.0, log=True),
        Ordinal("o", ("low", "high"), "low"),
        Categorical("k", (3,), 3),
    ]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"type": "EQ", "parent": "n", "value": 3}, equals("n", 3)),
        ({"type": "NEQ", "parent": "n", "value": 3}, Compare("!=", Name("n"), Literal(3))),
        ({"type": "LT", "parent": "n", "value": 3}, Compare("<", Name("n"), Literal(3.0))),
        ({"type": "GT", "parent": "o", "value": "low"}, Compare(">", Name("o"), Literal("low"))),
        ({"type": "IN", "parent": "n", "values": [3, 4]}, Member("n", (3, 4))),
        (
            {
                "type": "AND",
                "conditions": [{"type": "EQ", "parent": "n", "value": 3}, {"type": "EQ", "parent": "o", "value": "low"}],
            },
            And((equals("n", 3), equals("o", "low"))),
        ),
        (
            {
                "type": "OR",
                "conditions": [{"type": "EQ", "parent": "n", "value": 3}, {"type": "EQ", "parent": "n", "value": 4}],
            },
            Or((equals("n", 3), equals("n", 4))),
        ),
    ],
)
def test_conditions(condition: dict[str, Any], expected: object) -> None:
    space = parse_json(document(A, N, O, conditions=[{"child": "a", **condition}]))
    assert space.conditions == {"a": expected}


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ({"type": "EQUALS", "name": "n", "value": 3}, equals("n", 3)),
        ({"type": "IN", "name": "a", "values": ["y"]}, Member("a", ("y",))),
        ({"type": "RELATION_GT", "left": "n", "right": "r"}, Compare(">", Name("n"), Name("r"))),
        ({"type": "RELATION_LE", "left": "r", "right": "n"}, Compare("<=", Name("r"), Name("n"))),
        (
            {
                "type": "AND",
                "clauses": [{"type": "EQUALS", "name": "n", "value": 3}, {"type": "EQUALS", "name": "a", "value": "x"}],
            },
            And((equals("n", 3), equals("a", "x"))),
        ),
    ],
)
def test_forbidden_clauses(clause: dict[str, Any], expected: object) -> None:
    second = {**N, "default_value": 0} if clause["type"] == "RELATION_LE" else N
    assert parse_json(document(A, second, R, forbiddens=[clause])).forbidden == (expected,)


def test_equal_weights_and_empty_lists_are_fine() -> None:
    assert parse_json(document({**A, "weights": [0.5, 0.5]})) == parse_json(json.dumps({"hyperparameters": [A]}))


# --- errors ---


@pytest.mark.parametrize(
    ("text", "line", "words", "hint"),
    [
        (document(N, {**A, "choices": []}), 4, "0 values", None),
        (document(N, {**A, "default_value": "z"}), 4, "default 'z'", None),
        (document(N, {**A, "choices": ["x", None]}), 4, "not a text", None),
        (document(N, {**A, "choices": "xy"}), 4, "not a list", None),
        (document(N, {**A, "weights": [0.9, 0.1]}), 4, "weights", "remove them"),
        (document(N, {**A, "type": "normal_float"}), 4, "'normal_float'", "use a uniform one"),
        (document(N, {**A, "name": "n"}), 4, "n is declared twice, first on line 3", None),
        (document(A, {**N, "q": 2}), 4, "quantised", "use an ordinal one"),
        (document(A, {**N, "lower": "0"}), 4, "'0' is not an integer", None),
        (document(A, {**N, "upper": 1.5}), 4, "not an integer", None),
        (document(A, {**N, "upper": 2**60}), 4, "2^44", "declare the parameter as real"),
        (document(A, {**N, "log": "yes"}), 4, "log is true or false", None),
        (document(A, {**R, "lower": -1}), 4, "log scale", None),
        (document(A, {**R, "upper": None}), 4, "not a finite number", None),
        (document(A, {k: v for k, v in N.items() if k != "upper"}), 4, "missing or unusable 'upper'", None),
        (document(A, {k: v for k, v in N.items() if k != "type"}), 4, "'type'", None),
        (document(A, [N]), 3, "'name'", None),
        (
            document(A, N, conditions=[{"type": "EQ", "child": "b", "parent": "n", "value": 3}]),
            7,
            "unknown parameter 'b'",
            None,
        ),
        (
            document(A, N, conditions=[{"type": "EQ", "child": "a", "parent": "nn", "value": 3}]),
            7,
            "'nn'",
            "did you mean 'n'?",
        ),
        (
            document(A, N, conditions=[{"type": "EQ", "child": "a", "parent": "n", "value": 33}]),
            7,
            "not an integer in",
            None,
        ),
        (document(A, N, conditions=[{"type": "LE", "child": "a", "parent": "n", "value": 3}]), 7, "'LE'", None),
        (document(A, N, conditions=[{"type": "IN", "child": "a", "parent": "n", "values": []}]), 7, "'values'", None),
        (document(A, N, conditions=[{"type": "AND", "child": "a", "conditions": 5}]), 7, "'conditions'", None),
        (document(A, N, conditions=[{"type": "EQ", "child": "a", "parent": "a", "value": "x"}]), 7, "cycle", None),
        (document(A, N, forbiddens=[{"type": "EQUALS", "name": "a", "value": "x"}]), 9, "default configuration", None),
        (document(A, N, forbiddens=[{"type": "XOR", "name": "a", "value": "x"}]), 9, "'XOR'", None),
        ("[]", 1, "no 'hyperparameters'", None),
        ("{", 1, "Expecting", None),
        (document(A).replace("\n]", "\n],,", 1), 4, "double quotes", None),
        (document(A) + "; import os", 12, "Extra data", None),
        ('{"hyperparameters": [], "hyperparameters": []}', 1, "twice", None),
        ('{"hyperparameters": []}', 1, "'hyperparameters'", None),
        (document({**N, "lower": float("nan")}), 1, "NaN is not a number", None),
    ],
)
def test_errors_know_their_line(text: str, line: int, words: str, hint: str | None) -> None:
    with pytest.raises(FormatError) as caught:
        parse_json(text, "space.json")
    error = caught.value
    assert words in error.message
    assert (error.path, error.line, error.hint) == ("space.json", line, hint)


def test_lines_are_found_for_names_with_accents_and_quotes() -> None:
    bad = {**A, "name": 'é"\\', "choices": []}
    for text in (document(N, bad), document(N, bad).replace("\\u00e9", "é")):
        with pytest.raises(FormatError) as caught:
            parse_json(text)
        assert caught.value.line == 4


# --- files ---


def test_json_is_recognised_by_what_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "space.whatever"
    path.write_text("\n  " + document(A, N))
    assert read_space(path) == parse_json(document(A, N))


@pytest.mark.parametrize(("suffix", "kind"), [("pcs", "pcs"), ("json", "json"), ("JSON", "json"), ("txt", "irace")])
def test_the_suffix_decides_what_is_written(suffix: str, kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"out.{suffix}"
    assert space_format(path) == kind
    space = parse_json(document(A, N))
    path.write_text(SPACE_FORMATS[kind][1](space))
    assert read_space(path).names == ("a", "n")


def test_an_unknown_suffix_is_refused() -> None:
    with pytest.raises(InputError, match="cannot tell the format"):
        space_format("out.yaml")


# --- round trips ---


@some
@given(spaces(JSON))
def test_json_gives_the_space_back(space: Space) -> None:
    again = parse_json(write_json(space))
    assert again == space
    assert repr(again.parameters) == repr(space.parameters)
    assert repr(again.conditions) == repr(space.conditions)
    assert again.default == space.default


def test_switches_travel_in_the_meta_field() -> None:
    space = Space([Categorical("a", ("x", "y"), "x"), Integer("n", 0, 9, 1)], switches={"a": "--a "})
    assert parse_json(write_json(space)).switches == {"a": "--a "}


def numbers(**extra: object) -> Space:
    return Space([Integer("n", 0, 9, 1), Real("r", 0.0, 1.0, 0.0), Categorical("c", ("u", "v"), "u")], **extra)


@pytest.mark.parametrize(
    ("space", "part"),
    [
        (numbers(conditions={"c": Compare("<=", Name("n"), Literal(3))}), ("condition", "c")),
        (numbers(conditions={"c": Compare("<", Name("n"), Name("r"))}), ("condition", "c")),
        (numbers(conditions={"c": And((equals("n", 1), Compare(">=", Name("n"), Literal(3))))}), ("condition", "c")),
        (numbers(forbidden=[equals("c", "v"), Compare("<", Name("n"), Literal(1))]), ("forbidden", 1)),
        (numbers(forbidden=[Or((equals("n", 3), equals("c", "v")))]), ("forbidden", 0)),
        (
            numbers(forbidden=[Compare("!=", Name("c"), Literal("u"))]),
            ("forbidden", 0),
        ),
        (numbers(forbidden=[Compare(">", Apply("+", (Name("n"), Name("r"))), Literal(3))]), ("forbidden", 0)),
    ],
)
def test_what_json_cannot_say_is_named(space: Space, part: tuple[str, object]) -> None:
    with pytest.raises(SpaceError, match="ConfigSpace cannot express") as caught:
        write_json(space)
    assert caught.value.part == part
    assert (str(part[1]) if part[0] == "condition" else str(part[1] + 1)) in caught.value.message


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("broken.json", "{", r"broken.json:1:2: Expecting property name"),
        ("other.json", '{"a": 1}', "hyperparameters"),
        ("broken.txt", 'a "--a " x (1, 2)\n', r"broken.txt:1:10: expected a type"),
        ("broken.pcs", "a real\n", "broken.pcs:1"),
    ],
)
def test_the_suffix_decides_what_is_wrong_with_a_text_of_no_format(
    name: str, text: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(FormatError, match=message):
        read_space(tmp_path / name)


@pytest.mark.parametrize(
    "text", ["a {x, y} [x]", "a [1, 9] [2]l", "a categorical {x, y} [x]", "# new\n\na integer [1,9][2] log"]
)
def test_a_text_that_looks_like_a_space_is_read_whatever_its_name(text: str, tmp_path: Path) -> None:
    (tmp_path / "parameters.txt").write_text(text + "\n")
    assert read_space(tmp_path / "parameters.txt").names == ("a",)
