"""Challengers near the best: whose children they are, and that a replay makes the same ones."""

from __future__ import annotations

import numpy as np
import pytest

from capra.runs import Configuration, History, Objective, Outcome, Run, RunRequest, Status
from capra.search.candidates import PARENTS
from capra.space import Categorical, Real, Space
from capra.strategies.base import Context
from capra.strategies.near import BLOCK, NearProposer
from tests.strategies.conformance import drive, make, scenario

KAPPA = 100.0


def wide_space(parameters: int = 20) -> Space:
    return Space([Categorical(f"p{j}", tuple("abcde"), "a") for j in range(parameters)])


def history_of(runs: list[tuple[Configuration, int]], status: Status = Status.SUCCESS) -> History:
    """Configurations with so many runs each, on pairs of their own."""
    history = History(Objective(), KAPPA)
    for config, count in runs:
        for seed in range(count):
            history.add(Run(RunRequest(config, "i0", seed, 1.0), Outcome(status, 1.0, 1.0), "challenger 1"))
    return history


def looked(proposer: NearProposer, history: History) -> NearProposer:
    for run in history.runs:
        proposer.look(run.request.config, history)
    return proposer


def same_values(one: Configuration, other: Configuration) -> int:
    return sum(one[name] == other[name] for name in one)


def test_children_are_like_one_of_the_best() -> None:
    """Of 20 parameters with 5 values half at most are drawn anew; a random configuration shares 4 with a given one."""
    space = wide_space()
    elite = space.decode(space.sample(3, np.random.default_rng(1)))
    others = space.decode(space.sample(30, np.random.default_rng(2)))
    history = history_of([*((config, 1) for config in others), *((config, 20) for config in elite)])
    proposer = looked(NearProposer(Context(scenario(space=space))), history)
    best = {*elite, *proposer._best}
    for number in range(50):
        child = proposer.propose(number, history, {}, elite[0])
        assert child is not None
        assert child not in best
        assert not history.record(child).known
        assert max(same_values(child, parent) for parent in best) >= 7
    children = [proposer.propose(number, history, {}, elite[0]) for number in range(50)]
    assert np.mean([max(same_values(child, parent) for parent in best) for child in children if child]) > 15


def test_the_best_have_most_complete_runs() -> None:
    configs = wide_space().decode(wide_space().sample(30, np.random.default_rng(0)))
    counts = np.random.default_rng(1).permutation(30) + 1
    proposer = looked(
        NearProposer(Context(scenario(space=wide_space()))), history_of(list(zip(configs, counts, strict=True)))
    )
    expected = {config for config, count in zip(configs, counts, strict=True) if count > 30 - PARENTS}
    assert set(proposer._best) == expected


def test_a_run_that_was_stopped_makes_nobody_a_parent() -> None:
    config = wide_space().default
    assert not looked(NearProposer(Context(scenario(space=wide_space()))), history_of([(config, 5)], Status.CAPPED))._best


def test_the_best_are_the_same_after_a_replay() -> None:
    """Looked at run by run, and all at once in the end; many are level."""
    rng = np.random.default_rng(3)
    configs = wide_space().decode(wide_space().sample(40, rng))
    history, live = History(Objective(), KAPPA), NearProposer(Context(scenario(space=wide_space())))
    for seed, place in enumerate(rng.integers(40, size=150)):
        config = configs[place]
        history.add(Run(RunRequest(config, "i0", seed, KAPPA), Outcome(Status.SUCCESS, 1.0, KAPPA), "challenger 1"))
        live.look(config, history)
    replayed = looked(NearProposer(Context(scenario(space=wide_space()))), history)
    assert replayed._best == live._best
    proposals = [[one.propose(number, history, {}, configs[0]) for number in range(20)] for one in (live, replayed)]
    assert proposals[0] == proposals[1]


def test_mutants_follow_from_the_best_and_the_number_alone() -> None:
    """Blocks of them are kept: who is asked for the last one only, as after a replay, gives the same."""
    space = wide_space()
    elite, other = space.decode(space.sample(2, np.random.default_rng(5)))
    history, context = history_of([(elite, 9)]), Context(scenario(space=space))
    live = looked(NearProposer(context), history)
    found = [live.propose(number, history, {}, elite) for number in range(40)]
    assert len(set(found)) > BLOCK
    assert [looked(NearProposer(context), history).propose(number, history, {}, elite) for number in range(40)] == found
    assert live.propose(39, history, {}, other) != found[39]
    assert live.propose(39, history, {}, elite) == found[39]
    everybody = dict.fromkeys((config for config in found if config), ())
    assert live.propose(39, history, {**everybody}, elite) not in everybody


def test_whoever_was_wrong_has_no_children() -> None:
    space = wide_space()
    good, wrong = space.decode(space.sample(2, np.random.default_rng(4)))
    history = history_of([(wrong, 30), (good, 2)])
    history.add(Run(RunRequest(wrong, "i1", 0, KAPPA), Outcome(Status.WRONG, 1.0, KAPPA), "challenger 1"))
    proposer = looked(NearProposer(Context(scenario(space=space))), history)
    children = [proposer.propose(number, history, {}, good) for number in range(30)]
    assert all(same_values(child, good) > same_values(child, wrong) for child in children if child)


def test_nothing_near_in_a_pool_or_where_all_is_known() -> None:
    space = Space([Categorical("p", ("a", "b"), "a")])
    configs = space.decode(np.array([[0.0], [1.0]]))
    history = history_of([(config, 1) for config in configs])
    assert looked(NearProposer(Context(scenario(space=space))), history).propose(0, history, {}, configs[0]) is None
    pool = scenario(space=space, configurations=configs)
    assert NearProposer(Context(pool)).propose(0, History(Objective(), KAPPA), {}, configs[0]) is None


@pytest.mark.parametrize("near", [0.0, 1.0])
def test_smac_takes_its_share_of_them(near: float) -> None:
    """Numbers that are drawn near the best come close to it; those of the whole range do not."""
    space = Space([Real(f"x{j}", 0.0, 1.0, 0.5) for j in range(12)])

    def target(request: RunRequest) -> Outcome:
        far = max(abs(float(request.config[f"x{j}"]) - 0.5) for j in range(12))
        time = 1.0 + 10.0 * far
        solved = time <= request.cutoff
        return Outcome(Status.SUCCESS if solved else Status.CAPPED, min(time, request.cutoff), request.cutoff)

    strategy = make("smac", scenario(space=space), random=1.0, near=near, initial=0)
    runs, _ = drive(strategy, 400.0, target=target)
    tried = {run.request.config for run in runs} - {space.default}
    unchanged = [sum(config[f"x{j}"] == 0.5 for j in range(12)) for config in tried]
    assert len(tried) > 20
    assert (np.mean(unchanged) > 5.0) == (near == 1.0)
