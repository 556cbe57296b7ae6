"""ParamILS: one step of FocusedILS by hand, and what the paper promises of capping."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from itertools import count
from typing import TypeVar

import numpy as np
import pytest

from capra.errors import InputError
from capra.runs import Configuration, Outcome, Run, RunRequest, Status
from capra.scenario import Scenario
from capra.search.domain import Domain
from capra.space import Categorical, Integer, Real, Space
from capra.strategies.base import Context
from capra.strategies.ils import _CHAINS, ILS, Chain, ils
from capra.strategies.programs import Want
from tests.strategies.conformance import Decisions, drive, lognormal, make, scenario
from tests.strategies.plain_ils import Enough, PlainILS

KAPPA = 300.0
T = TypeVar("T")


def search(*names: str, instances: int = 6, **options: object) -> tuple[ILS, Chain, dict[str, Configuration]]:
    """A search among configurations known by name, on deterministic instances, with a chain to be led by hand."""
    given = Scenario(
        target="some:function",
        space=Space([Categorical("c", names, names[0])]),
        instances=[f"i{k}" for k in range(instances)],
        cutoff=KAPPA,
        deterministic=True,
        objective="par1",
    )
    strategy = ils(Context(given), **options)  # type: ignore[arg-type]
    return strategy, Chain(strategy, 7), {name: Configuration({"c": name}) for name in names}


def lead(
    strategy: ILS, program: Generator[Sequence[Want], None, T], times: dict[str, list[float]]
) -> tuple[T, list[tuple[str, int, float, Status]]]:
    """Run all that a program wants, one at a time; times by configuration and position of the pair."""
    made = []
    position = {pair: k for k, pair in enumerate(strategy.pairs.first(100))}
    try:
        while True:
            want = next(program)[0]
            name, place = str(want.config["c"]), position[want.pair]
            made.append((name, place, want.cutoff, tell(strategy, want, times[name][place])))
    except StopIteration as end:
        return end.value, made


def tell(strategy: ILS, want: Want, time: float) -> Status:
    short = Status.CAPPED if want.cutoff < KAPPA else Status.TIMEOUT
    status = Status.SUCCESS if time <= want.cutoff else short
    request = RunRequest(want.config, *want.pair, want.cutoff)
    strategy.tell(Run(request, Outcome(status, min(time, want.cutoff), want.cutoff)))
    return status


def test_a_step_of_focused_ils_by_hand() -> None:
    """θ has run 4 and 2. θ' = 3, then more than 3: cut, B = 1. θ'' = 3, 1: dominates (4 ≤ 6), B = 2 bonus runs."""
    strategy, chain, configs = search("old", "slow", "new", capping="trajectory")
    for place, time in enumerate((4.0, 2.0)):
        tell(strategy, Want(configs["old"], strategy.pairs[place], KAPPA), time)

    better, made = lead(strategy, chain._better_focused(configs["slow"], configs["old"]), {"slow": [3.0, 100.0]})
    assert not better
    assert chain.bonus == 1
    assert made == [("slow", 0, 4.0, Status.SUCCESS), ("slow", 1, 6.0 - 3.0, Status.CAPPED)]

    times = {"new": [3.0, 1.0, 7.0, 9.0]}
    better, made = lead(strategy, chain._better_focused(configs["new"], configs["old"]), times)
    assert better
    assert made == [
        ("new", 0, 4.0, Status.SUCCESS),  # N = 1: 3 ≤ 4, but θ has two runs and is not dominated by one
        ("new", 1, 3.0, Status.SUCCESS),  # N = 2: 4 ≤ 6
        ("new", 2, KAPPA, Status.SUCCESS),  # two bonus runs
        ("new", 3, KAPPA, Status.SUCCESS),
    ]
    assert chain.bonus == 0
    assert strategy.incumbent == configs["new"]


@pytest.mark.parametrize("seed", range(4))
def test_a_whole_search_is_the_papers(seed: int) -> None:
    """Run by run, with its cutoffs: start, local searches, perturbation, acceptance, bonus runs, aggressive capping."""
    runs, _ = drive(make("ils", seed=seed), 700)
    fresh = make("ils", seed=seed)
    assert isinstance(fresh, ILS)
    plain = PlainILS(fresh.domain, fresh.pairs, lognormal, (fresh.context.rng(_CHAINS, 0, step) for step in count(1)))
    plain.enough = len(runs)
    with pytest.raises(Enough):
        plain.search(scenario().default)
    made = [(run.request.config.id, run.request.instance, run.request.seed, run.request.cutoff) for run in runs]
    assert len(made) > 200
    assert [entry[:3] for entry in made] == [entry[:3] for entry in plain.made]
    assert [entry[3] for entry in made] == pytest.approx([entry[3] for entry in plain.made])


def test_equal_numbers_of_runs_earn_two_bonus_runs_and_a_run_each() -> None:
    """N(θ1) = N(θ2) = 1: B grows by 2 (better_Foc l. 1 and 4); both get a second run, θ2 without a bound."""
    strategy, chain, configs = search("one", "two", capping="trajectory")
    tell(strategy, Want(configs["one"], strategy.pairs[0], KAPPA), 5.0)
    tell(strategy, Want(configs["two"], strategy.pairs[0], KAPPA), 4.0)
    times = {"one": [5.0, 1.0, 1.0, 1.0], "two": [4.0, 10.0, 1.0, 1.0]}
    better, made = lead(strategy, chain._better_focused(configs["one"], configs["two"]), times)
    assert made[:2] == [("two", 1, KAPPA, Status.SUCCESS), ("one", 1, 14.0 - 5.0, Status.SUCCESS)]
    assert better  # 6 ≤ 14
    assert [(name, place) for name, place, *_ in made[2:]] == [("one", 2), ("one", 3)]


def test_what_the_larger_has_more_runs_of_is_never_run_again() -> None:
    """θ1 has three runs, θ2 one: θ2 follows under θ1's bound and is dominated when it is cut."""
    strategy, chain, configs = search("one", "two", capping="trajectory")
    for place, time in enumerate((2.0, 2.0, 2.0)):
        tell(strategy, Want(configs["one"], strategy.pairs[place], KAPPA), time)
    tell(strategy, Want(configs["two"], strategy.pairs[0], KAPPA), 1.0)
    better, made = lead(
        strategy, chain._better_focused(configs["one"], configs["two"]), {"two": [1.0, 50.0], "one": [2.0] * 6}
    )
    assert made[0] == ("two", 1, 4.0 - 1.0, Status.CAPPED)
    assert better
    assert made[1:] == [("one", 3, KAPPA, Status.SUCCESS)]  # one bonus run


def test_aggressive_capping_holds_all_against_the_incumbent() -> None:
    """Two configurations that are both over twice the incumbent's cost: whoever is given up first loses."""
    times = {"best": [1.0, 1.0], "bad": [1.5, 100.0], "worse": [100.0, 1.0]}
    strategy, chain, configs = search("best", "bad", "worse", capping="aggressive", multiplier=2.0)
    for place in (0, 1):
        tell(strategy, Want(configs["best"], strategy.pairs[place], KAPPA), 1.0)
    better, made = lead(strategy, chain._better_focused(configs["worse"], configs["bad"]), times)
    assert made == [("bad", 0, 2.0, Status.SUCCESS), ("worse", 0, 1.5, Status.CAPPED)]
    assert not better
    _, made = lead(strategy, chain._objective(configs["bad"], 2, np.inf), times)
    assert made == [("bad", 1, 2.0 * 2.0 - 1.5, Status.CAPPED)]
    assert chain._value(configs["bad"], 2) < chain._value(configs["worse"], 2)  # it got farther


def test_bounds_are_tightened_when_another_chain_improves_the_incumbent() -> None:
    strategy, _, configs = search("a", "b", "c", "d", capping="aggressive", initial=0)
    (first,) = strategy.ask(1)
    strategy.tell(Run(first, Outcome(Status.SUCCESS, 50.0, KAPPA)))
    requests = strategy.ask(2)
    assert requests[0].cutoff <= 100.0
    quick = Want(configs["d"], strategy.pairs[0], KAPPA)
    tell(strategy, quick, 1.0)
    bounds = dict(strategy.tighten())
    assert set(bounds.values()) == {2.0}


@pytest.mark.parametrize("seed", range(3))
def test_trajectory_preserving_capping_preserves_the_trajectory(seed: int) -> None:
    """BasicILS(N) tries the same configurations in the same order, in less time (Hutter et al. 2009, §4.1)."""
    tried, spent = [], []
    for capping in (False, "trajectory"):
        strategy = make("ils", seed=seed, variant="basic", n=5, capping=capping)
        runs, _ = drive(strategy, 2500)
        tried.append(list(dict.fromkeys(run.request.config for run in runs)))
        spent.append(strategy.history.spent / len(tried[-1]))
    shared = min(map(len, tried))
    assert shared > 60
    assert tried[0][: shared - 1] == tried[1][: shared - 1]
    assert spent[1] < 0.8 * spent[0]


def test_basic_compares_on_n_pairs() -> None:
    strategy = make("ils", variant="basic", n=4, capping=False)
    runs, _ = drive(strategy, 1000)
    finished = {run.request.config for run in runs[:-4]}
    assert {len(strategy.history.record(config).costs) for config in finished} == {4}


def test_chains_share_the_history_and_come_back_after_a_replay() -> None:
    decisions = Decisions()
    strategy = make("ils", decisions=decisions)
    runs, engine = drive(strategy, 2000, workers=8)
    assert isinstance(strategy, ILS)
    assert {run.asked_by for run in runs} == {f"chain {k}" for k in range(8)}
    assert engine.busy > 0.9 * 8 * engine.clock
    resumed = make("ils", decisions=decisions)
    for run in runs:
        resumed.tell(run)
    assert isinstance(resumed, ILS)
    assert [chain.moves for chain in resumed.chains] == [chain.moves for chain in strategy.chains]
    assert resumed.describe() == strategy.describe()


def test_restarts_and_bad_options() -> None:
    runs, _ = drive(make("ils", restart=1.0, initial=0, perturbation=1), 300)
    assert runs
    for wrong in ({"variant": "both"}, {"capping": "brave"}, {"n": 0, "variant": "basic"}, {"multiplier": 0.5}):
        with pytest.raises(InputError):
            make("ils", **wrong)


# --- neighbours ---


def test_levels_are_evenly_spread_values() -> None:
    space = Space([Real("x", 0.0, 8.0, 2.0), Integer("n", 1, 1000, 10, log=True), Categorical("c", ("a", "b"), "a")])
    near = Domain(space).neighbours(space.default, np.random.default_rng(0), levels=5)
    assert sorted(config["x"] for config in near if config["x"] != 2.0) == [0.0, 4.0, 6.0, 8.0]
    assert sum(config["c"] == "b" for config in near) == 1
    numbers = sorted(int(config["n"]) for config in near if config["n"] != 10)
    edges = np.exp(np.linspace(np.log(0.5), np.log(1000.5), 5))
    assert numbers == sorted({round(min(1000, max(1, edge))) for edge in edges} - {10})


def test_neighbours_in_a_pool_are_its_nearest_members() -> None:
    space = scenario().space
    rng = np.random.default_rng(3)
    pool = list(dict.fromkeys(space.decode(space.sample(200, rng))))
    domain = Domain(space, pool)
    near = domain.neighbours(pool[0], rng)

    def gap(one: Configuration, two: Configuration) -> float:
        """Gower's distance, parameter by parameter."""
        parts = []
        for name, parameter in space.parameters.items():
            if (name in one) != (name in two):
                parts.append(1.0)
            elif name not in one:
                parts.append(0.0)
            elif parameter.categories:
                parts.append(float(one[name] != two[name]))
            else:
                parts.append(float(abs(parameter.encode([one[name]]) - parameter.encode([two[name]]))[0]))
        return sum(parts) / len(parts)

    ordered = sorted(pool[1:], key=lambda config: gap(pool[0], config))
    assert set(near) == set(ordered[:20])
    assert domain.legal(space.encode([pool[5]])) == [pool[5]]
