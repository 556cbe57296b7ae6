"""ParamILS: iterated local search in the space of configurations (Hutter, Hoos, Leyton-Brown & Stützle 2009).

Line numbers are those of that paper's procedures. BasicILS(N) compares on N pairs, FocusedILS on as many as it takes until
one configuration dominates the other. Several chains share one history: each is the paper's algorithm from a start of its
own, and what one has run no other has to.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from capra.errors import InputError
from capra.runs import Configuration, Run
from capra.search.domain import Domain
from capra.strategies.base import Context, checked
from capra.strategies.prefixes import Prefixes
from capra.strategies.programs import Program, Programs, Want, caps

__all__ = ["ILS", "ils"]

_CHAINS = 10
"""Stream of random numbers (see Context.rng)."""
BARREN = 20
"""A chain that has needed no run for so many local searches knows all that it can reach."""

Verdict = Generator[Sequence[Want], None, bool]
Found = Generator[Sequence[Want], None, Configuration]


@dataclass(frozen=True)
class Plan:
    """The parameters of ParamILS, with the paper's values."""

    initial: int = 10
    """r: random configurations that the start is chosen from."""
    perturbation: int = 3
    """s: random steps away from a local optimum."""
    restart: float = 0.01
    """p_restart: how often a chain begins anew after a local search."""
    multiplier: float = 2.0
    """bm: aggressive capping gives up what is so many times as bad as the incumbent."""
    levels: int = 0
    """Values per number that neighbours take; 0: four random steps."""


class ILS(Programs):
    """A ``Strategy`` of chains; a new one begins when a worker would be idle."""

    def __init__(self, context: Context, plan: Plan, *, n: int, capping: bool | str, max_runs: int) -> None:
        super().__init__(context)
        self.plan = plan
        self.n = n
        """Pairs of a comparison; 0: as many as it takes (FocusedILS)."""
        self.capping = caps(context, capping, "aggressive", "trajectory")
        self.most = int(min(max_runs, self.pairs.length))
        self.prefixes = Prefixes(self.history, self.pairs)
        self.domain = Domain(context.scenario.space, context.scenario.configurations)
        self.chains: list[Chain] = []
        self._start_chain()

    # --- chains ---

    def more(self) -> bool:
        """Another chain, if all others are at work: one that waits for another's run has nothing new to tell."""
        if not self.all_busy or self.chains[-1].is_over:
            return False
        self.context.record("chain", str(len(self.chains)), {"after": self.told})
        self._start_chain()
        return True

    def tell(self, run: Run) -> None:
        """Replay: first begin the chains that were begun before this run was told."""
        while (stored := self.context.recall("chain", str(len(self.chains)))) and stored["after"] <= self.told:
            self._start_chain()
        super().tell(run)

    def _start_chain(self) -> None:
        chain = Chain(self, len(self.chains))
        self.chains.append(chain)
        self.begin(f"chain {chain.number}", chain.run())

    # --- the incumbent ---

    def consider(self, config: Configuration) -> None:
        if self.history.record(config).wrong:
            changed, best = config == self.incumbent, self.history.best()
        else:
            changed, best = self.prefixes.succeeds(config, self.incumbent), config
        if changed:
            self.incumbent = best
            self.wake()  # bounds of aggressive capping have changed

    def limit(self, config: Configuration, n: int, bound: float) -> float:
        """What the first ``n`` runs of a configuration may cost together, whoever it is compared with.

        objective l. 3: aggressive capping also holds it against the incumbent.
        """
        if not self.capping:
            return inf
        if self.capping == "trajectory" or self.incumbent is None or self.prefixes.count(self.incumbent) < n:
            return bound
        return min(bound, self.plan.multiplier * self.prefixes.total(self.incumbent, n))

    def describe(self) -> list[tuple[str, str]]:
        searches, moves = sum(chain.searches for chain in self.chains), sum(chain.moves for chain in self.chains)
        text = f"{len(self.chains)} chains, {searches} local searches, {moves} improvements"
        if self.incumbent is not None:
            text += f"; {self.incumbent.id[:6]} has {self.prefixes.count(self.incumbent)} runs"
        return [("search", text)]


class Chain:
    """One iterated local search: the paper's Algorithm 1 and its procedures."""

    def __init__(self, search: ILS, number: int) -> None:
        self.search = search
        self.number = number
        self.bonus = 0
        """B: comparisons since the last bonus runs."""
        self.searches = self.moves = 0
        self.is_over = False
        self._steps = self._wants = 0

    def run(self) -> Program:
        """Algorithm 1."""
        plan = self.search.plan
        best = yield from self._start()  # l. 1
        best = yield from self._first_improvement(best)  # l. 2
        if not self.search.prefixes.count(best):  # nobody to compare it with: a space of one
            yield from self._objective(best, 1, inf)
        barren = 0
        while barren < BARREN:  # l. 3; the budget ends it before, unless everything is known
            wants = self._wants
            config = best
            for _ in range(plan.perturbation):  # l. 5
                config = next(self._neighbours(config), config)
            config = yield from self._first_improvement(config)  # l. 6
            if config != best and (yield from self._better(config, best)):  # l. 7
                best = config
            yield from self._meet(best)
            barren = barren + 1 if self._wants == wants else 0
            if barren or self._rng().random() < plan.restart:  # l. 8
                best = self._random()
        self.is_over = True

    def _start(self) -> Found:
        """The best of the default (a random configuration for later chains) and r random ones."""
        context = self.search.context
        best = self._random() if self.number else context.scenario.default
        others = [] if self.number else context.first
        for config in (*others, *(self._random() for _ in range(self.search.plan.initial))):
            if config != best and (yield from self._better(config, best)):
                best = config
        return best

    def _first_improvement(self, config: Configuration) -> Found:
        """IterativeFirstImprovement; never back to where it was, or ties would go round in circles without end."""
        seen = {config}
        moved = True
        while moved:
            moved = False
            for near in self._neighbours(config):
                if near not in seen and (yield from self._better(near, config)):
                    config, moved = near, True
                    seen.add(config)
                    self.moves += 1
                    break
        self.searches += 1
        return config

    def _meet(self, best: Configuration) -> Verdict:
        """Deviates from the paper, which has one chain: what a chain has found meets the incumbent of all of them."""
        incumbent = self.search.incumbent
        if incumbent is None or incumbent == best:
            return True
        return (yield from self._better(best, incumbent))

    # --- comparing ---

    def _better(self, one: Configuration, two: Configuration) -> Verdict:
        record = self.search.history.record
        if record(one).wrong or record(two).wrong:
            return not record(one).wrong
        found = yield from (self._better_n(one, two) if self.search.n else self._better_focused(one, two))
        return found and not record(one).wrong

    def _better_n(self, one: Configuration, two: Configuration) -> Verdict:
        """Procedure better_N: on the first N pairs; the same cost is not better, see ``_first_improvement``."""
        n = min(self.search.n, self.search.most)
        yield from self._objective(two, n, inf)
        yield from self._objective(one, n, self.search.prefixes.total(two, n))
        return self._value(one, n) < self._value(two, n)

    def _better_focused(self, one: Configuration, two: Configuration) -> Verdict:
        """Procedure better_Foc."""
        count, total = self.search.prefixes.count, self.search.prefixes.total
        earned, wants = 1 + (count(one) == count(two)), self._wants  # l. 1 and 4
        small, large = (one, two) if count(one) <= count(two) else (two, one)  # l. 2–5
        decided = False
        while not decided:  # l. 6
            n = min(count(small) + 1, self.search.most)  # l. 7
            yield from self._objective(large, n, inf)  # l. 8
            yield from self._objective(small, n, total(large, n))  # l. 9
            capped = count(small) < n or count(large) < n
            decided = capped or self._dominates(one, two) or self._dominates(two, one)  # l. 10
        self.bonus += earned if self._wants > wants else 0  # what was known already earns nothing, or all time went there
        if self._value(one, n) > self._value(two, n) or (not capped and not self._dominates(one, two)):  # l. 11
            return False
        if not self.search.history.record(one).known:  # it may not even begin: the incumbent costs nothing
            return False
        yield from self._objective(one, min(count(one) + self.bonus, self.search.most), inf)  # l. 12
        self.bonus = 0
        return True

    def _dominates(self, one: Configuration, two: Configuration) -> bool:
        count, worth = self.search.prefixes.count, self.search.prefixes.worth
        return count(one) >= count(two) and worth(one, count(two)) <= worth(two, count(two))

    def _value(self, config: Configuration, n: int) -> tuple[float, ...]:
        """ĉ_n; whoever was given up before is worse than all others, and the worse the earlier (objective l. 11)."""
        prefixes = self.search.prefixes
        return (0.0, *prefixes.worth(config, n)) if prefixes.count(config) >= n else (1.0, -prefixes.count(config))

    def _objective(self, config: Configuration, n: int, bound: float) -> Program:
        """Procedure objective: run the first ``n`` pairs unless that costs more than ``bound`` (a sum, not a mean).

        Runs that nothing bounds are all wanted at once, for whoever has workers.
        """
        search, prefixes = self.search, self.search.prefixes
        while (known := prefixes.count(config)) < n and not search.history.record(config).wrong:
            limit = search.limit(config, n, bound)
            cutoff = search.cutoff(limit - prefixes.total(config, known))  # l. 7
            until = n if limit == inf else known + 1
            missing = [search.pairs[i] for i in range(known, until)]
            wants = [Want(config, pair, cutoff) for pair in missing if pair not in search.history.record(config).costs]
            if cutoff <= 0.0 or search.is_known(wants[0]):  # l. 10: it has lost
                return
            self._wants += 1
            yield wants

    # --- chance ---

    def _rng(self) -> np.random.Generator:
        self._steps += 1
        return self.search.context.rng(_CHAINS, self.number, self._steps)

    def _random(self) -> Configuration:
        return self.search.domain.sample(1, self._rng())[0]

    def _neighbours(self, config: Configuration) -> Iterator[Configuration]:
        return iter(self.search.domain.neighbours(config, self._rng(), levels=self.search.plan.levels))


def ils(
    context: Context,
    *,
    variant: str = "focused",
    n: int = 10,
    capping: bool | str = True,
    multiplier: float = Plan.multiplier,
    initial: int = Plan.initial,
    perturbation: int = Plan.perturbation,
    restart: float = Plan.restart,
    levels: int = Plan.levels,
    max_runs: int = 2000,
) -> ILS:
    """ParamILS: FocusedILS, or BasicILS(n) with ``variant="basic"``."""
    if variant not in ("focused", "basic"):
        raise InputError(f"variant is 'focused' or 'basic', not {variant!r}")
    plan = Plan(
        checked("initial", initial, 0, whole=True),
        checked("perturbation", perturbation, 1, whole=True),
        checked("restart", restart, 0.0, 1.0),
        checked("multiplier", multiplier, 1.0),
        checked("levels", levels, 0, whole=True),
    )
    runs = checked("n", n, 1, whole=True) if variant == "basic" else 0
    return ILS(context, plan, n=runs, capping=capping, max_runs=checked("max_runs", max_runs, 1, whole=True))
