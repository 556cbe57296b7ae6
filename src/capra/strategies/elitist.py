"""One race of irace: pair after pair, elimination by a test and by capping, elites under protection.

López-Ibáñez et al. 2016, §3 (elitist irace); capping as in Pérez Cáceres et al. 2017; where they leave it open, irace 3.5.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from capra.runs import Configuration
from capra.runs.history import Pair
from capra.search.elites import Model
from capra.strategies.elimination import TESTS, scores
from capra.strategies.programs import Program, Want

if TYPE_CHECKING:
    from capra.strategies.irace import Irace

__all__ = ["Candidate", "Race", "ranked"]

AHEAD = 200
"""Runs that are wanted at a time: each is looked at whenever one is told."""
TIE = 1e-5
"""Means that differ by no more are the same to capping."""

Steps = Generator[Sequence[Want], None, None]


@dataclass(eq=False)
class Candidate:
    """A configuration in a race, with the distribution that its children would be drawn from."""

    config: Configuration
    model: Model
    parent: Candidate | None = None
    protected: int = 0
    """An elite: not to be eliminated before it has met so many pairs, the last of which it was chosen on."""


class Race:
    """``candidates`` race on ``order`` for about ``runs`` runs; ``old`` pairs are those of earlier races."""

    def __init__(
        self, strategy: Irace, candidates: list[Candidate], order: list[Pair], old: Sequence[Pair], runs: float
    ) -> None:
        self.alive = candidates
        self.order, self.old, self.runs = order, old, runs
        self.met = 0
        self._strategy, self._plan, self._history = strategy, strategy.plan, strategy.history
        self._began, self._spent, self._bound = strategy.told, strategy.history.spent, math.inf
        self._paid: dict[Candidate, list[float]] = {one: [] for one in candidates}
        """What the pairs so far cost those who are alive."""
        self._sums = dict.fromkeys(candidates, 0.0)
        self._quiet = 0
        """Tests in a row that eliminated nobody, since no elite is protected."""

    @property
    def pairs(self) -> list[Pair]:
        return self.order[: self.met]

    def run(self) -> Program:
        while self.met < len(self.order) and not self._is_over():
            self.met += 1
            self._spent = self._history.spent
            if self._elites(self.met) and not self._lacking(self.order[self.met - 1]):
                self._pay()
                self._note(".")
                continue
            yield from self._step()
            before = len(self.alive)
            mark = self._eliminate()
            if self._is_due(self._plan.first_test + 1) and not self._elites(self.met + 1):
                self._quiet = self._quiet + 1 if len(self.alive) == before else 0
            if self.alive:
                self._note(mark)

    def _is_over(self) -> bool:
        """Is there no budget for another pair, or enough are out, or do the tests say nothing any more?"""
        plan = self._plan
        if not self.alive or self.met < min(plan.first_test, len(self.order)):
            return not self.alive
        missing = len(self._lacking(self.order[self.met])) * plan.each_test
        few = len(self.alive) <= self._strategy.survivors
        spent = self.met % plan.each_test == 0 and self._strategy.told - self._began + missing > self.runs
        tired = 0 < plan.elitist_limit <= self._quiet
        return (few or spent or tired) and self._is_old_known()

    def _is_old_known(self) -> bool:
        """Has every pair of earlier races been met by somebody who is alive?"""
        records = [self.costs(one) for one in self.alive]
        return all(any(pair in costs for costs in records) for pair in self.old)

    def _elites(self, met: int) -> list[Candidate]:
        """Those who are still protected at the pair with this number."""
        return [one for one in self.alive if one.protected >= met]

    def _lacking(self, pair: Pair) -> list[Candidate]:
        return [one for one in self.alive if pair not in self.costs(one)]

    # --- runs ---

    def _step(self) -> Steps:
        """Everybody runs on the last of the pairs: who sets the bound first, then the others under it."""
        strategy, pair, leaders = self._strategy, self.order[self.met - 1], self._leaders()
        yield from self._made([Want(one.config, pair, strategy.kappa_max) for one in leaders])
        needed = [self._sums[one] + self.costs(one).get(pair, math.inf) for one in leaders]
        bound = _median(needed) if len(leaders) < len(self.alive) else math.inf
        self._bound = bound / self.met
        others = [one for one in self.alive if one not in leaders]
        wants = [Want(one.config, pair, strategy.cutoff(bound - self._sums[one])) for one in others]
        yield from self._made([want for want in wants if want.cutoff > 0.0])

    def _leaders(self) -> list[Candidate]:
        """Who may take all the time it needs: elites; where none is left, the best so far; everybody without capping.

        irace bounds no runs without elites, but throws out all who are worse than the median of the best: nobody who is
        stopped here would have stayed.
        """
        elites = self._elites(self.met)
        if not self._strategy.capping or not (elites or self.met > 1):
            return list(self.alive)
        return elites or self._best(self.alive)

    def _best(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        return sorted(candidates, key=self._sums.__getitem__)[: self._strategy.survivors]

    def _made(self, wants: Sequence[Want]) -> Steps:
        """Wait until all of them are known."""
        missing = (want for want in wants if not self._is_answered(want))
        window = list(islice(missing, AHEAD))
        while window:
            yield window
            window = [want for want in window if not self._is_answered(want)]
            window += islice(missing, AHEAD - len(window))

    def _is_answered(self, want: Want) -> bool:
        return self._strategy.is_known(want) or self._history.record(want.config).wrong

    # --- elimination ---

    def _eliminate(self) -> str:
        """By capping and by the test, at the same time; the line's mark (see ``race_table.MARKS``)."""
        before = [one for one in self.alive if not self._history.record(one.config).wrong]
        self._pay()
        complete = [one for one in self.alive if one in before]
        capped, is_capping = self._capped(before, complete)
        worse, is_tested = self._worse(complete)
        self.alive = [one for one in complete if one.protected > self.met or not (one in capped or one in worse)]
        changed = len(self.alive) < len(before)
        if capped and not worse and changed:
            return "c"
        if capped or worse:
            return "-" if changed else "!"
        return "=" if is_capping or is_tested else "x"

    def _pay(self) -> None:
        """Only who has a cost for the last pair stays."""
        pair = self.order[self.met - 1]
        self.alive = [one for one in self.alive if pair in self.costs(one)]
        for one in self.alive:
            self._paid[one].append(self.costs(one)[pair])
            self._sums[one] += self._paid[one][-1]

    def _capped(self, before: list[Candidate], complete: list[Candidate]) -> tuple[list[Candidate], bool]:
        """Who needed more than the median elite, or, where none is protected, than the median of the best."""
        cut = [one for one in before if one not in complete]
        if not self._strategy.capping or len(before) <= self._strategy.survivors or not complete:
            return cut, False
        leaders = [one for one in complete if one.protected > self.met] or self._best(complete)
        bound = _median([self._sums[one] for one in leaders]) + TIE * self.met
        return cut + [one for one in complete if self._sums[one] > bound], True

    def _worse(self, complete: list[Candidate]) -> tuple[list[Candidate], bool]:
        if not self._is_due(self._plan.first_test) or len(complete) < 2:
            return [], False
        out = TESTS[self._plan.test](self._matrix(complete), 1.0 - self._plan.confidence)
        return [one for one, is_out in zip(complete, out.tolist(), strict=True) if is_out], True

    def _is_due(self, first: int) -> bool:
        return self.met >= first and self.met % self._plan.each_test == 0

    def costs(self, one: Candidate) -> dict[Pair, float]:
        """What its complete runs cost, of whatever race."""
        return self._history.record(one.config).costs

    def _matrix(self, candidates: Sequence[Candidate]) -> NDArray[np.float64]:
        """Costs (pairs, candidates)."""
        return np.array([self._paid[one] for one in candidates]).T

    def _note(self, mark: str) -> None:
        strategy, costs = self._strategy, self._matrix(self.alive)
        place = int(scores(costs, self._plan.test).argmin())
        number, best = strategy.pairs.place(self.order[self.met - 1]) + 1, self.alive[place].config
        runs, time = strategy.told - self._began, self._history.spent - self._spent
        strategy.table.add(mark, number, self._bound, best.id, costs, place, runs, time)
        if not self.old or not self._elites(self.met + 1):  # else elites have proved themselves on more pairs
            strategy.incumbent = best


def _median(totals: Sequence[float]) -> float:
    """What the pairs may cost together: the median of what they cost the leaders (cappingType "median")."""
    finite = [total for total in totals if total < math.inf]
    return float(np.median(finite)) if finite else math.inf


def ranked(race: Race, test: str) -> list[Candidate]:
    """irace's overall ranks: who has met more pairs first; equals by the test's measure on the pairs that all have."""
    pairs = list(dict.fromkeys([*race.old, *race.pairs]))
    known = {one: {pair: race.costs(one)[pair] for pair in pairs if pair in race.costs(one)} for one in race.alive}
    found: list[Candidate] = []
    for count in sorted({len(mine) for mine in known.values()}, reverse=True):
        group = [one for one in race.alive if len(known[one]) == count]
        shared = [pair for pair in known[group[0]] if all(pair in known[one] for one in group)]
        costs = np.array([[known[one][pair] for one in group] for pair in shared]).reshape(len(shared), len(group))
        found += [group[i] for i in scores(costs, test).argsort(kind="stable").tolist()]
    return found
