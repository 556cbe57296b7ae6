"""Sampling, codes, neighbours, configurations: against a slow evaluator, for random spaces."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from scipy import stats

from capra.errors import SpaceError
from capra.runs import Configuration
from capra.space import And, Apply, Categorical, Compare, Integer, Literal, Name, Or, Ordinal, Real, Space, equals, is_in
from capra.space.parameters import Discrete
from tests.space import oracle
from tests.space.strategies import some, spaces

seeds = st.integers(0, 2**32 - 1)


def same(a: np.ndarray, b: np.ndarray) -> bool:
    """Bit for bit, all NaN being one."""
    return bool(np.array_equal(a, b, equal_nan=True))


@pytest.fixture
def solver() -> Space:
    """heur -> (size if heur == b) -> (depth if size > 8)."""
    return Space(
        [
            Categorical("heur", ("a", "b", "c"), "a"),
            Integer("size", 1, 64, 8, log=True),
            Ordinal("depth", ("low", "mid", "high"), "mid"),
            Real("rate", 0.0, 1.0, 0.25),
        ],
        {"size": equals("heur", "b"), "depth": Compare(">", Name("size"), Literal(8))},
        [And((equals("heur", "c"), Compare(">", Name("rate"), Literal(0.5))))],
    )


# --- random spaces ---


@some
@given(spaces(), seeds)
def test_samples_are_legal(space: Space, seed: int) -> None:
    rows = space.sample(40, np.random.default_rng(seed))
    assert rows.shape == (40, len(space))
    for config in space.decode(rows):
        assert oracle.legal(space, config), config


@some
@given(spaces(), seeds)
def test_codes_survive_decoding(space: Space, seed: int) -> None:
    rows = space.sample(40, np.random.default_rng(seed))
    configs = space.decode(rows)
    assert same(space.encode(configs), rows)
    assert space.decode(space.encode(configs)) == configs


@some
@given(spaces(), seeds)
def test_forbidden_rows_agree_with_the_slow_evaluator(space: Space, seed: int) -> None:
    rows = space.spread(np.random.default_rng(seed).random((60, len(space))))
    expected = [oracle.forbidden(space, config) for config in space.decode(rows)]
    assert space.forbidden_rows(rows).tolist() == expected


@some
@given(spaces(), seeds)
def test_spread_activates_what_the_slow_evaluator_activates(space: Space, seed: int) -> None:
    rows = space.spread(np.random.default_rng(seed).random((60, len(space))))
    for config in space.decode(rows):
        assert dict(config) == oracle.settle(space, config)


@some
@given(spaces(), seeds)
def test_configuration_accepts_samples_as_values_and_as_text(space: Space, seed: int) -> None:
    for config in space.decode(space.sample(5, np.random.default_rng(seed))):
        assert space.configuration(dict(config)) == config
        if all(len({str(c) for c in p.choices}) == p.size for p in space.parameters.values() if isinstance(p, Discrete)):
            assert space.configuration({name: str(value) for name, value in config.items()}) == config


@some
@given(spaces(), seeds, st.data())
def test_configuration_refuses_what_is_not_legal(space: Space, seed: int, data: st.DataObject) -> None:
    config = dict(space.decode(space.sample(1, np.random.default_rng(seed)))[0])
    name = data.draw(st.sampled_from(space.names))
    if name in config:
        missing = {n: v for n, v in config.items() if n != name}
        with pytest.raises(SpaceError):
            space.configuration(missing)
        with pytest.raises(SpaceError):
            space.configuration(config | {name: "neither this nor that"})
    else:
        with pytest.raises(SpaceError, match="inactive"):
            space.configuration(config | {name: space[name].default})


@some
@given(spaces(), seeds)
def test_neighbours(space: Space, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = space.sample(4, rng)
    found, origins = space.neighbours(rows, rng, count=3)
    for i, origin in enumerate(rows):
        mine = found[origins == i]
        assert len({config.id for config in space.decode(mine)}) == len(mine), "a neighbour stands twice"
        for row in mine:
            both = ~np.isnan(row) & ~np.isnan(origin)
            assert np.count_nonzero(row[both] != origin[both]) == 1, "not one exchange"
        _check_exchanges(space, origin, mine)


def _check_exchanges(space: Space, origin: np.ndarray, neighbours: np.ndarray) -> None:
    """Each neighbour is what the slow evaluator makes of its exchange; no discrete exchange is missing."""
    old = space.decode(origin[None])[0]
    found = space.decode(neighbours)
    exchanged = [next(name for name in old if name in new and _differ(old[name], new[name])) for new in found]
    for name, new in zip(exchanged, found, strict=True):
        assert dict(new) == oracle.settle(space, {**old, name: new[name]})
        assert oracle.legal(space, new)
    possible = (
        oracle.settle(space, {**old, name: other})
        for name, value in old.items()
        for other in _alternatives(space[name], value)
    )
    expected = {Configuration(values) for values in possible if not oracle.forbidden(space, values)}
    discrete = Categorical | Ordinal
    pairs = zip(exchanged, found, strict=True)
    assert expected == {new for name, new in pairs if isinstance(space[name], discrete)}


def _differ(a: object, b: object) -> bool:
    return type(a) is not type(b) or a != b


def _alternatives(parameter, value) -> list:
    if not isinstance(parameter, Categorical | Ordinal):
        return []
    at = next(i for i, c in enumerate(parameter.choices) if type(c) is type(value) and c == value)
    if isinstance(parameter, Ordinal):
        return [parameter.choices[i] for i in (at - 1, at + 1) if 0 <= i < len(parameter.choices)]
    return [c for i, c in enumerate(parameter.choices) if i != at]


@some
@given(spaces())
def test_default_is_legal_and_a_configuration(space: Space) -> None:
    assert oracle.legal(space, space.default)
    assert space.configuration(space.default) == space.default


@some
@given(spaces(), seeds)
def test_same_seed_same_rows(space: Space, seed: int) -> None:
    first, second = (space.sample(10, np.random.default_rng(seed)) for _ in range(2))
    assert same(first, second)
    a, b = (space.neighbours(first, np.random.default_rng(seed))[0] for _ in range(2))
    assert same(a, b)


# --- one space ---


def test_inactive_children_of_inactive_parents(solver: Space) -> None:
    for config in solver.decode(solver.sample(200, np.random.default_rng(0))):
        assert ("size" in config) == (config["heur"] == "b")
        assert ("depth" in config) == (config.get("size", 0) > 8)


def test_woken_children_take_their_default(solver: Space) -> None:
    row = solver.encode([solver.configuration({"heur": "a", "rate": 0.1})])
    found, _ = solver.neighbours(row, np.random.default_rng(0))
    woken = [config for config in solver.decode(found) if config["heur"] == "b"]
    assert [dict(config) for config in woken] == [{"heur": "b", "size": 8, "rate": 0.1}]


def test_a_many_digit_default_wakes_as_it_will_be_read_back() -> None:
    space = Space(
        [Categorical("on", ("no", "yes"), "no"), Real("x", 0.0, 1.0, 1 / 3)],
        {"x": equals("on", "yes")},
    )
    found, _ = space.neighbours(space.encode([{"on": "no"}]), np.random.default_rng(0))
    assert same(space.encode(space.decode(found)), found)


def test_unknown_parameter_has_a_hint(solver: Space) -> None:
    with pytest.raises(SpaceError) as caught:
        solver.configuration({"huer": "a"})
    assert caught.value.hint == "did you mean 'heur'?"


@pytest.mark.parametrize("value", [None, ["a"], {}, 10**400, float("nan"), "b "])
def test_configuration_refuses_values_of_no_type(solver: Space, value: object) -> None:
    with pytest.raises(SpaceError):
        solver.configuration({"heur": "b", "size": value, "rate": 0.1})
    with pytest.raises(SpaceError):
        solver.configuration({"heur": value, "rate": 0.1})


def test_forbidden_configuration_is_refused(solver: Space) -> None:
    with pytest.raises(SpaceError, match="forbidden"):
        solver.configuration({"heur": "c", "rate": 0.75})


def test_types_and_columns(solver: Space) -> None:
    assert solver.types.tolist() == [3, 0, 0, 0]
    assert solver.names == ("heur", "size", "depth", "rate")
    assert solver.encode([{"heur": "c", "rate": 0.5}])[0, 0] == 2.0
    assert np.isnan(solver.encode([{"heur": "c", "rate": 0.5}])[0, 1:3]).all()


def test_no_rows_no_neighbours(solver: Space) -> None:
    found, origins = solver.neighbours(np.empty((0, 4)), np.random.default_rng(0))
    assert found.shape == (0, 4)
    assert origins.size == 0


def test_a_constant_has_no_neighbours() -> None:
    space = Space([Categorical("only", ("x",), "x")])
    found, _ = space.neighbours(space.encode([{"only": "x"}]), np.random.default_rng(0))
    assert len(found) == 0


@example(lower=1, width=10**13)
@given(lower=st.integers(1, 2**40), width=st.integers(1, 10**13))
def test_integer_neighbours_differ_and_stay_inside(lower: int, width: int) -> None:
    space = Space([Integer("n", lower, lower + width, lower)])
    rng = np.random.default_rng(0)
    rows = space.encode([{"n": lower}, {"n": lower + width}, {"n": lower + width // 2}])
    found, origins = space.neighbours(rows, rng)
    new = [config["n"] for config in space.decode(found)]
    old = [lower, lower + width, lower + width // 2]
    assert all(a != old[i] and lower <= a <= lower + width for a, i in zip(new, origins, strict=True))
    assert set(origins.tolist()) == {0, 1, 2}


# --- contradictions ---


@pytest.mark.parametrize(
    ("parts", "part", "words"),
    [
        (([],), None, "at least one"),
        (([Categorical("a", ("x",), "x"), Integer("a", 0, 1, 0)],), ("parameter", "a"), "twice"),
        (([Categorical("a", ("x",), "x")], {"b": equals("a", "x")}), ("condition", "b"), "unknown"),
        (([Categorical("a", ("x",), "x")], {"a": equals("a", "x")}), ("condition", "a"), "cycle"),
        (([Categorical("a", ("x", "y"), "x")], {}, [equals("a", "x")]), ("forbidden", 0), "default"),
        (([Categorical("a", ("x", "y"), "x")], {}, [equals("a", "z")]), ("forbidden", 0), "not one of"),
        (([Categorical("a", ("x", "y"), "x")], {}, [is_in("a", ["x", "y"])]), ("forbidden", 0), "all forbidden"),
        (([Categorical("a", ("x", "y"), "x")], {}, [is_in("a", [])]), ("forbidden", 0), "without parts"),
    ],
)
def test_contradictions_name_the_part(parts: tuple, part: object, words: str) -> None:
    with pytest.raises(SpaceError, match=words) as caught:
        Space(*parts)
    assert caught.value.part == part


def test_a_long_cycle_is_told() -> None:
    names = [f"p{i}" for i in range(5)]
    cycle = {a: equals(b, "x") for a, b in zip(names, names[1:] + names[:1], strict=True)}
    with pytest.raises(SpaceError, match="p0 needs p1") as caught:
        Space([Categorical(name, ("x", "y"), "x") for name in names], cycle)
    assert caught.value.part is not None
    assert caught.value.part[0] == "condition"


def test_ten_thousand_forbidden_samples_end_the_search() -> None:
    nearly_all = Compare("<", Apply("+", (Name("a"), Name("b"))), Literal(1999999))
    numbers = [Integer("a", 0, 10**6, 10**6), Integer("b", 0, 10**6, 10**6)]
    with pytest.raises(SpaceError, match="10,000 samples"):
        Space(numbers, {}, [nearly_all])


def test_suggested_defaults_give_way_to_a_legal_sample() -> None:
    numbers = [Integer("a", 0, 9, 4), Integer("b", 0, 9, 4)]
    clause = Compare("==", Name("a"), Name("b"))
    with pytest.raises(SpaceError, match="default"):
        Space(numbers, {}, [clause])
    space = Space(numbers, {}, [clause], suggested_default=True)
    assert space.default["a"] != space.default["b"]


def test_equality_looks_at_everything(solver: Space) -> None:
    parts = list(solver.parameters.values())
    assert Space(parts, solver.conditions, solver.forbidden) == solver
    assert Space(parts, solver.conditions, solver.forbidden, switches={"heur": "-h"}) == solver
    assert Space(parts[::-1], solver.conditions, solver.forbidden) != solver
    assert Space(parts, {}, solver.forbidden) != solver
    assert Space(parts, solver.conditions) != solver
    assert solver != "solver"


# --- distributions, at a fixed seed ---


def test_sampling_is_uniform() -> None:
    space = Space(
        [
            Categorical("c", tuple("abcde"), "a"),
            Ordinal("o", tuple("uvw"), "u"),
            Integer("i", -3, 6, 0),
            Real("r", -2.0, 3.0, 0.0),
            Integer("il", 1, 8, 2, log=True),
            Real("rl", 1e-3, 1e3, 1.0, log=True),
        ]
    )
    configs = space.decode(space.sample(20_000, np.random.default_rng(7)))
    column = {name: [config[name] for config in configs] for name in space.names}
    for name in ("c", "o", "i"):
        counts = np.unique(column[name], return_counts=True)[1]
        assert len(counts) == space[name].size
        assert stats.chisquare(counts).pvalue > 1e-3, name
    assert stats.kstest(column["r"], stats.uniform(-2, 5).cdf).pvalue > 1e-3
    assert stats.kstest(np.log10(column["rl"]), stats.uniform(-3, 6).cdf).pvalue > 1e-3
    edges = np.log(np.arange(1, 10) - 0.5)
    expected = np.diff(edges) / (edges[-1] - edges[0]) * len(configs)
    assert stats.chisquare(np.unique(column["il"], return_counts=True)[1], expected).pvalue > 1e-3


def test_rejection_leaves_the_rest_uniform() -> None:
    either = Or((equals("a", 0), And((equals("a", 1), equals("b", 0)))))
    space = Space([Integer("a", 0, 2, 2), Integer("b", 0, 2, 2)], {}, [either])
    configs = space.decode(space.sample(10_000, np.random.default_rng(3)))
    counts = np.unique([3 * config["a"] + config["b"] for config in configs], return_counts=True)[1]
    assert len(counts) == 5
    assert stats.chisquare(counts).pvalue > 1e-3


def test_neighbours_of_numbers_are_near() -> None:
    space = Space([Real("x", 0.0, 1.0, 0.5)])
    found, _ = space.neighbours(np.full((500, 1), 0.5), np.random.default_rng(1), count=4)
    assert len(found) == 2000
    truncated = stats.truncnorm(-2.5, 2.5, loc=0.5, scale=0.2)
    assert stats.kstest(found[:, 0], truncated.cdf).pvalue > 1e-3


@given(spaces(most=3))
def test_decode_needs_no_rows(space: Space) -> None:
    assume(len(space) > 1)
    assert space.decode(space.encode([])) == []
