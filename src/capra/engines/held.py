"""Runs that were stopped at their cutoff and wait, with all that they have computed, for a longer one.

A process tree that is stopped (SIGSTOP) costs memory and nothing else. As long as it fits, a run that is wanted with a
longer cutoff goes on where it was. What does not fit is ended and will be made from its beginning, as without holding.
"""

from __future__ import annotations

import resource
from dataclasses import dataclass

from capra.runs import RunRequest
from capra.targets.supervisor import Supervised

__all__ = ["MOST", "HeldRun", "HeldRuns"]

MOST = 256
"""So many at a time, however small: each has a supervisor, and two of our file descriptors."""
Cell = tuple[str, str | None, int]


@dataclass(frozen=True, slots=True)
class HeldRun:
    """A run that waits at ``request.cutoff``."""

    request: RunRequest
    supervised: Supervised
    cpu: float
    """CPU seconds so far: what it takes to make it again."""
    memory: int
    """Bytes, at their peak."""

    @property
    def worth(self) -> float:
        """CPU seconds per byte. Under a strategy that gives more time to whom it believes in, the others are worth less."""
        return self.cpu / max(self.memory, 1)


class HeldRuns:
    """At most ``memory`` bytes and ``most`` runs; those that are worth least are ended first."""

    def __init__(self, memory: int, most: int = MOST) -> None:
        self.ended = 0
        """Runs that had to make room."""
        self._memory = memory
        self._most = min(most, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 4)
        self._runs: dict[Cell, HeldRun] = {}

    def __len__(self) -> int:
        return len(self._runs)

    @property
    def memory(self) -> int:
        """Bytes in use."""
        return sum(run.memory for run in self._runs.values())

    def put(self, run: HeldRun) -> None:
        """Keep it, if there is room or can be made, and nobody waits for the same further on. It is ours to close now."""
        before = self._runs.get(run.request.cell)
        if before is not None and before.request.cutoff >= run.request.cutoff:
            run.supervised.close()
            return
        if before is not None:
            before.supervised.close()
            del self._runs[run.request.cell]
        if run.memory > self._memory:
            self._end(run)
            return
        self._runs[run.request.cell] = run
        while self.memory > self._memory or len(self._runs) > self._most:
            least = min(self._runs.values(), key=lambda held: held.worth)
            del self._runs[least.request.cell]
            self._end(least)

    def take(self, request: RunRequest) -> HeldRun | None:
        """The run that the request continues: the same cell, held at a smaller cutoff, and still alive."""
        run = self._runs.get(request.cell)
        if run is None or not run.request.cutoff < request.cutoff:
            return None
        del self._runs[request.cell]
        if run.supervised.wait(0.0) is not None:  # somebody killed it
            run.supervised.close()
            return None
        return run

    def close(self) -> None:
        """End all of them."""
        for run in self._runs.values():
            run.supervised.kill()
        for run in self._runs.values():
            run.supervised.close()
        self._runs.clear()

    def _end(self, run: HeldRun) -> None:
        run.supervised.close()
        self.ended += 1
