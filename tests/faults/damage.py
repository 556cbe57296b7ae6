"""One page of a store is overwritten while nobody has it open, and what SQLite alone makes of that (row 19)."""

from __future__ import annotations

import random
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

__all__ = ["Damage"]


class Damage:
    """A page of the file becomes noise, zeros, or another page; ``repair`` puts it back.

    ``matters`` says whether anything that can be read is different now: found out on a copy, by raw SQL. A store that was not
    sound before is an error of somebody else, and said.
    """

    def __init__(self, store: Path, rng: random.Random, room: Path) -> None:
        self.store = store
        self._room = room
        before = _content(store)  # whoever closes it last also empties its log: now this file is all there is
        if before is None:
            raise AssertionError(f"{store} was damaged before we came")
        self._whole = store.read_bytes()
        self._bytes = _damaged(self._whole, rng)
        store.write_bytes(self._bytes)
        self._content = self._copied()
        self.matters = self._content != before

    @property
    def untouched(self) -> bool:
        """Is the file as we left it? Where SQLite is content with it, whoever opened it may have put down its name."""
        return self.store.read_bytes() == self._bytes or (self._content is not None and self._copied() == self._content)

    def repair(self) -> None:
        for suffix in ("-wal", "-shm"):
            Path(f"{self.store}{suffix}").unlink(missing_ok=True)
        self.store.write_bytes(self._whole)

    def _copied(self) -> list[str] | None:
        with tempfile.TemporaryDirectory(dir=self._room) as folder:
            for file in self.store.parent.glob(f"{self.store.name}*"):
                shutil.copy(file, folder)
            return _content(Path(folder) / self.store.name)


def _damaged(data: bytes, rng: random.Random) -> bytes:
    size = int.from_bytes(data[16:18], "big")  # sqlite.org/fileformat2.html §1.3.2
    size = 65536 if size == 1 else size
    page, other = (size * rng.randrange(len(data) // size) for _ in range(2))
    new = rng.choice([rng.randbytes(size), bytes(size), data[other : other + size]])
    return data[:page] + new + data[page + size :]


def _content(store: Path) -> list[str] | None:
    """All rows of all tables but the owner's, or None if SQLite finds fault with the file."""
    with closing(sqlite3.connect(store)) as connection:
        try:
            sound = connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            if not sound:
                return None
            return [line for line in connection.iterdump() if not line.startswith('INSERT INTO "owner"')]
        except (sqlite3.DatabaseError, UnicodeDecodeError):
            return None
