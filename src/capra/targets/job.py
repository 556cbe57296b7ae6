"""What a supervised run is given, a ``Job`` with its ``Limits``, and what was seen of it, ``Facts``."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from capra.errors import TargetError

__all__ = ["Captured", "Facts", "Job", "Limits"]

Argument = str | bytes | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one run: seconds, bytes, numbers. ``None`` is no bound.

    ``cpu``, ``memory`` and ``processes`` are those of the whole tree. A wall bound is always set, because a
    target that sleeps uses no CPU time: by default three times the CPU bound and five seconds. The *leading*
    bound, which ``tighten`` and ``resume`` change, is ``cpu`` if given, else ``wall``.

    ``file_size``, ``address_space`` and ``user_processes`` are kept by the kernel for each process
    (RLIMIT_FSIZE, _AS, _NPROC). The last one counts all processes and threads of the user; by default it is so
    high that only a fork bomb meets it. It does not bind root: run unknown targets as somebody else.
    """

    cpu: float | None = None
    wall: float | None = None
    memory: int | None = None
    processes: int | None = 1024
    file_size: int | None = None
    address_space: int | None = None
    user_processes: int | None = None
    grace: float = 1.0
    """Seconds between SIGTERM and SIGKILL; 0 kills at once."""
    kill_timeout: float = 5.0
    """Seconds after SIGKILL until a process that does not go is given up (it hangs in the kernel)."""
    head: int = 65536
    """Bytes kept of the beginning of each output."""
    tail: int = 65536
    """Bytes kept of its end."""

    def __post_init__(self) -> None:
        if self.cpu is None and self.wall is None:
            raise TargetError("a run needs a bound on its CPU time or on its wall time")
        for name in self.__slots__:
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise TargetError(f"limit {name} must be a finite number >= 0, not {value!r}")

    @property
    def wall_bound(self) -> float:
        """The wall bound in force at the start."""
        if self.wall is not None:
            return self.wall
        return 3.0 * (self.cpu or 0.0) + 5.0

    @property
    def leading(self) -> float:
        """The bound called *cutoff*: CPU seconds if those are bounded, else wall seconds."""
        return self.wall_bound if self.cpu is None else self.cpu


@dataclass(frozen=True, slots=True)
class Job:
    """What to run. A program named without a slash is looked up in the PATH of ``environment``.

    ``environment`` defaults to ``clean_environment()``; HOME and TMPDIR are the private directory unless it
    names them. ``cores``: pin to these. ``scratch``: where the private directory is made (on a local disk; by
    default in the system's temporary directory). ``working``: run there instead of in the private directory.
    ``files``: put these into the private directory first.
    ``backend``: "process" is our own supervisor, "benchexec" BenchExec.
    ``cgroup``: a version 2 group in which a child may be made, see ``delegated_cgroup``. A relative path as the
    program's name is searched where the target runs.
    ``hold``: a run that passes its CPU or wall bound is not ended but stopped there (SIGSTOP), and ``wait`` says so with
    ``Facts.waiting``; then ``resume`` lets it go on and ``close`` ends it. Only with the backend "process".
    """

    argv: Sequence[Argument]
    limits: Limits
    environment: Mapping[str, str] | None = None
    cores: tuple[int, ...] = ()
    scratch: Path | None = None
    working: Path | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)
    cgroup: Path | None = None
    backend: str = "process"
    hold: bool = False


@dataclass(frozen=True, slots=True)
class Captured:
    """The first and the last bytes of an output, and how many between them were dropped."""

    head: bytes = b""
    tail: bytes = b""
    dropped: int = 0

    def text(self) -> str:
        """For people and parsers: undecodable bytes replaced, the gap marked by a line of its own."""
        gap = f"\n[... {self.dropped} bytes dropped ...]\n".encode() if self.dropped else b""
        return (self.head + gap + self.tail).decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Facts:
    """What was seen of one run. Times in seconds, memory in bytes."""

    exit_code: int | None = None
    signal: int | None = None
    """The signal that ended the main process (ours included)."""
    start_error: str | None = None
    """Why the program could not be started; then no other value means anything."""
    limit: str | None = None
    """The bound that was passed: cpu, wall, memory, processes; or "command" if it was stopped by order.

    Set also if the target passed it and ended by itself before that was noticed (``stopped`` is false)."""
    stopped: bool = False
    """We ended it."""
    waiting: bool = False
    """It is not over: held at its bound, ``limit``, where it may go on. No output comes with these facts."""
    cutoff: float = 0.0
    """The leading bound in force at the end; what had been used by then if it was stopped by order."""
    cpu: float = 0.0
    """Of the whole tree, orphans and daemons and what it used while it was being stopped included."""
    wall: float = 0.0
    """Until the main process ended, without ``held``."""
    held: float = 0.0
    memory: int = 0
    """Peak of the tree."""
    overshoot: float = 0.0
    """How far the bound was passed when that was noticed, in the bound's own unit."""
    processes: int = 0
    """Most of them seen alive at one time."""
    stragglers: int = 0
    """Descendants that outlived the main process and had to be killed."""
    unkillable: tuple[int, ...] = ()
    """Process ids that were still alive after the kill timeout."""
    stdout: Captured = field(default_factory=Captured)
    stderr: Captured = field(default_factory=Captured)
    pinned: bool = False
    backend: str = "process"
    """Who measured: "process" (/proc and rusage) or "cgroup2"."""
    lost: bool = False
    """The supervisor failed or was killed: nothing is known about the target."""
    reason: str = ""
    """Why it is lost."""
