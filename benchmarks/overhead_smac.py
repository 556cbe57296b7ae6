"""SMAC3's own way from runs to challengers, for ``benchmarks.overhead``."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from capra.runs import Run
from capra.space import Space
from capra.space.files import to_configspace

CHALLENGERS = 8
"""Of one fit: SMAC3's ``retrain_after``."""


class Smac:
    """``AlgorithmConfigurationFacade`` with its defaults, told the same runs, a capped one as a success that cost its cap.

    (That is what its adaptive capping stores.) A cycle of its ``ConfigSelector``: all runs are encoded and a forest is fitted, the best
    prediction among all configurations is looked for, 5,000 random configurations and local searches from the 10 best and from the 10
    best previous ones are scored; half of the 8 challengers are drawn at random. Four principal components of the features are its
    default, but with that release 2.4.1 ends in an AssertionError (SMAC3 issue 1323), so it is given them ready made.
    """

    name = "SMAC3"
    leaves: int | None = 2**20

    def __init__(self, space: Space, runs: Sequence[Run], features: dict[str, list[float]]) -> None:
        from smac import AlgorithmConfigurationFacade, Scenario

        self._folder = tempfile.TemporaryDirectory()
        named = {"instances": list(features), "instance_features": _components(features)} if features else {}
        theirs = to_configspace(space)
        scenario = Scenario(theirs, output_directory=Path(self._folder.name), deterministic=True, n_trials=10**6, **named)
        model: Any = AlgorithmConfigurationFacade.get_model(scenario, pca_components=None)
        model._rf_opts["max_leaf_nodes"] = self.leaves
        facade = AlgorithmConfigurationFacade(
            scenario, _on_instance if features else _alone, model=model, logging_level=False
        )
        _tell(facade.runhistory, theirs, runs)
        self._selector: Any = facade._config_selector

    def cycle(self, seed: int) -> object:
        self._selector._previous_entries = -1  # fit, although no run has come
        challengers = iter(self._selector)
        return [next(challengers) for _ in range(CHALLENGERS + 1)]  # the first is the default, which does not need the model


class SmacMended(Smac):
    """Without the limit of 2**20 leaves, which never takes effect but makes scikit-learn slow."""

    name, leaves = "SMAC3, leaves mended", None


def _components(features: dict[str, list[float]], count: int = 4) -> dict[str, list[float]]:
    rows = np.array(list(features.values()))
    rows = (rows - rows.min(axis=0)) / np.ptp(rows, axis=0)
    left, sizes, _ = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    return dict(zip(features, (left * sizes)[:, :count].tolist(), strict=True))


def _alone(config: Any, seed: int = 0) -> float:
    raise NotImplementedError("nothing is run here")


def _on_instance(config: Any, instance: str, seed: int = 0) -> float:
    raise NotImplementedError("nothing is run here")


def _tell(runhistory: Any, theirs: Any, runs: Sequence[Run]) -> None:
    from ConfigSpace import Configuration

    known: dict[Any, Any] = {}
    for run in runs:
        config = run.request.config
        if config not in known:
            known[config] = Configuration(theirs, values=dict(config))
        runhistory.add(known[config], run.outcome.time, run.outcome.time, instance=run.request.instance, seed=0)
