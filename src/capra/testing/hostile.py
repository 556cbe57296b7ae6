"""Targets that misbehave: small real programs to test limits and clean-up with.

Each function gives the argument list of one program. They are safe to run: bounded in time (``seconds``) and
in what they take, even if nobody stops them.

>>> from capra.testing import hostile
>>> from capra.targets.supervisor import Job, Limits, run
>>> run(Job(hostile.deaf(), Limits(cpu=0.2, grace=0.1))).limit
'cpu'
"""

from __future__ import annotations

import sys
from pathlib import Path

__all__ = [
    "busy",
    "daemon",
    "deaf",
    "disk_filler",
    "echo",
    "endless_output",
    "fork_storm",
    "headless",
    "memory_hog",
    "nest",
    "relay",
    "sleeper",
    "stdin_reader",
    "success_then_segv",
    "unreaped_children",
]

_PROGRAMS = Path(__file__).with_name("programs")


def _python(name: str, *arguments: object) -> list[str]:
    # -E and -S: no environment, no site packages; an interpreter that starts in a few milliseconds
    return [sys.executable, "-E", "-S", str(_PROGRAMS / f"{name}.py"), *map(str, arguments)]


def busy(seconds: float = 60.0, processes: int = 1) -> list[str]:
    """Burns CPU until ``seconds`` of wall time have passed."""
    return _python("busy", seconds, processes)


def sleeper(seconds: float = 60.0) -> list[str]:
    """Says "asleep" and uses no CPU time."""
    return _python("sleeper", seconds)


def deaf(seconds: float = 60.0) -> list[str]:
    """Says "deaf", ignores SIGTERM and all its kin, and burns CPU."""
    return _python("deaf", seconds)


def daemon(seconds: float = 60.0, main_seconds: float = 0.0) -> list[str]:
    """Leaves a double-forked daemon in its own session that ignores SIGTERM, burns CPU and prints its pid."""
    return _python("daemon", seconds, main_seconds)


def headless(seconds: float = 60.0, *, daemon: bool = False) -> list[str]:
    """Burns CPU in a second thread when its first has ended (a zombie in /proc), or lets a child do that."""
    return _python("headless", seconds, int(daemon))


def relay(seconds: float = 10.0) -> list[str]:
    """Lives on in ever new processes and sessions, so that a pid that was looked up is already gone."""
    return _python("relay", seconds)


def fork_storm(generations: int = 5, seconds: float = 30.0) -> list[str]:
    """Becomes 2 ** ``generations`` processes as fast as it can, all of which burn CPU."""
    return _python("storm", generations, seconds)


def unreaped_children(seconds: float = 0.2, children: int = 3) -> list[str]:
    """Burns CPU in one child after the other and ignores SIGCHLD: their time is in nobody's account."""
    return _python("unreaped", seconds, children)


def endless_output(seconds: float = 60.0, size: int | None = None) -> list[str]:
    """Prints numbered lines of 16 bytes as fast as it can, or exactly ``size`` bytes of them."""
    return _python("output", seconds, *(() if size is None else (size,)))


def disk_filler(size: int = 10_000_000_000) -> list[str]:
    """Writes one file of ``size`` bytes into its working directory. Run it under a file-size limit."""
    return _python("files", size)


def memory_hog(size: int, seconds: float = 60.0, sharing: int = 0) -> list[str]:
    """Takes ``size`` bytes and waits; ``sharing`` children share every page with it."""
    return _python("memory", size, seconds, sharing)


def success_then_segv() -> list[str]:
    """Prints "s SATISFIABLE" and dies of SIGSEGV."""
    return _python("segv")


def echo(*arguments: str) -> list[str]:
    """Prints what arrived (arguments and environment in hexadecimal, directory, session, limits) as JSON."""
    return _python("echo", *arguments)


def stdin_reader() -> list[str]:
    """Reads its standard input to the end and prints how many bytes came."""
    return _python("stdin")


def nest(depth: int = 2000) -> list[str]:
    """Leaves read-only directories and ``depth`` nested ones in its working directory."""
    return _python("nest", depth)
