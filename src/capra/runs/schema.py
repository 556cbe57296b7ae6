"""The file of a store: its tables, how it is opened, and what is said when it cannot be."""

from __future__ import annotations

import os
import shlex
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

from capra.errors import StoreError, StoreFull
from capra.runs import place
from capra.runs.owner import Owner

__all__ = ["OUTCOME_COLUMNS", "connect", "create", "explained", "identify", "inspect", "lay_out", "owner_of", "prepare"]

APPLICATION = 0x43617072  # "Capr"
VERSION = 3
PATIENCE = 20.0
"""Seconds that a connection waits for another one's lock."""

OUTCOME_COLUMNS = (
    "status TEXT NOT NULL, time REAL NOT NULL, cutoff REAL NOT NULL, quality REAL, cpu REAL, wall REAL, memory INTEGER, "
    "overshoot REAL NOT NULL, exit_code INTEGER, signal INTEGER, reported REAL, answer TEXT, reason TEXT, backend TEXT, "
    "host TEXT, load REAL, continued REAL NOT NULL"
)

# `known` is the number of runs that had been accepted when the row was written: what came before what.
# `leased_at` is UTC seconds, a label only. `crc` is `rows.digest` of the other values (for outcomes with their lease's).
TABLES = {
    "meta": "key TEXT PRIMARY KEY, value TEXT NOT NULL, crc INTEGER NOT NULL) STRICT, WITHOUT ROWID",
    "owner": "one INTEGER PRIMARY KEY CHECK (one = 1), epoch INTEGER NOT NULL, host TEXT, boot TEXT, namespace TEXT, "
    "pid INTEGER, started INTEGER) STRICT",
    "configs": "id TEXT PRIMARY KEY, json TEXT NOT NULL, crc INTEGER NOT NULL) STRICT, WITHOUT ROWID",
    "leases": "assignment INTEGER NOT NULL, attempt INTEGER NOT NULL, config TEXT NOT NULL REFERENCES configs, "
    "instance TEXT, seed INTEGER NOT NULL, cutoff REAL NOT NULL, asked_by TEXT NOT NULL, known INTEGER NOT NULL, "
    "leased_at REAL NOT NULL, crc INTEGER NOT NULL, PRIMARY KEY (assignment, attempt)) STRICT, WITHOUT ROWID",
    "outcomes": "position INTEGER PRIMARY KEY, assignment INTEGER NOT NULL UNIQUE, attempt INTEGER NOT NULL, "
    f"{OUTCOME_COLUMNS}, finished REAL NOT NULL, crc INTEGER NOT NULL, "
    "FOREIGN KEY (assignment, attempt) REFERENCES leases) STRICT",
    "losses": f"assignment INTEGER NOT NULL, attempt INTEGER NOT NULL, {OUTCOME_COLUMNS}, finished REAL NOT NULL, "
    "crc INTEGER NOT NULL, PRIMARY KEY (assignment, attempt), FOREIGN KEY (assignment, attempt) REFERENCES leases"
    ") STRICT, WITHOUT ROWID",
    "decisions": "position INTEGER PRIMARY KEY, kind TEXT NOT NULL, key TEXT NOT NULL, data TEXT NOT NULL, "
    "known INTEGER NOT NULL, crc INTEGER NOT NULL, UNIQUE (kind, key)) STRICT",
    "notes": "key TEXT PRIMARY KEY, value TEXT NOT NULL, crc INTEGER NOT NULL) STRICT, WITHOUT ROWID",
}
STATEMENTS = {name: f"CREATE TABLE {name} ({columns}" for name, columns in TABLES.items()}


# --- what went wrong, in words ---

_SPACE = {
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR_WRITE,  # a quota
    sqlite3.SQLITE_IOERR_SHMSIZE,
    sqlite3.SQLITE_IOERR_SHMOPEN,
    sqlite3.SQLITE_IOERR_SHMMAP,
}
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_ERROR}


def recipe(path: str | Path) -> str:
    """How to save what can be saved from a damaged store."""
    stamp = f"PRAGMA application_id={APPLICATION}; PRAGMA user_version={VERSION};"
    name, backup = shlex.quote(str(path)), place.backup_of(path)
    go_back = f"mv {name} {name}.damaged && rm -f {name}-wal {name}-shm && cp {shlex.quote(str(backup))} {name}"
    return (
        f"nothing was changed; {f'to go back to the last backup: {go_back}' if backup.exists() else 'there is no backup'}; "
        f"or copy the file with its -wal and try (sqlite3 {name} .recover; echo '{stamp}') | sqlite3 recovered.db "
        "(.dump, where sqlite3 has no .recover)"
    )


def explain(error: sqlite3.Error, path: str | Path | None) -> StoreError:
    """Our error for one of SQLite's."""
    code = getattr(error, "sqlite_errorcode", 0)
    if code in _SPACE or code & 0xFF == sqlite3.SQLITE_FULL:
        return StoreFull("no space left on the device", path=path, hint="make room; nothing was lost")
    if code & 0xFF in _BUSY:
        return StoreError(f"is locked by another process ({error})", path=path, hint="end that process, then repeat")
    if code & 0xFF == sqlite3.SQLITE_READONLY:
        return StoreError(
            f"cannot be written ({error})", path=path, hint="a store that crashed must be opened by its writer"
        )
    if code & 0xFF in _DAMAGED or (not code and "decode" in str(error)):
        return StoreError(f"is damaged ({error})", path=path, hint=recipe(path or "FILE"))
    return StoreError(f"cannot be used: {error}", path=path)


class explained:
    """SQLite's errors inside become ours, and ours get the path."""

    def __init__(self, path: str | Path | None) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        path = self._path
        if error is None or isinstance(error, sqlite3.ProgrammingError):
            return
        if isinstance(error, sqlite3.Error):
            raise explain(error, path) from error
        if isinstance(error, UnicodeDecodeError):
            raise StoreError(f"is damaged ({error})", path=path, hint=recipe(path or "FILE")) from error
        if isinstance(error, StoreError) and error.path is None and path is not None:
            error.path, error.hint = str(path), error.hint or (recipe(path) if "damaged" in error.message else None)


# --- opening ---


def connect(path: str | Path, mode: str = "rw") -> sqlite3.Connection:
    """A connection in autocommit; ``mode`` is "rw", "ro" (never changes the file) or "memory"."""
    if mode == "memory":
        return sqlite3.connect(":memory:", isolation_level=None)
    uri = f"file:{quote(str(Path(path).absolute()))}?mode={mode}"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=PATIENCE)
    try:
        connection.execute("SELECT count(*) FROM sqlite_schema")
    except sqlite3.OperationalError:
        connection.close()
        if mode != "ro" or Path(f"{path}-wal").exists():
            raise
        # A folder that may not be written has no room for SQLite's shared memory; nobody can be writing there.
        connection = sqlite3.connect(f"{uri}&immutable=1", uri=True, isolation_level=None)
    return connection


def inspect(path: str | Path, *, thoroughly: bool) -> None:
    """StoreError unless the file is a whole store of our version. Changes nothing; ``thoroughly`` reads every page."""
    file = Path(path)
    if not file.is_file():
        raise StoreError("no such store", path=path)
    if file.stat().st_size == 0:
        raise StoreError("is empty: its creation was interrupted", path=path, hint="delete it")
    if thoroughly and place.log_is_damaged(path) and place.log_is_damaged(path):  # twice: it may have been in motion
        raise StoreError("is damaged (its -wal file)", path=path, hint=recipe(path))
    with explained(path), closing(connect(path, "ro")) as connection:
        identify(connection)
        if thoroughly:
            found = [line for row in connection.execute("PRAGMA integrity_check(3)") for line in row[0].splitlines()]
            if found != ["ok"]:
                raise StoreError(f"is damaged ({'; '.join(found)})", path=path, hint=recipe(path))


def identify(connection: sqlite3.Connection) -> None:
    """StoreError unless this is a store of our version with exactly our tables."""
    application, version = (connection.execute(f"PRAGMA {key}").fetchone()[0] for key in ("application_id", "user_version"))
    if application != APPLICATION:
        raise StoreError("is not a Capra store")
    if version > VERSION:
        raise StoreError(f"was made by a newer Capra (its version is {version}, ours {VERSION})", hint="update Capra")
    if 0 < version < VERSION:
        hint = "finish it with that Capra, or begin anew"
        raise StoreError(f"was made by an older Capra (its version is {version}, ours {VERSION})", hint=hint)
    tables = dict(connection.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL"))
    if version != VERSION or {name: tables.get(name) for name in STATEMENTS} != STATEMENTS:
        raise StoreError("is damaged (its tables are not those of a store)")


def prepare(connection: sqlite3.Connection, path: str | Path | None) -> list[str]:
    """Sets the journal for the file system, and how much a commit waits for; what the user should know about it."""
    warnings = []
    kind = "" if path is None else place.filesystem(path)
    if place.shared_by_machines(kind):
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")  # a log from elsewhere is read without shared memory
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("PRAGMA locking_mode = NORMAL")
        connection.execute("SELECT count(*) FROM sqlite_schema")  # lets go of the exclusive lock
        warnings.append(f"the store is on a network file system ({kind}): slower, and to be used from one machine only")
    else:
        connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA journal_size_limit = 16777216")
    return warnings


def create(path: Path, meta: list[Any]) -> None:
    """A new file with all tables and ``meta``, there only when it is whole. StoreError if there is one already."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    draft.unlink(missing_ok=True)
    try:
        with closing(connect(draft, "rwc")) as connection:
            lay_out(connection, meta)
        _publish(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def _publish(draft: Path, path: Path) -> None:
    try:
        os.link(draft, path)
    except FileExistsError:
        raise StoreError("exists already", path=path, hint="resume it, or choose another name") from None
    except OSError:  # a file system without hard links: for a moment there is an empty file
        path.touch(exist_ok=False)
        os.replace(draft, path)


def lay_out(connection: sqlite3.Connection, meta: list[Any]) -> None:
    """Creates the tables in an empty database, all at once: nobody owns it yet."""
    connection.execute("BEGIN IMMEDIATE")
    for statement in STATEMENTS.values():
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.executemany("INSERT INTO meta VALUES (?, ?, ?)", meta)
    connection.execute("INSERT INTO owner (one, epoch) VALUES (1, 0)")
    connection.execute("COMMIT")


def owner_of(connection: sqlite3.Connection) -> tuple[int, Owner | None]:
    """The epoch, and who holds it; None if it was closed."""
    row = connection.execute("SELECT epoch, host, boot, namespace, pid, started FROM owner").fetchone()
    if row is None:
        raise StoreError("is damaged (nobody has ever owned it)")
    return row[0], None if row[4] is None else Owner(*row[1:])
