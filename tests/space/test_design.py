"""Initial designs: distinct, legal, spread."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capra.errors import InputError
from capra.space import Categorical, Compare, Integer, Name, Real, Space, equals
from capra.space.design import DESIGNS, distinct, initial_design
from tests.space import oracle
from tests.space.strategies import some, spaces


@pytest.mark.parametrize("kind", DESIGNS)
@some
@given(spaces(), st.integers(0, 20), st.integers(0, 2**32 - 1))
def test_designs_are_distinct_and_legal(kind: str, space: Space, n: int, seed: int) -> None:
    rows = initial_design(space, kind, n, np.random.default_rng(seed))
    configs = space.decode(rows)
    assert len(rows) <= n
    assert len(set(configs)) == len(configs)
    assert all(oracle.legal(space, config) for config in configs)


@pytest.mark.parametrize("kind", DESIGNS)
def test_large_spaces_give_all_that_is_asked_for(kind: str) -> None:
    numbers = [Real("a", 0.0, 1.0, 1.0), Real("b", 0.0, 1.0, 0.0)]
    space = Space(numbers, {}, [Compare("<", Name("a"), Name("b"))])
    rows = initial_design(space, kind, 33, np.random.default_rng(0))
    assert rows.shape == (33, 2)
    assert (rows[:, 0] >= rows[:, 1]).all()


@pytest.mark.parametrize("kind", DESIGNS)
def test_tiny_spaces_give_fewer(kind: str) -> None:
    space = Space(
        [Categorical("on", ("no", "yes"), "no"), Integer("n", 1, 3, 1)], {"n": equals("on", "yes")}, [equals("n", 2)]
    )
    rows = initial_design(space, kind, 50, np.random.default_rng(0))
    assert {tuple(config.items()) for config in space.decode(rows)} == {
        (("on", "no"),),
        (("on", "yes"), ("n", 1)),
        (("on", "yes"), ("n", 3)),
    }


def test_a_latin_hypercube_has_one_point_per_slice() -> None:
    space = Space([Real(f"x{j}", 0.0, 1.0, 0.0) for j in range(5)])
    n = 64
    rows = initial_design(space, "lhd", n, np.random.default_rng(0))
    for column in rows.T:
        assert sorted(np.floor(column * n).astype(int)) == list(range(n))


def test_sobol_is_more_even_than_random() -> None:
    space = Space([Real(f"x{j}", 0.0, 1.0, 0.0) for j in range(2)])
    rows = initial_design(space, "sobol", 64, np.random.default_rng(0))
    counts = np.histogram2d(rows[:, 0], rows[:, 1], bins=8, range=[[0, 1], [0, 1]])[0]
    assert (counts == 1).all()  # a (0, 6, 2)-net


def test_the_seed_decides() -> None:
    space = Space([Real("x", 0.0, 1.0, 0.0)])
    for kind in DESIGNS:
        a, b, c = (initial_design(space, kind, 5, np.random.default_rng(seed)) for seed in (1, 1, 2))
        assert np.array_equal(a, b)
        assert not np.array_equal(a, c)


def test_unknown_designs_have_a_hint() -> None:
    space = Space([Real("x", 0.0, 1.0, 0.0)])
    with pytest.raises(InputError) as caught:
        initial_design(space, "sobel", 5, np.random.default_rng(0))
    assert caught.value.hint == "did you mean 'sobol'?"
    with pytest.raises(InputError) as caught:
        initial_design(space, "grid", 5, np.random.default_rng(0))
    assert caught.value.hint == "lhd, sobol, random"


def test_distinct_keeps_the_first() -> None:
    rows = np.array([[1.0, np.nan], [0.0, 1.0], [1.0, np.nan], [-0.0, 1.0], [2.0, 2.0]])
    assert distinct(rows).tolist() == [0, 1, 4]
