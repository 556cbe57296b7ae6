"""Where a store lies: its file system, the space left there, and the state of the log that a crash left behind."""

from __future__ import annotations

import os
import struct
from pathlib import Path

__all__ = ["backup_of", "filesystem", "free_space", "log_is_damaged", "shared_by_machines"]

NETWORK = frozenset(
    "9p afs beegfs ceph cifs coda davfs fhgfs glusterfs gpfs lustre ncpfs nfs nfs4 ocfs2 orangefs panfs pvfs2 smb3 smbfs "
    "virtiofs".split()
)
MOUNTS = Path("/proc/self/mountinfo")
LARGEST_LOG = 256 * 1024 * 1024
"""Longer logs are left to SQLite's own checks: ours is a loop over words."""


def backup_of(path: str | Path) -> Path:
    """Where the backup of a store is kept: beside it."""
    return Path(path).with_suffix(".backup.sqlite")


def filesystem(path: str | Path) -> str:
    """The type of the file system that holds ``path`` (or its folder), as the kernel names it; "" if unknown."""
    place = Path(path)
    device = os.stat(place if place.exists() else place.parent).st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    try:
        mounts = MOUNTS.read_text(errors="replace").splitlines()
    except OSError:
        return ""
    for fields, _, kind in (mount.partition(" - ") for mount in mounts):
        if fields.split()[2] == number:
            return kind.split()[0]
    return ""


def shared_by_machines(kind: str) -> bool:
    """May several machines see this type of file system? Then SQLite's shared memory (WAL) does not work on it."""
    return kind in NETWORK or (kind.startswith("fuse.") and kind != "fuse.fuseiso") or kind == "fuse"


def free_space(path: str | Path) -> int:
    """Bytes that may still be written where ``path`` lies (or will lie)."""
    while True:
        try:
            disk = os.statvfs(path)
        except (FileNotFoundError, NotADirectoryError):
            path = Path(path).absolute().parent
        else:
            return disk.f_bavail * disk.f_frsize


# The write-ahead log (sqlite.org/fileformat2.html §4): a header of 32 bytes, then frames of 24 bytes and one page each.
# Checksums run through all of them; SQLite stops reading at the first frame that is wrong. That is right for the last,
# torn transaction of a crash, but damage in the middle would drop acknowledged rows without a word.
_HEADER = struct.Struct(">8I")
_FRAME = struct.Struct(">6I")
_MASK = 0xFFFFFFFF


def log_is_damaged(path: str | Path) -> bool:
    """Does the store's log hold committed transactions that SQLite would silently leave out?

    Each commit is synced before the next begins, so a crash can tear one at most: two commits behind the first wrong
    frame prove damage. Damage in the last transaction cannot be told from a crash; its runs are then open leases.
    """
    log = Path(f"{path}-wal")
    if not log.is_file() or not _HEADER.size <= log.stat().st_size <= LARGEST_LOG:
        return False
    data = log.read_bytes()
    magic, _, page, _, *rest = _HEADER.unpack_from(data)
    salts, words = (rest[0], rest[1]), "<II" if magic == 0x377F0682 else ">II"
    sums = _checksum(data[:24], words, (0, 0))
    if sums != (rest[2], rest[3]):
        return True
    return _commits_behind_damage(data, 24 + page, salts, words, sums) > 1


def _commits_behind_damage(data: bytes, step: int, salts: tuple[int, int], words: str, sums: tuple[int, int]) -> int:
    intact, lost = True, 0
    for start in range(_HEADER.size, len(data) - step + 1, step):
        _, commit, *tail = _FRAME.unpack_from(data, start)
        ours = (tail[0], tail[1]) == salts
        if intact:
            sums = _checksum(data[start + 24 : start + step], words, _checksum(data[start : start + 8], words, sums))
            intact = ours and sums == (tail[2], tail[3])
        if not intact and ours and commit:
            lost += 1
    return lost


def _checksum(data: bytes, words: str, sums: tuple[int, int]) -> tuple[int, int]:
    first, second = sums
    for even, odd in struct.iter_unpack(words, data):
        first = (first + even + second) & _MASK
        second = (second + odd + first) & _MASK
    return first, second
