"""Who writes to a store: one process at a time, known so exactly that a successor can see whether it still lives."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Owner", "this_process"]

PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Owner:
    """A process of a machine. ``boot`` and ``namespace`` say whether a process number means the same there and here."""

    host: str
    boot: str
    namespace: str
    pid: int
    started: int
    """Clock ticks from boot to the start of the process: a process number that was given out again differs here."""

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"

    def may_live(self, here: Owner) -> bool:
        """False only if it is certain that the owner has ended: a process of another machine cannot be looked at."""
        if self.boot != here.boot:
            return self.host != here.host  # the same machine, started anew
        return self.namespace != here.namespace or _started(self.pid) == self.started


def this_process() -> Owner:
    """The owner that we are."""
    pid = os.getpid()
    return Owner(socket.gethostname(), _read("sys/kernel/random/boot_id"), _namespace(), pid, _started(pid))


def _started(pid: int) -> int:
    """When the process began; -1 if there is none, or only its remains (a zombie writes no more)."""
    fields = _read(f"{pid}/stat").rpartition(")")[2].split()
    return int(fields[19]) if fields and fields[0] not in "ZX" else -1


def _namespace() -> str:
    try:
        return os.readlink(PROC / "self/ns/pid")
    except OSError:
        return ""


def _read(name: str) -> str:
    try:
        return (PROC / name).read_text(errors="replace").strip()
    except OSError:
        return ""
