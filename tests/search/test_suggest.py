"""Suggestions of a model: new configurations near the good ones, whatever the model and however many runs there are."""

from __future__ import annotations

import numpy as np
import pytest

from capra.models import CensoredGP
from capra.runs import History, Objective, Outcome, Run, RunRequest, Status
from capra.search.observations import Observations
from capra.search.suggest import Suggester
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


def suggester(model: str) -> Suggester:
    make, acquisition = chosen_model(model, None)
    return Suggester(
        SPACE,
        Observations(SPACE, [None]),
        np.empty((1, 0)),
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
