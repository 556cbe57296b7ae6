"""What every engine promises."""

from __future__ import annotations

from typing import NewType, Protocol

from capra.runs import Outcome, RunRequest

__all__ = ["Engine", "Ticket"]

Ticket = NewType("Ticket", int)


class Engine(Protocol):
    """Carries requests to the target and brings back outcomes, in any order, each exactly once.

    ``submit`` takes a request only while ``free`` is positive. ``wait`` blocks until at least one run is over (or the time
    is up, or nothing but held runs is under way) and gives every outcome it has. Commands on a ticket whose run is over do
    nothing. A run cut by ``tighten`` comes back CAPPED at the bound in force, or at what it had used when the bound is 0;
    where only the target can count (steps), it keeps the cutoff that it was started with. One that was cancelled comes
    back LOST. A run that the infrastructure lost is tried again before it is reported as LOST.

    An engine that holds runs at their cutoff continues them when the same cell is asked for with a longer one: ``time`` is
    that of the whole run, and ``continued`` the part of it that was reported before.
    """

    @property
    def clock(self) -> float:
        """Seconds since the engine began, on its own clock."""

    @property
    def free(self) -> int:
        """How many more requests may be submitted now."""

    def submit(self, request: RunRequest) -> Ticket:
        """Begin a run. InputError while nothing is ``free``."""

    def wait(self, timeout: float | None = None) -> list[tuple[Ticket, Outcome]]:
        """Outcomes that have not been given yet; none after ``timeout`` seconds, or when nothing is left to wait for."""

    def tighten(self, ticket: Ticket, cutoff: float) -> None:
        """Lower the run's cutoff; 0 stops it now."""

    def cancel(self, ticket: Ticket) -> None:
        """Stop the run; its outcome is LOST."""

    def warnings(self) -> list[str]:
        """What a user should know about the measurements so far."""

    def command(self, request: RunRequest) -> str | None:
        """What to type in a shell to repeat a run by hand; None where there is nothing to type."""

    def close(self) -> None:
        """Stop everything; nothing of any run is left afterwards."""
