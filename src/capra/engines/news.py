"""What happens on a cluster, as the engine hears of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Alive", "Done", "Ended", "Gone", "Joined", "Key", "Left", "News", "Refused"]

Key = tuple[int, int]
"""Ticket and attempt: what a run is known by between coordinator and workers."""


@dataclass(frozen=True, slots=True)
class Joined:
    """A worker has a site for us."""

    address: str
    token: str
    host: str
    seats: int
    slowness: float
    warning: str


@dataclass(frozen=True, slots=True)
class Refused:
    """A worker cannot be used."""

    address: str
    reason: str


@dataclass(frozen=True, slots=True)
class Left:
    """A worker is not there any more."""

    address: str


@dataclass(frozen=True, slots=True)
class Alive:
    """A site says which runs it has under way."""

    address: str
    token: str
    runs: frozenset[Key]


@dataclass(frozen=True, slots=True)
class Done:
    """A site says what came of a run."""

    address: str
    token: str
    key: Key
    answer: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Ended:
    """A Dask task is over; the answer of its run, if there was one, is earlier in the queue."""

    address: str
    token: str
    key: Key
    reason: str
    dropped: bool
    """By us: nothing is known of its run."""


@dataclass(frozen=True, slots=True)
class Gone:
    """The scheduler is gone."""


News = Joined | Refused | Left | Alive | Done | Ended | Gone
