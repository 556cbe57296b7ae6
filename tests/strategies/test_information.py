"""``smac`` with cutoffs chosen for information: the contract of strategies, above all that a replay makes the same choices."""

from __future__ import annotations

import json
from typing import Any

import pytest

from capra.runs import Run, Status
from capra.strategies import Strategy
from capra.strategies.capping import HOPELESS
from tests.strategies.conformance import KAPPA, Decisions, drive, make, sequence

BUDGET = 600


def informed(decisions: Decisions | None = None, seed: int = 0, **options: Any) -> Strategy:
    chosen = {"capping": "information", "refit": 10, "initial": 4, "random": 0.5} | options
    return make("smac", seed=seed, decisions=decisions, **chosen)


@pytest.fixture(scope="module")
def whole() -> tuple[list[Run], Decisions]:
    decisions = Decisions()
    return drive(informed(decisions), BUDGET)[0], decisions


def test_runs_are_stopped_before_the_bound_and_given_up(whole: tuple[list[Run], Decisions]) -> None:
    """There are verdicts on capped runs only, and some of them end a challenger's race."""
    runs, decisions = whole
    orders = {int(key) for kind, key in decisions.kept if kind == "verdict"}
    assert len(orders) > 5
    assert orders <= {run.order for run in runs if run.outcome.status is Status.CAPPED}
    chances = [json.loads(data)["chance"] for (kind, _), (_, data) in decisions.kept.items() if kind == "verdict"]
    assert min(chances) < HOPELESS


def test_replay_restores_the_strategy(whole: tuple[list[Run], Decisions]) -> None:
    """Cut anywhere: a new strategy that is told the runs so far asks for the very next one, with the same cutoff."""
    runs, decisions = whole
    cuts = range(0, len(runs), max(1, len(runs) // 40))
    for cut in cuts:
        resumed = informed(decisions.until(cut))
        for run in runs[:cut]:
            resumed.tell(run)
        (request,) = resumed.ask(1)
        assert (request.cell, request.cutoff) == (runs[cut].request.cell, runs[cut].request.cutoff), cut
        assert resumed.why(request) == runs[cut].asked_by


def test_a_resumed_strategy_goes_on_as_if_nothing_happened(whole: tuple[list[Run], Decisions]) -> None:
    runs, decisions = whole
    half = len(runs) // 2
    resumed = informed(decisions.until(half))
    for run in runs[:half]:
        resumed.tell(run)
    rest, _ = drive(resumed, BUDGET, already=half)
    assert sequence(runs[:half] + rest) == sequence(runs)


@pytest.mark.parametrize("workers", [2, 20])
def test_several_workers(workers: int) -> None:
    strategy = informed()
    runs, _ = drive(strategy, BUDGET + 100 * workers, workers)
    assert sum(run.outcome.time for run in runs) <= BUDGET + 100 * workers + workers * KAPPA
    finished = [run.request.cell for run in runs if run.outcome.status is not Status.CAPPED]
    assert len(set(finished)) == len(finished)
    assert strategy.incumbent is not None
