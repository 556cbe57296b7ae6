"""ConfigSpace as oracle: its own PCS readers, its JSON, its idea of what is legal."""

from __future__ import annotations

import io
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import ConfigSpace as CS
import numpy as np
import pytest
from ConfigSpace.read_and_write import pcs, pcs_new
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from capra.errors import SpaceError
from capra.space import And, Categorical, Compare, Integer, Literal, Member, Name, Or, Ordinal, Real, Space, equals, is_in
from capra.space.expressions import names_in
from capra.space.files import from_configspace, read_space, to_configspace
from capra.space.json import parse_json, write_json
from capra.space.parameters import Discrete
from capra.space.pcs import parse_pcs, write_pcs
from tests.space.strategies import JSON, spaces

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*deprecated - use.*:DeprecationWarning"),  # pyparsing, in their PCS readers
]

SHARED = Path(__file__).parents[3] / "shared" / "data"
FILES = sorted([*SHARED.glob("aclib/*.pcs"), *SHARED.glob("solvers/*.pcs")])

UNREADABLE = {"leading_ones-100.pcs": "its time doubles or worse with every link of a chain of conditions; this one has 99"}
"""Files that ConfigSpace 1.2 cannot read, and why (see test_a_chain_of_conditions)."""


def theirs(path: Path) -> Any:
    """ConfigSpace's reading: the old dialect, else the new one."""
    text = path.read_text()
    try:
        return pcs.read(io.StringIO(text))
    except NotImplementedError:
        return pcs_new.read(io.StringIO(text))


@pytest.fixture(scope="module")
def real() -> dict[str, tuple[Space, Any]]:
    """Every real PCS file as we read it and as ConfigSpace does (None where it cannot)."""
    if not FILES:
        pytest.skip(f"no real files: {SHARED} is not there")
    return {path.name: (read_space(path), None if path.name in UNREADABLE else theirs(path)) for path in FILES}


# --- one description of both ---


def our_parameter(parameter: Any) -> tuple:
    if isinstance(parameter, Discrete):
        return type(parameter).__name__, parameter.choices, parameter.default
    return type(parameter).__name__, parameter.lower, parameter.upper, parameter.log, pytest.approx(parameter.default, 1e-12)


def their_parameter(parameter: Any) -> tuple:
    match parameter:
        case CS.Constant():
            return "Categorical", (parameter.value,), parameter.value
        case CS.CategoricalHyperparameter():
            return "Categorical", tuple(parameter.choices), parameter.default_value
        case CS.OrdinalHyperparameter():
            return "Ordinal", tuple(parameter.sequence), parameter.default_value
        case CS.UniformIntegerHyperparameter():
            kind = "Integer"
        case CS.UniformFloatHyperparameter():
            kind = "Real"
    return kind, parameter.lower, parameter.upper, parameter.log, parameter.default_value


def our_test(expression: Any) -> tuple:
    match expression:
        case And(parts) | Or(parts):
            return type(expression).__name__, frozenset(our_test(part) for part in parts)
        case Member(name, values):
            return "in", name, frozenset(values)
        case Compare("==", Name(name), Literal(value)):
            return "in", name, frozenset([value])
        case Compare(operator, Name(name), Literal(value)):
            return operator, name, value
    raise AssertionError(expression)


def their_test(condition: Any) -> tuple:
    match condition:
        case CS.AndConjunction():
            return "And", frozenset(their_test(part) for part in condition.components)
        case CS.OrConjunction():
            return "Or", frozenset(their_test(part) for part in condition.components)
        case CS.InCondition():
            return "in", condition.parent.name, frozenset(condition.values)
        case CS.EqualsCondition():
            return "in", condition.parent.name, frozenset([condition.value])
        case CS.NotEqualsCondition():
            return "!=", condition.parent.name, condition.value
        case CS.LessThanCondition():
            return "<", condition.parent.name, condition.value
        case CS.GreaterThanCondition():
            return ">", condition.parent.name, condition.value
    raise AssertionError(condition)


def their_clause(clause: Any) -> frozenset:
    parts = clause.components if isinstance(clause, CS.ForbiddenAndConjunction) else [clause]
    return frozenset((part.hyperparameter.name, part.value) for part in parts)


def our_clause(clause: Any) -> frozenset:
    parts = clause.parts if isinstance(clause, And) else (clause,)
    return frozenset((part.left.name, part.right.value) for part in parts)


# --- real files ---


def test_the_files_configspace_cannot_read_are_these(real: dict[str, tuple[Space, Any]]) -> None:
    assert {name for name, (_, peer) in real.items() if peer is None} == set(UNREADABLE)


def test_we_agree_on_every_file_it_can_read(real: dict[str, tuple[Space, Any]]) -> None:
    for file, (space, peer) in real.items():
        if peer is None:
            continue
        assert len(space) == len(peer), file
        assert {name: our_parameter(space[name]) for name in space.names} == {
            name: their_parameter(peer[name]) for name in peer
        }, file
        assert {child: our_test(test) for child, test in space.conditions.items()} == {
            test.child.name: their_test(test) for test in peer.conditions
        }, file
        assert sorted(map(sorted, map(our_clause, space.forbidden))) == sorted(
            map(sorted, map(their_clause, peer.forbidden_clauses))
        ), file
        assert set(space.default) == set(peer.get_default_configuration()), file


def test_pcs_to_json_to_pcs_keeps_every_space(real: dict[str, tuple[Space, Any]]) -> None:
    for file, (space, _) in real.items():
        through_json = parse_json(write_json(space))
        assert through_json == space, file
        assert parse_pcs(write_pcs(through_json)) == space, file


def test_samples_are_legal_on_the_other_side(real: dict[str, tuple[Space, Any]]) -> None:
    for file, (space, peer) in real.items():
        if peer is None or len(space) > 100:
            continue
        peer.seed(1)
        for config in peer.sample_configuration(20):
            assert set(space.configuration(dict(config))) == set(config), file
        for config in space.decode(space.sample(20, np.random.default_rng(1))):
            CS.Configuration(peer, values=dict(config))


def test_a_chain_of_conditions() -> None:
    """What keeps ConfigSpace from reading leading_ones-100: each link more than doubles its time."""
    seconds = {}
    for links in (6, 12):
        started = time.process_time()
        peer = pcs_new.read(io.StringIO(_chain(links)))
        seconds[links] = time.process_time() - started
        space = parse_pcs(_chain(links))
        assert {child: our_test(test) for child, test in space.conditions.items()} == {
            test.child.name: their_test(test) for test in peer.conditions
        }
    assert seconds[12] > 8 * seconds[6]
    started = time.process_time()
    assert len(parse_pcs(_chain(100)).conditions) == 99
    assert time.process_time() - started < seconds[12]


def _chain(links: int) -> str:
    lines = [f"x{i} categorical {{1,0}} [0]" for i in range(links)]
    return "\n".join([*lines, *(f"x{i} | x{i - 1} in {{1}}" for i in range(1, links))])


def test_numeric_forbidden_clauses_are_where_its_old_reader_fails() -> None:
    text = "heur {a,b,c}[a]\nsize [1,64][8]i\n{heur=c,size=64}\n"
    with pytest.raises(ValueError, match="size"):
        pcs.read(io.StringIO(text))
    assert parse_pcs(text).forbidden == (And((equals("heur", "c"), equals("size", 64))),)


def test_trailing_code_is_what_its_reader_swallows() -> None:
    text = "a categorical {x,y} [x]\nb categorical {u,v} [u]\nb | a in {x}; import os\n"
    assert len(pcs_new.read(io.StringIO(text)).conditions) == 1
    with pytest.raises(Exception, match=re.escape("unexpected text, found '; import os'")):
        parse_pcs(text)


# --- small spaces, both ways ---


def solver() -> Space:
    return Space(
        [
            Categorical("heur", ("a", "b", "c"), "a"),
            Integer("size", 1, 64, 8, log=True),
            Ordinal("depth", ("low", "mid", "high"), "mid"),
            Real("rate", 0.0, 1.0, 0.25),
            Real("decay", 1e-4, 1.0, 0.01, log=True),
            Categorical("flag", (True, False), True),
            Categorical("fixed", ("on",), "on"),
        ],
        {
            "size": is_in("heur", ["b", "c"]),
            "depth": And((Compare(">", Name("size"), Literal(8)), Compare("!=", Name("heur"), Literal("c")))),
            "decay": Or((equals("heur", "a"), Compare("<", Name("rate"), Literal(0.5)))),
        },
        [And((equals("heur", "c"), equals("flag", False))), equals("depth", "high"), is_in("size", [7, 9])],
    )


def test_a_space_goes_there_and_back() -> None:
    space = solver()
    peer = to_configspace(space)
    assert {name: our_parameter(space[name]) for name in space.names} == {name: their_parameter(peer[name]) for name in peer}
    again = from_configspace(peer)
    assert dict(again.parameters) == dict(space.parameters)
    assert {c: our_test(t) for c, t in again.conditions.items()} == {c: our_test(t) for c, t in space.conditions.items()}
    assert set(again.forbidden) == set(space.forbidden)


def test_each_reads_the_others_file(tmp_path: Path) -> None:
    space = solver()
    (tmp_path / "ours.json").write_text(write_json(space))
    peer = CS.ConfigurationSpace.from_json(tmp_path / "ours.json")
    peer.to_json(tmp_path / "theirs.json")
    again = read_space(tmp_path / "theirs.json")
    assert dict(again.parameters) == dict(space.parameters)
    assert again.default == space.default
    assert dict(peer.get_default_configuration()) == dict(space.default)


def test_samples_of_a_small_space_are_legal_on_both_sides() -> None:
    space = solver()
    peer = to_configspace(space)
    peer.seed(0)
    for config in peer.sample_configuration(200):
        space.configuration(dict(config))
    for config in space.decode(space.sample(200, np.random.default_rng(0))):
        CS.Configuration(peer, values=dict(config))


def test_what_is_illegal_here_is_illegal_there() -> None:
    space = solver()
    peer = to_configspace(space)
    good = dict(
        space.configuration(
            {"heur": "b", "size": 20, "depth": "low", "rate": 0.1, "decay": 0.1, "flag": True, "fixed": "on"}
        )
    )
    for change in ({"size": 65}, {"heur": "a"}, {"size": 7}, {"depth": "high"}, {"heur": "c", "flag": False}, {"rate": 0.9}):
        bad = {**good, **change}
        with pytest.raises(SpaceError):
            space.configuration(bad)
        with pytest.raises((ValueError, CS.exceptions.InactiveHyperparameterSetError, CS.exceptions.ForbiddenValueError)):
            CS.Configuration(peer, values=bad).check_valid_configuration()


@settings(max_examples=25, deadline=None)
@given(spaces(replace(JSON, text_only=True), most=4), st.integers(0, 2**31))
def test_random_spaces_go_there_and_back(space: Space, seed: int) -> None:
    # Where a parent can be inactive, or stands twice in one condition, ConfigSpace contradicts itself: it may even refuse
    # its own default configuration.
    parents = [list(names_in(test)) for test in space.conditions.values()]
    assume(not any(name in space.conditions for names in parents for name in names))
    assume(all(len(set(names)) == len(names) for names in parents))
    peer = to_configspace(space)
    again = from_configspace(peer)
    assert dict(again.parameters) == dict(space.parameters)
    assert set(again.conditions) == set(space.conditions)
    peer.seed(seed)
    for config in [peer.sample_configuration() for _ in range(5)]:
        space.configuration(dict(config))
    for config in space.decode(space.sample(5, np.random.default_rng(seed))):
        CS.Configuration(peer, values=dict(config)).check_valid_configuration()
