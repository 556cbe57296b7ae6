"""minimize: finds minima for less than random search does, spends what it was given, and says no to nonsense."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from capra import InputError, Minimizer, Minimum, Space, SpaceError, minimize
from capra.space import Categorical, Integer, Real, is_in

PLANE = Space([Real("x", -5.0, 10.0, 2.5), Real("y", 0.0, 15.0, 7.5)])
MIXED = Space(
    [
        Categorical("method", ("slow", "fast", "odd"), "slow"),
        Integer("depth", 1, 64, 8, log=True),
        Real("rate", 0.0, 1.0, 0.5),
    ],
    {"rate": is_in("method", ["fast"])},
)


def branin(config: dict[str, Any], cutoff: float) -> float:
    """At least 1, there at three places; ignores its cutoff."""
    x, y = config["x"], config["y"]
    valley = (y - 5.1 / (4 * math.pi**2) * x**2 + 5.0 / math.pi * x - 6.0) ** 2
    return 1.0 - 0.39788735772973816 + valley + 10.0 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10.0


def obedient(config: dict[str, Any], cutoff: float) -> float | None:
    value = branin(config, cutoff)
    return value if value <= cutoff else None


def mixed(config: dict[str, Any], cutoff: float) -> float:
    """Best at method fast, depth 16, rate 0.2, where it is 1."""
    assert ("rate" in config) == (config["method"] == "fast")
    steps = 1.0 + abs(math.log2(config["depth"] / 16))
    return steps * (1.0 + 5.0 * abs(config["rate"] - 0.2) if config["method"] == "fast" else 8.0)


def random_search(budget: float, seed: int) -> float:
    """The best that uniform draws find, capped in the same way and from the same start."""
    best, spent = math.inf, 0.0
    rng = np.random.default_rng(seed)
    for config in [PLANE.default, *PLANE.decode(PLANE.sample(1000, rng))]:
        value = branin(dict(config), math.inf)
        spent += min(value, 1.3 * best)
        if spent > budget:
            return best
        best = min(best, value)
    raise AssertionError("the budget is larger than the sample")


def same(one: Minimum, other: Minimum) -> bool:
    return one.observations == other.observations


# --- it finds ---


def test_it_finds_less_than_random_search_for_the_same_budget() -> None:
    found = [minimize(branin, PLANE, budget=400.0, seed=seed).cost for seed in range(5)]
    chance = [random_search(400.0, seed) for seed in range(21)]
    assert np.median(found) - 1.0 < 0.2 * (np.median(chance) - 1.0)


@pytest.mark.parametrize("slack", [1.3, math.inf])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_gaussian_process_arrives(seed: int, slack: float) -> None:
    """Within 1 % of the minimum, although nearly all it sees are bounds: random search takes thousands of evaluations."""
    result = minimize(branin, PLANE, budget=1e6, slack=slack, model="gp", evaluations=32, seed=seed)
    assert result.cost <= 1.01


@pytest.mark.parametrize("model", ["forest-mean", "network", "ensemble"])
def test_every_model_improves_on_the_design(model: str) -> None:
    result = minimize(branin, PLANE, budget=1000.0, model=model, evaluations=25)
    design = [e.cost for e in result.observations[:11] if not e.censored]
    assert result.cost < min(design)


def test_capping_saves_cost() -> None:
    """The same number of evaluations for a third of the cost."""
    capped = minimize(branin, PLANE, budget=1e6, evaluations=40)
    whole = minimize(branin, PLANE, budget=1e6, evaluations=40, slack=math.inf)
    assert len(capped.observations) == len(whole.observations) == 40
    assert capped.spent < whole.spent / 3
    assert not any(e.censored for e in whole.observations)


def test_categories_and_conditions() -> None:
    result = minimize(mixed, MIXED, budget=400.0, evaluations=80)
    assert result.incumbent is not None
    assert result.incumbent["method"] == "fast"
    assert result.cost < 2.0
    for evaluation in result.observations:
        assert dict(MIXED.configuration(evaluation.config)) == evaluation.config


@pytest.mark.parametrize("acquisition", ["ei", "thompson", "lcb"])
def test_other_acquisition_functions(acquisition: str) -> None:
    result = minimize(mixed, MIXED, budget=300.0, acquisition=acquisition, evaluations=60)
    assert result.cost < 3.0


# --- it keeps its word ---


def test_bounds_budget_and_trajectory() -> None:
    result = minimize(branin, PLANE, budget=300.0, slack=1.5)
    best, spent, steps = math.inf, 0.0, []
    for config, cost, cutoff, censored in result.observations:
        true = branin(config, cutoff)
        assert cutoff == min(1.5 * best, 300.0 - spent)
        assert (cost, censored) == ((cutoff, True) if true > cutoff else (true, False))
        spent += cost
        if not censored and cost < best:
            best = cost
            steps.append((spent, config, cost))
    assert result.trajectory == steps
    assert result.spent == pytest.approx(300.0)
    assert (result.incumbent, result.cost, result.stopped) == (*steps[-1][1:], "budget")


@pytest.mark.parametrize(
    "answer",
    [
        lambda value, cutoff: {"cost": min(value, cutoff), "censored": value > cutoff},
        lambda value, cutoff: (min(value, cutoff), value > cutoff),
        lambda value, cutoff: None if value > cutoff else np.float64(value),
    ],
)
def test_a_function_that_ignores_the_cutoff_is_like_one_that_keeps_it(answer: Any) -> None:
    kept = minimize(lambda config, cutoff: answer(branin(config, cutoff), cutoff), PLANE, budget=200.0)
    assert same(kept, minimize(branin, PLANE, budget=200.0))
    assert any(e.censored for e in kept.observations)


def test_ask_and_tell_is_the_function_form() -> None:
    search = Minimizer(PLANE, budget=200.0, seed=5)
    while (question := search.ask()) is not None:
        config, cutoff = question
        search.tell(config, obedient(config, cutoff))
    result = minimize(branin, PLANE, budget=200.0, seed=5)
    assert search.observations == result.observations
    assert search.trajectory == result.trajectory


def test_the_same_seed_gives_the_same_search() -> None:
    first, second, other = (minimize(branin, PLANE, budget=150.0, seed=seed) for seed in (3, 3, 4))
    assert same(first, second)
    assert not same(first, other)


@pytest.mark.parametrize("model", ["forest", "gp"])
def test_what_is_asked_depends_on_what_was_told_only(model: str) -> None:
    result = minimize(branin, PLANE, budget=1e6, evaluations=16, seed=2, model=model)
    for cut in (0, 1, 7, 15):
        search = Minimizer(PLANE, seed=2, model=model)
        for config, cost, cutoff, censored in result.observations[:cut]:
            search.tell(config, cost, censored=censored, cutoff=cutoff)
        assert search.observations == result.observations[:cut]
        question = search.ask()
        assert question is not None
        assert question[0] == result.observations[cut].config


def test_several_questions_may_be_open() -> None:
    search = Minimizer(MIXED, initial=2)
    asked = [search.ask() for _ in range(6)]  # more than the design
    configs = [question[0] for question in asked if question]
    assert len({tuple(config.items()) for config in configs}) == 6
    for config in reversed(configs):
        search.tell(config, mixed(config, math.inf))
    assert search.best is not None
    assert search.best.cost == min(mixed(config, math.inf) for config in configs)
    more = [search.ask() for _ in range(4)]
    assert len({tuple(question[0].items()) for question in more if question}) == 4


def test_open_questions_have_their_share_of_the_budget() -> None:
    search = Minimizer(PLANE, budget=100.0, cutoff=40.0, evaluations=50)
    asked = [search.ask() for _ in range(4)]
    assert [question[1] for question in asked if question] == [40.0, 40.0, 20.0]
    assert search.exhausted == "budget"
    assert asked[0] is not None
    search.tell(asked[0][0], 10.0)  # what it did not need is free again
    question = search.ask()
    assert question is not None
    assert question[1] == 13.0
    few = Minimizer(PLANE, evaluations=3)
    assert [few.ask() is None for _ in range(4)] == [False, False, False, True]


def test_questions_keep_away_from_those_that_are_open() -> None:
    """Runs under way are believed to go as expected: the next question is about something else."""
    told = minimize(mixed, MIXED, budget=1e6, evaluations=30)
    search = Minimizer(MIXED)
    for config, cost, cutoff, censored in told.observations:
        search.tell(config, cost, censored=censored, cutoff=cutoff)
    seen: list[int] = []
    original = search._suggester.suggest

    def watched(*words: Any, **options: Any) -> Any:
        seen.append(len(options["pending"]))
        return original(*words, **options)

    search._suggester.suggest = watched  # type: ignore[method-assign]
    assert len({tuple(question[0].items()) for question in [search.ask() for _ in range(4)] if question}) == 4
    assert seen == [0, 1, 2, 3]


def test_a_small_space_is_tried_once() -> None:
    space = Space([Categorical("p", tuple("abcdef"), "a"), Categorical("q", tuple("xyz"), "x")])
    result = minimize(lambda config, _: 1.0 + ord(config["p"]) % 5 + (config["q"] != "y"), space, budget=1000.0, initial=3)
    assert result.stopped == "space"
    assert len({tuple(e.config.items()) for e in result.observations}) == len(result.observations) == 18
    assert (result.incumbent, result.cost) == ({"p": "d", "q": "y"}, 1.0)


def test_known_values_can_be_told_first() -> None:
    search = Minimizer(PLANE)
    search.tell({"x": math.pi, "y": 2.275}, 1.0)
    question = search.ask()
    assert question is not None
    assert question[1] == pytest.approx(1.3)
    search.tell(question[0], None)
    assert search.spent == pytest.approx(2.3)


LETTERS = Space([Categorical("letter", ("a", "b", "c"), "a")])


def test_who_was_stopped_where_it_could_still_win_is_asked_again() -> None:
    """Little was left of the budget while another question was open; then that one cost less than it might have."""
    search = Minimizer(LETTERS, budget=80.0, cutoff=60.0, initial=2, slack=1.0)
    first, second = search.ask(), search.ask()
    assert first is not None
    assert second is not None
    assert (first[1], second[1]) == (60.0, 20.0)
    search.tell(second[0], None)
    search.tell(first[0], 30.0)
    assert search.ask() == (second[0], 30.0)
    search.tell(second[0], 25.0)
    assert search.best is not None
    assert search.best.config == second[0]


def test_what_somebody_stopped_is_asked_again_and_who_gives_up_is_not() -> None:
    search = Minimizer(LETTERS, budget=1000.0, initial=1)
    search.tell({"letter": "a"}, 50.0)
    search.tell({"letter": "b"}, 1.0, censored=True)
    asked = search.ask()
    assert asked is not None
    assert asked[0] == {"letter": "b"}
    search.tell(asked[0], 2.0, censored=True)  # far below its cutoff: it would give up there again
    following = search.ask()
    assert following is not None
    assert following[0] == {"letter": "c"}


def test_the_first_complete_value_counts() -> None:
    search = Minimizer(PLANE)
    place = {"x": 1.0, "y": 1.0}
    for cost, censored in ((2.0, True), (5.0, False), (3.0, False)):
        search.tell(place, cost, censored=censored)
    assert [(step.cost, step.spent) for step in search.trajectory] == [(5.0, 7.0)]
    assert search.cutoff == pytest.approx(6.5)


# --- corners ---


def test_a_cost_of_zero_is_as_good_as_it_gets() -> None:
    result = minimize(lambda config, _: max(0.0, config["x"]), PLANE, budget=50.0, evaluations=25)
    assert result.cost == 0.0
    assert all(e.cutoff > 0 for e in result.observations)
    assert result.stopped == "evaluations"


def test_a_budget_too_small_for_one_evaluation() -> None:
    result = minimize(branin, PLANE, budget=0.5)
    assert (result.incumbent, result.cost, result.spent, result.stopped) == (None, math.inf, 0.5, "budget")
    assert [e.censored for e in result.observations] == [True]


def test_everything_may_be_cut() -> None:
    result = minimize(lambda config, cutoff: None, PLANE, budget=10.0, cutoff=0.5)
    assert result.incumbent is None
    assert [e.cost for e in result.observations] == [0.5] * 20


def test_the_space_may_be_a_file(tmp_path: Any) -> None:
    (tmp_path / "p.pcs").write_text("x real [-5, 10] [2.5]\ny real [0, 15] [7.5]\n")
    assert same(minimize(branin, tmp_path / "p.pcs", budget=100.0), minimize(branin, PLANE, budget=100.0))


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (math.nan, "finite"),
        (math.inf, "finite"),
        (-1.0, "not negative"),
        ("3", "a number"),
        (True, "a number"),
        ((1.0,), "tuple"),
        ({"value": 1.0}, "dict"),
        ((1.0, "yes"), "True or False"),
        ((0.0, True), "tells nothing"),
    ],
)
def test_nonsense_from_the_function(value: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        minimize(lambda config, cutoff: value, PLANE, budget=10.0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"budget": 0}, "budget"),
        ({"budget": -1.0}, "budget"),
        ({"budget": math.nan}, "budget"),
        ({"budget": "1h"}, "budget"),
        ({"slack": 0.9}, "slack"),
        ({"cutoff": 0.0}, "cutoff"),
        ({"budget": "lots"}, "budget"),
        ({"initial": 0}, "initial"),
        ({"initial": math.inf}, "initial"),
        ({"evaluations": math.inf}, "evaluations"),
        ({"evaluations": 1.5}, "evaluations"),
        ({"model": None}, "unknown model None"),
        ({"acquisition": 3}, "unknown acquisition function 3"),
        ({"evaluations": 0}, "evaluations"),
        ({"seed": -1}, "seed"),
        ({"model": "florest"}, "did you mean 'forest'"),
        ({"acquisition": "thomson"}, "did you mean 'thompson'"),
    ],
)
def test_nonsense_from_the_user(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        minimize(branin, PLANE, **{"budget": 10.0} | options)


def test_what_was_told_with_its_cutoff_is_cut_there() -> None:
    search = Minimizer(PLANE)
    search.tell({"x": 1.0, "y": 1.0}, 30.0, cutoff=20.0)
    search.tell({"x": 2.0, "y": 1.0}, None, cutoff=20.0)
    assert [(cost, censored) for _, cost, _, censored in search.observations] == [(20.0, True), (20.0, True)]
    assert search.spent == 40.0
    with pytest.raises(InputError, match="cutoff is -1"):
        search.tell({"x": 3.0, "y": 1.0}, None, cutoff=-1)


def test_a_budget_beyond_all_numbers_is_none() -> None:
    assert Minimizer(PLANE, budget=10**400).cutoff == math.inf


def test_other_errors() -> None:
    search = Minimizer(PLANE)
    with pytest.raises(SpaceError, match="unknown parameter"):
        search.tell({"x": 1.0, "z": 1.0}, 1.0)
    with pytest.raises(InputError, match="no cutoff to reach"):
        search.tell({"x": 1.0, "y": 1.0}, None)
    with pytest.raises(InputError, match="expected a path, a Space"):
        minimize(branin, [("x", 0, 1)], budget=1.0)
    with pytest.raises(TypeError, match="slak"):
        minimize(branin, PLANE, budget=1.0, slak=1.3)
    assert search.observations == []
