"""From facts to an outcome: the one place where a status is decided.

The target's word counts for what only it can know (did it find an answer, how good, how many steps); how long it took, and
whether it was cut, is what we measured. Every status but SUCCESS comes with its reason in words.
"""

from __future__ import annotations

import math
import signal
from dataclasses import dataclass
from typing import Any

from capra.runs import Outcome, RunRequest, Status
from capra.targets.dialects import Claim, Reply
from capra.targets.supervisor import Facts
from capra.targets.verify import Verdict

__all__ = ["Judge", "lost"]

GAVE_UP = 0.5
"""A target that says it timed out before this share of its cutoff was used did not: it gave up."""


@dataclass(frozen=True, slots=True)
class Judge:
    """Decides outcomes under one scenario's κ_max, unit and objective."""

    kappa_max: float
    unit: str = "cpu"
    needs_quality: bool = False

    def outcome(self, request: RunRequest, facts: Facts, reply: Reply, verdict: Verdict | None = None) -> Outcome:
        """The outcome of a run that was allowed to end, by itself or at its bound."""
        if facts.lost or facts.start_error:
            return lost(request, facts, facts.reason or f"could not be started: {facts.start_error}")
        if facts.limit in ("cpu", "wall", "command", self.unit):
            return self._cut(request, facts, reply)
        if facts.limit is not None:
            return self._over_a_limit(request, facts, reply)
        if facts.signal is not None:
            return self._ended(Status.CRASHED, request, facts, reply, f"killed by {_signal_name(facts.signal)}")
        return self._by_its_word(request, facts, reply, verdict)

    def _by_its_word(self, request: RunRequest, facts: Facts, reply: Reply, verdict: Verdict | None) -> Outcome:
        if reply.claim is Claim.TIMEOUT:
            return self._claimed_timeout(request, facts, reply)
        if reply.claim is Claim.MEMOUT:
            return self._ended(Status.MEMOUT, request, facts, reply, reply.reason or "the target says so")
        if reply.claim is Claim.ABORT:
            return lost(request, facts, reply.reason or "the target says ABORT")
        if reply.claim is not Claim.SUCCESS:
            return self._ended(Status.CRASHED, request, facts, reply, reply.reason or f"the target says {reply.claim}")
        if verdict is not None and verdict.right is False:
            return self._ended(Status.WRONG, request, facts, reply, verdict.reason)
        return self._success(request, facts, reply, verdict)

    def _success(self, request: RunRequest, facts: Facts, reply: Reply, verdict: Verdict | None) -> Outcome:
        if self.needs_quality and reply.quality is None:
            return self._ended(Status.CRASHED, request, facts, reply, "reports no quality")
        if self._own_unit and reply.time is None:
            return self._ended(Status.CRASHED, request, facts, reply, f"reports no {self.unit}")
        if self._own_unit and reply.time is not None and reply.time > request.cutoff:
            reason = f"nonsense output: reports {reply.time:g} {self.unit}, more than its cutoff of {request.cutoff:g}"
            return self._ended(Status.CRASHED, request, facts, reply, reason)
        remark = f"not verified: {verdict.reason}" if verdict is not None and verdict.right is None else None
        return self._ended(Status.SUCCESS, request, facts, reply, remark)

    def _claimed_timeout(self, request: RunRequest, facts: Facts, reply: Reply) -> Outcome:
        known = not self._own_unit or reply.time is not None or math.isinf(request.cutoff)
        used = self.time(facts, reply)
        if known and used < GAVE_UP * request.cutoff:
            reason = f"says it timed out after {used:.3g} of {request.cutoff:g}: it gave up"
            return self._ended(Status.CRASHED, request, facts, reply, reason)
        return self._censored(request.cutoff, facts, reply, "the target says it timed out")

    def _cut(self, request: RunRequest, facts: Facts, reply: Reply) -> Outcome:
        """Stopped at its bound, or past it when it ended: all we know is that it takes at least that long."""
        by_order = facts.limit == "command"
        bound = self._proven(request, facts, reply) or min(SHORTEST, request.cutoff)
        reason = "stopped by order" if by_order else f"stopped by its {facts.limit} bound"
        # Without a cutoff the scenario's wall limit is the longest a run can take.
        return self._censored(bound, facts, reply, reason, full=math.isinf(request.cutoff) and not by_order)

    def _proven(self, request: RunRequest, facts: Facts, reply: Reply) -> float:
        """What a run that was cut takes at least; 0 if it was stopped before it began."""
        if math.isinf(request.cutoff) or (self._own_unit and facts.limit == "command"):
            return min(self.time(facts, reply), request.cutoff)
        return request.cutoff if self._own_unit else min(facts.cutoff, request.cutoff)

    def _censored(self, cutoff: float, facts: Facts, reply: Reply, reason: str, *, full: bool = False) -> Outcome:
        """``quality`` is the best that it had found by then, if it says so."""
        status = Status.TIMEOUT if full or cutoff >= self.kappa_max else Status.CAPPED
        return Outcome(status, cutoff, cutoff, reply.quality, **_facts(facts, reply, reason))

    def _over_a_limit(self, request: RunRequest, facts: Facts, reply: Reply) -> Outcome:
        if facts.limit == "memory":
            return self._ended(Status.MEMOUT, request, facts, reply, "stopped by its memory bound")
        return self._ended(Status.CRASHED, request, facts, reply, f"stopped by its bound on {facts.limit}")

    def _ended(self, status: Status, request: RunRequest, facts: Facts, reply: Reply, reason: str | None) -> Outcome:
        time = min(self.time(facts, reply), request.cutoff)
        return Outcome(status, time, request.cutoff, reply.quality, **_facts(facts, reply, reason))

    def time(self, facts: Facts, reply: Reply) -> float:
        """How long the run took, in the scenario's unit."""
        if self.unit == "wall":
            return facts.wall
        return (reply.time or 0.0) if self._own_unit else facts.cpu

    @property
    def _own_unit(self) -> bool:
        return self.unit not in ("cpu", "wall")


SHORTEST = 1e-6
"""A run stopped before it began still has a positive cutoff."""


def lost(request: RunRequest, facts: Facts, reason: str) -> Outcome:
    """The infrastructure failed, or we stopped the run for our own reasons: nothing is known about the configuration."""
    return Outcome(Status.LOST, min(facts.cpu, request.cutoff), request.cutoff, **_facts(facts, None, reason))


def _facts(facts: Facts, reply: Reply | None, reason: str | None) -> dict[str, Any]:
    return {
        "cpu": facts.cpu,
        "wall": facts.wall,
        "memory": facts.memory,
        "overshoot": facts.overshoot,
        "exit_code": facts.exit_code,
        "signal": facts.signal,
        "reported": reply.time if reply else None,
        "answer": reply.answer if reply else None,
        "reason": reason,
        "backend": facts.backend,
    }


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
