"""Which hosts may be trusted: when a machine is broken, no configuration is to blame, and no more runs go there.

A library that is missing on one host, or a full disk there, makes runs fail that would succeed elsewhere. What cannot be
started there is made again on another host. A crash that looks new is made again on another host as well, and that
decides: alike there too, it is the parameters, and crashes of that look are believed until many of them come in a row
(twice as many each time); something else there, and it counts against the first host. Several such faults in a row, with
no success of that host in between, and the host is quarantined. The last one never is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from capra.runs import Outcome, Status

__all__ = ["Hosts", "look_of"]

FAULTS = 3
"""So many faults of a host in a row are no accident."""
ALIKE = 5
"""So many crashes in a row of a look that had been believed are suspicious again."""
_DIGITS = re.compile(r"\d+")

Look = tuple[int | None, int | None, str]


@dataclass
class _Record:
    faults: int = 0
    reason: str = ""
    look: Look | None = None
    row: int = 0
    """Crashes of that look since the host did anything else."""


@dataclass
class Hosts:
    """What is known of the hosts by their names."""

    quarantined: dict[str, str] = field(default_factory=dict)
    """Host -> why."""
    _records: dict[str, _Record] = field(default_factory=dict)
    _confirmed: dict[Look, int] = field(default_factory=dict)

    def succeeded(self, host: str) -> None:
        """A run ended well there: whatever there was before, it is no longer in a row."""
        self._records.pop(host, None)

    def crashed(self, host: str, outcome: Outcome) -> bool:
        """A run crashed there. Is a second opinion needed?"""
        record, look = self._records.setdefault(host, _Record()), look_of(outcome)
        record.row = record.row + 1 if look == record.look else 1
        record.look = look
        times = self._confirmed.get(look, 0)
        return times == 0 or record.row >= ALIKE * 2 ** (times - 1)

    def confirmed(self, outcome: Outcome) -> None:
        """Another host saw the same crash: it is the parameters."""
        look = look_of(outcome)
        self._confirmed[look] = self._confirmed.get(look, 0) + 1
        for record in self._records.values():
            record.row = 0 if record.look == look else record.row

    def faulted(self, host: str, reason: str, others: bool) -> bool:
        """The host was at fault. Is it quarantined now? Only if there are ``others``."""
        record = self._records.setdefault(host, _Record())
        record.faults += 1
        record.reason = reason
        if record.faults < FAULTS or not others or host in self.quarantined:
            return False
        self.quarantined[host] = reason
        return True


def look_of(outcome: Outcome) -> Look:
    """What failures are compared by: exit code, signal and reason, without its figures."""
    reason = outcome.reason or "" if outcome.status is Status.CRASHED else str(outcome.status)
    return outcome.exit_code, outcome.signal, _DIGITS.sub("#", reason)
