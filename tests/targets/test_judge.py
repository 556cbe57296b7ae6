"""The closed set of statuses: every row of the decision, then anything at all."""

from __future__ import annotations

import dataclasses
import math
import signal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capra.runs import Configuration, Outcome, RunRequest, Status
from capra.targets.dialects import Claim, Reply
from capra.targets.judge import Judge, lost
from capra.targets.supervisor import Captured, Facts
from capra.targets.verify import Verdict

KAPPA = 10.0
CONFIG = Configuration({"a": 1})
SUCCESS = Reply(Claim.SUCCESS)


def judged(
    facts: Facts,
    reply: Reply = SUCCESS,
    *,
    cutoff: float = KAPPA,
    unit: str = "cpu",
    quality: bool = False,
    verdict: Verdict | None = None,
    kappa: float = KAPPA,
) -> Outcome:
    return Judge(kappa, unit, quality).outcome(RunRequest(CONFIG, "i", 1, cutoff), facts, reply, verdict)


def ended(**facts: Any) -> Facts:
    """A run that ended by itself."""
    return Facts(**({"exit_code": 0, "cutoff": KAPPA, "cpu": 2.0, "wall": 3.0, "memory": 10**6} | facts))


# --- by itself ---


def test_success_takes_what_was_measured() -> None:
    outcome = judged(ended(), Reply(Claim.SUCCESS, time=0.001, quality=7.0, answer="SAT"))
    assert (outcome.status, outcome.time, outcome.cutoff) == (Status.SUCCESS, 2.0, KAPPA)
    assert (outcome.reported, outcome.quality, outcome.answer, outcome.reason) == (0.001, 7.0, "SAT", None)
    assert (outcome.cpu, outcome.wall, outcome.memory, outcome.exit_code) == (2.0, 3.0, 10**6, 0)
    assert judged(ended(), unit="wall").time == 3.0
    assert judged(ended(), Reply(Claim.SUCCESS, time=5.0), unit="steps").time == 5.0


@pytest.mark.parametrize(
    ("reply", "status", "word"),
    [
        (Reply(Claim.CRASHED, reason="nonsense output: time is nan"), Status.CRASHED, "nonsense"),
        (Reply(Claim.ABORT, reason="the target says ABORT"), Status.LOST, "ABORT"),
        (Reply(Claim.REJECT), Status.CRASHED, "REJECT"),
        (Reply(Claim.NONE, reason="no line matches solved"), Status.CRASHED, "solved"),
        (Reply(Claim.MEMOUT), Status.MEMOUT, "says"),
    ],
)
def test_what_only_the_target_knows(reply: Reply, status: Status, word: str) -> None:
    outcome = judged(ended(), reply)
    assert (outcome.status, outcome.time) == (status, 2.0)
    assert word in str(outcome.reason)


def test_success_before_a_signal_is_a_crash() -> None:
    for number, name in ((signal.SIGSEGV, "SIGSEGV"), (200, "signal 200")):
        outcome = judged(ended(exit_code=None, signal=int(number)), Reply(Claim.SUCCESS, answer="SAT"))
        assert (outcome.status, outcome.signal) == (Status.CRASHED, number)
        assert name in str(outcome.reason)


@pytest.mark.parametrize("unit", ["cpu", "wall"])
def test_a_timeout_that_is_none(unit: str) -> None:
    """Whoever says so before half of the time is used gave up, which is no lower bound on anything."""
    early = judged(ended(cpu=4.9, wall=4.9), Reply(Claim.TIMEOUT), unit=unit)
    assert early.status is Status.CRASHED
    assert "gave up" in str(early.reason)
    late = judged(ended(cpu=9.0, wall=9.0), Reply(Claim.TIMEOUT), unit=unit)
    assert (late.status, late.time, late.cutoff) == (Status.TIMEOUT, KAPPA, KAPPA)
    capped = judged(ended(cpu=3.0, wall=3.0), Reply(Claim.TIMEOUT), unit=unit, cutoff=4.0)
    assert (capped.status, capped.time, capped.cutoff) == (Status.CAPPED, 4.0, 4.0)


def test_a_timeout_in_the_targets_own_unit() -> None:
    assert judged(ended(), Reply(Claim.TIMEOUT), unit="steps").status is Status.TIMEOUT
    assert judged(ended(), Reply(Claim.TIMEOUT, time=10.0), unit="steps", cutoff=10.0).status is Status.TIMEOUT
    assert judged(ended(), Reply(Claim.TIMEOUT, time=1.0), unit="steps").status is Status.CRASHED
    unbounded = judged(ended(), Reply(Claim.TIMEOUT), unit="steps", cutoff=math.inf, kappa=math.inf)
    assert unbounded.status is Status.CRASHED


def test_wrong_by_verdict() -> None:
    wrong = judged(ended(), verdict=Verdict(False, "the instance is UNSAT"))
    assert (wrong.status, wrong.reason, wrong.time) == (Status.WRONG, "the instance is UNSAT", 2.0)
    assert judged(ended(), verdict=Verdict(True, "fine")).reason is None
    unknown = judged(ended(), verdict=Verdict(None, "no model in the output"))
    assert (unknown.status, unknown.reason) == (Status.SUCCESS, "not verified: no model in the output")
    crashed = judged(ended(), Reply(Claim.CRASHED, reason="x"), verdict=Verdict(False, "y"))
    assert crashed.status is Status.CRASHED  # no answer, nothing to refute


def test_own_unit_is_checked() -> None:
    for reply, word in ((SUCCESS, "reports no steps"), (Reply(Claim.SUCCESS, time=10.5), "more than its cutoff of 10")):
        outcome = judged(ended(), reply, unit="steps")
        assert outcome.status is Status.CRASHED
        assert word in str(outcome.reason)
    assert judged(ended(), Reply(Claim.SUCCESS, time=10.0), unit="steps").status is Status.SUCCESS


def test_quality_must_be_there() -> None:
    missing = judged(ended(), quality=True)
    assert (missing.status, missing.reason) == (Status.CRASHED, "reports no quality")
    assert judged(ended(), Reply(Claim.SUCCESS, quality=-3.0), quality=True).quality == -3.0


# --- stopped ---


@pytest.mark.parametrize("limit", ["cpu", "wall", "command"])
def test_cut_below_and_at_kappa_max(limit: str) -> None:
    """A claim made in the grace period changes nothing; the time is the bound in force, not what was used."""
    for cutoff, status in ((2.5, Status.CAPPED), (KAPPA, Status.TIMEOUT)):
        facts = ended(limit=limit, stopped=True, cutoff=cutoff, cpu=cutoff + 0.1, overshoot=0.1, signal=15, exit_code=None)
        for reply in (SUCCESS, Reply(Claim.TIMEOUT), Reply(Claim.CRASHED, reason="cut off")):
            outcome = judged(facts, reply, cutoff=cutoff)
            assert (outcome.status, outcome.time, outcome.cutoff, outcome.overshoot) == (status, cutoff, cutoff, 0.1)
            assert outcome.reason


def test_cut_by_order_is_worth_what_it_had_used() -> None:
    outcome = judged(ended(limit="command", cutoff=1.25))
    assert (outcome.status, outcome.time, outcome.cutoff) == (Status.CAPPED, 1.25, 1.25)
    at_once = judged(ended(limit="command", cutoff=0.0, cpu=0.0))
    assert at_once.status is Status.CAPPED
    assert 0.0 < at_once.cutoff <= 1e-6
    assert judged(ended(limit="command", cutoff=0.0), cutoff=1e-9).cutoff == 1e-9


def test_cut_keeps_the_best_quality_so_far() -> None:
    outcome = judged(ended(limit="cpu"), Reply(Claim.NONE, quality=3.0, reason="stopped"), quality=True)
    assert (outcome.status, outcome.quality) == (Status.TIMEOUT, 3.0)


def test_cut_in_the_targets_own_unit() -> None:
    """Stopped by the wall limit it counts as at its cutoff; stopped by order only what it reported is known."""
    by_wall = judged(ended(limit="wall", cutoff=86400.0), unit="steps", cutoff=4.0)
    assert (by_wall.status, by_wall.time) == (Status.CAPPED, 4.0)
    by_order = judged(ended(limit="command", cutoff=3.0), Reply(Claim.NONE, time=2.0), unit="steps")
    assert (by_order.status, by_order.time) == (Status.CAPPED, 2.0)
    assert judged(ended(limit="command", cutoff=3.0), unit="steps").time == 1e-6
    beyond = judged(ended(limit="steps"), Reply(Claim.SUCCESS, time=99.0), unit="steps", cutoff=4.0)
    assert (beyond.status, beyond.time) == (Status.CAPPED, 4.0)


@pytest.mark.parametrize("unit", ["cpu", "wall", "steps"])
def test_without_a_cutoff_the_wall_limit_is_a_timeout(unit: str) -> None:
    facts = ended(limit="wall", cutoff=86400.0, cpu=2.0, wall=86400.1)
    outcome = judged(facts, Reply(Claim.NONE, time=3.0, quality=1.0), unit=unit, cutoff=math.inf, kappa=math.inf)
    assert (outcome.status, outcome.quality) == (Status.TIMEOUT, 1.0)
    assert outcome.time == {"cpu": 2.0, "wall": 86400.1, "steps": 3.0}[unit]
    ordered = dataclasses.replace(facts, limit="command", cutoff=2.0)
    assert judged(ordered, unit=unit, cutoff=math.inf, kappa=math.inf).status is Status.CAPPED


def test_other_limits() -> None:
    memory = judged(ended(limit="memory", signal=9, exit_code=None))
    assert (memory.status, memory.time) == (Status.MEMOUT, 2.0)
    processes = judged(ended(limit="processes", signal=9, exit_code=None))
    assert processes.status is Status.CRASHED
    assert "processes" in str(processes.reason)


# --- not its fault ---


def test_lost_and_never_started() -> None:
    gone = judged(Facts(lost=True, reason="the supervisor was killed", cutoff=KAPPA, wall=1.0))
    assert (gone.status, gone.reason) == (Status.LOST, "the supervisor was killed")
    absent = judged(Facts(start_error="/no/such: No such file", exit_code=-1))
    assert absent.status is Status.LOST
    assert "/no/such" in str(absent.reason)
    ours = lost(RunRequest(CONFIG, None, 1, math.inf), ended(limit="command"), "stopped by us")
    assert (ours.status, ours.time) == (Status.LOST, 2.0)


# --- anything at all ---

seconds = st.floats(0.0, 1e9)
positive = st.one_of(st.floats(1e-9, 1e9), st.just(KAPPA), st.just(math.inf))
facts_of_all_kinds = st.builds(
    Facts,
    exit_code=st.none() | st.integers(-1, 255),
    signal=st.none() | st.integers(1, 64),
    start_error=st.none() | st.text(max_size=5),
    limit=st.sampled_from([None, "cpu", "wall", "memory", "processes", "command", "steps", "something new"]),
    stopped=st.booleans(),
    cutoff=seconds,
    cpu=seconds,
    wall=seconds,
    memory=st.integers(0, 2**50),
    overshoot=seconds,
    unkillable=st.just((1,)) | st.just(()),
    stdout=st.builds(Captured, st.binary(max_size=5), st.binary(max_size=5), st.integers(0, 9)),
    lost=st.booleans(),
    reason=st.text(max_size=5),
)
replies = st.builds(
    Reply,
    st.sampled_from(Claim),
    time=st.none() | st.floats(0.0, 1e300),
    quality=st.none() | st.floats(-1e300, 1e300),
    answer=st.none() | st.text(max_size=5),
    reason=st.none() | st.text(max_size=5),
)
verdicts = st.none() | st.builds(Verdict, st.sampled_from([None, True, False]), st.text(max_size=5))


@given(facts_of_all_kinds, replies, verdicts, positive, positive, st.sampled_from(["cpu", "wall", "steps"]), st.booleans())
def test_always_a_valid_outcome(
    facts: Facts, reply: Reply, verdict: Verdict | None, cutoff: float, kappa: float, unit: str, quality: bool
) -> None:
    cutoff = min(cutoff, kappa)
    outcome = judged(facts, reply, cutoff=cutoff, unit=unit, quality=quality, verdict=verdict, kappa=kappa)
    assert 0.0 <= outcome.time <= cutoff
    assert outcome.status in Status
    assert outcome.censored <= (outcome.time == outcome.cutoff)
    assert (outcome.status is Status.LOST) == (facts.lost or bool(facts.start_error))
    if outcome.status is Status.SUCCESS:
        assert (facts.signal, facts.limit, reply.claim) == (None, None, Claim.SUCCESS)
    elif outcome.status is not Status.LOST and reply.reason != "" and (verdict is None or verdict.reason):
        assert outcome.reason
    if outcome.status is Status.TIMEOUT and kappa < math.inf:
        assert outcome.time == kappa
    if outcome.status is Status.CAPPED:
        assert outcome.time < kappa
