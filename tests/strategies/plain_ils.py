"""FocusedILS as Hutter et al. 2009 print it, one run after another: an oracle for the strategy that waits for its runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from capra.runs import Configuration, Outcome, RunRequest, Status
from capra.search.domain import Domain
from capra.strategies.pairs import PairOrder

Made = tuple[str, str | None, int, float]


class Enough(Exception):
    """So many runs were to be made."""


class PlainILS:
    """One chain with aggressive capping. ``R`` holds the costs of each configuration's first runs, ``cut`` what was too short."""

    def __init__(
        self, domain: Domain, pairs: PairOrder, target: Callable[[RunRequest], Outcome], rngs: Iterator[np.random.Generator]
    ) -> None:
        self.domain, self.pairs, self.target, self.rngs = domain, pairs, target, rngs
        self.R: dict[Configuration, list[float]] = {}
        self.cut: dict[tuple[Configuration, int], float] = {}
        self.made: list[Made] = []
        self.B = 0
        self.inc: Configuration | None = None
        self.kappa_max, self.penalty, self.bm, self.most, self.enough = 100.0, 10.0, 2.0, 2000, 0

    # --- Algorithm 1 ---

    def search(self, default: Configuration, r: int = 10, s: int = 3, p_restart: float = 0.01) -> None:
        start = default
        for config in [self.random() for _ in range(r)]:
            if config != start and self.better(config, start):
                start = config
        ils = self.improve(start)
        while True:
            before, config = len(self.made), ils
            for _ in range(s):
                config = self.neighbours(config)[0]
            config = self.improve(config)
            if config != ils and self.better(config, ils):
                ils = config
            if self.inc not in (None, ils):
                self.better(ils, self.inc)  # type: ignore[arg-type]
            if len(self.made) == before or next(self.rngs).random() < p_restart:
                ils = self.random()

    def improve(self, config: Configuration) -> Configuration:
        seen, moved = {config}, True
        while moved:
            moved = False
            for near in self.neighbours(config):
                if near not in seen and self.better(near, config):
                    config, moved = near, True
                    seen.add(near)
                    break
        return config

    # --- better_Foc ---

    def better(self, one: Configuration, two: Configuration) -> bool:
        runs, earned = len(self.made), 1
        low, high = (one, two) if self.N(one) <= self.N(two) else (two, one)
        earned += self.N(one) == self.N(two)
        while True:
            n = min(self.N(low) + 1, self.most)
            self.objective(high, n, math.inf)
            self.objective(low, n, sum(self.R[high][:n]) if self.N(high) >= n else math.inf)
            is_cut = self.N(low) < n or self.N(high) < n
            if is_cut or self.dominates(one, two) or self.dominates(two, one):
                break
        self.B += earned if len(self.made) > runs else 0
        won = self.key(one, n) <= self.key(two, n) if is_cut else self.dominates(one, two)
        if won:
            self.objective(one, min(self.N(one) + self.B, self.most), math.inf)
            self.B = 0
        return won

    def dominates(self, one: Configuration, two: Configuration) -> bool:
        n = self.N(two)
        return self.N(one) >= n and sum(self.R[one][:n]) <= sum(self.R[two])

    def key(self, config: Configuration, n: int) -> tuple[float, float]:
        return (0.0, sum(self.R[config][:n])) if self.N(config) >= n else (1.0, -self.N(config))

    def N(self, config: Configuration) -> int:
        return len(self.R.setdefault(config, []))

    # --- objective ---

    def objective(self, config: Configuration, n: int, bound: float) -> None:
        while (i := self.N(config)) < n:
            limit = bound
            if self.inc is not None and self.N(self.inc) >= n:
                limit = min(bound, self.bm * sum(self.R[self.inc][:n]))
            cutoff = min(self.kappa_max, limit - sum(self.R[config]))
            if cutoff <= 0.0 or self.cut.get((config, i), 0.0) >= cutoff:
                return
            self.run(config, i, cutoff)

    def run(self, config: Configuration, i: int, cutoff: float) -> None:
        if len(self.made) == self.enough:
            raise Enough
        outcome = self.target(RunRequest(config, *self.pairs[i], cutoff))
        self.made.append((config.id, *self.pairs[i], cutoff))
        if outcome.status is Status.CAPPED:
            self.cut[config, i] = cutoff
            return
        self.R[config].append(outcome.time if outcome.status is Status.SUCCESS else self.penalty * self.kappa_max)
        if self.inc is None or (config != self.inc and self.succeeds(config, self.inc)):
            self.inc = config

    def succeeds(self, config: Configuration, inc: Configuration) -> bool:
        return self.dominates(config, inc) and (self.N(config) > self.N(inc) or not self.dominates(inc, config))

    # --- chance ---

    def random(self) -> Configuration:
        return self.domain.sample(1, next(self.rngs))[0]

    def neighbours(self, config: Configuration) -> list[Configuration]:
        return self.domain.neighbours(config, next(self.rngs))
