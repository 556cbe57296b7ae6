"""Instances copied to a machine's own disk, once, so that runs do not read over the network.

The cache is a folder of this user below the temporary directory, shared by all our processes on the machine. An entry is a
folder named by a digest of the source's path, size and modification time (a file that changed is another entry), with the
copy under its own name. Who uses an entry holds a shared lock on its folder, which the kernel lets go when its holder dies;
what nobody holds may be removed to make room, the least recently used first.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

__all__ = ["Stage"]

PREFIX = "capra-stage-"


class Stage:
    """A cache of at most ``limit`` bytes. A file that does not fit, or cannot be copied, is used where it is."""

    def __init__(self, limit: int, parent: Path | None = None) -> None:
        self.limit = limit
        self.folder = _private_folder(parent or Path(tempfile.gettempdir()))
        self.troubles: set[str] = set()

    @contextlib.contextmanager
    def held(self, source: str) -> Iterator[str]:
        """The path of a local copy, which stays while the context lasts."""
        lock, place = None, source
        try:
            lock, place = self._take(Path(source))
        except OSError as error:
            self.troubles.add(f"{source} could not be copied to {self.folder}: {error.strerror}")
        try:
            yield place
        finally:
            if lock is not None:
                os.close(lock)

    def _take(self, source: Path) -> tuple[int | None, str]:
        facts = source.stat()
        if facts.st_size > self.limit:
            self.troubles.add(f"{source} is larger than the space for local copies")
            return None, str(source)
        text = os.fsencode(source) + f"\0{facts.st_size}\0{facts.st_mtime_ns}".encode()
        entry = self.folder / hashlib.blake2b(text, digest_size=16).hexdigest()
        lock = _hold(entry)
        copy = entry / source.name
        try:
            if not copy.exists():
                self._copy(source, copy, facts.st_size)
            os.utime(entry)
        except OSError:
            os.close(lock)
            raise
        return lock, str(copy)

    def _copy(self, source: Path, copy: Path, size: int) -> None:
        self._make_room(size)
        handle, part = tempfile.mkstemp(dir=copy.parent, prefix=".part-")
        os.close(handle)
        try:
            shutil.copyfile(source, part)
            os.rename(part, copy)  # whole or not at all, also if two of us copy at a time
        except OSError:
            os.unlink(part)
            raise

    def _make_room(self, size: int) -> None:
        entries = [(path.stat().st_mtime_ns, path) for path in self.folder.iterdir() if path.is_dir()]
        used = {path: sum(file.stat().st_size for file in path.iterdir()) for _, path in entries}
        total = sum(used.values())
        for _, path in sorted(entries):
            if total + size <= self.limit:
                return
            if _remove(path):
                total -= used[path]


def _private_folder(parent: Path) -> Path:
    """Ours alone: somebody else's folder of that name, or a link, is not used."""
    place = parent / f"{PREFIX}{os.getuid()}"
    with contextlib.suppress(FileExistsError):
        place.mkdir(mode=0o700)
    facts = place.lstat()
    if facts.st_uid == os.getuid() and facts.st_mode & 0o170077 == 0o040000:
        return place
    return Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))


def _hold(entry: Path) -> int:
    """A descriptor of the entry's folder, made if need be, with a shared lock."""
    while True:
        entry.mkdir(mode=0o700, exist_ok=True)
        lock = os.open(entry, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with contextlib.suppress(OSError):  # a file system without locks: then nobody can remove it either
            fcntl.flock(lock, fcntl.LOCK_SH)
        if entry.exists():  # nobody removed it before we held it
            return lock
        os.close(lock)


def _remove(entry: Path) -> bool:
    """Remove an entry unless somebody holds it."""
    try:
        lock = os.open(entry, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(entry, ignore_errors=True)
        return True
    except OSError:  # it is in use
        return False
    finally:
        os.close(lock)
