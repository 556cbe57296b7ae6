"""``python smac2.py FOLDER SEED PORT``: SMAC3 2.4.1 on the problem described in FOLDER, in an environment of its own.

Adaptive capping as its documentation shows it: a run that reached its cutoff costs the cutoff and one second. Its
``runtime_cutoff`` would bound the sum of the incumbent's runs, so the target keeps κ_max itself.
"""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from client import Referee, Stop
from ConfigSpace import ConfigurationSpace
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler
from smac import AlgorithmConfigurationFacade, Scenario

COMPONENTS = 7
SHORTEST = 0.01
"""Cutoffs may be zero or less: the challenger has lost already."""


def reduced(features: dict[str, list[float]]) -> dict[str, list[float]]:
    """Principal components beforehand: with more features than its model keeps, 2.4.1 fails in predict_marginalized."""
    if not features:
        return {}
    scaled = StandardScaler().fit_transform(np.array(list(features.values())))
    rows = PCA(COMPONENTS, random_state=0).fit_transform(scaled)
    return dict(zip(features, rows.tolist(), strict=True))


def main() -> None:
    folder, seed, port = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    told = json.loads((folder / "problem.json").read_text())
    kappa = told["cutoff"]
    space = ConfigurationSpace.from_json(folder / "space.json")
    space.seed(seed)
    features = reduced(told["features"]) or {name: [float(i)] for i, name in enumerate(told["instances"])}
    scenario = Scenario(
        space,
        output_directory=folder / "smac",
        deterministic=told["deterministic"],
        n_trials=10**9,
        instances=told["instances"],
        instance_features=features,
        adaptive_capping=True,
        crash_cost=10 * kappa,
        seed=seed,
    )
    referee = Referee(port)

    def target(config: Any, instance: str, cutoff: float, seed: int = 0) -> float:
        incumbents = smac.intensifier.get_incumbents()
        if incumbents:
            referee.best(dict(incumbents[0]))
        bound = min(kappa, max(SHORTEST, cutoff))
        status, seconds = referee.run(dict(config), instance, seed, bound)
        if status == "SUCCESS":
            return seconds
        return bound + 1.0 if status == "CAPPED" else 10.0 * kappa

    model = AlgorithmConfigurationFacade.get_model(scenario, pca_components=COMPONENTS)
    smac = AlgorithmConfigurationFacade(scenario, target, model=model, overwrite=True)
    with contextlib.suppress(Stop):
        smac.optimize()
    referee.best(dict(smac.intensifier.get_incumbents()[0]))
    referee.bye()


if __name__ == "__main__":
    main()
