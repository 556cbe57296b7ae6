"""Candidates: legal, new, and better than chance."""

from __future__ import annotations

import numpy as np

from capra import _kernels
from capra.search.candidates import best_candidates, local_search
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
