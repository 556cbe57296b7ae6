"""What is known of every cell (configuration, instance, seed): it answers requests free of charge."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from capra.models.base import Floats
from capra.portfolio.records import Records
from capra.runs import Configuration, Outcome, Run, RunRequest, Status
from capra.runs.history import Pair

__all__ = ["Cells"]


class Cells:
    """The longest run of every cell, as an outcome; a complete run ends the matter."""

    def __init__(self, kappa_max: float) -> None:
        self.kappa_max = kappa_max
        self._known: dict[Configuration, dict[Pair, Outcome]] = {}
        self._names: dict[str, Configuration] = {}

    def add(self, run: Run) -> None:
        """Take note of a run; LOST ones say nothing."""
        if run.outcome.status is Status.LOST:
            return
        config = run.request.config
        known = self._known.setdefault(config, {})
        self._names.setdefault(config.id, config)
        pair = (run.request.instance, run.request.seed)
        before = known.get(pair)
        if before is None or (before.status is Status.CAPPED and _tells_more(run.outcome, before)):
            known[pair] = run.outcome

    def get(self, config: Configuration, pair: Pair) -> Outcome | None:
        """The outcome of the cell's longest run, if there was any."""
        return self._known.get(config, {}).get(pair)

    def answer(self, request: RunRequest) -> Outcome | None:
        """What the request would come to, if that is known: a run to at least the same cutoff, or one that ended before."""
        known = self.get(request.config, (request.instance, request.seed))
        if known is None:
            return None
        if known.status is not Status.CAPPED and known.time <= request.cutoff:
            return known if known.censored else dataclasses.replace(known, cutoff=request.cutoff)
        if known.time < request.cutoff:
            return None
        status = Status.CAPPED if request.cutoff < self.kappa_max else Status.TIMEOUT
        return Outcome(status, request.cutoff, request.cutoff, reason="known to take longer")

    def pairs(self, config: Configuration) -> dict[Pair, Outcome]:
        """All that is known of a configuration."""
        return self._known.get(config, {})

    def named(self, name: str) -> Configuration:
        """The configuration with that id, which was run."""
        return self._names[name]

    @property
    def configurations(self) -> list[Configuration]:
        """Every configuration that was run, in order of appearance."""
        return list(self._known)

    def best_time(self, configs: Sequence[Configuration], pair: Pair) -> float:
        """The shortest time in which one of the configurations is known to solve the pair; infinite if none is."""
        found = [self.get(config, pair) for config in configs]
        return min((o.time for o in found if o is not None and o.status is Status.SUCCESS), default=math.inf)

    def records(self, configs: Sequence[Configuration], pairs: Sequence[Pair], features: Floats) -> Records:
        """Runs of the configurations on the pairs, (n, k), for selectors; what was never run is capped at 0."""
        shape = len(pairs), len(configs)
        times, cutoffs, solved = np.zeros(shape), np.zeros(shape), np.zeros(shape, dtype=np.bool_)
        for i, pair in enumerate(pairs):
            for j, config in enumerate(configs):
                if (known := self.get(config, pair)) is not None:
                    times[i, j], solved[i, j] = known.time, known.status is Status.SUCCESS
                    cutoffs[i, j] = known.cutoff if known.status is Status.CAPPED else self.kappa_max
        return Records.of(features, times, solved, self.kappa_max, cutoffs=cutoffs)


def _tells_more(new: Outcome, old: Outcome) -> bool:
    return new.status is not Status.CAPPED or new.time > old.time
