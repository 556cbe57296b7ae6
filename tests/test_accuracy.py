"""The time-to-accuracy benchmark: its trainer, its learning curves, its table."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from benchmarks.accuracy import tuning
from benchmarks.accuracy.data import SOURCES, Data, load
from benchmarks.accuracy.record import CUTOFF, SPACE, SPEED, Curves, configurations, recorded, table
from benchmarks.accuracy.summary import averages, problem, scores
from benchmarks.accuracy.trainer import Descent, Perceptron, Recipe, train, work_of_step
from benchmarks.accuracy.tuning import BUDGET, by_chance, surrogate
from sklearn.neural_network import MLPClassifier

from capra.runs import RunRequest, Status


def small_batch(rng: np.random.Generator, dtype: type = np.float64) -> tuple[np.ndarray, np.ndarray]:
    return rng.standard_normal((7, 5)).astype(dtype), rng.integers(3, size=7)


@pytest.mark.parametrize("dropout", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("hidden", [[6], [6, 4, 5]])
def test_gradient_is_that_of_finite_differences(hidden: list[int], dropout: float) -> None:
    rng = np.random.default_rng(1)
    X, y = small_batch(rng)
    network = Perceptron([5, *hidden, 3], rng, np.float64)
    network.parameters += 0.1 * rng.standard_normal(len(network.parameters))  # biases as well
    masks = network.masks(len(X), dropout, rng)
    gradient = network.gradient(X, y, masks)[1].copy()
    expected = np.empty_like(gradient)
    for i in range(len(gradient)):
        at = network.parameters[i]
        losses = []
        for step in (1e-6, -1e-6):
            network.parameters[i] = at + step
            losses.append(network.gradient(X, y, masks)[0])
        network.parameters[i] = at
        expected[i] = (losses[0] - losses[1]) / 2e-6
    np.testing.assert_allclose(gradient, expected, atol=1e-8)
    assert np.abs(gradient).max() > 1e-2


def test_gradient_is_that_of_scikit_learn() -> None:
    """One step of plain descent from the same weights ends at the same weights."""
    rng = np.random.default_rng(2)
    X, y = small_batch(rng)
    y[:3] = [0, 1, 2]
    peer = MLPClassifier(
        [6, 4], solver="sgd", alpha=0.0, batch_size=len(X), learning_rate_init=0.1, momentum=0.0, shuffle=False
    )
    peer.partial_fit(X, y, classes=[0, 1, 2])
    network = Perceptron([5, 6, 4, 3], rng, np.float64)
    for ours, theirs in zip(network.weights + network.biases, peer.coefs_ + peer.intercepts_, strict=True):
        ours[:] = theirs
    descent = Descent(network, Recipe(learning_rate=0.1, momentum=0.0, weight_decay=0.0))
    descent.step(network.gradient(X, y)[1])
    peer.partial_fit(X, y)
    for ours, theirs in zip(network.weights + network.biases, peer.coefs_ + peer.intercepts_, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_momentum_and_decay_are_those_of_the_recurrence() -> None:
    rng = np.random.default_rng(3)
    network = Perceptron([5, 4, 3], rng, np.float64)
    descent = Descent(network, Recipe(learning_rate=0.1, momentum=0.9, weight_decay=0.01))
    w, v = network.parameters.copy(), np.zeros_like(network.parameters)
    for _ in range(4):
        gradient = rng.standard_normal(len(w))
        v = 0.9 * v + gradient + 0.01 * w
        w = w - 0.1 * v
        descent.step(gradient)
    np.testing.assert_allclose(network.parameters, w, rtol=1e-12)


def test_dropout_keeps_the_expectation() -> None:
    rng = np.random.default_rng(4)
    network = Perceptron([5, 200, 3], rng)
    masks = network.masks(500, 0.75, rng)
    assert masks is not None
    assert set(np.unique(masks[0])) == {0.0, 4.0}
    assert abs(masks[0].mean() - 1.0) < 4.0 * math.sqrt(0.75 / 0.25 / masks[0].size)


def separable(rows: int = 120) -> Data:
    rng = np.random.default_rng(5)
    X = rng.standard_normal((rows, 4)).astype(np.float32)
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    return Data(X[:80], y[:80], X[80:], y[80:])


def test_training_learns_counts_its_work_and_repeats_itself() -> None:
    data, recipe = separable(), Recipe(batch_size=32, learning_rate=0.1, momentum=0.9, dropout=0.1)
    curve = list(train(recipe, data, 0, 1e9))
    assert curve[-1].accuracy > 0.9
    sizes = [4, 128, 128, 2]
    epoch = 2 * work_of_step(sizes, 32) + work_of_step(sizes, 16) + 40 * (4 * 128 + 128 * 128 + 128 * 2) + 3e6
    np.testing.assert_allclose([point.work for point in curve], epoch * np.arange(1, len(curve) + 1))
    assert curve[-1].work <= 1e9 < curve[-1].work + epoch
    assert list(train(recipe, data, 0, 1e9)) == curve
    assert list(train(recipe, data, 1, 1e9)) != curve


def test_a_diverging_training_ends_early_without_a_warning() -> None:
    recipe = Recipe(batch_size=16, learning_rate=0.1, momentum=0.99, dropout=0.0, weight_decay=0.1, layers=5)
    data = separable()
    wild = Data(data.X * 1e4, data.y, data.X_valid, data.y_valid)
    assert len(list(train(recipe, wild, 0, 1e9))) < 2


@pytest.mark.parametrize("name", SOURCES)
def test_data_are_standardised_and_whole(name: str) -> None:
    data = load(name)
    np.testing.assert_allclose(data.X.mean(axis=0), 0.0, atol=1e-4)
    assert set(np.unique(data.y)) == set(np.unique(data.y_valid)) == set(range(data.classes))
    shared = {row.tobytes() for row in data.X} & {row.tobytes() for row in data.X_valid}
    assert len(shared) <= (name == "iris")  # one of its flowers was measured twice


# --- curves and their table ---


def curves() -> Curves:
    empty = Curves.empty(10)
    return empty.with_curve(20.0, [1, 5, 4, 9]).with_curve(30.0, [6, 2]).with_curve(100.0, []).with_curve(5.0, [3, 7])


def test_curves_never_fall() -> None:
    seconds, accuracy = curves().curve(0)
    assert seconds.tolist() == [20.0, 40.0, 60.0, 80.0]
    assert accuracy.tolist() == [0.1, 0.5, 0.5, 0.9]
    assert curves().best().tolist() == [0.9, 0.6, 0.0, 0.7]


def test_times_are_those_of_the_first_epoch_that_is_good_enough() -> None:
    times, reached = curves().times(0.7)
    assert times.tolist() == [80.0, 100.0, 100.0, 10.0]
    assert reached.tolist() == [True, False, False, True]


def test_the_target_is_reached_by_a_random_configuration() -> None:
    assert curves().target() == 0.6  # the lower one of the two around the quantile of 0, 0.6 and 0.7; not the default's 0.9


def test_curves_come_back_from_their_file(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "curves.npz"
    curves().save(path)
    again = Curves.read(path)
    for part in ("epoch", "length", "right", "rows"):
        np.testing.assert_array_equal(getattr(again, part), getattr(curves(), part))
    assert [file.name for file in path.parent.iterdir()] == ["curves.npz"]


def test_fewer_configurations_are_the_first_of_more() -> None:
    assert configurations(5)[:4] == configurations(3)
    assert configurations(3)[0] == SPACE.default
    assert len(set(configurations(50))) == 51


@pytest.mark.parametrize("name", SOURCES)
def test_recorded_curves_are_those_of_the_trainer(name: str) -> None:
    """The default's first epochs again: the same seconds, and nearly the same answers (other machines round in another way)."""
    known = recorded(name)
    seconds, accuracy = known.curve(0)
    points = list(train(Recipe(**SPACE.default), load(name), 0, SPEED * seconds[2]))
    np.testing.assert_allclose([point.work / SPEED for point in points], seconds[:3])
    np.testing.assert_allclose(np.maximum.accumulate([point.accuracy for point in points]), accuracy[:3], atol=0.05)


@pytest.mark.parametrize("name", SOURCES)
def test_the_recorded_table_answers_as_a_run_would(name: str) -> None:
    curves, known = recorded(name), table([name])
    best = int(known.times[:, 0].argmin())
    seconds, accuracy = curves.curve(best)
    needed = float(seconds[accuracy >= curves.target()][0])
    assert known.run(RunRequest(known.configs[best], name, 0, CUTOFF)).time == pytest.approx(needed)
    assert known.run(RunRequest(known.configs[best], name, 0, 0.9 * needed)).status is Status.CAPPED
    assert 0.95 * len(curves) > (~known.solved).sum() > 0.8 * len(curves)  # the target is a quantile of few ties


# --- searching and judging ---


def test_random_search_stops_runs_at_the_best_and_keeps_the_budget() -> None:
    asked: list[float] = []

    def call(config: dict, cutoff: float) -> float | None:
        cost = 10.0 + 80.0 * config["dropout"]
        asked.append(min(cost, cutoff))
        return cost if cost <= cutoff else None

    found, runs = by_chance(call, 3)
    assert runs == len(asked)
    assert sum(asked) == pytest.approx(BUDGET)
    assert all(later <= earlier for earlier, later in zip(np.minimum.accumulate(asked)[:-1], asked[1:-1], strict=False))
    assert 10.0 + 80.0 * found["dropout"] == min(asked[:-1])


def test_scores_and_ranks() -> None:
    costs = {"a": np.array([1.0, 2.0, 3.0]), "b": np.array([5.0, 5.0, 4.0])}
    assert scores(costs)["a"].tolist() == [100.0, 75.0, 50.0]
    assert scores(costs)["b"].tolist() == [0.0, 0.0, 25.0]
    row = problem(costs, default=7.0)
    assert row["methods"]["a"] == {"quartiles": [1.5, 2.0, 2.5], "p_against_best": 1.0, "median_score": 75.0}
    assert row["methods"]["b"]["p_against_best"] == pytest.approx(2 / 2**3, abs=0.01)
    assert averages({"one": row}, ("a", "b")) == {"a": {"rank": 1.0, "score": 75.0}, "b": {"rank": 2.0, "score": 0.0}}


def test_the_surrogate_keeps_the_cutoff() -> None:
    call, judge = surrogate("digits")
    known = table(["digits"])
    best = dict(known.configs[int(known.times[:, 0].argmin())])
    cost = judge(best)
    assert cost < CUTOFF
    assert call(best, CUTOFF) == pytest.approx(cost)
    assert call(best, 0.9 * cost) is None


def test_finished_searches_are_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[str, str, str, int]] = []
    monkeypatch.setattr(tuning, "RUNS", tmp_path / "runs.jsonl")
    monkeypatch.setattr(tuning, "one", lambda *key: made.append(key) or (1.5, 7))
    tuning.run(["pool"], ["digits"], ["random", "forest"], seeds=1)
    tuning.run(["pool"], ["digits"], ["random", "forest"], seeds=2)
    assert made == [("pool", "digits", m, s) for s in (0, 1) for m in ("random", "forest")]
    assert [(row["cost"], row["runs"]) for row in tuning.finished()] == [(1.5, 7)] * 4
