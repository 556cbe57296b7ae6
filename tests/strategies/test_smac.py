"""SMAC's own choices: how the time is shared between what a model suggests and what chance does."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pytest

from capra.errors import InputError
from capra.formats.instances import Features
from capra.models import CensoredForest, CensoredGP
from capra.runs import Configuration, History, Objective, Outcome, Run, RunRequest, Status
from capra.scenario import Scenario
from capra.search.suggest import Suggester
from capra.search.surrogates import MODELS
from capra.space import Categorical, Compare, Integer, Literal, Name, Real, Space
from capra.strategies.base import Context
from capra.strategies.smac import _maker, make_suggester
from tests.strategies.conformance import Decisions, drive, lognormal, make, scenario


@pytest.mark.parametrize("share", [0.3, 0.7])
def test_random_challengers_have_their_share_of_the_time(share: float) -> None:
    decisions = Decisions()
    runs, _ = drive(make("smac", decisions=decisions, random=share, initial=5), 2000.0)
    lists = [json.loads(data)["configs"] for (kind, _), (_, data) in decisions.kept.items() if kind == "fit"]
    suggested = {Configuration(config) for configs in lists for config in configs}
    times = {True: 0.0, False: 0.0}
    for run in runs:
        if run.asked_by != "incumbent":
            times[run.request.config in suggested] += run.outcome.time
    assert times[False] / sum(times.values()) == pytest.approx(share, abs=0.1)


def fits(decisions: Decisions) -> list[dict[str, Any]]:
    return [json.loads(data) for (kind, _), (_, data) in decisions.kept.items() if kind == "fit"]


def test_fits_wait_until_the_target_has_earned_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock on which each fit takes 10 s: with all else of ours they may come to a share of the target's time."""
    suggest = Suggester.suggest

    def shares(share: float, starting: float) -> tuple[float, float]:
        """Of the target's time: fits, and all of our own, if starting runs takes the share ``starting`` of it."""
        now, decisions = [0.0], Decisions()

        def slow(*arguments: Any, **options: Any) -> list[Configuration]:
            now[0] += 10.0
            return suggest(*arguments, **options)

        monkeypatch.setattr(Suggester, "suggest", slow)
        strategy = make(
            "smac",
            decisions=decisions,
            clock=lambda: now[0] + starting * strategy.history.spent,
            fit_share=share,
            refit=1,
        )
        runs, _ = drive(strategy, 4000.0)
        target, fitting = sum(run.outcome.time for run in runs), sum(fit["seconds"] for fit in fits(decisions))
        return fitting / target, fitting / target + starting

    for share, starting in ((0.1, 0.0), (0.1, 0.05), (0.05, 0.0)):
        assert share - 0.03 < shares(share, starting)[1] < share + 0.005
    assert 0.01 < shares(0.1, 0.2)[0] < 0.025  # a fifth, however long it takes to start runs


def test_fits_wait_for_many_workers() -> None:
    """Each fit makes a list for all of them: fits after every few runs would cost more the more there are."""
    decisions = Decisions()
    drive(make("smac", decisions=decisions, initial=5), 3000.0, workers=40)
    found = fits(decisions)
    assert len(found) > 5
    for last, fit in itertools.pairwise(found):
        assert last["busy"] >= 10
        assert fit["runs"] >= last["runs"] + 0.25 * last["busy"]


@pytest.mark.parametrize("model", MODELS)
def test_every_model_with_instances_that_have_features(model: str) -> None:
    """More features than are kept, and a run without an answer now and then."""
    columns = range(1, 10)
    rows = {f"i{k}": tuple(float((k * j) % 7) for j in columns) for k in range(12)}
    given, decisions = scenario(features=Features(tuple(f"f{j}" for j in columns), rows)), Decisions()

    def target(request: RunRequest) -> Outcome:
        if request.config["algorithm"] == "b":
            return Outcome(Status.CRASHED, 0.1, request.cutoff)
        return lognormal(request)

    drive(make("smac", given, decisions=decisions, model=model, initial=5, candidates=100), 150.0, target=target)
    suggested = [config for fit in fits(decisions)[1:] for config in fit["configs"][:5]]
    assert suggested
    assert sum(config["algorithm"] == "b" for config in suggested) < len(suggested) / 4


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"model": 3}, "unknown model 3"),
        ({"acquisition": 3}, "unknown acquisition function 3"),
        ({"design": 3}, "unknown design 3"),
        ({"candidates": 0}, "candidates"),
    ],
)
def test_nonsense(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        make("smac", **options)


def test_an_unknown_option_is_answered_by_the_known_ones() -> None:
    with pytest.raises(InputError, match="strategy smac has no option 'randon'") as near:
        make("smac", randon=0.3)
    assert near.value.hint == "did you mean 'random'?"
    with pytest.raises(InputError) as far:
        make("basic", wings=2)
    assert far.value.hint == "its options are n, slack, capping, max_runs, audit, lead"


NUMBERS = Space([Real("x", 0.0, 1.0, 0.5), Integer("n", 1, 100, 10)])


def told(space: Space, runs: int, instance: str | None) -> History:
    """So many runs of different configurations."""
    history, rng = History(Objective(), 10.0), np.random.default_rng(0)
    for order, config in enumerate(space.decode(space.sample(runs, rng)), start=1):
        outcome = Outcome(Status.SUCCESS, order % 9 + 0.1, 10.0)
        history.add(Run(RunRequest(config, instance, order, 10.0), outcome, "incumbent", order))
    return history


@pytest.mark.parametrize(
    ("space", "runs", "instances", "expected"),
    [
        (NUMBERS, 20, 1, CensoredGP),
        (NUMBERS, 20, 0, CensoredGP),
        (Space([Real(f"x{k}", 0.0, 1.0, 0.5) for k in range(7)]), 20, 1, CensoredGP),
        (NUMBERS, CensoredGP.largest + 1, 1, CensoredForest),
        (NUMBERS, 20, 2, CensoredForest),
        (Space([*NUMBERS.parameters.values(), Categorical("c", ("a", "b"), "a")]), 20, 1, CensoredForest),
        (Space([Real(f"x{k}", 0.0, 1.0, 0.5) for k in range(8)]), 20, 1, CensoredForest),
        (Space(NUMBERS.parameters.values(), {"n": Compare(">", Name("x"), Literal(0.3))}), 20, 1, CensoredForest),
    ],
    ids=[
        "few numbers",
        "no instances",
        "seven numbers",
        "many runs",
        "instances",
        "a category",
        "many numbers",
        "a condition",
    ],
)
def test_the_model_by_itself(space: Space, runs: int, instances: int, expected: type) -> None:
    """A process for few runs of few numbers on one instance, a forest for everything else."""
    names = {"instances": [f"i{k}" for k in range(instances)]} if instances else {}
    given = Scenario(target=lambda *_: 1.0, space=space, cutoff=10.0, budget={"runs": 10}, **names)
    history = told(space, runs, "i0" if instances else None)
    model, _ = make_suggester(Context(given, 0), "auto").learn(history, np.random.default_rng(0))
    assert type(model) is expected


def test_a_process_takes_as_many_runs_as_it_can() -> None:
    maker, _ = _maker("auto", None, smooth=True, exact=False)
    types = np.zeros(2, dtype=np.int64)
    models = [maker(rows)(types, 0, None) for rows in (CensoredGP.largest, CensoredGP.largest + 1)]
    assert [type(model) for model in models] == [CensoredGP, CensoredForest]


@pytest.mark.parametrize(("deterministic", "instances", "leaf"), [(True, 1, 3), (False, 1, 5), (True, 2, 5)])
def test_a_forest_is_smooth_where_there_is_luck(deterministic: bool, instances: int, leaf: int) -> None:
    """Where a configuration always costs the same, nothing is to be smoothed out."""
    names = [f"i{k}" for k in range(instances)]
    given = Scenario(
        target=lambda *_: 1.0, space=NUMBERS, cutoff=10.0, budget={"runs": 10}, instances=names, deterministic=deterministic
    )
    model, _ = make_suggester(Context(given, 0), "forest").learn(told(NUMBERS, 20, "i0"), np.random.default_rng(0))
    assert isinstance(model, CensoredForest)
    assert model.min_leaf == leaf


def test_an_unknown_model_is_answered_by_all_names() -> None:
    with pytest.raises(InputError) as near:
        make("smac", model="aut")
    assert near.value.hint == "did you mean 'auto'?"


def test_the_model_by_itself_is_the_usual_one() -> None:
    """A tuning that does not name a model makes the runs of one that names what is chosen for it."""

    def target(request: RunRequest) -> Outcome:
        time = 1.0 + 20.0 * (float(request.config["x"]) - 0.2) ** 2
        return Outcome(
            Status.SUCCESS if time <= request.cutoff else Status.CAPPED, min(time, request.cutoff), request.cutoff
        )

    given = scenario(space=NUMBERS, instances=["i0"])
    plain, named = (drive(make("smac", given, **options), 60.0, target=target)[0] for options in ({}, {"model": "gp"}))
    assert [run.request for run in plain] == [run.request for run in named]
    assert len(plain) > 20
