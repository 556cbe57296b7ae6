"""Suggestions of a model: new configurations near the good ones, whatever the model and however many runs there are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from capra.models import CensoredGP
from capra.runs import History, Objective, Outcome, Run, RunRequest, Status
from capra.search.earlier import Cell
from capra.search.observations import Observations
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
        lambda types, seed: make(types, seed, 2.0),
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


def test_a_gaussian_process_is_shown_as_many_runs_as_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CensoredGP, "largest", 40)
    monkeypatch.setattr("capra.models.gp.LARGEST", 40)
    assert len(suggester("gp").suggest(history(80), None, np.random.default_rng(1), count=3)) == 3


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
