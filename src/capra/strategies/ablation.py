"""Ablation as a strategy: the path from one configuration to another, every step the best of all that are left.

Fawcett & Hoos 2016, "Analysing differences between algorithm configurations through ablation". In every round all single
steps are raced on the same pairs: one is run on all of them first, the others may take no longer than the best so far
(capping), and who is significantly worse is given up early (racing). Without racing the path is that of brute force.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field

import numpy as np

from capra.runs import Configuration, History
from capra.runs.history import Pair
from capra.strategies.base import Context
from capra.strategies.elimination import paired_t
from capra.strategies.programs import Program, Programs, Want

__all__ = ["Ablating", "Candidate", "Round"]

FIRST_TEST = 5
"""Pairs before a candidate can be given up for being significantly worse."""
ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Candidate:
    """A step that may be taken: what it is called, and where it leads."""

    label: str
    config: Configuration


@dataclass(slots=True)
class Round:
    """One step of the path: who was raced, and who won."""

    candidates: list[Candidate]
    winner: Candidate | None = None
    given_up: set[str] = field(default_factory=set)
    """Candidates that lost by a test, not by their costs."""


Steps = Callable[[Configuration], Sequence[Candidate]]
Racing = Generator[Sequence[Want], None, Candidate]


class Ablating(Programs):
    """A ``Strategy`` that walks from ``source`` to where no step is left. ``rounds`` is the path so far."""

    def __init__(
        self,
        context: Context,
        source: Configuration,
        steps: Steps,
        *,
        pairs: int,
        known: History,
        favourites: Sequence[str] = (),
        racing: bool = True,
    ) -> None:
        """``known`` are runs made before, which are not made again; ``favourites`` are labels, who is tried first."""
        super().__init__(context)
        self.source = source
        self.chosen: list[Pair] = self.pairs.first(pairs)
        self.rounds: list[Round] = []
        self.finished = False
        self._steps, self._known, self._racing = steps, known, racing
        self._favourites = list(favourites)
        self._capping = context.scenario.objective.kind == "runtime"
        self.begin("ablation", self._walk())

    # --- what is known, from here and from before ---

    def cost(self, config: Configuration, pair: Pair) -> float | None:
        """What a run cost, if it was ever made to its end."""
        found = self._known.record(config).costs.get(pair)
        return self.history.record(config).costs.get(pair) if found is None else found

    def costs(self, config: Configuration) -> list[float]:
        """Costs of all pairs that are known, in the order of the pairs."""
        return [cost for pair in self.chosen if (cost := self.cost(config, pair)) is not None]

    def is_known(self, want: Want) -> bool:
        bound = self._known.record(want.config).bounds.get(want.pair, 0.0)
        return self.cost(want.config, want.pair) is not None or bound >= want.cutoff or super().is_known(want)

    def is_wrong(self, config: Configuration) -> bool:
        return self._known.record(config).wrong or self.history.record(config).wrong

    def total(self, config: Configuration) -> float:
        """Its cost on all pairs; infinite while some are missing, and for wrong answers."""
        costs = self.costs(config)
        return sum(costs) if len(costs) == len(self.chosen) and not self.is_wrong(config) else math.inf

    def _least(self, config: Configuration) -> float:
        """What it has cost so far at least; capped runs count as long as they lasted."""
        objective, bounds = self.history.objective, 0.0
        for pair in self.chosen:
            if self.cost(config, pair) is None:
                bound = max(known.record(config).bounds.get(pair, 0.0) for known in (self._known, self.history))
                bounds += bound if objective.utility is None or not bound else 1.0 - objective.utility.of(bound)
        return math.fsum(self.costs(config)) + bounds

    # --- the walk ---

    def _walk(self) -> Program:
        yield from self._complete(self.source)
        here = self.source
        while steps := list(self._steps(here)):
            self.rounds.append(Round(steps))
            winner = yield from self._race(self.rounds[-1])
            self.rounds[-1].winner = winner
            here = winner.config
        self.finished = True

    def _complete(self, config: Configuration) -> Program:
        """Runs on all pairs, at κ_max."""
        while wants := [want for pair in self.chosen if not self.is_known(want := Want(config, pair, self.kappa_max))]:
            yield wants

    def _race(self, now: Round) -> Racing:
        """The favourite on all pairs; then nobody may take longer than the best so far."""
        order = sorted(now.candidates, key=self._rank)
        leader = order[0]
        yield from self._complete(leader.config)
        while True:
            for one in order:
                if self.total(one.config) < self.total(leader.config):
                    leader = one
            wants = [want for one in order if one != leader and (want := self._next(one, leader, now)) is not None]
            if not wants:
                self._favourites = [one.label for one in sorted(order, key=lambda one: self._mean(one.config))]
                return leader
            yield wants

    def _rank(self, one: Candidate) -> int:
        return self._favourites.index(one.label) if one.label in self._favourites else len(self._favourites)

    def _mean(self, config: Configuration) -> float:
        costs = self.costs(config)
        return sum(costs) / len(costs) if costs else math.inf

    def _next(self, one: Candidate, leader: Candidate, now: Round) -> Want | None:
        """The candidate's next run; None if it has lost or has them all."""
        missing = [pair for pair in self.chosen if self.cost(one.config, pair) is None]
        if not missing or self.is_wrong(one.config) or one.label in now.given_up:
            return None
        if self._racing and self._is_worse(one, leader):
            now.given_up.add(one.label)
            return None
        cutoff = self.kappa_max
        if self._capping and math.isfinite(bound := self.total(leader.config)):
            if self._least(one.config) >= bound:
                return None
            spent = math.fsum(self.costs(one.config))
            cutoff = min(cutoff, self.history.objective.time_for(bound - spent))
        want = Want(one.config, missing[0], cutoff)
        return None if cutoff <= 0.0 or self.is_known(want) else want

    def _is_worse(self, one: Candidate, leader: Candidate) -> bool:
        """Student's paired t-test on the pairs that the candidate has."""
        shared = [pair for pair in self.chosen if self.cost(one.config, pair) is not None]
        if len(shared) < FIRST_TEST:
            return False
        costs = np.array(
            [[self.cost(config, pair) for config in (leader.config, one.config)] for pair in shared], dtype=float
        )
        if not np.isfinite(costs).all():
            return False
        return bool(paired_t(costs, ALPHA)[1]) and costs[:, 1].mean() > costs[:, 0].mean()

    # --- the protocol ---

    def consider(self, config: Configuration) -> None:
        """Nobody is the incumbent of an ablation."""

    def describe(self) -> list[tuple[str, str]]:
        done = sum(one.winner is not None for one in self.rounds)
        left = len(self.rounds[-1].candidates) if self.rounds and not self.finished else 0
        return [("path", f"{done} steps taken, {left} left to choose from")]
