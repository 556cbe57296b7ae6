"""A model of recorded runs as a target: it answers for any configuration of the space, on the virtual clock.

Whole-space search can then be studied on data that were measured once (Eggensperger et al. 2018, surrogate benchmarks). A
forest is fitted to log10 time over configurations × instances; runs that were cut are censored, not taken for values.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from capra import _kernels
from capra.errors import InputError
from capra.runs import Configuration, History, Outcome, RunRequest, Status, Value
from capra.scenario import Scenario
from capra.space import Space
from capra.space.json import parse_json, write_json

if TYPE_CHECKING:
    from capra.targets.table import Table

__all__ = ["SurrogateTarget"]

Floats = NDArray[np.float64]
TREES = 10
MOST = 50_000
"""Runs that the forest is fitted to."""
SHORTEST = 0.001
"""Recorded times have a resolution; logarithms need a floor."""
_BROKEN = (OSError, ValueError, KeyError, EOFError, IndexError, NotImplementedError, zipfile.BadZipFile, zlib.error)
"""What reading a file that is no ``.npz`` may raise."""
FORMAT = "capra surrogate 1"


@dataclass(frozen=True)
class Recorded:
    """Runs as arrays: a configuration's codes and an instance's number, log10 time, and whether it was cut."""

    codes: Floats
    instance: NDArray[np.intp]
    y: Floats
    censored: NDArray[np.bool_]

    def some(self, most: int) -> Recorded:
        """A random ``most`` of them, if there are more: the forest's time grows with the runs, its accuracy hardly."""
        if len(self.y) <= most:
            return self
        chosen = np.random.default_rng(0).choice(len(self.y), most, replace=False)
        return Recorded(self.codes[chosen], self.instance[chosen], self.y[chosen], self.censored[chosen])


class SurrogateTarget:
    """Answers requests by a forest fitted to ``recorded`` runs.

    ``instances`` are the names that ``recorded.instance`` counts, ``features`` (m, f) what is known of them. A seed stands
    for a quantile of what the trees predict, the same for all configurations; a deterministic surrogate always gives the
    median. Times above ``cutoff`` are timeouts.
    """

    def __init__(
        self,
        space: Space,
        instances: Sequence[str],
        recorded: Recorded,
        cutoff: float,
        *,
        features: Floats | None = None,
        deterministic: bool = False,
    ) -> None:
        if not len(recorded.y):
            raise InputError("there is no recorded run to learn from")
        self.space = space
        self.instances = tuple(instances)
        self.recorded = recorded
        self.cutoff = float(cutoff)
        self.features = np.empty((len(instances), 0)) if features is None else np.asarray(features, dtype=np.float64)
        self.deterministic = deterministic
        self._column = {name: j for j, name in enumerate(self.instances)}
        self._fit()

    def _fit(self) -> None:
        from capra.models import CensoredForest  # scipy takes its time to load
        from capra.models.instances import hardness, reduced_features

        runs = self.recorded
        _, config = np.unique(_kernels.hash_rows(runs.codes), return_inverse=True)
        hard = hardness(config, runs.instance, runs.y, len(self.instances))
        self._rows = np.column_stack([reduced_features(self.features), hard])
        runs = runs.some(MOST)
        X = np.hstack([runs.codes, self._rows[runs.instance]])
        types = np.concatenate([self.space.types, np.zeros(self._rows.shape[1], dtype=np.int64)])
        upper = float(np.log10(10.0 * self.cutoff))
        forest = CensoredForest(TREES, "mean", types, upper, min_leaf=1, min_split=2)
        self._forest = forest.fit(X, runs.y, runs.censored)

    # --- where the runs come from ---

    @classmethod
    def of_table(cls, table: Table, space: Space, configs: Sequence[Mapping[str, Value]], **options: Any) -> SurrogateTarget:
        """A table's runs, its rows being these configurations of a space."""
        codes = space.encode([space.configuration(config) for config in configs])
        c, m = table.times.shape
        recorded = Recorded(
            np.repeat(codes, m, axis=0),
            np.tile(np.arange(m), c),
            np.log10(table.times).reshape(-1),
            ~table.solved.reshape(-1),
        )
        return cls(space, table.instances, recorded, table.cutoff, deterministic=True, **options)

    @classmethod
    def of_history(cls, scenario: Scenario, history: History) -> SurrogateTarget:
        """All runs of a tuning; crashed ones count as timeouts."""
        names = [instance.name for instance in (*scenario.instances, *scenario.test_instances)] or [""]
        number = {name: j for j, name in enumerate(names)}
        runs = [run for run in history if run.outcome.status is not Status.LOST and (run.request.instance or "") in number]
        solved = np.array([run.outcome.status is Status.SUCCESS for run in runs], dtype=np.bool_)
        capped = np.array([run.outcome.status is Status.CAPPED for run in runs], dtype=np.bool_)
        times = np.array([run.outcome.time for run in runs], dtype=np.float64)
        times = np.maximum(np.where(solved | capped, times, scenario.cutoff), SHORTEST)
        recorded = Recorded(
            scenario.space.encode([run.request.config for run in runs]),
            np.array([number[run.request.instance or ""] for run in runs], dtype=np.intp),
            np.log10(times),
            ~solved,
        )
        rows = scenario.features.rows
        features = np.array([rows[name] for name in names]) if names[0] in rows else None
        return cls(scenario.space, names, recorded, scenario.cutoff, features=features, deterministic=scenario.deterministic)

    # --- a file of arrays: no code in it, and loading fits the same forest again ---

    def save(self, path: str | Path) -> None:
        """Write everything that the surrogate was made of, as an ``.npz`` file."""
        about = {
            "format": FORMAT,
            "space": write_json(self.space),
            "instances": self.instances,
            "cutoff": self.cutoff,
            "deterministic": self.deterministic,
        }
        runs = self.recorded
        with Path(path).open("wb") as file:
            np.savez_compressed(
                file,
                about=np.array(json.dumps(about)),
                features=self.features,
                codes=runs.codes,
                instance=runs.instance,
                y=runs.y,
                censored=runs.censored,
            )

    @classmethod
    def load(cls, path: str | Path) -> SurrogateTarget:
        """The surrogate of a file made by ``save``."""
        try:
            with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as data:
                about = json.loads(str(data["about"]))
                recorded = Recorded(data["codes"], data["instance"], data["y"], data["censored"])
                features = data["features"]
            if about["format"] != FORMAT:
                raise KeyError("format")
        except _BROKEN as error:
            raise InputError(
                f"{path} is not a surrogate: {error}", hint="make one: capra export RUN FILE --surrogate"
            ) from None
        return cls(
            parse_json(about["space"], path),
            about["instances"],
            recorded,
            about["cutoff"],
            features=features,
            deterministic=about["deterministic"],
        )

    # --- answering ---

    def run(self, request: RunRequest) -> Outcome:
        """What a run with that cutoff would show, in the model's opinion."""
        name = request.instance or ""
        if name not in self._column:
            raise InputError(f"the surrogate knows no instance {name!r}")
        row = np.hstack([self.space.encode([request.config])[0], self._rows[self._column[name]]])
        level = 0.5 if self.deterministic else float(np.random.default_rng(request.seed).random())
        time = max(10.0 ** float(np.quantile(self._forest.predict_trees(row[None]), level)), SHORTEST)
        bound = min(request.cutoff, self.cutoff)
        if time <= bound:
            return Outcome(Status.SUCCESS, time, request.cutoff, backend="surrogate")
        status = Status.CAPPED if bound < self.cutoff else Status.TIMEOUT
        return Outcome(status, bound, bound, reason="stopped by its cutoff", backend="surrogate")

    def costs(self, config: Mapping[str, Value], instances: Sequence[str], penalty: float = 10.0) -> Floats:
        """PARk of a configuration on instances, at the median of the trees, (m,): for judging what a tuning found."""
        codes = self.space.encode([self.space.configuration(config)])
        rows = self._rows[[self._column[name] for name in instances]]
        X = np.hstack([np.repeat(codes, len(rows), axis=0), rows])
        times = np.maximum(10.0 ** np.median(self._forest.predict_trees(X), axis=0), SHORTEST)
        return np.where(times <= self.cutoff, times, penalty * self.cutoff)

    def scenario(self, train: Sequence[str] | None = None, test: Sequence[str] = (), **options: Any) -> Scenario:
        """A scenario over the whole space, ``train`` (all) and ``test`` being instances that were recorded."""
        given: dict[str, Any] = {
            "target": self,
            "space": self.space,
            "cutoff": self.cutoff,
            "deterministic": self.deterministic,
        }
        if self.instances != ("",):
            given["instances"] = list(self.instances if train is None else train)
        if test:
            given["test_instances"] = list(test)
        return Scenario(**(given | options))

    def __call__(self, config: Mapping[str, Value], instance: str, seed: int, cutoff: float) -> dict[str, Any]:
        """As a Python target: ``f(config, instance, seed, cutoff)``."""
        outcome = self.run(RunRequest(Configuration(config), instance, seed, cutoff))
        return {"status": "SUCCESS" if outcome.status is Status.SUCCESS else "TIMEOUT", "time": outcome.time}
