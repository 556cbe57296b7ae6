"""The four types and their codecs; configurations and their ids."""

from __future__ import annotations

import math
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capra import _kernels
from capra.errors import SpaceError
from capra.runs import Configuration
from capra.space import Categorical, Integer, Ordinal, Real
from capra.space.parameters import LARGEST_INTEGER, LONGEST_TEXT, MOST_VALUES, Parameter
from tests.space.strategies import parameters

points = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=30).map(np.array)


@st.composite
def any_range(draw: st.DrawFn) -> Real:
    """Reals of every size, as wide or narrow as we allow."""
    log = draw(st.booleans())
    bounds = st.floats(-1e300, 1e300) if not log else st.floats(1e-300, 1e300)
    lower, upper = sorted([draw(bounds), draw(bounds)])
    try:
        return Real("x", lower, upper, draw(st.sampled_from([lower, upper])), log)
    except SpaceError:
        return Real("x", 1.0, 1.0 + 2e-9, 1.0, log)


# --- codecs ---


@given(parameters("p"), points)
def test_what_is_drawn_survives_the_codec(parameter: Parameter, drawn: np.ndarray) -> None:
    codes = parameter.spread(drawn)
    values = parameter.decode(codes)
    assert np.array_equal(parameter.encode(values), codes)
    assert [repr(parameter.coerce(value)) for value in values] == [repr(value) for value in values]
    assert parameter.ranks(codes).tolist() == [parameter.rank(value) for value in values]
    top = len(parameter.choices) - 1 if isinstance(parameter, Categorical) else 1.0
    assert codes.min() >= 0
    assert codes.max() <= top


@given(any_range(), points)
def test_reals_of_any_size_survive_the_codec(parameter: Real, drawn: np.ndarray) -> None:
    codes = parameter.spread(drawn)
    values = parameter.decode(codes)
    assert all(parameter.lower <= value <= parameter.upper for value in values)
    assert np.array_equal(parameter.encode(values), codes)
    assert not any(value == 0 and math.copysign(1, value) < 0 for value in values)


@given(st.integers(1, LARGEST_INTEGER - 1), st.integers(1, LARGEST_INTEGER), st.booleans(), points)
def test_integers_of_any_size_survive_the_codec(lower: int, width: int, log: bool, drawn: np.ndarray) -> None:
    parameter = Integer("n", lower, min(lower + width, LARGEST_INTEGER), lower, log)
    codes = parameter.spread(drawn)
    values = parameter.decode(codes)
    assert all(type(value) is int and parameter.lower <= value <= parameter.upper for value in values)
    assert np.array_equal(parameter.encode(values), codes)


@given(any_range(), points, st.integers(1, 6))
def test_moves_of_reals_are_others_and_different(parameter: Real, drawn: np.ndarray, count: int) -> None:
    codes = parameter.spread(drawn)
    draws = np.random.default_rng(0).random((len(codes), count))
    draws[:, 0] = codes  # a draw that comes back to where it started
    for own, row in zip(codes, parameter.moves(codes, draws), strict=True):
        moved = row[~np.isnan(row)]
        assert own not in moved
        assert len(set(moved)) == len(moved)


def test_moves() -> None:
    draws = np.full((2, 4), 0.5)
    assert Categorical("c", ("a", "b", "c"), "a").moves(np.array([0.0, 2.0]), draws).tolist() == [[1, 2], [0, 1]]
    ordinal = Ordinal("o", ("u", "v", "w"), "u")
    moved = ordinal.moves(ordinal.encode(["u", "v"]), draws)
    assert ordinal.decode(moved[1]) == ["u", "w"]
    assert np.isnan(moved[0, 0])
    assert ordinal.decode(moved[0, 1:]) == ["v"]
    small = Integer("i", 0, 3, 0)
    assert small.decode(small.moves(small.encode([2]), draws[:1])[0]) == [0, 1, 3]


def test_an_integer_draw_on_its_own_value_steps_aside() -> None:
    parameter = Integer("i", 0, 100, 0)
    codes = parameter.encode([0, 50, 100])
    draws = np.stack([codes + 1e-6, codes - 1e-6], axis=1)
    moved = parameter.moves(codes, draws)
    assert [sorted(parameter.decode(row[~np.isnan(row)])) for row in moved] == [[1], [49, 51], [99]]


@pytest.mark.parametrize(
    ("parameter", "value", "meant"),
    [
        (Categorical("c", ("0.1", "on"), "on"), "0.10", "0.1"),
        (Categorical("c", (1, 2), 1), "2", 2),
        (Categorical("c", (True, False), True), "False", False),
        (Categorical("c", ("1", 1, 1.0, True), 1), 1, 1),
        (Categorical("c", ("1", 1, 1.0, True), 1), True, True),
        (Categorical("c", ("1", 1, 1.0, True), 1), "1", "1"),
        (Integer("i", 0, 10, 1), "7", 7),
        (Integer("i", 0, 10, 1), 7.0, 7),
        (Real("r", 0, 1, 0.5), "1e-1", 0.1),
        (Real("r", 0, 1, 0.5), 1, 1.0),
        (Real("r", -1, 1, 0.5), "-0", 0.0),
    ],
)
def test_coerce(parameter: Parameter, value: object, meant: object) -> None:
    assert repr(parameter.coerce(value)) == repr(meant)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        (Categorical("c", ("a", "b"), "a"), "A"),
        (Categorical("c", ("1", "2"), "1"), True),
        (Integer("i", 0, 10, 1), 7.5),
        (Integer("i", 0, 10, 1), 11),
        (Integer("i", 0, 10, 1), True),
        (Integer("i", 0, 10, 1), "0x1"),
        (Real("r", 0, 1, 0.5), "nan"),
        (Real("r", 0, 1, 0.5), 1.0000001),
        (Real("r", 0, 1, 0.5), "inf"),
    ],
)
def test_coerce_refuses(parameter: Parameter, value: object) -> None:
    with pytest.raises(SpaceError) as caught:
        parameter.coerce(value)
    assert caught.value.part == ("parameter", parameter.name)


def test_coerce_hints_at_the_nearest_value() -> None:
    with pytest.raises(SpaceError) as caught:
        Categorical("heur", ("Vsids", "Berkmin"), "Vsids").coerce("vsids")
    assert caught.value.hint == "did you mean 'Vsids'?"


@pytest.mark.parametrize(
    "make",
    [
        lambda: Categorical("", ("a",), "a"),
        lambda: Categorical("c", (), "a"),
        lambda: Categorical("c", ("a", "b", "a"), "a"),
        lambda: Categorical("c", ("a",), "b"),
        lambda: Categorical("c", (None,), None),
        lambda: Categorical("c", (math.nan,), math.nan),
        lambda: Categorical("c", (10**400,), 10**400),
        lambda: Categorical("c", ("a\0",), "a\0"),
        lambda: Categorical("c", ("\ud800",), "\ud800"),
        lambda: Categorical("c", ("a" * (LONGEST_TEXT + 1), "b"), "b"),
        lambda: Ordinal("c", tuple(range(MOST_VALUES + 1)), 0),
        lambda: Categorical("n" * (LONGEST_TEXT + 1), ("a",), "a"),
        lambda: Integer("i", 5, 5, 5),
        lambda: Integer("i", 5, 4, 5),
        lambda: Integer("i", 0, 4, 5),
        lambda: Integer("i", 0, 4, 1, log=True),
        lambda: Integer("i", 0, 4.0, 1),
        lambda: Integer("i", 0, True, 0),
        lambda: Integer("i", 0, LARGEST_INTEGER + 1, 0),
        lambda: Integer("i", 0, 10**5000, 0),
        lambda: Real("r", 0.0, math.inf, 0.0),
        lambda: Real("r", math.nan, 1.0, 0.0),
        lambda: Real("r", 0.0, 1.0, math.nan),
        lambda: Real("r", 0.0, 1.0, 2.0),
        lambda: Real("r", 0.0, 1.0, 0.5, log=True),
        lambda: Real("r", 0.0, 10**400, 0.5),
        lambda: Real("r", 0.0, "1", 0.5),
        lambda: Real("r", 1e10, 1e10 + 1e-5, 1e10, log=True),
        lambda: Real("r", 0.0, 5e-324, 0.0),
    ],
)
def test_impossible_declarations_are_refused(make) -> None:
    with pytest.raises(SpaceError):
        make()


def test_a_long_list_of_values_with_a_repetition_is_refused_at_once() -> None:
    values = (*range(MOST_VALUES - 1), MOST_VALUES - 2)
    with pytest.raises(SpaceError, match="9998 is listed twice"):
        Categorical("c", values, 0)


# --- configurations ---


def test_the_id_is_known() -> None:
    config = Configuration({"heur": "b", "size": 16, "rate": 0.25, "on": True})
    assert config.id == "d15bcffc52ae133b"


def test_the_id_ignores_the_order() -> None:
    values = {"b": 1, "a": "x", "c": 0.5}
    assert Configuration(values).id == Configuration(dict(reversed(values.items()))).id
    assert Configuration(values) == Configuration(dict(reversed(values.items())))


def test_one_is_not_one_is_not_true() -> None:
    configs = [Configuration({"x": value}) for value in (1, 1.0, True, "1")]
    assert len({config.id for config in configs}) == 4
    assert len(set(configs)) == 4


def test_the_id_is_the_same_in_another_process() -> None:
    program = "from capra.runs import Configuration; print(Configuration({'b': 1, 'a': 'ä', 'c': 0.1}).id)"
    expected = Configuration({"b": 1, "a": "ä", "c": 0.1}).id
    for seed in ("0", "4242"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == expected


def test_a_configuration_does_not_follow_its_source() -> None:
    source = {"a": 1}
    config = Configuration(source)
    source["a"] = 2
    assert config["a"] == 1
    with pytest.raises(TypeError):
        config["a"] = 3  # type: ignore[index]


# --- row hashes ---


entries = st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.1, math.nan, -math.nan, math.inf, 5e-324, 2.0**-30])


@given(st.integers(1, 4).flatmap(lambda d: st.lists(st.lists(entries, min_size=d, max_size=d), min_size=1, max_size=40)))
def test_rows_are_equal_exactly_when_their_hashes_are(rows: list[list[float]]) -> None:
    matrix = np.array(rows)
    hashes = _kernels.hash_rows(matrix)
    for i, a in enumerate(matrix):
        for j, b in enumerate(matrix):
            assert (hashes[i] == hashes[j]) == np.array_equal(a, b, equal_nan=True)


def test_many_rows_have_different_hashes() -> None:
    matrix = np.random.default_rng(0).integers(0, 3, (50_000, 12)).astype(float)
    matrix[matrix == 2] = np.nan
    filled = np.nan_to_num(matrix, nan=-1.0)
    assert len(np.unique(_kernels.hash_rows(matrix))) == len(np.unique(filled, axis=0))


def test_hash_rows_takes_only_float_matrices() -> None:
    assert _kernels.hash_rows(np.empty((0, 3))).shape == (0,)
    with pytest.raises(TypeError):
        _kernels.hash_rows(np.zeros(3))
    with pytest.raises(TypeError):
        _kernels.hash_rows(np.zeros((2, 2), dtype=complex))
