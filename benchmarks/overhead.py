"""From runs to the next challengers, beside SMAC3: ``python -m benchmarks.overhead``.

One turn of model-based search: fit the forest to everything known, propose challengers. SPEAR's 26 parameters, random configurations,
times as a forest of recorded runs predicts them, two in five stopped before their end; one run per configuration, or five on 100
instances with 20 features. Each with its defaults (Capra: 10,000 random configurations, SMAC3: 5,000). Goal: at most a tenth of the time.

The peer is not needed by Capra: docs/studies/overhead.md makes an environment with both; where it is missing, Capra is measured alone.

CPU seconds, medians of interleaved ``--rounds``. Results: benchmarks/results/overhead.json; rounds that stand there are not made again.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.kept import Kept
from benchmarks.overhead_smac import Smac, SmacMended
from benchmarks.spear import CUTOFF, configurations, encoded, load
from capra.models import CensoredForest
from capra.models.instances import reduced_features
from capra.runs import Configuration, Objective, Outcome, Run, RunRequest, Status
from capra.runs.history import History
from capra.search.observations import Observations
from capra.search.suggest import Suggester
from capra.search.surrogates import chosen_model
from capra.space import Space

SIZES, LARGE = [1_000, 5_000], [20_000, 50_000]
INSTANCES, FEATURES, PER_CONFIGURATION = 100, 20, 5
CENSORED = 0.4
SHOWN = 20_000
"""Recorded runs that times are learnt from."""
NOISE = 0.1
"""Of log10 times around what the forest predicts."""


class Source:
    """Makes runs of random configurations."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        table = load().table
        self.space, _, features = configurations()
        types, codes, reduced = encoded()
        config, instance = rng.integers(len(codes), size=SHOWN), rng.integers(len(reduced), size=SHOWN)
        forest = CensoredForest(types=types, censoring="mean")
        X = np.hstack([codes[config], reduced[instance]])
        self._forest = forest.fit(X, np.log10(table.times[config, instance]), ~table.solved[config, instance])
        chosen = rng.choice(len(reduced), INSTANCES, replace=False)
        self._reduced = reduced[chosen]
        telling = np.flatnonzero(~np.isnan(features[chosen]).any(axis=0) & (np.ptp(features[chosen], axis=0) > 0))[:FEATURES]
        names = [f"instance-{j}" for j in range(INSTANCES)]
        self.features = dict(zip(names, features[np.ix_(chosen, telling)].tolist(), strict=True))

    def runs(self, n: int, with_instances: bool) -> list[Run]:
        rng = np.random.default_rng(1)
        per = PER_CONFIGURATION if with_instances else 1
        codes = self.space.sample(n // per, rng)
        configs = [config for config in self.space.decode(codes) for _ in range(per)]
        instance = (
            np.concatenate([rng.choice(INSTANCES, per, replace=False) for _ in codes])
            if with_instances
            else np.zeros(n, int)
        )
        y = self._forest.predict(np.hstack([np.repeat(codes, per, axis=0), self._reduced[instance]]))[0]
        times = np.minimum(10.0 ** (y + rng.normal(0.0, NOISE, n)), CUTOFF)
        cut = times == CUTOFF
        stopped = rng.random(n) < max(0.0, CENSORED - cut.mean()) / (1.0 - cut.mean())
        times = np.where(stopped & ~cut, times * rng.random(n), times)
        names = [f"instance-{j}" for j in instance] if with_instances else [None] * n
        return [_run(*one) for one in zip(configs, names, times.tolist(), (stopped | cut).tolist(), strict=True)]


def _run(config: Configuration, instance: str | None, seconds: float, censored: bool) -> Run:
    status = (Status.CAPPED if seconds < CUTOFF else Status.TIMEOUT) if censored else Status.SUCCESS
    cutoff = seconds if censored else CUTOFF
    return Run(RunRequest(config, instance, 0, cutoff), Outcome(status, seconds, cutoff))


class Capra:
    """What strategy ``smac`` does with its default forest, from runs that it has not looked at yet to 20 challengers."""

    name = "Capra"

    def __init__(self, space: Space, runs: Sequence[Run], features: dict[str, list[float]]) -> None:
        self._space, self._instances = space, list(features) or [None]
        self._features = reduced_features(np.array(list(features.values()))) if features else np.empty((1, 0))
        self._history = History(Objective("runtime", penalty=10.0), CUTOFF)
        for run in runs:
            self._history.add(run)
        done = [run for run in runs if run.outcome.status is Status.SUCCESS]
        self._incumbent = min(done, key=lambda run: run.outcome.time).request.config

    def cycle(self, seed: int) -> object:
        make, acquisition = chosen_model("forest", None)
        suggester = Suggester(
            self._space,
            Observations(self._space, self._instances),
            self._features,
            lambda types, fit, _: make(types, fit, float(np.log10(10.0 * CUTOFF))),
            acquisition=acquisition,
            candidates=10_000,
        )
        return suggester.suggest(self._history, self._incumbent, np.random.default_rng(seed), count=20)


def peers(n: int, with_instances: bool) -> list[Any]:
    """SMAC3 only up to some size, and mended only where the fit is a good part of its time."""
    if find_spec("smac") is None or n not in SIZES:
        return [Capra]
    return [Capra, Smac] if with_instances else [Capra, Smac, SmacMended]


def one_round(made: list[Any], seed: int) -> dict[str, float]:
    """CPU seconds of everybody's cycle."""
    seconds = {}
    for peer in made:
        began = time.process_time()
        peer.cycle(seed)
        seconds[peer.name] = float(f"{time.process_time() - began:.4g}")
    return seconds


def measure(kept: Kept, source: Source, n: int, with_instances: bool, rounds: int) -> None:
    features = source.features if with_instances else {}
    kinds = peers(n, with_instances)
    row = kept.row(runs=n, instances=len(features), alone=kinds == [Capra])
    missing = range(len(row["found"]), rounds)
    runs = source.runs(n, with_instances) if missing else []
    made = [kind(source.space, runs, features) for kind in kinds] if missing else []
    for seed in missing:
        row["found"].append(one_round(made, seed))
        row["median"] = {name: float(np.median([one[name] for one in row["found"]])) for name in row["found"][0]}
        row["ratio_to"] = {name: row["median"]["Capra"] / other for name, other in row["median"].items() if name != "Capra"}
        kept.write()
    print({key: row[key] for key in ("runs", "instances", "median", "ratio_to")}, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, nargs="+", default=[*SIZES, *LARGE])
    given = parser.parse_args()
    source, packages = Source(), ["smac", "ConfigSpace", "scikit-learn"] if find_spec("smac") else []
    kept = Kept("overhead", {}, "capra", "numpy", "scipy", *packages)
    one_round([kind(source.space, source.runs(100, False), {}) for kind in peers(SIZES[0], False)], 0)  # imports, caches
    for n in given.runs:
        for with_instances in (False, True):
            measure(kept, source, n, with_instances, given.rounds)


if __name__ == "__main__":
    main()
