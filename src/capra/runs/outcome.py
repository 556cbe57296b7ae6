"""What a run told us: the one censored datum."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from capra.errors import InputError
from capra.runs.request import RunRequest

__all__ = ["Outcome", "Run", "Status"]


class Status(StrEnum):
    """How a run ended. A closed set, decided by us from measured facts."""

    SUCCESS = "SUCCESS"
    CAPPED = "CAPPED"
    """Stopped at a cutoff below κ_max: its true time is at least that."""
    TIMEOUT = "TIMEOUT"
    """Stopped at κ_max."""
    MEMOUT = "MEMOUT"
    CRASHED = "CRASHED"
    """Ended by itself without a usable answer; nonsense output included."""
    WRONG = "WRONG"
    """Its answer was refuted; the configuration can never be incumbent."""
    LOST = "LOST"
    """The infrastructure failed: says nothing about the configuration, is retried."""

    @property
    def censored(self) -> bool:
        """The true time is only known to be at least the cutoff."""
        return self in (Status.CAPPED, Status.TIMEOUT)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one supervised run told us.

    If ``censored``, the run was stopped at ``cutoff`` and all we know is that its true time is at least that; ``time``
    is then the cutoff, exactly. ``cutoff`` is the bound in force at the end (after tightening). ``time`` and ``cutoff``
    are in the scenario's unit; the facts below them are what was measured from outside, in seconds and bytes.
    """

    status: Status
    time: float
    cutoff: float
    quality: float | None = None

    cpu: float | None = None
    """CPU seconds of the whole process tree."""
    wall: float | None = None
    memory: int | None = None
    """Peak memory of the tree in bytes."""
    overshoot: float = 0.0
    """How far past its cutoff the run was when it was stopped, in seconds."""
    exit_code: int | None = None
    signal: int | None = None
    reported: float | None = None
    """The time the target claims; a comment, unless the scenario's unit is the target's own."""
    answer: str | None = None
    reason: str | None = None
    """Why this status, in words, when it is not SUCCESS."""
    backend: str | None = None
    """Who measured: the supervisor's backend, or "table"."""
    host: str | None = None
    load: float | None = None
    """The host's load average over one minute when the run ended: were there noisy neighbours?"""
    continued: float = 0.0
    """The part of ``time`` that was used by an earlier run of the same cell, which this one continued."""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.time) and self.time >= 0.0):
            raise InputError(f"a run's time is finite and not negative, not {self.time!r}")
        if not self.cutoff > 0.0:
            raise InputError(f"a run's cutoff is positive, not {self.cutoff!r}")
        if self.censored and self.time != self.cutoff:
            raise InputError(f"a {self.status} run lasts exactly its cutoff {self.cutoff!r}, not {self.time!r}")
        if not 0.0 <= self.continued <= self.time:
            raise InputError(f"a run of {self.time!r} cannot have continued one of {self.continued!r}")
        if self.quality is not None and math.isnan(self.quality):
            raise InputError("a run's quality is a number, not NaN")

    @property
    def censored(self) -> bool:
        """Was the run stopped at its cutoff?"""
        return self.status.censored

    @property
    def aborts(self) -> bool:
        """Did the target ask to stop the whole tuning (AClib's ABORT)? No configuration is at fault: the run is LOST."""
        return self.status is Status.LOST and "says ABORT" in (self.reason or "")


@dataclass(frozen=True, slots=True)
class Run:
    """A request and its outcome, with who asked for it and when: what a history consists of."""

    request: RunRequest
    outcome: Outcome
    asked_by: str = ""
    """The strategy's word for why this run was made."""
    order: int = 0
    """Position in the history."""
    finished: float = 0.0
    """Seconds since the tuning began, by the coordinator's monotonic clock."""
