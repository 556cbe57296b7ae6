"""Suggestions of a model: new configurations near the good ones, whatever the model and however many runs there are."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from capra.models import CensoredGP
from capra.runs import History, Objective, Outcome, Run, RunRequest, Status
from capra.search.earlier import Cell
from capra.search.observations import Observations, distances
from capra.search.suggest import Pending, Suggester
from capra.search.surrogates import MODELS, chosen_model
from capra.space import Real, Space

SPACE = Space([Real("x", 0.0, 1.0, 0.5), Real("y", 0.0, 1.0, 0.5)])
KAPPA = 10.0


def history(n: int) -> History:
    """Runs of random configurations: fastest at x = 0.2, whatever y; a third of the slow ones are capped."""
    told = History(Objective(), KAPPA)
    rng = np.random.default_rng(0)
    for order, config in enumerate(SPACE.decode(SPACE.sample(n, rng)), start=1):
        time = 0.1 + 5.0 * (float(config["x"]) - 0.2) ** 2
        cutoff = KAPPA if rng.random() < 0.7 else 0.5
        status = Status.SUCCESS if time <= cutoff else Status.CAPPED
        told.add(Run(RunRequest(config, None, 0, cutoff), Outcome(status, min(time, cutoff), cutoff), "challenger 0", order))
    return told


def suggester(model: str, earlier: Sequence[Cell] = ()) -> Suggester:
    make, acquisition = chosen_model(model, None)
    observations = Observations(SPACE, [None], earlier=earlier)
    return Suggester(
        SPACE,
        observations,
        np.empty((len(observations.instances), 0)),
        lambda types, seed, _: make(types, seed, 2.0),
        acquisition=acquisition,
        candidates=300,
    )


@pytest.mark.parametrize("model", MODELS)
def test_suggestions_are_new_and_near_the_best(model: str) -> None:
    told = history(80)
    found = suggester(model).suggest(told, told.best(), np.random.default_rng(1), count=5)
    assert len(set(found)) == 5
    assert not set(found) & set(told.configurations)
    assert np.median([abs(float(config["x"]) - 0.2) for config in found]) < 0.25  # chance: 0.3


def qualities(worth: dict[str, float], crashing: float) -> History:
    """Costs in thousands, and negative: x = 0.2 is best on average, whatever a single instance prefers; x > 0.9 crashes."""
    told = History(Objective("quality", crash_cost=crashing), math.inf)
    rng = np.random.default_rng(0)
    for order, config in enumerate(SPACE.decode(SPACE.sample(60, rng)), start=1):
        x = float(config["x"])
        for instance, best in worth.items():
            quality = None if x > 0.9 else -1000.0 * (1.0 - abs(x - best)) - 2000.0
            status = Status.CRASHED if quality is None else Status.SUCCESS
            outcome = Outcome(status, 1.0, math.inf, quality=quality)
            told.add(Run(RunRequest(config, instance, 0, math.inf), outcome, "challenger 0", order))
    return told


@pytest.mark.parametrize(("model", "crashing"), [*((model, math.inf) for model in MODELS), ("forest", 1e9)])
def test_qualities_of_any_sign_and_size(model: str, crashing: float) -> None:
    """Three of four instances are best at 0.2; the fourth, far away, is not what counts."""
    worth = {"a": 0.2, "b": 0.2, "c": 0.2, "d": 0.7}
    told = qualities(worth, crashing)
    make, acquisition = chosen_model(model, None)
    learner = Suggester(
        SPACE,
        Observations(SPACE, list(worth), kind="quality"),
        np.array(list(worth.values()))[:, None],
        lambda types, seed, _: make(types, seed, None),
        acquisition=acquisition,
        candidates=300,
    )
    found = learner.suggest(told, told.best(), np.random.default_rng(1), count=5)
    assert np.median([abs(float(config["x"]) - 0.2) for config in found]) < 0.15  # chance: 0.3
    assert all(float(config["x"]) < 0.9 for config in found)


def test_qualities_become_costs_with_the_order_of_their_means() -> None:
    rng = np.random.default_rng(0)
    many = rng.normal(-50.0, 20.0, size=(200, 5))
    costs = 10.0 ** distances(many.ravel(), many.ravel()).reshape(many.shape)
    assert (np.argsort(costs.mean(axis=1)) == np.argsort(many.mean(axis=1))).all()
    assert costs.min() == pytest.approx(1.0)
    assert np.median(costs) == pytest.approx(2.0)
    y = distances(np.array([1.0, 2.0, 3.0, math.inf]), np.array([1.0, 2.0, 3.0, math.inf]))
    assert (np.diff(y) > 0).all()
    assert distances(np.array([4.0, math.inf]), np.array([4.0])).tolist() == [0.0, math.log10(2.0)]
    assert distances(np.array([math.inf]), np.array([math.inf])).tolist() == [0.0]
    assert distances(np.array([-1e9]), np.array([0.0, 1.0])).tolist() == [-1.0]


def test_our_own_run_takes_the_place_of_an_earlier_one() -> None:
    """Another machine's time must not stand for ours, and must not hide that it was not taken in yet."""
    config = SPACE.default
    seen = Observations(SPACE, ["i"], earlier=[(config, ("i", 0), 10.0, False)])
    told = History(Objective(), KAPPA)
    told.add(Run(RunRequest(config, "i", 0, KAPPA), Outcome(Status.SUCCESS, 1.0, KAPPA)))
    assert seen.unknown(config, told, besides=("i", 1)) == [(("i", 0), 0.0, False)]
    seen.update(told)
    assert seen.arrays()[2].tolist() == [0.0]
    assert seen.unknown(config, told, besides=("i", 1)) == []
    capped = History(Objective(), KAPPA)
    capped.add(Run(RunRequest(config, "i", 0, 5.0), Outcome(Status.CAPPED, 5.0, 5.0)))
    again = Observations(SPACE, ["i"], earlier=[(config, ("i", 0), 10.0, False)])
    again.update(capped)
    assert [part.tolist() for part in again.arrays()[2:]] == [[math.log10(5.0)], [True]]


@pytest.mark.parametrize("status", [Status.CRASHED, Status.WRONG, Status.MEMOUT, Status.LOST])
def test_runs_without_an_answer_teach_that_they_are_bad(status: Status) -> None:
    told = History(Objective(), KAPPA)
    told.add(Run(RunRequest(SPACE.default, None, 0, KAPPA), Outcome(status, 0.1, KAPPA)))
    seen = Observations(SPACE, [None])
    seen.update(told)
    _, _, y, censored = seen.arrays()
    worst = [] if status is Status.LOST else [math.log10(10.0 * KAPPA)]
    assert (y.tolist(), censored.tolist()) == (worst, [False] * len(worst))


def test_a_gaussian_process_is_shown_as_many_runs_as_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CensoredGP, "largest", 40)
    monkeypatch.setattr("capra.models.gp.LARGEST", 40)
    assert len(suggester("gp").suggest(history(80), None, np.random.default_rng(1), count=3)) == 3


def test_a_gaussian_process_is_shown_our_own_runs_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CensoredGP, "largest", 40)
    monkeypatch.setattr("capra.models.gp.LARGEST", 40)
    shown: list[np.ndarray] = []
    fit = CensoredGP.fit
    monkeypatch.setattr(CensoredGP, "fit", lambda self, X, *rest: shown.append(X) or fit(self, X, *rest))
    ours = History(Objective(), KAPPA)
    for run in history(80).runs[:10]:
        ours.add(run)
    earlier = [cell for cell in history(80).cells() if cell[0] not in set(ours.configurations)]
    suggester("gp", [(config, ("elsewhere", 0), cost, censored) for config, _, cost, censored in earlier]).learn(
        ours, np.random.default_rng(0)
    )
    seen = {tuple(row[:2]) for row in shown[0].tolist()}
    assert len(shown[0]) == 40
    assert {tuple(row) for row in SPACE.encode(list(ours.configurations)).tolist()} <= seen


def test_runs_of_an_earlier_tuning_teach_and_may_be_proposed() -> None:
    """Two runs of our own say next to nothing; 80 on an instance that is ten times as hard say where to look."""
    told = History(Objective(), KAPPA)
    tried = list(history(80).configurations)[:2]
    for order, config in enumerate(tried, start=1):
        time = 0.1 + 5.0 * (float(config["x"]) - 0.2) ** 2
        told.add(Run(RunRequest(config, None, 0, KAPPA), Outcome(Status.SUCCESS, time, KAPPA), "challenger 0", order))
    cells = [(config, ("elsewhere", 0), 10.0 * cost, censored) for config, _, cost, censored in history(80).cells()]

    def distance(earlier: Sequence[Cell]) -> float:
        lists = [suggester("forest", earlier).suggest(told, tried[0], np.random.default_rng(k), count=10) for k in range(5)]
        assert not {config for found in lists for config in found} & set(tried)
        return float(np.median([abs(float(config["x"]) - 0.2) for found in lists for config in found]))

    assert distance(cells) < 0.1 < distance([])
    pool = suggester("forest", cells)
    pool._pool = SPACE.encode(list(history(80).configurations))
    best = pool.suggest(told, tried[0], np.random.default_rng(0), count=3)
    assert set(best) <= set(history(80).configurations) - set(tried)
    assert np.mean([abs(float(config["x"]) - 0.2) for config in best]) < 0.1


@pytest.mark.parametrize(("model", "times"), [("forest", 25), ("gp", 5)])
def test_runs_under_way_send_the_next_workers_elsewhere(model: str, times: int) -> None:
    told, ours = history(60), suggester(model)
    first = ours.suggest(told, told.best(), np.random.default_rng(0), count=10)

    def crowding(pending: list[Pending]) -> float:
        """How far the next suggestions are from those under way, on average."""
        rounds = [ours.suggest(told, told.best(), np.random.default_rng(k), count=1, pending=pending) for k in range(times)]
        rows, busy = SPACE.encode([found[0] for found in rounds]), SPACE.encode(first)
        return float(np.mean(np.abs(rows[:, None] - busy).sum(axis=2).min(axis=1)))

    assert crowding([(config, None) for config in first]) > 1.2 * crowding([])
