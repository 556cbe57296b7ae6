"""How members are compared, and who decides between them: judged by what was seen, not by what a model makes of it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from capra.evaluate import portfolio_costs
from capra.portfolio.builder import SHORT, Builder, Program
from capra.portfolio.conclude import as_seen, concluded
from capra.portfolio.isac import Isac
from capra.portfolio.records import Records
from capra.runs import Configuration, Outcome, Run, RunRequest, Status
from capra.strategies.base import Context
from capra.targets import Table

CUTOFF, N = 100.0, 64
SAFE, QUICK, SLOW = 20.0, 6.0, 90.0
"""No presolving slot is as long as a quick run, so that short tries cannot hide a bad choice."""
MEMBERS = tuple(Configuration({"c": name}) for name in ("safe", "left", "right"))


def truth() -> tuple[np.ndarray, np.ndarray]:
    """(members, instances): 20 s everywhere; or 6 s on one half, of which each eighth times out, and 90 s on the other."""
    half, unlucky = np.arange(N) % 2, np.arange(N) % 16 < 2
    times = np.array([np.full(N, SAFE), np.where(half == 0, QUICK, SLOW), np.where(half == 1, QUICK, SLOW)])
    solved = np.array([np.ones(N, dtype=bool), ~((half == 0) & unlucky), ~((half == 1) & unlucky)])
    return np.where(solved, times, CUTOFF), solved


def compared() -> Isac:
    """A builder whose members were compared as ``Builder.comparing`` does it: nobody runs for more than 4 times the best."""
    times, solved = truth()
    names = [f"i{j}" for j in range(N)]
    rng = np.random.default_rng(0)
    table = Table(times, solved, MEMBERS, names, CUTOFF)
    table.features = {name: (10.0 * (j % 2) + rng.normal(), rng.normal()) for j, name in enumerate(names)}
    builder = Isac(Context(table.scenario(budget={"cpu": 1000.0})), inner="roar")
    best = np.where(solved, times, np.inf).min(axis=0)
    for c, member in enumerate(MEMBERS):
        for j, name in enumerate(names):
            cap = min(CUTOFF, 4.0 * best[j])
            ended = solved[c, j] and times[c, j] <= cap
            outcome = Outcome(Status.SUCCESS if ended else Status.CAPPED, min(times[c, j], cap), cap)
            builder.cells.add(Run(RunRequest(member, name, builder.seeds[0], cap), outcome))
    builder.members = list(MEMBERS)
    return builder


@pytest.mark.parametrize("features", [True, False])
def test_a_portfolio_is_not_worse_than_its_best_member(features: bool) -> None:
    """Every timeout here was stopped after 80 s: who takes it for little more than that prefers what mostly takes 6 s."""
    builder = compared()
    if not features:
        object.__setattr__(builder.context.scenario, "features", type(builder.context.scenario.features)())
    times, solved = truth()
    portfolio = concluded(builder)
    rows = builder.features([f"i{j}" for j in range(N)])
    costs = portfolio_costs(portfolio, Records.of(rows, times.T, solved.T, CUTOFF))
    assert costs.mean() <= SAFE
    assert costs.max() <= CUTOFF


def test_what_was_stopped_counts_as_unsolved() -> None:
    records = Records.of([[0.0]], [[1.0, 4.0, 100.0, 2.0]], [[1, 0, 0, 0]], 100.0, cutoffs=[[100.0, 4.0, 100.0, 2.0]])
    seen = as_seen(records)
    assert not seen.capped.any()
    assert seen.costs.tolist() == [[1.0, 1000.0, 1000.0, 1000.0]]


def test_isac_has_its_own_clusters_among_the_candidates() -> None:
    assert compared().selectors == {"cluster": {"alpha": 1e-4, "min_size": 10, "radius": 2.0}}


# --- comparing ---


class Comparing(Builder):
    """Its members are given."""

    name = "comparing"

    def program(self) -> Program:
        self.join(*MEMBERS)
        yield from self.comparing()


def runs_of(table: Table, time: float = math.inf) -> list[Run]:
    """One by one, until so much time is spent."""
    builder, made = Comparing(Context(table.scenario(budget={"cpu": 1e6})), inner="roar"), []
    while sum(run.outcome.time for run in made) < time and (asked := builder.ask(1)):
        made.append(Run(asked[0], table.run(asked[0]), builder.why(asked[0]), len(made) + 1))
        builder.tell(made[-1])
    return made


def slow_or_never() -> Table:
    """Left solves the first half in 0.5 s and nothing else, safe everything in 50 s, right nothing."""
    quick = np.arange(8) < 4
    times = np.array([np.full(8, 50.0), np.where(quick, 0.5, CUTOFF), np.full(8, CUTOFF)])
    return Table(times, times < CUTOFF, MEMBERS, [f"i{j}" for j in range(8)], CUTOFF)


def test_the_best_alone_is_known_everywhere_in_the_end() -> None:
    known = {(run.request.config, run.request.instance): run.outcome for run in runs_of(slow_or_never())}
    safe, left, right = ([known[member, f"i{j}"] for j in range(8)] for member in MEMBERS)
    assert {(o.status, o.time) for o in safe} == {(Status.SUCCESS, 50.0)}
    assert [o.status for o in left] == [Status.SUCCESS] * 4 + [Status.TIMEOUT] * 4
    assert [(o.status, o.time) for o in right] == [(Status.CAPPED, 64 * 0.5)] * 4 + [(Status.TIMEOUT, CUTOFF)] * 4


def test_short_runs_first_and_then_what_nobody_has_answered() -> None:
    """Long runs where an answer is known come last: they are not worth what the first answer to another instance is."""
    made = runs_of(slow_or_never())
    long = [k for k, run in enumerate(made) if run.request.cutoff > SHORT * CUTOFF]
    assert len({run.request.cell for run in made[: long[0]]}) == 3 * 8  # by then everybody was run everywhere
    answered = [k for k, run in enumerate(made) if run.outcome.status is Status.SUCCESS]
    luxury = [k for k in long if int(str(made[k].request.instance)[1:]) < 4]
    assert len({made[k].request.instance for k in answered if k < luxury[0]}) == 8
    assert {made[k].request.config for k in luxury[:4]} == {MEMBERS[0]}


def test_a_comparison_that_is_cut_short_has_runs_of_everybody() -> None:
    made = runs_of(slow_or_never(), 30.0)
    assert len({run.request.cell for run in made}) == 3 * 8
