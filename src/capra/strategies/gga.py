"""GGA: a genetic algorithm with two genders (Ansótegui, Sellmann & Tierney 2009), and the offspring of GGA++ (2015).

Only the competitive gender is run: in mini-tournaments on a subset of the pairs that grows from generation to generation,
all participants at once, until the winners are in. Winners mate with the other gender, whose members are never run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from capra.errors import InputError
from capra.runs import Configuration, Run
from capra.runs.history import Pair, worth
from capra.search.breeding import Breeder
from capra.search.domain import Domain
from capra.strategies.base import Context, checked
from capra.strategies.prefixes import Prefixes
from capra.strategies.programs import Program, Programs, Want, caps

__all__ = ["GGA", "gga"]

_BIRTH, _DRAW, _BREED, _FITS = 11, 12, 13, 14
"""Streams of random numbers (see Context.rng)."""
OLDEST = 3
"""An individual dies after so many generations."""
AHEAD = 8
"""Pairs of a participant that may run at the same time, if there are workers."""
BARREN = 100
"""So many generations in a row that needed no run mean that nothing is left to try."""
CANDIDATES = 20
"""Children of each pair of parents that a model chooses from."""


@dataclass(frozen=True)
class Plan:
    """The parameters of GGA."""

    population: int = 40
    """Individuals of both genders."""
    tournament: int = 8
    """Participants of a mini-tournament."""
    winners: int = 1
    """Those of them who may mate."""
    first: int = 5
    """Pairs of the first generation."""
    full: int = 75
    """The generation that uses every instance; the subset grows evenly until then."""
    mutation: float = 0.1
    """How often a parameter of a child is drawn anew."""
    clock: float = 0.01
    """Where the clock of a race begins, as a share of the cutoff; 0: no clock."""


@dataclass(frozen=True)
class Individual:
    """A configuration with its gender and its age in generations."""

    config: Configuration
    competitive: bool
    age: int


class Tournament:
    """Participants that run side by side on the same pairs until so many of them have finished."""

    def __init__(self, strategy: GGA, participants: Sequence[Configuration], pairs: Sequence[Pair]) -> None:
        self.participants = tuple(dict.fromkeys(participants))
        self.pairs = pairs
        self._strategy = strategy
        self._wants: list[Want] | None = None

    def _finished(self) -> list[Configuration]:
        """Whoever has run all pairs, the best first."""
        worths = {}
        for config in self.participants:
            record = self._strategy.history.record(config)
            if not record.wrong and all(pair in record.costs for pair in self.pairs):
                worths[config] = worth(record.costs[pair] for pair in self.pairs)
        return sorted(worths, key=worths.__getitem__)

    @property
    def winners(self) -> list[Configuration]:
        return self._finished()[: self._strategy.plan.winners]

    def wants(self) -> list[Want]:
        """The next runs of all who may still win.

        The race is over for whoever has used more than the last winner needed: its run is stopped where it stands. Until
        there is one, nobody may use more than the clock of the race says; it is doubled when all have. With a worker for
        each participant no such clock is needed; with fewer it takes its place, so that nobody is far ahead in time.
        """
        if self._wants is None:
            self._wants = self._next_runs()
        return self._wants

    def told(self, config: Configuration) -> None:
        """Something new is known of a configuration."""
        if config in self.participants:
            self._wants = None

    def _next_runs(self) -> list[Want]:
        """The clock of the race goes on when nobody can run within it, and stands when the last winner is in."""
        finished, strategy = self._finished(), self._strategy
        over = strategy.capping and len(finished) >= strategy.plan.winners
        bound = strategy.history.total(finished[strategy.plan.winners - 1], self.pairs) if over else math.inf
        clock = strategy.first_clock
        while not (wants := self._until(min(clock, bound))) and clock < min(bound, self._longest):
            clock *= 2.0
        return wants or self._until(bound)

    @property
    def _longest(self) -> float:
        """Nobody's runs cost more together."""
        return len(self.pairs) * self._strategy.context.scenario.objective.penalty * self._strategy.kappa_max

    def _until(self, limit: float) -> list[Want]:
        """Who has used least so far comes first."""
        queues = sorted((self._queue(config, limit) for config in self.participants), key=lambda queue: queue[0])
        return list(chain.from_iterable(_in_turn([wants for _, wants in queues])))

    def _queue(self, config: Configuration, limit: float) -> tuple[float, list[Want]]:
        """What a participant has used so far, and what it runs next if it may use ``limit`` in all."""
        strategy = self._strategy
        record = strategy.history.record(config)
        _, spent = worth(record.costs.get(pair, 0.0) for pair in self.pairs)
        cutoff = strategy.cutoff(limit - spent)
        missing = [Want(config, pair, cutoff) for pair in self.pairs if pair not in record.costs]
        if record.wrong or cutoff <= 0.0 or any(strategy.is_known(want) for want in missing):
            return spent, []
        return spent, missing[:AHEAD]


def _in_turn(queues: Sequence[Sequence[Want]]) -> Iterator[list[Want]]:
    """First the first of everybody, then the second of everybody …"""
    for place in range(max(map(len, queues), default=0)):
        yield [queue[place] for queue in queues if place < len(queue)]


class GGA(Programs):
    """A ``Strategy``: generation after generation. The incumbent does not age (the paper's best may die)."""

    def __init__(self, context: Context, plan: Plan, *, capping: bool | str, model: str) -> None:
        super().__init__(context)
        self.plan = plan
        self.capping = bool(caps(context, capping))
        self.model = model
        is_timed = self.capping and plan.clock and self.history.objective.utility is None
        self.first_clock = plan.clock * self.kappa_max if is_timed else math.inf
        self.domain = Domain(context.scenario.space, context.scenario.configurations)
        self.breeder = Breeder(context.scenario.space, plan.mutation)
        self.prefixes = Prefixes(self.history, self.pairs)
        self.generation = 0
        self.population = self._first_population()
        self.tournaments: list[Tournament] = []
        self._barren = 0
        self._next_generation()

    def _first_population(self) -> list[Individual]:
        """The default and what is known to be good compete; ages are spread, so that not all die at once."""
        rng, size = self.context.rng(_BIRTH), self.plan.population
        first = [self.context.scenario.default, *self.context.first][: size // 2]
        configs = [*first, *self.domain.sample(size - len(first), rng)]
        return [Individual(config, place < size // 2, place % OLDEST) for place, config in enumerate(configs)]

    # --- generations ---

    def tell(self, run: Run) -> None:
        super().tell(run)
        self._next_generation()

    def _next_generation(self) -> None:
        """Breed and go on as soon as all tournaments of the last generation are over."""
        while not self._processes and self._barren < BARREN:
            if self.tournaments:
                self.generation += 1
                self._succeed()
            self._draw()
            self.begin(f"generation {self.generation}", self._race())
            self._barren = 0 if self._processes else self._barren + 1

    def subset(self) -> list[Pair]:
        """The pairs of this generation. Always the first ones, so that survivors need not run them again."""
        everything = min(self.pairs.length, max(1, len(self.context.scenario.instances)))
        share = min(1.0, self.generation / self.plan.full)
        return self.pairs.first(math.ceil(self.plan.first + share * max(0, everything - self.plan.first)))

    def _draw(self) -> None:
        """Divide the competitive gender at random into as few tournaments as there may be, of about the same size."""
        rng, pairs = self.context.rng(_DRAW, self.generation), self.subset()
        competitive = [individual.config for individual in self.population if individual.competitive]
        order = [competitive[i] for i in rng.permutation(len(competitive)).tolist()]
        count = math.ceil(len(order) / self.plan.tournament)
        self.tournaments = [Tournament(self, order[first::count], pairs) for first in range(count)]

    def _race(self) -> Program:
        while wants := list(chain.from_iterable(tournament.wants() for tournament in self.tournaments)):
            yield wants
        self._crown()

    # --- the incumbent ---

    def consider(self, config: Configuration) -> None:
        for tournament in self.tournaments:
            tournament.told(config)
        if self.history.record(config).wrong:
            if config == self.incumbent:
                self.incumbent = self.history.best()
        elif self.prefixes.succeeds(config, self.incumbent):
            self.incumbent = config

    def _crown(self) -> None:
        """The best of all winners of a generation, if the incumbent was not among them."""
        pairs = self.tournaments[0].pairs
        winners = [winner for tournament in self.tournaments for winner in tournament.winners]
        if winners and self.incumbent not in winners:
            self.incumbent = min(
                winners, key=lambda config: worth(self.history.record(config).costs[pair] for pair in pairs)
            )

    # --- breeding ---

    def _succeed(self) -> None:
        """The old die, and as many are born: children of winners and of the other gender, half of them competitive."""
        winners = list(dict.fromkeys(winner for tournament in self.tournaments for winner in tournament.winners))
        mates = [individual.config for individual in self.population if not individual.competitive]
        living = self._survivors()
        missing = self.plan.population - len(living)
        known = {individual.config for individual in living}
        born = self._children(winners, mates, missing) if winners and missing else []
        children = [config for config in dict.fromkeys(born) if config not in known]  # a clone has nothing to tell
        children += self.domain.sample(missing - len(children), self.context.rng(_BREED, self.generation, 1))
        competitive = self.plan.population // 2 - sum(individual.competitive for individual in living)
        self.population = living + [Individual(config, place < competitive, 0) for place, config in enumerate(children)]

    def _survivors(self) -> list[Individual]:
        """Those who are not too old yet, a year older; the incumbent stays as young as it is."""
        record, kept, others = self.history.record, [], []
        for individual in self.population:
            if individual.config == self.incumbent and individual.competitive:
                kept = [individual]
            elif individual.age + 1 < OLDEST and not record(individual.config).wrong:
                others.append(Individual(individual.config, individual.competitive, individual.age + 1))
        return kept + others

    def _children(self, winners: Sequence[Configuration], mates: Sequence[Configuration], count: int) -> list[Configuration]:
        stored = self.context.recall("offspring", str(self.generation))
        if stored is not None:
            return [Configuration(config) for config in stored["configs"]]
        rng, space = self.context.rng(_BREED, self.generation), self.context.scenario.space
        mothers, fathers = space.encode(winners), space.encode(mates)
        couples = [(mothers[rng.integers(len(mothers))], fathers[rng.integers(len(fathers))]) for _ in range(count)]
        if self.model == "none":
            return self.domain.legal(np.array([self.breeder.child(one, two, rng) for one, two in couples]))
        children = self._chosen([[self.breeder.child(one, two, rng) for _ in range(CANDIDATES)] for one, two in couples])
        self.context.record("offspring", str(self.generation), {"configs": [dict(config) for config in children]})
        return children

    def _chosen(self, litters: Sequence[Sequence[np.ndarray]]) -> list[Configuration]:
        """GGA++: of the children of each couple the one of which a model of the censored runs expects most."""
        from capra.strategies.smac import make_suggester  # scipy takes its time to load

        suggester = make_suggester(self.context, self.model)
        suggester.learn(self.history, self.context.rng(_FITS, self.generation))
        best = [litter[int(np.argmin(suggester.expected(np.array(litter))))] for litter in litters]
        return self.domain.legal(np.array(best))

    def describe(self) -> list[tuple[str, str]]:
        running = sum(bool(tournament.wants()) for tournament in self.tournaments)
        text = f"{self.generation} on {len(self.tournaments[0].pairs)} pairs, {running} tournaments under way"
        return [("generation", text)]


def gga(
    context: Context,
    *,
    population: int = Plan.population,
    tournament: int = Plan.tournament,
    winners: int = Plan.winners,
    first: int = Plan.first,
    full: int = Plan.full,
    mutation: float = Plan.mutation,
    clock: float = Plan.clock,
    model: str = "none",
    capping: bool | str = True,
) -> GGA:
    """The gender-based genetic algorithm; ``model="forest"`` chooses the offspring as GGA++ does."""
    if model != "none":
        from capra.search.surrogates import chosen_model  # scipy takes its time to load

        chosen_model(model, None)
    plan = Plan(
        checked("population", population, 4, whole=True),
        checked("tournament", tournament, 2, whole=True),
        checked("winners", winners, 1, whole=True),
        checked("first", first, 1, whole=True),
        checked("full", full, 1, whole=True),
        checked("mutation", mutation, 0.0, 1.0),
        checked("clock", clock, 0.0, 1.0),
    )
    if plan.winners >= plan.tournament:
        raise InputError(f"of {plan.tournament} participants there cannot be {plan.winners} winners")
    return GGA(context, plan, capping=capping, model=model)
