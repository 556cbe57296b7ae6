"""Hydra: configurations that complement each other, one round after another (Xu, Hoos & Leyton-Brown 2010, 2011)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from capra.models.base import Floats
from capra.portfolio.builder import Builder, Program
from capra.portfolio.experts import COMPARING
from capra.portfolio.greedy import greedy_portfolio
from capra.portfolio.views import Ceilings
from capra.runs import Configuration, Status
from capra.runs.history import Pair
from capra.strategies import Context
from capra.strategies.base import checked

__all__ = ["Hydra", "is_sure"]

_BOOTSTRAP = 51
"""Stream of random numbers (see Context.rng)."""
TUNING = 0.7
"""Share of a round's time that its tunings get; validation gets the rest."""
WARM = 3
"""So many configurations that were met and not selected a tuning begins with."""
FEWEST = 5
"""Pairs that a configuration must have been run on before its gain is believed."""


class Hydra(Builder):
    """``runs`` tunings in each of up to ``rounds`` rounds, for the metric min(own, portfolio); the ``k`` best join.

    Every run is capped at the portfolio's time on its instance: a challenger that takes longer adds nothing there, whatever
    its own time would have been.
    """

    name = "hydra"

    def __init__(self, context: Context, *, rounds: int = 4, runs: int = 1, k: int = 1, **options: Any) -> None:
        self.rounds = checked("rounds", rounds, 1, 100, whole=True)
        self.runs = checked("runs", runs, 1, 100, whole=True)
        self.k = checked("k", k, 1, 100, whole=True)
        super().__init__(context, **options)

    def program(self) -> Program:
        share = (1.0 - COMPARING) / self.rounds
        for number in range(self.rounds):
            view, warm = Ceilings(self._ceilings().__getitem__), self.unselected(WARM)
            instances = list(dict.fromkeys(str(instance) for instance, _ in self._ground()))
            found: list[Configuration] = []
            for run in range(1, self.runs + 1):
                until = share * (number + TUNING * run / self.runs)
                step = self.tuning(f"round {number + 1}, tuning {run}", instances, until, first=warm, view=view)
                yield step
                found += [] if step.found is None else [step.found]
            what = f"round {number + 1}, validation"
            yield self.measuring(what, found, self.pairs, share * (number + 1), view)
            chosen = self._by_gain(found, [*found, *warm])
            if not chosen:
                break
            self.join(*chosen)
        yield from self.comparing()

    def _ceilings(self) -> dict[Pair, float]:
        """The portfolio's time on every pair; infinite where it has none."""
        return {pair: self.cells.best_time(self.members, pair) for pair in self.pairs}

    def _ground(self) -> list[Pair]:
        """Where the portfolio was run; elsewhere nobody knows what a challenger would add."""
        known = self.history.record(self.members[0]).costs if self.members else {}
        return [pair for pair in self.pairs if pair in known] or self.pairs

    def _by_gain(self, found: list[Configuration], candidates: list[Configuration]) -> list[Configuration]:
        """The k candidates with the greatest marginal gain, compared where all were run; none whose gain may be chance.

        Chance is no objection while the validation has not reached all instances: few of them cannot make anything sure.
        """
        compared = ~np.isnan(self.metric(found, self._ground())).any(axis=0)
        if not found or not compared.any():
            return found[: self.k] if not self.members else []
        now = self.portfolio_costs(self._ground())[compared]
        costs = self.metric(candidates, self._ground())[:, compared]
        costs = np.where(np.isnan(costs), now, costs)  # where one was not run it adds nothing that is known
        whole = compared.sum() == len(self.pairs)
        chosen: list[Configuration] = []
        for best in greedy_portfolio(np.minimum(costs, now), self.k, float(now.max()))[0]:
            gains = now - np.minimum(costs[best], now)
            if self.members and whole and not is_sure(gains, self.context.rng(_BOOTSTRAP, self.number)):
                break
            chosen.append(candidates[best])
            now = np.minimum(now, costs[best])
        return chosen

    def portfolio_costs(self, pairs: Sequence[Pair]) -> Floats:
        """c_i(P), (n,): the cheapest member; a timeout's cost for the empty portfolio."""
        worst = self.context.scenario.objective.worst(self.context.scenario.cutoff)
        return np.asarray(np.nan_to_num(self.costs(self.members, pairs), nan=worst).min(axis=0, initial=worst))

    def metric(self, configs: Sequence[Configuration], pairs: Sequence[Pair]) -> Floats:
        """min(own, portfolio) as far as it is known, (k, n); NaN elsewhere."""
        now, place = self.portfolio_costs(pairs), {pair: j for j, pair in enumerate(pairs)}
        found = np.full((len(configs), len(pairs)), np.nan)
        objective, kappa_max = self.context.scenario.objective, self.context.scenario.cutoff
        for i, config in enumerate(configs):
            for pair, outcome in self.cells.pairs(config).items():
                j = place.get(pair, -1)
                if j >= 0 and (outcome.status is not Status.CAPPED or outcome.time >= now[j]):
                    found[i, j] = min(objective.cost(outcome, kappa_max), now[j])
        return found

    def unselected(self, count: int) -> list[Configuration]:
        """The configurations met so far that would add most to the portfolio, by what is known of them."""
        if not self.members:
            return []
        met = [c for c in self.cells.configurations if c not in self.members and not self.history.record(c).wrong]
        metric, now = self.metric(met, self._ground()), self.portfolio_costs(self._ground())
        known = (~np.isnan(metric)).sum(axis=1)
        gain = np.nan_to_num(now - metric).sum(axis=1) / np.maximum(known, 1) * (known >= FEWEST)
        return [met[i] for i in np.argsort(-gain, kind="stable")[:count] if gain[i] > 0.0]


def is_sure(gains: Floats, rng: np.random.Generator, *, resamples: int = 1000) -> bool:
    """Is the mean gain above 0 in 97.5 % of samples of instances drawn anew?"""
    means = gains[rng.integers(len(gains), size=(resamples, len(gains)))].mean(axis=1)
    return bool(np.quantile(means, 0.025) > 0.0)
