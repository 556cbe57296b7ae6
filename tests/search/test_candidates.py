"""Candidates: legal, new, and better than chance."""

from __future__ import annotations

import numpy as np
import pytest

from capra import _kernels
from capra.search.candidates import best_candidates, local_search, mutants
from capra.space import Categorical, Compare, Integer, Literal, Name, Real, Space, is_in

SPACE = Space(
    [
        Real("x", 0.0, 1.0, 0.5),
        Real("y", 0.0, 1.0, 0.5),
        Integer("n", 1, 100, 10, log=True),
        Categorical("mode", ("a", "b", "c"), "a"),
    ],
    {"n": is_in("mode", ["a", "b"])},
    [Compare("==", Name("mode"), Literal("c"))],
)


def hill(rows: np.ndarray) -> np.ndarray:
    """Highest at x = 0.3, y = 0.8, mode b."""
    return -((rows[:, 0] - 0.3) ** 2) - (rows[:, 1] - 0.8) ** 2 + 0.1 * (rows[:, 3] == 1)


def test_the_best_candidates_are_near_the_top() -> None:
    rng = np.random.default_rng(0)
    rows = best_candidates(SPACE, hill, np.empty((0, 4)), rng, count=10, random=200)
    assert len(rows) == 10
    assert hill(rows[:1])[0] > 0.0999
    assert np.all(np.diff(hill(rows)) <= 0)
    assert not SPACE.forbidden_rows(rows).any()
    assert len(set(_kernels.hash_rows(rows))) == 10


def test_finer_steps_come_nearer() -> None:
    """In a hollow that is twice as long as it is wide, and not parallel to an axis."""
    space = Space([Real("x", 0.0, 1.0, 0.5), Real("y", 0.0, 1.0, 0.5)])

    def hollow(rows: np.ndarray) -> np.ndarray:
        x, y = rows[:, 0] - 0.3, rows[:, 1] - 0.8
        return np.asarray(-4.0 * (x - y) ** 2 - (x + y) ** 2)

    def distance(seed: int, refine: bool) -> float:
        rng = np.random.default_rng(seed)
        rows = best_candidates(space, hollow, np.empty((0, 2)), rng, count=1, random=200, refine=refine)
        return float(np.abs(rows[0] - [0.3, 0.8]).max())

    near, far = (np.median([distance(seed, refine) for seed in range(11)]) for refine in (True, False))
    assert near < 0.001
    assert near < far / 10


def test_what_was_seen_is_not_proposed_again() -> None:
    rng = np.random.default_rng(1)
    first = best_candidates(SPACE, hill, np.empty((0, 4)), rng, count=5, random=100)
    again = best_candidates(SPACE, hill, first, np.random.default_rng(1), count=20, random=100)
    assert not set(_kernels.hash_rows(first)) & set(_kernels.hash_rows(again))


def test_local_search_never_goes_down_and_stops_at_the_top_of_a_finite_space() -> None:
    space = Space([Categorical(name, tuple("abcdefgh"), "a") for name in "pqrs"])

    def score(rows: np.ndarray) -> np.ndarray:
        return rows @ np.array([1.0, 2.0, 3.0, 4.0])

    starts = space.sample(5, np.random.default_rng(2))
    rows, values = local_search(space, score, starts, np.random.default_rng(3))
    assert np.all(rows == 7)
    assert np.all(values == 70)


def test_a_space_with_nothing_left_gives_what_there_is() -> None:
    space = Space([Categorical("p", ("a", "b", "c"), "a")])
    rows = best_candidates(space, lambda rows: rows[:, 0], np.array([[2.0]]), np.random.default_rng(0), count=10, random=50)
    assert rows[:, 0].tolist() == [1.0, 0.0]


def test_mutants_are_legal_and_change_one_to_half_of_the_values() -> None:
    space = Space([Categorical(f"c{j}", tuple("abcdefgh"), "a") for j in range(20)] + [Real("x", 0.0, 1.0, 0.5)])
    parents = np.array([[0.0] * 20 + [0.5], [7.0] * 20 + [0.9]])
    rows = mutants(space, parents, 20_000, np.random.default_rng(4))
    first = (rows[:, :20] == 0.0).sum(axis=1) > 10
    changes = (rows != np.where(first[:, None], parents[0], parents[1])).sum(axis=1)
    assert first.mean() == np.clip(first.mean(), 0.64, 0.69)  # ranks 2 to 1
    assert changes.max() > 9
    assert np.quantile(changes, 0.5) == np.clip(np.quantile(changes, 0.5), 2, 4)  # √10.5, less the draws of the old value


def test_mutants_keep_to_conditions_and_clauses() -> None:
    parents = SPACE.sample(3, np.random.default_rng(5))
    rows = mutants(SPACE, parents, 500, np.random.default_rng(6))
    assert 0 < len(rows) <= 500
    assert not SPACE.forbidden_rows(rows).any()
    assert np.array_equal(SPACE.repaired(rows), rows, equal_nan=True)


def test_what_mutants_wake_gets_values_of_its_whole_range() -> None:
    """The default of what was inactive is one value among others: else every way into a branch ends in the same place."""
    space = Space(
        [Categorical("mode", ("off", "on"), "off"), Real("x", 0.0, 1.0, 0.5), Categorical("c", tuple("abcd"), "a")],
        {name: is_in("mode", ["on"]) for name in ("x", "c")},
    )
    rows = mutants(space, space.encode([space.default]), 4000, np.random.default_rng(8))
    woken = rows[rows[:, 0] == 1.0]
    assert len(woken) > 1000
    assert np.quantile(woken[:, 1], [0.1, 0.5, 0.9]) == pytest.approx([0.1, 0.5, 0.9], abs=0.05)
    assert np.bincount(woken[:, 2].astype(int)) / len(woken) == pytest.approx([0.25] * 4, abs=0.05)
    assert np.isnan(rows[rows[:, 0] == 0.0, 1:]).all()


def test_a_long_list_stays_near_the_best_that_is_known() -> None:
    """40 parameters, 25 of them right in what is known: the last of 200 candidates has more than any of 10,000 random ones."""
    space = Space([Categorical(f"c{j}", tuple("abcd"), "a") for j in range(40)])

    def matches(rows: np.ndarray) -> np.ndarray:
        return (rows == 1.0).sum(axis=1).astype(float)

    rng = np.random.default_rng(7)
    known = np.array([[1.0] * 25 + [0.0] * 15, [2.0] * 15 + [1.0] * 25])
    rows = best_candidates(space, matches, known, rng, count=200, random=1000)
    assert len(rows) == 200
    assert matches(rows).min() > matches(space.sample(10_000, rng)).max()
