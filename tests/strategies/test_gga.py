"""GGA: one generation by hand, the race inside of a tournament, crossover, mutation and ageing."""

from __future__ import annotations

import math

import numpy as np
import pytest

from capra.engines import SimulatedEngine
from capra.errors import InputError
from capra.runs import Configuration, Outcome, Run, RunRequest, Status
from capra.scenario import Scenario
from capra.search.breeding import Breeder, mutated
from capra.space import Categorical, Real, Space, equals, is_in
from capra.strategies.base import Context
from capra.strategies.gga import GGA, OLDEST, Individual, Plan, Tournament, gga
from capra.strategies.programs import Programs
from tests.strategies.conformance import Decisions, drive, make, rich_space, sequence

KAPPA = 100.0
TIMES = {"a": (1.0, 2.0, 2.0), "b": (4.0, 4.0, 4.0), "c": (2.0, 9.0, 1.0), "d": (30.0, 1.0, 1.0)}
"""Four configurations on three pairs."""


def generation(**options: object) -> tuple[GGA, Context]:
    """A population whose competitive half is a, b, c, d, on three deterministic instances."""
    given = Scenario(
        target="some:function",
        space=Space([Categorical("c", (*TIMES, *"efgh"), "a")]),
        instances=["i0", "i1", "i2"],
        cutoff=KAPPA,
        deterministic=True,
        objective="par1",
    )
    context = Context(given)
    strategy = gga(context, population=8, tournament=4, first=3, full=1, **options)  # type: ignore[arg-type]
    strategy.population = [Individual(Configuration({"c": name}), name in TIMES, 0) for name in (*TIMES, *"efgh")]
    strategy._processes.clear()
    strategy._wanted.clear()
    strategy._draw()
    strategy.begin("generation 0", strategy._race())
    return strategy, context


def run(request: RunRequest) -> Outcome:
    name, place = str(request.config["c"]), int(str(request.instance)[1:])
    time = TIMES.get(name, (50.0, 50.0, 50.0))[place]
    if time <= request.cutoff:
        return Outcome(Status.SUCCESS, time, request.cutoff)
    return Outcome(Status.CAPPED if request.cutoff < KAPPA else Status.TIMEOUT, request.cutoff, request.cutoff)


def test_a_tournament_with_a_worker_for_each_is_killed_when_the_winner_is_in() -> None:
    """All start at 0. a is through after 1 + 2 + 2 = 5 (on any order of the pairs): b, c and d are cut at 5 in total."""
    strategy, _ = generation(clock=0.0)
    engine = SimulatedEngine(run, 4)
    tickets = {}
    used = dict.fromkeys(TIMES, 0.0)
    while strategy.generation == 0:
        for request in strategy.ask(engine.free):
            tickets[engine.submit(request)] = request
        for ticket, outcome in engine.wait():
            request = tickets.pop(ticket)
            used[str(request.config["c"])] += outcome.time
            strategy.tell(Run(request, outcome))
        for request, cutoff in strategy.tighten():
            engine.tighten(next(t for t, other in tickets.items() if other == request), cutoff)
    assert engine.clock == pytest.approx(5.0)
    assert used == pytest.approx(dict.fromkeys(TIMES, 5.0))
    assert strategy.incumbent == Configuration({"c": "a"})


def test_a_tournament_on_one_worker_by_hand() -> None:
    """Who has used least goes on: the same race, run by run. Nobody uses more than the winner's 5 once that is known."""
    strategy, _ = generation(clock=0.0)
    order = [int(str(instance)[1:]) for instance, _ in strategy.tournaments[0].pairs]
    used, left, expected = dict.fromkeys(TIMES, 0.0), {name: list(order) for name in TIMES}, []
    participants = [str(config["c"]) for config in strategy.tournaments[0].participants]
    while True:
        finished = [used[name] for name in participants if not left[name]]
        bound = min(finished, default=math.inf)
        racing = [name for name in participants if left[name] and bound - used[name] > 0]
        if not racing:
            break
        name = min(racing, key=lambda name: used[name])
        place = left[name].pop(0)
        cutoff = min(KAPPA, bound - used[name])
        expected.append((name, f"i{place}", cutoff))
        if TIMES[name][place] <= cutoff:
            used[name] += TIMES[name][place]
        else:
            used[name] = math.inf
    made = []
    while strategy.generation == 0:
        (request,) = strategy.ask(1)
        made.append((str(request.config["c"]), request.instance, request.cutoff))
        strategy.tell(Run(request, run(request)))
    assert made == expected
    assert strategy.tournaments != []
    assert strategy.incumbent == Configuration({"c": "a"})


def test_the_clock_of_a_race_takes_the_place_of_workers() -> None:
    """It begins at 4 and is doubled: with one worker nobody uses more than twice the winner's 5 in all its runs."""
    strategy, _ = generation(clock=0.04)
    used: dict[str, list[float]] = {name: [] for name in TIMES}
    while strategy.generation == 0:
        (request,) = strategy.ask(1)
        outcome = run(request)
        used[str(request.config["c"])].append(outcome.time)
        assert request.cutoff <= 8.0
        strategy.tell(Run(request, outcome))
    assert strategy.incumbent == Configuration({"c": "a"})
    assert sum(used["d"]) <= 4.0 + 8.0
    assert sum(used["a"]) <= 5.0 + 4.0


def test_the_next_generation_by_hand() -> None:
    """Ages 0 become 1; nobody dies but those of the last age; the winner mates; sizes and genders stay."""
    strategy, context = generation()
    space = context.scenario.space
    ages = [2, 0, 1, 0, 2, 1, 0, 0]
    strategy.population = [
        Individual(individual.config, individual.competitive, age)
        for individual, age in zip(strategy.population, ages, strict=True)
    ]
    while asked := strategy.ask(1):
        Programs.tell(strategy, Run(asked[0], run(asked[0])))
    strategy._succeed()
    names = [(str(one.config["c"]), one.competitive, one.age) for one in strategy.population]
    # a is the incumbent and does not age; e, of age 2, dies; the others are a year older; one child takes e's place.
    assert names[:7] == [
        ("a", True, 2),
        ("b", True, 1),
        ("c", True, 2),
        ("d", True, 1),
        ("f", False, 2),
        ("g", False, 1),
        ("h", False, 1),
    ]
    assert names[7][1:] == (False, 0)
    assert space.configuration(dict(strategy.population[7].config))


def test_the_children_of_a_generation_by_hand() -> None:
    """Four tournaments of two on one pair: the quicker ones win and mate with the others' gender, nobody else has children.

    Winners have m = 0.1 to 0.4, losers 0.6 to 0.9, and mates f = 0.1 to 0.8; without mutation a child has its m and f from a
    winner (f = 0) or a mate (m = 0). All of age 2 die but the incumbent, and as many are born, half of them competitive.
    """
    given = Scenario(
        target="some:function",
        space=Space([Real("m", 0.0, 1.0, 0.5), Real("f", 0.0, 1.0, 0.5)]),
        instances=["i0"],
        cutoff=KAPPA,
        deterministic=True,
    )
    strategy = gga(Context(given), population=16, tournament=2, first=1, mutation=0.0, clock=0.0)
    own = [0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9]
    rivals = [Configuration({"m": m, "f": 0.0}) for m in own]
    mates = [Configuration({"m": 0.0, "f": f}) for f in own]
    strategy.population = [Individual(config, config in rivals, 2) for config in (*rivals, *mates)]
    pairs = strategy.subset()
    strategy.tournaments = [Tournament(strategy, rivals[k::4], pairs) for k in range(4)]
    for config in rivals:
        time = 10.0 * float(config["m"])
        strategy.history.add(Run(RunRequest(config, *pairs[0], KAPPA), Outcome(Status.SUCCESS, time, KAPPA)))
    assert [tournament.winners for tournament in strategy.tournaments] == [[rivals[k]] for k in range(4)]
    strategy.incumbent = rivals[0]
    strategy._succeed()
    old, young = strategy.population[0], strategy.population[1:]
    assert (old.config, old.age, len(young)) == (rivals[0], 2, 15)
    assert [one.age for one in young] == [0] * 15
    assert sum(one.competitive for one in young) == 7
    bred = [one.config for one in young if {float(one.config["m"]), float(one.config["f"])} <= {0.0, *own}]
    assert len(bred) >= 8  # a clone of another child is replaced by a random configuration
    assert {float(config["m"]) for config in bred} <= {0.0, 0.1, 0.2, 0.3, 0.4}
    assert any(float(config["m"]) > 0.0 and float(config["f"]) > 0.0 for config in bred)


def test_the_population_is_constant_and_only_the_incumbent_grows_old() -> None:
    strategy = make("gga")
    assert isinstance(strategy, GGA)
    seen: dict[tuple[str, int], int] = {}
    generation = -1
    while strategy.generation < 12:
        drive(strategy, strategy.history.spent + 20)
        if strategy.generation > generation:
            generation = strategy.generation
            assert len(strategy.population) == Plan.population
            assert sum(individual.competitive for individual in strategy.population) == Plan.population // 2
            assert max(individual.age for individual in strategy.population) < OLDEST
            seen[strategy.incumbent.id if strategy.incumbent else "", generation] = 1
    assert len(seen) > 5


def test_the_subset_grows_evenly() -> None:
    strategy = make("gga", first=4, full=8)
    assert isinstance(strategy, GGA)
    sizes = []
    for number in range(10):
        strategy.generation = number
        sizes.append(len(strategy.subset()))
    assert sizes == [4, 5, 6, 7, 8, 9, 10, 11, 12, 12]


def test_what_one_parent_lacks_comes_from_the_other() -> None:
    space = Space(
        [Categorical("mode", ("x", "y"), "x"), Real("strength", 0.0, 1.0, 0.5), Real("other", 0.0, 1.0, 0.5)],
        {"strength": equals("mode", "x")},
    )
    breeder, rng = Breeder(space, 0.0), np.random.default_rng(1)
    one, two = np.array([0.0, 0.25, 0.25]), np.array([1.0, np.nan, 0.75])
    children = np.array([space.repaired(breeder.crossed(one, two, rng)[None, :])[0] for _ in range(4000)])
    assert (children[:, 2] == 0.75).mean() == pytest.approx(0.5, abs=0.03)
    active = children[:, 0] == 0.0
    assert (children[active, 1] == 0.25).all()  # the parent that lacks it has nothing to give
    assert np.isnan(children[~active, 1]).all()


def test_a_subtree_of_conditions_comes_from_one_parent() -> None:
    """Both parents use the option; its value comes from the parent that the option came from in 90 of 100 children."""
    space = Space(
        [Categorical("mode", ("x", "y", "z"), "x"), Real("strength", 0.0, 1.0, 0.5)],
        {"strength": is_in("mode", ["x", "y"])},
    )
    breeder, rng = Breeder(space, 0.0), np.random.default_rng(1)
    children = np.array([breeder.crossed(np.array([0.0, 0.2]), np.array([1.0, 0.8]), rng) for _ in range(4000)])
    together = (children[:, 0] == 0.0) == (children[:, 1] == 0.2)
    assert together.mean() == pytest.approx(0.9, abs=0.02)


def test_below_what_the_parents_agree_on_chance_decides_again() -> None:
    """Both have mode x: it is open (Ansótegui et al. 2009, §3.3), and its two parameters are inherited each by itself."""
    space = Space(
        [Categorical("mode", ("x", "y"), "x"), Real("first", 0.0, 1.0, 0.5), Real("second", 0.0, 1.0, 0.5)],
        {"first": equals("mode", "x"), "second": equals("mode", "x")},
    )
    breeder, rng = Breeder(space, 0.0), np.random.default_rng(1)
    one, two = np.array([0.0, 0.2, 0.2]), np.array([0.0, 0.8, 0.8])
    children = np.array([breeder.crossed(one, two, rng) for _ in range(4000)])
    assert (children[:, 1] == children[:, 2]).mean() == pytest.approx(0.5, abs=0.03)
    assert (children[:, 1] == 0.2).mean() == pytest.approx(0.5, abs=0.03)


def test_tournaments_are_of_about_the_same_size() -> None:
    """20 competitive individuals, at most 8 in a tournament: 7, 7 and 6, everybody once."""
    strategy = make("gga")
    assert isinstance(strategy, GGA)
    sizes = sorted(len(tournament.participants) for tournament in strategy.tournaments)
    assert sizes == [6, 7, 7]


def test_mutation_draws_one_parameter_in_ten() -> None:
    space = rich_space()
    rows = np.repeat(space.encode([space.default]), 3000, axis=0)
    drawn = mutated(space, rows, 0.1, 0.3, np.random.default_rng(2))
    changed = drawn != rows
    x = list(space.names).index("x")
    assert changed[:, x].mean() == pytest.approx(0.1, abs=0.02)
    algorithm = list(space.names).index("algorithm")
    assert changed[:, algorithm].mean() == pytest.approx(0.1 * 2 / 3, abs=0.02)  # one draw in three is the old value
    assert (np.isnan(rows) == np.isnan(drawn)).all()


def test_children_are_legal() -> None:
    space = rich_space()
    breeder, rng = Breeder(space, 0.3), np.random.default_rng(3)
    parents = space.sample(40, rng)
    for one, two in zip(parents[:20], parents[20:], strict=True):
        (config,) = space.decode(breeder.child(one, two, rng)[None, :])
        assert space.configuration(config) == config


def test_offspring_of_a_model_are_better_and_stored() -> None:
    decisions = Decisions()
    first = make("gga", decisions=decisions, model="forest", population=12)
    runs, _ = drive(first, 400)
    kinds = {kind for kind, _ in decisions.kept}
    assert kinds == {"offspring"}
    resumed = make("gga", decisions=decisions, model="forest", population=12)
    assert isinstance(resumed, GGA)
    resumed._chosen = None  # type: ignore[method-assign, assignment]  # a replay fits nothing
    for run in runs:
        resumed.tell(run)
    assert resumed.incumbent == first.incumbent
    again, _ = drive(make("gga", model="forest", population=12), 400)
    assert sequence(again) == sequence(runs)


def test_bad_options() -> None:
    for wrong in ({"population": 1}, {"tournament": 2, "winners": 2}, {"model": "oracle"}, {"capping": "aggressive"}):
        with pytest.raises(InputError):
            make("gga", **wrong)


def test_a_wrong_answer_wins_nothing() -> None:
    strategy, context = generation()
    liar = Configuration({"c": "a"})
    for pair in strategy.tournaments[0].pairs:
        request = RunRequest(liar, *pair, KAPPA)
        strategy.history.add(Run(request, Outcome(Status.WRONG, 0.1, KAPPA)))
    tournament = Tournament(strategy, [liar, Configuration({"c": "b"})], strategy.tournaments[0].pairs)
    assert tournament.winners == []
    assert {want.config for want in tournament.wants()} == {Configuration({"c": "b"})}
    assert context.scenario.deterministic
