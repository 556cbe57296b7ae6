"""SMAC's own choices: how the time is shared between what a model suggests and what chance does."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from capra.errors import InputError
from capra.formats.instances import Features
from capra.runs import Configuration, Outcome, RunRequest, Status
from capra.search.surrogates import MODELS
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


def test_fits_wait_until_the_target_has_earned_them() -> None:
    """A clock that says 10 s for each fit: they may take 6 % of the target's time, beyond the first one."""

    def spent(share: float) -> tuple[float, float, int]:
        decisions, ticks = Decisions(), itertools.count()
        strategy = make("smac", decisions=decisions, clock=lambda: 10.0 * next(ticks), fit_share=share, refit=1)
        runs, _ = drive(strategy, 4000.0)
        found = fits(decisions)
        return sum(fit["seconds"] for fit in found), sum(run.outcome.time for run in runs), len(found)

    seconds, target, few = spent(0.06)
    assert 0.03 * target < seconds <= 0.06 * target + 10.0
    assert spent(0.3)[2] > 2 * few


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
    assert far.value.hint == "its options are n, slack, capping, max_runs, audit"
