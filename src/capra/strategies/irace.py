"""Iterated racing (López-Ibáñez, Dubois-Lacoste, Pérez Cáceres, Birattari & Stützle 2016), with irace's defaults.

Each iteration samples configurations around the elites of the last one and races them all (see ``elitist``). With capping
(Pérez Cáceres et al. 2017) runs are bounded by what the elites need. Numbers that the papers leave open are irace 3.5's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from capra.errors import InputError, did_you_mean
from capra.runs import Configuration, Run
from capra.runs.history import Pair
from capra.search.domain import Domain
from capra.search.elites import Model, children_of, chosen_elites, similar, variables
from capra.strategies.base import Context, checked
from capra.strategies.elimination import TESTS
from capra.strategies.elitist import Candidate, Race, ranked
from capra.strategies.programs import Program, Programs, Want, caps
from capra.strategies.race_table import RaceTable

__all__ = ["Irace", "irace"]

_SAMPLES, _ORDER = 15, 16
"""Streams of random numbers (see Context.rng)."""
ESTIMATION = 0.02
"""Share of a budget in time that is spent to find out how long a run takes (irace's budgetEstimation)."""
MOST = 1024
"""Candidates of a race."""
BARREN = 50
"""So many races in a row that needed no run mean that nothing is left to try."""
ATTEMPTS = 20
"""Rounds of drawing until there are as many new and legal candidates as wanted."""
FRESH = 200
"""New pairs that a race may take where there is no end of them."""


@dataclass(frozen=True)
class Plan:
    """irace's options, under our names (its own in the documentation)."""

    test: str
    confidence: float = 0.95
    first_test: int = 5
    each_test: int = 1
    new_instances: int = 1
    elitist_limit: int = 2
    iterations: int = 0
    """0: 2 + log2 of the number of parameters."""
    survivors: int = 0
    """0: as many."""


class Irace(Programs):
    """A ``Strategy``: race after race. The incumbent is the best elite."""

    def __init__(self, context: Context, plan: Plan, *, capping: bool | str) -> None:
        super().__init__(context)
        space = context.scenario.space
        self.plan = plan
        self.capping = bool(caps(context, capping))
        self.domain = Domain(space, context.scenario.configurations)
        usual = math.floor(2.0 + math.log2(variables(space)))  # López-Ibáñez et al. 2016, §2.2
        self.iterations, self.survivors = plan.iterations or usual, plan.survivors or usual
        self.iteration = -1
        """j; the estimation is iteration 0."""
        self.elites: list[Candidate] = []
        self.table = RaceTable()
        self.lines = self.table.lines
        self._used: list[Pair] = []
        """The pairs of earlier races."""
        self._barren = 0
        self._tried: list[Configuration] = []
        self._next_race()

    # --- iterations ---

    def tell(self, run: Run) -> None:
        super().tell(run)
        self._next_race()

    def _next_race(self) -> None:
        while not self._processes and self._barren < BARREN:
            self.iteration += 1
            self.begin(f"race {self.iteration}" if self.iteration else "estimation", self._iterate())
            self._barren = 0 if self._processes else self._barren + 1

    def _iterate(self) -> Program:
        if self.iteration == 0:
            yield from self._estimate()
            return
        if self.iteration == 1:
            self._shorten()
        runs = self._runs_left() / max(1, self.iterations - self.iteration + 1)  # B_j = (B − B_used)/(N_iter − j + 1)
        candidates = [*self.elites, *self._sample(max(self._size(runs), self.survivors + 2) - len(self.elites))]
        yield from self._race(candidates, math.floor(runs))

    def _estimate(self) -> Program:
        """How long does a run take? The default and random configurations on the first pairs, for 2 % of the budget.

        They are the first race's elites and would run there anyway.
        """
        budget, number = self.context.scenario.budget, 0
        first = [self.context.scenario.default, *self.context.first]
        while number < len(first) or (self.history.spent < ESTIMATION * budget.cpu and math.isfinite(budget.cpu)):
            fresh = self.domain.sample(1, self.context.rng(_SAMPLES, 0, number))[0]
            config = first[number] if number < len(first) else fresh
            number += 1
            if (config in self._tried and number > ATTEMPTS) or len(self._tried) >= MOST:
                return
            if config not in self._tried:
                self._tried.append(config)
                wants = [Want(config, pair, self.kappa_max) for pair in self._first_pairs]
                while missing := [want for want in wants if not self.is_known(want)]:
                    if self.history.record(config).wrong:
                        break
                    yield missing

    @property
    def _first_pairs(self) -> list[Pair]:
        return self.pairs.first(self.plan.first_test)

    def _runs_left(self) -> float:
        """B − B_used in runs: what is left of the budget, by the mean time of the runs so far."""
        budget, spent = self.context.scenario.budget, self.history.spent
        time = min(budget.cpu, budget.wall) - spent
        each = spent / self.told if self.told and spent > 0.0 else 1.0
        return max(0.0, min(budget.runs - self.told, time / each))

    def _shorten(self) -> None:
        """As many iterations as the budget has runs for (irace's minimum budget), but one at least."""
        while self.iterations > 1 and self._runs_left() < self._least(self.iterations):
            self.iterations -= 1

    def _least(self, iterations: int) -> int:
        plan = self.plan
        new, step = plan.new_instances, max(plan.each_test, plan.new_instances)
        later = (iterations - 5) * new + 5 * step if iterations > 5 else (iterations - 1) * step
        return (self.survivors + 1) * iterations * (plan.first_test + plan.each_test + later)

    def _size(self, runs: float) -> int:
        """|Θ_j|: candidates that B_j suffices for; what elites have run before is saved."""
        plan, old = self.plan, len(self._used)
        pairs = plan.first_test + plan.each_test * min(5, self.iteration)
        if old:
            pairs = max(pairs, math.ceil((old + plan.new_instances) / plan.each_test) * plan.each_test)
        return min(MOST, math.floor((math.floor(runs) + len(self.elites) * old) / pairs))

    # --- sampling ---

    def _sample(self, count: int) -> list[Candidate]:
        """New candidates: what the estimation began with, uniform ones in the first iteration, then children of elites."""
        space = self.context.scenario.space
        if self.domain.pool:
            count = min(count, len(self._members(self.elites)))
        for elite in self.elites:
            row = space.encode([elite.config])[0]
            elite.model = elite.model.sharpened(row, count, self.iteration, max(self.iterations, self.iteration))
        found = self._drawn(count, 0)
        if self.elites and (parents := self._parents_of_twins(found)):
            for parent in parents:  # soft restart
                parent.model = parent.model.softened(count)
            found = self._drawn(count, 1)
        return found

    def _parents_of_twins(self, found: Sequence[Candidate]) -> list[Candidate]:
        everybody = [*self.elites, *found]
        rows = self.context.scenario.space.encode([one.config for one in everybody])
        twins = [everybody[place] for place in similar(self.context.scenario.space, rows)]
        return list(
            dict.fromkeys(one.parent if one.parent in self.elites and one not in self.elites else one for one in twins)
        )

    def _drawn(self, count: int, attempt: int) -> list[Candidate]:
        rng, space = self.context.rng(_SAMPLES, self.iteration, attempt), self.context.scenario.space
        begun = [] if self.elites else sorted(self._tried, key=lambda tried: self.history.total(tried, self._first_pairs))
        uniform = Model.uniform(space)
        found = [Candidate(config, uniform, protected=self.plan.first_test) for config in begun[:count]]
        known = {one.config for one in [*self.elites, *found]}
        if self.domain.pool and len(left := self._members([*self.elites, *found])) <= count - len(found):
            return [*found, *(Candidate(config, uniform) for config in left)]  # all of them: nothing to choose
        twins = self.elites and not attempt  # they call for a soft restart
        for _ in range(ATTEMPTS):
            before = len(found)
            for one in self._batch(count - len(found), rng):
                if (twins or one.config not in known) and not self.history.record(one.config).wrong:
                    known.add(one.config)
                    found.append(one)
            if len(found) == count or (self.domain.pool and len(found) == before):
                break
        return found

    def _members(self, besides: Sequence[Candidate]) -> list[Configuration]:
        """Those of the pool that could be new candidates."""
        known = {one.config for one in besides}
        return [one for one in self.domain.pool if one not in known and not self.history.record(one).wrong]

    def _batch(self, count: int, rng: np.random.Generator) -> list[Candidate]:
        """At most so many: children of the elites, of the better ones more, that are not forbidden."""
        space = self.context.scenario.space
        if not self.elites:
            return [Candidate(config, Model.uniform(space)) for config in self.domain.sample(count, rng)]
        found = []
        for elite, share in zip(self.elites, chosen_elites(len(self.elites), count, rng).tolist(), strict=True):
            rows = children_of(space, space.encode([elite.config])[0], elite.model, share, rng)
            found += [Candidate(config, elite.model, elite) for config in self.domain.legal(rows)]
        return [found[i] for i in rng.permutation(len(found)).tolist()]

    # --- races ---

    def _race(self, candidates: list[Candidate], runs: float) -> Program:
        fresh, order = self._order()
        self._protect(order[: fresh + len(self._used)], fresh)
        self.table.begin(
            f"iteration {self.iteration} of {max(self.iterations, self.iteration)}: {len(candidates)} candidates, "
            f"{len(self.elites)} of them elites, at most {runs:.0f} runs"
        )
        race = Race(self, candidates, order, tuple(self._used), runs)
        yield from race.run()
        self._used = list(dict.fromkeys([*self._used, *race.pairs]))
        self._choose(race)

    def _order(self) -> tuple[int, list[Pair]]:
        """Elitist: some new pairs (how many), then those of earlier races in another order, then as many as it takes."""
        known = set(self._used)
        most = len(self._used) + FRESH if math.isinf(self.pairs.length) else int(self.pairs.length)
        new = [pair for pair in self.pairs.first(most) if pair not in known]
        first = min(len(new), self.plan.new_instances) if self._used else 0
        shuffled = self.context.rng(_ORDER, self.iteration).permutation(len(self._used)).tolist()
        return first, [*new[:first], *(self._used[i] for i in shuffled), *new[first:]]

    def _protect(self, safe: Sequence[Pair], fresh: int) -> None:
        """Elites, until they have met the last of the pairs that they were chosen on."""
        for elite in self.elites:
            costs = self.history.record(elite.config).costs
            elite.protected = max([fresh, *(place + 1 for place, pair in enumerate(safe) if pair in costs)])

    def _choose(self, race: Race) -> None:
        """The best survivors; if a race left nobody, the elites stay who they are."""
        best = ranked(race, self.plan.test)[: self.survivors]
        self.elites = best or [one for one in self.elites if not self.history.record(one.config).wrong]
        for elite in self.elites:
            elite.parent = None
        if best:
            self.incumbent = best[0].config

    def consider(self, config: Configuration) -> None:
        record = self.history.record(config)
        if record.wrong and config == self.incumbent:
            self.incumbent = self.history.best()
        elif self.incumbent is None and record.costs and not record.wrong:
            self.incumbent = config

    def describe(self) -> list[tuple[str, str]]:
        text = f"{self.iteration} of {max(self.iterations, self.iteration)}, {len(self.elites)} elites"
        return [("iteration", text), *(("", line) for line in self.table.shown())]


def irace(
    context: Context,
    *,
    test: str | None = None,
    confidence: float = Plan.confidence,
    first_test: int = Plan.first_test,
    each_test: int = Plan.each_test,
    new_instances: int = Plan.new_instances,
    elitist_limit: int = Plan.elitist_limit,
    iterations: int = Plan.iterations,
    survivors: int = Plan.survivors,
    capping: bool | str = True,
) -> Irace:
    """Elitist iterated racing; ``test`` is "t-test" where runs are capped and "friedman" otherwise."""
    used = test or ("t-test" if caps(context, capping) else "friedman")
    if used not in TESTS:
        raise InputError(f"unknown test {used!r}", hint=did_you_mean(used, TESTS) or "one of " + ", ".join(TESTS))
    plan = Plan(
        used,
        checked("confidence", confidence, 0.5, 0.9999),
        checked("first_test", first_test, 2, whole=True),
        checked("each_test", each_test, 1, whole=True),
        checked("new_instances", new_instances, 0, whole=True),
        checked("elitist_limit", elitist_limit, 0, whole=True),
        checked("iterations", iterations, 0, whole=True),
        checked("survivors", survivors, 0, whole=True),
    )
    return Irace(context, plan, capping=capping)
