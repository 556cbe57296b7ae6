"""Iterated racing (López-Ibáñez, Dubois-Lacoste, Pérez Cáceres, Birattari & Stützle 2016), with irace's defaults.

Each iteration samples configurations around the elites of the last one and races them all, pair after pair; a statistical
test throws out who is worse than the best. With capping (Pérez Cáceres et al. 2017) runs are bounded by what the elites
need, and whoever is dominated by them is out at once.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from capra.errors import InputError, did_you_mean
from capra.runs import Configuration, Run
from capra.runs.history import Pair
from capra.search.domain import Domain
from capra.search.elites import Model, child_of, chosen_elite
from capra.strategies.base import Context, checked
from capra.strategies.elimination import TESTS, agreement
from capra.strategies.programs import Program, Programs, Want, caps

__all__ = ["Irace", "irace"]

_SAMPLES, _ORDER = 15, 16
"""Streams of random numbers (see Context.rng)."""
ESTIMATION = 0.02
"""Share of a budget in time that is spent to find out how long a run takes (irace's budgetEstimation)."""
BARREN = 50
"""So many races in a row that needed no run mean that nothing is left to try."""
ATTEMPTS = 20
"""Draws until a child is new and legal."""
AHEAD = 200
"""Runs that are wanted at a time: each is looked at whenever one is told."""
ROWS = 8
"""Lines of the race table that are shown."""

Steps = Generator[Sequence[Want], None, None]


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


@dataclass(eq=False)
class Candidate:
    """A configuration in a race, with the distribution that its children would be drawn from."""

    config: Configuration
    model: Model
    protected: int = 0
    """An elite: not to be eliminated before it has met so many of the pairs that it was chosen on."""


class Table:
    """irace's race table: one line per pair."""

    HEAD = "|test|  pair|   alive|       best|  mean best| runs so far|   rho|  KenW|"

    def __init__(self) -> None:
        self.lines: list[str] = []

    def add(self, mark: str, place: int, alive: Sequence[Candidate], costs: NDArray[np.float64], runs: int) -> None:
        means = costs.mean(axis=0)
        best = int(means.argmin())
        rho, w = agreement(costs)
        figures = f"{alive[best].config.id[:11]:>11}|{means[best]:11.5g}|{runs:12d}|{rho:+6.2f}|{w:6.2f}|"
        self.lines.append(f"|   {mark}|{place:6d}|{len(alive):8d}|{figures}")

    def shown(self) -> list[tuple[str, str]]:
        return [("", self.HEAD), *(("", line) for line in self.lines[-ROWS:])]


class Irace(Programs):
    """A ``Strategy``: race after race. The incumbent is the best elite."""

    def __init__(self, context: Context, plan: Plan, *, capping: bool | str) -> None:
        super().__init__(context)
        space = context.scenario.space
        self.plan = plan
        self.capping = bool(caps(context, capping))
        self.domain = Domain(space, context.scenario.configurations)
        usual = math.floor(2.0 + math.log2(len(space)))  # López-Ibáñez et al. 2016, §2.2
        self.iterations, self.survivors = plan.iterations or usual, plan.survivors or usual
        self.iteration = -1
        """j; the estimation is iteration 0."""
        self.elites: list[Candidate] = []
        self.table = Table()
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
        runs = self._runs_left() / max(1, self.iterations - self.iteration + 1)  # B_j = (B − B_used)/(N_iter − j + 1)
        wanted = math.floor(runs / (self.plan.first_test + self.plan.each_test * min(5, self.iteration)))  # |Θ_j|
        candidates = [*self.elites, *self._sample(max(wanted, self.survivors + 2) - len(self.elites))]
        yield from self._race(candidates, runs)

    def _estimate(self) -> Program:
        """How long does a run take? The default and random configurations on the first pair, for 2 % of the budget."""
        budget, number = self.context.scenario.budget, 0
        first = [self.context.scenario.default, *self.context.first]
        while number < len(first) or (self.history.spent < ESTIMATION * budget.cpu and math.isfinite(budget.cpu)):
            fresh = self.domain.sample(1, self.context.rng(_SAMPLES, 0, number))[0]
            config = first[number] if number < len(first) else fresh
            number += 1
            if config in self._tried and number > ATTEMPTS:
                return
            if config not in self._tried:
                self._tried.append(config)
                yield from self._made([Want(config, self.pairs[0], self.kappa_max)])

    def _runs_left(self) -> float:
        """B − B_used in runs: what is left of the budget, by the mean time of the runs so far."""
        budget, spent = self.context.scenario.budget, self.history.spent
        time = min(budget.cpu, budget.wall) - spent
        each = spent / self.told if self.told and spent > 0.0 else 1.0
        return max(0.0, min(budget.runs - self.told, time / each))

    # --- sampling ---

    def _sample(self, count: int) -> list[Candidate]:
        """New candidates: what the estimation began with, uniform ones in the first iteration, then children of elites."""
        known = {elite.config for elite in self.elites}
        space, found = self.context.scenario.space, list[Candidate]()
        for elite in self.elites:
            row = space.encode([elite.config])[0]
            elite.model = elite.model.sharpened(row, count, self.iteration, max(self.iterations, self.iteration))
        while len(found) < count and (candidate := self._new(len(found), known)) is not None:
            known.add(candidate.config)
            found.append(candidate)
        return found

    def _new(self, number: int, known: set[Configuration]) -> Candidate | None:
        """A candidate that is not in the race yet; where the elites' children are all alike, from a wider distribution."""
        rng, space = self.context.rng(_SAMPLES, self.iteration, number), self.context.scenario.space
        if len(known) == len(self.domain.pool) > 0:
            return None
        if not self.elites and number < len(self._tried):
            return Candidate(self._tried[number], Model.uniform(space))
        for attempt in range(ATTEMPTS):
            candidate = self._child(rng, soften=attempt == ATTEMPTS // 2) if self.elites else None
            candidate = candidate or Candidate(self.domain.sample(1, rng)[0], Model.uniform(space))
            if candidate.config not in known and not self.history.record(candidate.config).wrong:
                return candidate
        return None

    def _child(self, rng: np.random.Generator, *, soften: bool) -> Candidate | None:
        """Of an elite, the better ones more often; None if it is forbidden."""
        space, elite = self.context.scenario.space, self.elites[chosen_elite(len(self.elites), rng)]
        if soften:
            elite.model = elite.model.softened()
        row = child_of(space, space.encode([elite.config])[0], elite.model, rng)
        legal = self.domain.legal(row[None, :])
        return Candidate(legal[0], elite.model) if legal else None

    # --- a race ---

    def _race(self, candidates: list[Candidate], runs: float) -> Program:
        """Pair after pair, until there is no budget for another, or enough are out, or the tests say nothing any more."""
        order, old, began, quiet = self._order(), len(self._used), self.told, 0
        alive, met = candidates, 0
        while met < len(order) and not self._is_over(alive, met, old, quiet, began, runs):
            met += 1
            if met < old and all(order[met - 1] in self.history.record(one.config).costs for one in alive):
                continue  # all of it is known: the next test that somebody ran for sees it as well
            yield from self._step(alive, order[:met])
            alive = self._sound(alive, order[:met])
            alive, mark = self._eliminate(alive, order[:met])
            quiet = 0 if mark == "-" else quiet + (met > old)
            if alive:
                self._note(mark, alive, order[:met], old)
        self._used = list(dict.fromkeys([*self._used, *order[:met]]))
        self._choose(alive, order[:met])

    def _order(self) -> list[Pair]:
        """Elitist: a new pair, then those of earlier races in another order, then as many new ones as it takes."""
        fresh = len(self._used) + 200 if math.isinf(self.pairs.length) else int(self.pairs.length)
        known = set(self._used)
        new = [pair for pair in self.pairs.first(fresh) if pair not in known]
        shuffled = self.context.rng(_ORDER, self.iteration).permutation(len(self._used)).tolist()
        first = self.plan.new_instances if self._used else 0
        return [*new[:first], *(self._used[i] for i in shuffled), *new[first:]]

    def _is_over(self, alive: Sequence[Candidate], met: int, old: int, quiet: int, began: int, runs: float) -> bool:
        if not alive or met < min(self.plan.first_test, self.pairs.length):
            return not alive
        few = len(alive) <= self.survivors and met > old
        return few or self.told - began + len(alive) > runs or (quiet >= self.plan.elitist_limit and met > old)

    def _step(self, alive: Sequence[Candidate], pairs: Sequence[Pair]) -> Steps:
        """Everybody runs on the last of the pairs: who sets the bound first, then the others under it."""
        leaders = self._leaders(alive, pairs[:-1])
        yield from self._made([Want(one.config, pairs[-1], self.kappa_max) for one in leaders])
        bound = self._bound(leaders, pairs)
        others = [one.config for one in alive if one not in leaders]
        wants = [Want(config, pairs[-1], self._cutoff(config, bound, pairs)) for config in others]
        yield from self._made([want for want in wants if want.cutoff > 0.0])

    def _leaders(self, alive: Sequence[Candidate], pairs: Sequence[Pair]) -> list[Candidate]:
        """Elites of the last race; in the first one the best so far."""
        elites = [one for one in alive if one.protected]
        if elites or not pairs or not self.capping:
            return elites or ([] if self.capping and pairs else list(alive))
        return sorted(alive, key=lambda one: self.history.total(one.config, pairs))[: self.survivors]

    def _bound(self, leaders: Sequence[Candidate], pairs: Sequence[Pair]) -> float:
        """What the pairs may cost together: the median of what they cost the leaders (cappingType "median")."""
        totals = [self.history.total(one.config, pairs) for one in leaders]
        finite = [total for total in totals if total < math.inf]
        return float(np.median(finite)) if self.capping and finite else math.inf

    def _cutoff(self, config: Configuration, bound: float, pairs: Sequence[Pair]) -> float:
        """What is left of the bound for the last pair (boundType "candidate"); 0: it is dominated."""
        return min(self.kappa_max, bound - self.history.total(config, pairs[:-1]))

    def _made(self, wants: Sequence[Want]) -> Steps:
        """Wait until all of them are known."""
        missing = (want for want in wants if not self._is_answered(want))
        window = list(islice(missing, AHEAD))
        while window:
            yield window
            window = [want for want in window if not self._is_answered(want)]
            window += islice(missing, AHEAD - len(window))

    def _is_answered(self, want: Want) -> bool:
        return self.is_known(want) or self.history.record(want.config).wrong

    def _sound(self, alive: Sequence[Candidate], pairs: Sequence[Pair]) -> list[Candidate]:
        """Without those that were refuted, or cut because the elites dominate them."""
        kept = [one for one in alive if not self.history.record(one.config).wrong]
        return [one for one in kept if self.history.total(one.config, pairs) < math.inf]

    def _eliminate(self, alive: list[Candidate], pairs: Sequence[Pair]) -> tuple[list[Candidate], str]:
        """irace's marks: x no test, - some are out, = none is."""
        met = len(pairs)
        due = met >= self.plan.first_test and (met - self.plan.first_test) % self.plan.each_test == 0
        if not due or len(alive) < 2:
            return alive, "x"
        worse = TESTS[self.plan.test](self._costs(alive, pairs), 1.0 - self.plan.confidence)
        kept = [one for one, out in zip(alive, worse.tolist(), strict=True) if not out or met < one.protected]
        return kept, "-" if len(kept) < len(alive) else "="

    def _costs(self, alive: Sequence[Candidate], pairs: Sequence[Pair]) -> NDArray[np.float64]:
        records = [self.history.record(one.config).costs for one in alive]
        return np.array([[costs[pair] for costs in records] for pair in pairs])

    def _note(self, mark: str, alive: Sequence[Candidate], pairs: Sequence[Pair], old: int) -> None:
        costs = self._costs(alive, pairs)
        self.table.add(mark, len(pairs), alive, costs, self.told)
        if not self.elites or len(pairs) > old:  # the elites have nothing that the others lack
            self.incumbent = alive[int(costs.mean(axis=0).argmin())].config

    # --- elites ---

    def _choose(self, alive: Sequence[Candidate], pairs: Sequence[Pair]) -> None:
        """The best survivors, by their mean cost; if a race left nobody, the elites stay who they are."""
        ranked = sorted(alive, key=lambda one: self.history.total(one.config, pairs))[: self.survivors]
        for one in ranked:
            one.protected = len(self._used) + self.plan.new_instances
        self.elites = ranked or [one for one in self.elites if not self.history.record(one.config).wrong]
        if ranked:
            self.incumbent = ranked[0].config

    def consider(self, config: Configuration) -> None:
        record = self.history.record(config)
        if record.wrong and config == self.incumbent:
            self.incumbent = self.history.best()
        elif self.incumbent is None and record.costs and not record.wrong:
            self.incumbent = config

    def describe(self) -> list[tuple[str, str]]:
        text = f"{self.iteration} of {self.iterations}, {len(self.elites)} elites"
        return [("iteration", text), *self.table.shown()]


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
        checked("elitist_limit", elitist_limit, 1, whole=True),
        checked("iterations", iterations, 0, whole=True),
        checked("survivors", survivors, 0, whole=True),
    )
    return Irace(context, plan, capping=capping)
