"""Racing and capping: the lecture's worked examples, and what their rules say at the edges."""

from __future__ import annotations

import math
from collections import Counter
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from capra.errors import InputError
from capra.runs import Configuration, Outcome, Run, RunRequest, Status
from capra.runs.history import History
from capra.scenario import Scenario
from capra.search.information import Belief
from capra.space import Categorical, Space
from capra.strategies.base import Context
from capra.strategies.capping import Duel, next_cutoff
from capra.strategies.pairs import PairOrder, some, splitmix
from capra.strategies.race import Busy, Proposer, Race
from tests.strategies.conformance import Decisions, drive, lognormal, make, scenario, space

KAPPA = 300.0


class Given:
    """A proposer of known challengers."""

    def __init__(self, *configs: Configuration) -> None:
        self.configs = configs

    def propose(self, number: int, history: History, busy: Busy, incumbent: Configuration | None) -> Configuration | None:
        return self.configs[number] if number < len(self.configs) else None


def race(instances: int, *challengers: str, **options: object) -> tuple[Race, dict[str, Configuration]]:
    """A race between configurations known by name, on that many deterministic instances."""
    space = Space([Categorical("c", ("incumbent", *dict.fromkeys(challengers)), "incumbent")])
    given = Scenario(
        target="some:function",
        space=space,
        instances=[f"i{k}" for k in range(1, instances + 1)],
        cutoff=KAPPA,
        deterministic=True,
        objective="par1",
    )
    configs = {name: Configuration({"c": name}) for name in ("incumbent", *challengers)}
    context = Context(given, options=dict(options))
    return Race(context, Given(*(configs[name] for name in challengers)), **options), configs  # type: ignore[arg-type]


def play(strategy: Race, times: dict[str, list[float]], most: int = 1000) -> list[tuple[str, str | None, float, Status]]:
    """Run everything it asks for, one at a time; times by configuration and instance (i1, i2, …)."""
    made = []
    while len(made) < most and (asked := strategy.ask(1)):
        request = asked[0]
        name = str(request.config["c"])
        time = times[name][int(str(request.instance)[1:]) - 1]
        solved = time <= request.cutoff
        status = Status.SUCCESS if solved else Status.CAPPED if request.cutoff < KAPPA else Status.TIMEOUT
        outcome = Outcome(status, min(time, request.cutoff), request.cutoff)
        strategy.tell(Run(request, outcome, strategy.why(request)))
        made.append((name, request.instance, request.cutoff, status))
    return made


def test_the_lecture_on_racing() -> None:
    """Incumbent 3, 2, 10. λ' = 2, 10 is rejected (6 > 2.5); λ'' = 3, 1, 5 becomes the incumbent."""
    strategy, configs = race(3, "one", "two", capping=False)
    for instance, time in (("i1", 3.0), ("i2", 2.0), ("i3", 10.0)):
        told(strategy, configs["incumbent"], instance, time)
    strategy.batch = lambda finished: 1 if finished else 2  # type: ignore[method-assign]  # the slides compare at N = 2
    _only_on(strategy, ["i1", "i2"])
    made = play(strategy, {"incumbent": [3, 2, 10], "one": [2, 10, 0], "two": [3, 1, 5]}, most=2)
    assert [who for who, *_ in made] == ["one", "one"]
    assert configs["one"] not in strategy._racing  # rejected: ĉ_2(λ') = 6 > ĉ_2(λ̂) = 2.5
    _only_on(strategy, ["i1", "i2", "i3"])
    made = play(strategy, {"incumbent": [3, 2, 10], "one": [2, 10, 0], "two": [3, 1, 5]})
    assert {instance for who, instance, *_ in made if who == "two"} == {"i1", "i2", "i3"}
    assert strategy.incumbent == configs["two"]


def _only_on(strategy: Race, instances: list[str]) -> None:
    """The slides go through the instances in order; a challenger's own order is random."""
    strategy._common_pairs = lambda: [(instance, 0) for instance in instances]  # type: ignore[method-assign]


def told(strategy: Race, config: Configuration, instance: str, time: float, asked_by: str = "incumbent") -> None:
    request = RunRequest(config, instance, 0, KAPPA)
    strategy.tell(Run(request, Outcome(Status.SUCCESS, time, KAPPA), asked_by))


def test_the_lecture_on_capping() -> None:
    """Incumbent 4 + 2, challenger 3 and then 300: cut after 6 − 3 = 3 (the slide's 4 is the first whole second over it)."""
    assert next_cutoff(4 + 2, 3, slack=1.0, kappa_max=KAPPA) == 3.0
    strategy, configs = race(2, "one", slack=1.0)
    told(strategy, configs["incumbent"], "i1", 4.0)
    told(strategy, configs["incumbent"], "i2", 2.0)
    strategy.batch = lambda finished: 2  # type: ignore[method-assign]  # "comparison based on 2 instances"
    first, second = strategy.ask(2)
    assert {first.instance, second.instance} == {"i1", "i2"}
    assert first.cutoff == second.cutoff == 6.0
    easy, hard = (first, second) if first.instance == "i1" else (second, first)
    strategy.tell(Run(easy, Outcome(Status.SUCCESS, 3.0, 6.0), strategy.why(easy)))
    assert strategy.tighten() == [(hard, 3.0)]
    strategy.tell(Run(hard, Outcome(Status.CAPPED, 3.0, 3.0), strategy.why(hard)))
    assert strategy.incumbent == configs["incumbent"]
    assert strategy.ask(5) == []


def test_a_tie_on_everything_keeps_the_incumbent_and_ends() -> None:
    strategy, configs = race(2, "same")
    told(strategy, configs["incumbent"], "i1", 1.0)
    told(strategy, configs["incumbent"], "i2", 2.0)
    made = play(strategy, {"incumbent": [1, 2], "same": [1, 2]})
    assert strategy.incumbent == configs["incumbent"]
    assert len(made) == 2


def test_a_tie_on_a_subset_continues() -> None:
    strategy, configs = race(3, "better")
    times = {"incumbent": [1, 1, 5], "better": [1, 1, 4]}
    for k in (1, 2, 3):
        told(strategy, configs["incumbent"], f"i{k}", times["incumbent"][k - 1])
    play(strategy, times)
    assert strategy.incumbent == configs["better"]


def test_batches_double() -> None:
    strategy, configs = race(20, "one", capping=False)
    for k in range(1, 21):
        told(strategy, configs["incumbent"], f"i{k}", 5.0)
    sizes = []
    while asked := strategy.ask(100):
        sizes.append(len(asked))
        for request in asked:
            strategy.tell(Run(request, Outcome(Status.SUCCESS, 1.0, KAPPA), strategy.why(request)))
    assert sizes == [1, 2, 4, 8, 5]
    assert strategy.incumbent == configs["one"]


def test_siblings_are_tightened_when_one_finishes() -> None:
    strategy, configs = race(3, "one", slack=1.0)
    for k in (1, 2, 3):
        told(strategy, configs["incumbent"], f"i{k}", 4.0)
    (first,) = strategy.ask(1)
    strategy.tell(Run(first, Outcome(Status.SUCCESS, 3.0, first.cutoff), strategy.why(first)))
    two, three = strategy.ask(2)
    assert two.cutoff == three.cutoff == 12.0 - 3.0
    strategy.tell(Run(two, Outcome(Status.SUCCESS, 5.0, two.cutoff), strategy.why(two)))
    assert [(request.cell, cutoff) for request, cutoff in strategy.tighten()] == [(three.cell, 12.0 - 3.0 - 5.0)]
    assert strategy.tighten() == []


def test_siblings_of_a_rejected_challenger_are_stopped() -> None:
    strategy, configs = race(3, "one", slack=1.0)
    for k in (1, 2, 3):
        told(strategy, configs["incumbent"], f"i{k}", 4.0)
    (first,) = strategy.ask(1)
    strategy.tell(Run(first, Outcome(Status.SUCCESS, 3.0, first.cutoff), strategy.why(first)))
    two, three = strategy.ask(2)
    strategy.tell(Run(two, Outcome(Status.CAPPED, two.cutoff, two.cutoff), "challenger 0"))
    assert strategy.tighten() == [(three, 0.0)]


@pytest.mark.parametrize(("slow", "cutoffs"), [(200.0, [30.0, KAPPA]), (20.0, [30.0])])
def test_where_the_incumbent_has_failed_there_is_a_trial_first(slow: float, cutoffs: list[float]) -> None:
    """It cannot be the reason for a rejection: who wins on all other pairs has won, and makes the run as the incumbent."""
    strategy, configs = race(3, "one")
    for instance, time in (("i1", KAPPA), ("i2", 5.0), ("i3", 5.0)):
        told(strategy, configs["incumbent"], instance, time)
    made = [run for run in play(strategy, {"incumbent": [KAPPA, 5.0, 5.0], "one": [slow, 4.0, 4.0]}) if run[0] == "one"]
    assert [cutoff for _, instance, cutoff, _ in made if instance == "i1"] == cutoffs
    assert made[-1][1] == "i1" or len(cutoffs) == 1
    assert strategy.incumbent == configs["one"]


def test_who_needs_longer_than_a_trial_where_the_incumbent_never_finishes() -> None:
    """A trial tells nobody from anybody then: when nothing else is left, they get the whole time."""
    strategy, configs = race(3, "one", "two")
    made = play(strategy, {"incumbent": [KAPPA] * 3, "one": [KAPPA] * 3, "two": [200.0] * 3})
    assert [cutoff for name, _, cutoff, _ in made if name == "two"][:2] == [30.0, KAPPA]
    assert strategy.incumbent == configs["two"]


def test_every_tenth_challenger_is_one_that_was_put_off() -> None:
    names = [f"c{k}" for k in range(30)]
    strategy, _ = race(1, *names)
    made = play(strategy, {key: [KAPPA] for key in ["incumbent", *names]}, most=24)
    order = [(name, cutoff) for name, _, cutoff, _ in made if name != "incumbent"]
    assert order[:11] == [*((name, 30.0) for name in names[:10]), ("c0", KAPPA)]
    assert [name for name, cutoff in order if cutoff == KAPPA] == ["c0", "c1"]


def never_the_default(request: RunRequest) -> Outcome:
    """Nobody is quick: those with x < 0.4 take about half of the cutoff, others for ever, the default among them."""
    time = (0.2 + float(request.config["x"])) * 100.0 if float(request.config["x"]) < 0.4 else math.inf
    if time <= request.cutoff:
        return Outcome(Status.SUCCESS, time, request.cutoff)
    return Outcome(Status.CAPPED if request.cutoff < 100.0 else Status.TIMEOUT, request.cutoff, request.cutoff)


@pytest.mark.parametrize("workers", [1, 20])
@pytest.mark.parametrize("name", ["roar", "smac"])
def test_a_default_that_never_finishes_is_replaced_and_replayed(name: str, workers: int) -> None:
    decisions = Decisions()
    first = make(name, decisions=decisions)
    assert never_the_default(RunRequest(scenario().default, "i0", 0, 100.0)).status is Status.TIMEOUT
    runs, _ = drive(first, 8000, workers, never_the_default)
    assert first.incumbent is not None
    assert float(first.incumbent["x"]) < 0.4
    resumed = make(name, decisions=decisions)
    for run in runs:
        resumed.tell(run)
    assert resumed.incumbent == first.incumbent
    assert resumed.ask(1) == first.ask(1)


def made_by_incumbent(strategy: Race, config: Configuration, *runs: tuple[str, int, float]) -> None:
    for instance, seed, time in runs:
        status = Status.SUCCESS if time < KAPPA else Status.TIMEOUT
        strategy.tell(Run(RunRequest(config, instance, seed, KAPPA), Outcome(status, time, KAPPA), "incumbent"))


@pytest.mark.parametrize(
    ("others", "failed"),
    [
        ([], True),
        ([("i1", 2, KAPPA)], True),
        ([("i2", 2, 4.0)], True),  # another instance says nothing of this one
        ([("i1", 2, 4.0)], False),  # the failure was bad luck
        ([("i1", 2, 4.0), ("i1", 3, KAPPA)], False),
    ],
)
def test_a_trial_is_for_instances_on_which_the_incumbent_always_fails(
    others: list[tuple[str, int, float]], failed: bool
) -> None:
    """Without its unlucky pairs a challenger would be compared with the incumbent's lucky runs alone."""
    strategy, configs = race(2, "one")
    made_by_incumbent(strategy, configs["incumbent"], ("i1", 1, KAPPA), *others)
    duel = Duel(configs["one"], configs["incumbent"], ("i1", 1), strategy.history)
    assert duel.failed is failed
    assert strategy.capping.cutoff(duel, KAPPA) == (30.0 if failed else KAPPA)


def test_a_trial_that_fails_after_the_incumbent_has_finished_another_seed_is_made_again_in_full() -> None:
    strategy, configs = race(1, "one")
    made_by_incumbent(strategy, configs["incumbent"], ("i1", 0, KAPPA))
    (trial,) = strategy.ask(1)
    assert (trial.config, trial.cutoff) == (configs["one"], 30.0)
    made_by_incumbent(strategy, configs["incumbent"], ("i1", 1, 250.0))
    strategy.tell(Run(trial, Outcome(Status.CAPPED, 30.0, 30.0), strategy.why(trial)))
    other = strategy.ask(1)[0]
    assert (other.config, other.seed) == (configs["one"], 1)
    strategy.tell(Run(other, Outcome(Status.SUCCESS, 200.0, other.cutoff), strategy.why(other)))
    again = strategy.ask(1)[0]
    assert (again.cell, again.cutoff) == (trial.cell, KAPPA)


def test_a_capped_cell_is_run_anew_only_with_a_larger_cutoff() -> None:
    """A rejected configuration that is raced again: its capped cell is known to take longer than it may."""
    strategy, configs = race(1, "one", "one", slack=1.0)
    told(strategy, configs["incumbent"], "i1", 4.0)
    (first,) = strategy.ask(1)
    assert first.cutoff == 4.0
    strategy.tell(Run(first, Outcome(Status.CAPPED, 4.0, 4.0), strategy.why(first)))
    assert strategy.ask(1) == []  # the second race of the same configuration needs no run to be lost


@given(st.floats(0, 1e6), st.floats(0, 1e7), st.floats(1, 10), st.floats(1e-3, 1e4))
def test_cutoffs_are_never_negative_nor_above_the_maximum(total: float, spent: float, slack: float, kappa: float) -> None:
    cutoff = next_cutoff(total, spent, slack, kappa)
    assert 0.0 <= cutoff <= kappa
    if 0.0 < cutoff < kappa:
        assert cutoff == slack * total - spent  # never rounded


class Oracle:
    """A believer that always says the same."""

    def __init__(self, belief: Belief) -> None:
        self.said = belief

    def belief(self, *_: object) -> Belief:
        return self.said


def one_against(belief: Belief, incumbent: float) -> tuple[Race, Configuration, RunRequest]:
    """A race in which the incumbent took that long, and its challenger's first request."""
    strategy, configs = race(1, "one", slack=1.0, capping="information", believer=Oracle(belief))
    told(strategy, configs["incumbent"], "i1", incumbent)
    (request,) = strategy.ask(1)
    assert request.config == configs["one"]
    return strategy, configs["one"], request


def test_a_bad_challenger_is_stopped_before_the_bound_and_given_up() -> None:
    strategy, config, request = one_against(Belief(gap=0.6, doubt=0.4, mean=1.5, std=0.6), incumbent=200.0)
    assert 1.0 < request.cutoff < 200.0
    strategy.tell(Run(request, Outcome(Status.CAPPED, request.cutoff, request.cutoff), strategy.why(request), order=2))
    assert config not in strategy._racing


def test_a_bound_that_was_rounded_to_the_nanosecond_is_the_bound() -> None:
    """Else the same run would be made again and again."""
    strategy, config, request = one_against(Belief(gap=0.0, doubt=0.4, mean=1.5, std=0.6), incumbent=100.0 / 3.0)
    rounded = float(f"{request.cutoff:.9f}")
    assert rounded < request.cutoff
    strategy.tell(Run(request, Outcome(Status.CAPPED, rounded, rounded), strategy.why(request), order=2))
    assert config not in strategy._racing


def test_a_challenger_that_may_still_win_is_run_on() -> None:
    """Somebody else stopped its run early: it is made again, up to the bound; a capped run there is the end."""
    strategy, config, request = one_against(Belief(gap=0.0, doubt=0.4, mean=1.5, std=0.6), incumbent=200.0)
    assert request.cutoff == 200.0
    strategy.tell(Run(request, Outcome(Status.CAPPED, 20.0, 20.0), strategy.why(request), order=2))
    (again,) = strategy.ask(1)
    assert (again.cell, again.cutoff) == (request.cell, 200.0)
    strategy.tell(Run(again, Outcome(Status.CAPPED, 200.0, 200.0), strategy.why(again), order=3))
    assert config not in strategy._racing


def test_caps_for_information_need_a_model() -> None:
    with pytest.raises(InputError, match=r"needs a model .*smac"):
        make("roar", capping="information")
    with pytest.raises(InputError, match="capping is true, false or 'information', not 'info'"):
        make("smac", capping="info")


def test_challengers_run_only_where_the_incumbent_has() -> None:
    strategy = make("roar", lead=0.0)
    runs, _ = drive(strategy, 3000)
    complete: dict[Configuration, set[tuple[str | None, int]]] = {}
    incumbent = scenario().default
    for run in runs:
        pair = (run.request.instance, run.request.seed)
        if run.asked_by != "incumbent":
            assert pair in complete[incumbent]
        if run.outcome.status is not Status.CAPPED:
            complete.setdefault(run.request.config, set()).add(pair)
        if run.request.config != incumbent and complete.get(run.request.config, set()) >= complete[incumbent]:
            record = strategy.history.record(run.request.config)
            if sum(record.costs[p] for p in complete[incumbent]) < strategy.history.total(
                incumbent, list(complete[incumbent])
            ):
                incumbent = run.request.config


def test_pairs_go_round_before_an_instance_comes_again() -> None:
    order = PairOrder(Context(scenario()))
    for lap in range(3):
        instances = [order[12 * lap + k][0] for k in range(12)]
        assert sorted(map(str, instances)) == sorted(f"i{k}" for k in range(12))
    assert len({order[k] for k in range(36)}) == 36
    assert [order[k] for k in range(36)] == [PairOrder(Context(scenario()))[k] for k in range(36)]


def test_deterministic_and_given_seeds() -> None:
    fixed = PairOrder(Context(scenario(deterministic=True)))
    assert fixed.length == 12
    assert {fixed[k][1] for k in range(12)} == {0}
    few = PairOrder(Context(scenario(seeds=[7, 8])))
    assert few.length == 24
    assert {few[k][1] for k in range(24)} == {7, 8}


def test_some_pairs_are_a_random_sample_without_repetition() -> None:
    pairs = [(f"i{k}", k) for k in range(20)]
    assert sorted(some(pairs, 99, 1)) == sorted(pairs)
    assert len(set(some(pairs, 5, 1))) == 5
    assert some(pairs, 5, 1) == some(pairs, 5, 1)
    assert some(pairs, 20, 1) != some(pairs, 20, 2)
    known = set(some(pairs, 12, 1))
    assert sorted(some(pairs, 99, 3, known)) == sorted(set(pairs) - known)
    assert len(some(pairs, 5, 3, known)) == 5


def test_every_pair_is_equally_likely_in_every_place() -> None:
    """Three of the four pairs that are not known, in 24 orders: chi-square over many seeds."""
    pairs = [(f"i{k}", k) for k in range(5)]
    drawn = [tuple(some(pairs, 3, seed, {pairs[1]})) for seed in range(2400 * 5)]
    counts = Counter(drawn)
    assert len(counts) == 24
    assert chisquare(list(counts.values())).pvalue > 1e-3


def test_splitmix() -> None:
    """The first numbers of the authors' program for the seed 1234567."""
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821]
    assert list(islice(splitmix(1234567), 5)) == expected


def test_the_incumbent_takes_no_more_time_than_the_challengers() -> None:
    """An incumbent that times out all the time gets one run, and no second before the challengers have used as much."""
    strategy = make("roar")
    runs, _ = drive(strategy, 3000)
    used = {"incumbent": 0.0, "challenger": 0.0}
    for run in runs:
        if run.asked_by == "incumbent" and used["incumbent"] > 0:
            assert used["incumbent"] <= used["challenger"]
        used[run.asked_by.split()[0]] += run.outcome.time


@pytest.mark.parametrize("objective", ["par1", "par10"])
def test_timeouts_of_the_incumbent_count_with_their_penalty(objective: str) -> None:
    history = History(scenario(objective=objective).objective, KAPPA)
    config = Configuration({"c": 1})
    history.add(Run(RunRequest(config, "i", 0, KAPPA), Outcome(Status.TIMEOUT, KAPPA, KAPPA)))
    assert history.record(config).mean == {"par1": 300.0, "par10": 3000.0}[objective]


def test_the_audit_runs_capped_challengers_out_and_decides_nothing() -> None:
    """At slack 1 a rejection is final on the pairs compared, yet may be wrong on all: the audit counts those."""
    plain, audited = make("roar", slack=1.0), make("roar", slack=1.0, audit=1.0)
    without, _ = drive(plain, 2000)
    runs, _ = drive(audited, 2000 + 8000)
    races = [run for run in runs if not run.asked_by.startswith("audit")]
    pairs = list(zip(races, without, strict=False))
    assert len(pairs) > 50
    assert all(one.request.cell == other.request.cell for one, other in pairs[:50])
    assert audited.audit.checked > 10  # type: ignore[attr-defined]
    assert 0 <= audited.audit.wrong < audited.audit.checked  # type: ignore[attr-defined]
    extra = [run for run in runs if run.asked_by.startswith("audit")]
    assert all(run.request.cutoff == 100.0 for run in extra)
    replayed = make("roar", slack=1.0, audit=1.0)
    for run in runs[:150]:
        replayed.tell(run)
    (request,) = replayed.ask(1)
    assert request.cell == runs[150].request.cell


@pytest.mark.parametrize(("name", "workers"), [("roar", 3), ("basic", 17)])
@pytest.mark.parametrize("seed", range(4))
def test_an_audit_and_the_race_never_run_one_cell_at_a_time(name: str, workers: int, seed: int) -> None:
    """``drive`` looks: not while a sibling is being stopped, a pool's next lap begins, or a refuted incumbent is replaced."""
    rng = np.random.default_rng(seed)

    def sometimes_wrong(request: RunRequest) -> Outcome:
        return Outcome(Status.WRONG, 0.2, request.cutoff) if rng.random() < 0.03 else lognormal(request)

    given = scenario(configurations=space().decode(space().sample(40, np.random.default_rng(seed))))
    for target in (lognormal, sometimes_wrong):
        strategy = make(name, given, seed, slack=1.0, audit=0.5)
        drive(strategy, 300, workers, target)
        assert isinstance(strategy, Race)
        assert strategy.audit.checked > 0


def test_what_is_over_leaves_nothing_behind() -> None:
    """Else the millionth run would cost more than the first."""
    live = make("roar")
    runs, _ = drive(live, 3000, workers=4)
    replayed = make("roar")
    for run in runs:
        replayed.tell(run)
    for strategy in (live, replayed):
        assert isinstance(strategy, Race)
        assert strategy.started > 100
        assert len(strategy._racing) <= 4
        assert set(strategy._queue) <= set(strategy._racing)
        assert not strategy._pending
        assert not strategy._moved
    assert isinstance(live, Race)
    assert isinstance(replayed, Race)
    assert live.incumbent == replayed.incumbent
    theirs = {config: challenger.compared for config, challenger in replayed._racing.items()}
    begun = {config for config in live._racing if live.history.record(config).known}
    assert {config: live._racing[config].compared for config in begun} == theirs


def test_the_incumbent_does_not_run_away_from_its_challengers() -> None:
    strategy = make("roar")
    drive(strategy, 3000)
    assert isinstance(strategy, Race)
    assert strategy.incumbent is not None
    assert strategy.started > 200
    assert 20 < len(strategy.history.record(strategy.incumbent).costs) <= 4.0 * strategy.started**0.5 + 1


@pytest.mark.parametrize("lost", [0, 1, 5])
def test_a_lost_run_of_the_incumbent_is_asked_for_again(lost: int) -> None:
    strategy, configs = race(8)
    first = strategy.ask(1)[0]
    strategy.tell(Run(first, Outcome(Status.SUCCESS, 1.0, KAPPA), strategy.why(first)))
    other = RunRequest(Configuration({"c": "other"}), "i1", 0, 160.0)  # rejected; its time allows the incumbent's runs
    strategy.tell(Run(other, Outcome(Status.CAPPED, 160.0, 160.0), "challenger 9"))
    asked = strategy.ask(8)
    assert len(asked) == 7
    for place, request in enumerate(asked):
        outcome = Outcome(Status.LOST, 0.0, KAPPA) if place == lost else Outcome(Status.SUCCESS, 1.0, KAPPA)
        strategy.tell(Run(request, outcome, strategy.why(request)))
    assert [request.cell for request in strategy.ask(8)] == [asked[lost].cell]
    assert strategy.incumbent == configs["incumbent"]


class Watched:
    """A proposer that compares what it is told of the race with what a look at everybody says."""

    def __init__(self, inner: Proposer) -> None:
        self.inner = inner
        self.race: Race | None = None
        self.looks = 0

    def propose(self, number: int, history: History, busy: Busy, incumbent: Configuration | None) -> Configuration | None:
        race = self.race
        assert race is not None
        expected = {
            config: race._pending.get(config, ())
            for config in (*race._racing, race._reference, *race.audit.configs, *race._pending)
        }
        assert (list(busy.items()), len(busy)) == (list(expected.items()), len(expected))
        assert [config in busy for config in history.configurations] == [c in expected for c in history.configurations]
        self.looks += 1
        return self.inner.propose(number, history, busy, incumbent)


@pytest.mark.parametrize("pool", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_what_is_kept_up_to_date_is_what_a_look_at_everybody_says(
    pool: bool, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who is busy, and who has lost when the incumbent's runs come in: neither is looked up among all challengers."""
    rejected = []
    quick = Race._give_up_losers

    def slow(race: Race) -> None:
        lost = {c for c, known in race._racing.items() if known.left and race._has_lost(c, known, known.left)}
        before = set(race._racing)
        quick(race)
        assert before - set(race._racing) == lost
        rejected.extend(lost)

    monkeypatch.setattr(Race, "_give_up_losers", slow)
    rng = np.random.default_rng(seed)

    def unreliable(request: RunRequest) -> Outcome:
        if rng.random() < 0.05:
            return Outcome(Status.LOST, 0.0, request.cutoff)
        return Outcome(Status.WRONG, 0.2, request.cutoff) if rng.random() < 0.02 else lognormal(request)

    configs = {"configurations": space().decode(space().sample(20, np.random.default_rng(seed)))} if pool else {}
    strategy = make("roar", scenario(**configs), seed, slack=1.0, audit=0.1, lead=0.3)
    assert isinstance(strategy, Race)
    strategy.proposer = watched = Watched(strategy.proposer)
    watched.race = strategy
    drive(strategy, 2000, 17, unreliable)
    assert watched.looks > 20
    assert rejected or not pool
