"""Private directories of runs: made, held, and removed, also when the Capra that made them was killed.

A directory is held by a shared lock on itself, which the kernel lets go when its holder dies; whoever then gets the
exclusive lock knows that nobody needs it any more.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import tempfile
import warnings
from pathlib import Path

__all__ = ["Scratch", "sweep"]

PREFIX = f"capra-run-{os.getuid()}-"


class Scratch:
    """One private directory, ours until ``discard``."""

    def __init__(self, parent: Path | None = None) -> None:
        self._owner = os.getpid()
        while True:
            self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
            try:
                self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            except FileNotFoundError:  # another Capra began in this moment, and swept it
                continue
            with contextlib.suppress(OSError):  # a file system without locks: then nobody can sweep there either
                fcntl.flock(self._lock, fcntl.LOCK_SH)
            if os.path.exists(self.path):  # nobody swept it before we held it
                return
            os.close(self._lock)

    def discard(self) -> None:
        """Remove it, whatever is in it. To be called once."""
        os.close(self._lock)
        if os.getpid() == self._owner:  # a fork of us must not remove what the original still uses
            _remove(self.path)


def sweep(parent: Path | None = None) -> None:
    """Remove the directories of Capras of this user that were killed."""
    for path in Path(parent or tempfile.gettempdir()).glob(f"{PREFIX}*"):
        try:
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(path)
        except OSError:  # it is in use
            continue
        finally:
            os.close(lock)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):  # most targets leave nothing there
        os.rmdir(path)
        return
    with contextlib.suppress(OSError, RecursionError):
        shutil.rmtree(path)
    if path.exists():
        # Directories without write permission, or nested deeper than paths and recursion go.
        for command in (["chmod", "-R", "u+rwX", "--"], ["rm", "-rf", "--"]):
            subprocess.run([*command, os.fspath(path)], check=False, stderr=subprocess.DEVNULL)
    if path.exists():
        warnings.warn(f"{path} could not be removed", ResourceWarning, stacklevel=3)
