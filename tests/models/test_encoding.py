"""What a network sees of a row."""

from __future__ import annotations

import numpy as np

from capra.models.encoding import Encoder

NAN = float("nan")


def encoded(rows: list[list[float]], types: list[int], new: list[list[float]] | None = None) -> np.ndarray:
    encoder = Encoder.learnt(np.array(rows), np.array(types))
    found = encoder.encode(np.array(rows if new is None else new))
    assert found.shape[1] == encoder.width
    return found


def test_parameters_stay_as_they_are() -> None:
    np.testing.assert_array_equal(encoded([[0.25], [0.75]], [0]), np.float32([[0.25], [0.75]]))


def test_features_are_standardised() -> None:
    found = encoded([[10.0, 7.0], [30.0, 7.0]], [0, 0])
    np.testing.assert_allclose(found, [[-1.0, 0.0], [1.0, 0.0]])


def test_categories_are_one_hot_and_inactive_is_none_of_them() -> None:
    np.testing.assert_array_equal(encoded([[2.0], [0.0], [NAN]], [3]), [[0, 0, 1], [1, 0, 0], [0, 0, 0]])


def test_an_inactive_number_is_the_median_and_says_so() -> None:
    found = encoded([[0.25], [0.5], [1.0], [NAN]], [0])
    np.testing.assert_array_equal(found, np.float32([[0.25, 0], [0.5, 0], [1.0, 0], [0.5, 1]]))


def test_a_column_without_any_value() -> None:
    np.testing.assert_array_equal(encoded([[NAN], [NAN]], [0], [[NAN], [0.3]]), np.float32([[0, 1], [0.3, 0]]))


def test_inactive_where_it_never_was_is_the_median() -> None:
    np.testing.assert_array_equal(encoded([[0.2], [0.4], [0.9]], [0], [[NAN]]), np.float32([[0.4]]))


def test_parts_of_rows_are_encoded_as_in_the_whole() -> None:
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.random(9), rng.integers(3, size=9), 100.0 * rng.random(9), rng.random(9)])
    rows[2, 0] = rows[3, 1] = NAN
    encoder = Encoder.learnt(rows, np.array([0, 3, 0, 0]))
    parts = [encoder.encode(rows[:, :2]), encoder.encode(rows[:, 2:], 2)]
    np.testing.assert_array_equal(np.concatenate(parts, axis=1), encoder.encode(rows))
