"""Reading a store: whoever opens the file, and the writer itself."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from capra.errors import StoreError
from capra.runs import rows, schema
from capra.runs.configuration import Configuration
from capra.runs.outcome import Outcome, Run, Status
from capra.runs.owner import this_process
from capra.runs.rows import FIELDS, Lease

__all__ = ["Reader"]

CHUNK = 4096
_CONFIG = "SELECT id, json, crc FROM configs"
_LEASE = "assignment, attempt, config, instance, seed, cutoff, asked_by"
_RUN = ", ".join(
    ["o.position", *(f"l.{name}" for name in _LEASE.split(", ")), *(f"o.{name}" for name in FIELDS), "o.finished", "o.crc"]
)
_RUNS = (
    f"SELECT {_RUN} FROM outcomes o LEFT JOIN leases l USING (assignment, attempt) "  # noqa: S608
    "WHERE o.position > ? ORDER BY o.position LIMIT ?"
)
_LATEST = (
    f"SELECT {_RUN} FROM outcomes o JOIN leases l USING (assignment, attempt) "  # noqa: S608
    "WHERE o.position > ? ORDER BY o.assignment DESC"
)
_OPEN = (
    f"SELECT {_LEASE}, crc FROM leases l WHERE NOT EXISTS (SELECT 1 FROM outcomes o WHERE o.assignment = l.assignment) "  # noqa: S608
    "AND NOT EXISTS (SELECT 1 FROM losses x WHERE (x.assignment, x.attempt) = (l.assignment, l.attempt)) "
    "AND NOT EXISTS (SELECT 1 FROM leases n WHERE n.assignment = l.assignment AND n.attempt > l.attempt) ORDER BY assignment"
)


class _Configurations(dict[str, Configuration]):
    """Those met so far, by id; others are looked up."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._scanned = False

    def scan(self) -> None:
        """Reads all of them, the first time: in a big store that takes a fifth of the time of looking each up."""
        if not self._scanned:
            cursor = self._connection.execute(_CONFIG)
            while chunk := cursor.fetchmany(CHUNK):
                rows.read_configs(chunk, self)
            self._scanned = True

    def __missing__(self, name: str) -> Configuration:
        row = self._connection.execute(f"{_CONFIG} WHERE id = ?", (name,)).fetchone()
        if row is None:
            raise StoreError(f"is damaged: the configuration {name} is missing")
        rows.read_configs([row], self)
        return self[name]


class _Decision(dict[str, Any]):
    """What was decided. A part that it lacks was not yet part of such decisions when it was made."""

    def __init__(self, data: dict[str, Any], what: str, path: Path | None) -> None:
        super().__init__(data)
        self._what, self._path = what, path

    def __missing__(self, part: str) -> Any:
        text = f"was written by an earlier version of Capra: the decision {self._what} does not say {part!r}"
        raise StoreError(text, path=self._path, hint="start a new tuning, with this one as its warm start")


class Reader:
    """What a store holds. Everything read is compared with its checksum; StoreError if it is not as it was written."""

    meta: Mapping[str, Any]
    """What was said when the store was created."""

    def __init__(self, connection: sqlite3.Connection, path: Path | None) -> None:
        self.path = path
        self._connection = connection
        self._configs = _Configurations(connection)
        with schema.explained(path):
            self.meta = MappingProxyType(self._pairs("meta"))

    @property
    def accepted(self) -> int:
        """Number of runs in the store."""
        return self._number("SELECT max(position) FROM outcomes")

    def runs(self, after: int = 0) -> Iterator[Run]:
        """Accepted runs in the order of acceptance, from position ``after`` + 1 on; equal configurations are one object.

        StoreError at the first run that is missing or not as it was written. Writing meanwhile is allowed.
        """
        with schema.explained(self.path):
            self._configs.scan()
        while True:
            with schema.explained(self.path):
                chunk = self._connection.execute(_RUNS, (after, CHUNK)).fetchall()
                if [row[0] for row in chunk] != list(range(after + 1, after + 1 + len(chunk))):
                    raise StoreError(f"is damaged: runs are missing after run {after}")
                found = rows.read_runs(chunk, self._configs)
            yield from found
            if len(chunk) < CHUNK:
                return
            after += CHUNK

    def latest(self, after: int = 0) -> Iterator[tuple[Lease, Run]]:
        """Runs from position ``after`` + 1 on with their leases, the last lease first. Nothing may be written meanwhile."""
        with schema.explained(self.path):
            for row in self._connection.execute(_LATEST, (after,)):
                [run] = rows.read_runs([row], self._configs)
                yield Lease(row[1], row[2], run.request, run.asked_by), run

    def configs(self) -> Iterator[Configuration]:
        """Every configuration that was ever leased, in the order of its first lease."""
        with schema.explained(self.path):
            sql = "SELECT config FROM leases GROUP BY config ORDER BY min(assignment)"
            found = [self._configs[name] for (name,) in self._connection.execute(sql).fetchall()]
        yield from found

    def open_leases(self) -> list[Lease]:
        """Leased, and neither finished nor lost: runs under way, or what a crash interrupted."""
        with schema.explained(self.path):
            found = self._connection.execute(_OPEN).fetchall()
            return [rows.read_lease(row, self._configs[row[2]]) for row in found]

    @property
    def in_use(self) -> bool:
        """Whether a process may be writing; if not, open leases are what a crash interrupted."""
        with schema.explained(self.path):
            _, owner = schema.owner_of(self._connection)
        return owner is not None and owner.may_live(this_process())

    def losses(self) -> Iterator[tuple[int, int, Outcome]]:
        """(assignment, attempt, outcome) of all LOST runs: their time was spent, and says nothing about a configuration."""
        sql = f"SELECT assignment, attempt, {', '.join(FIELDS)}, finished, crc FROM losses ORDER BY assignment, attempt"  # noqa: S608
        with schema.explained(self.path):
            found = self._connection.execute(sql).fetchall()
            for row in found:
                rows.checked(row, f"the loss of run {row[0]}.{row[1]}")
        for row in found:
            yield row[0], row[1], Outcome(Status(row[2]), *row[3:-2])

    def decision(self, kind: str, key: str) -> Any:
        """What was decided, or None. StoreError where a part is looked for that an earlier version did not write."""
        sql = "SELECT kind, key, data, known, crc FROM decisions WHERE kind = ? AND key = ?"
        with schema.explained(self.path):
            row = self._connection.execute(sql, (kind, key)).fetchone()
            data = None if row is None else _parsed(rows.checked(row, f"the decision {kind} {key}")[2])
        return _Decision(data, f"{kind} {key}", self.path) if isinstance(data, dict) else data

    def decisions(self, kind: str | None = None) -> Iterator[tuple[int, str, str, Any]]:
        """(position, kind, key, data) of all decisions, or of one kind, in the order they were made."""
        sql = (
            "SELECT position, kind, key, data, known, crc FROM decisions WHERE position > ? AND (? IS NULL OR kind = ?) "
            "ORDER BY position LIMIT ?"
        )
        after = 0
        while True:
            with schema.explained(self.path):
                chunk = self._connection.execute(sql, (after, kind, kind, CHUNK)).fetchall()
                for row in chunk:
                    rows.checked(row[1:], f"the decision {row[1]} {row[2]}")
            for after, of, key, data, *_ in chunk:
                yield after, of, key, _parsed(data)
            if len(chunk) < CHUNK:
                return

    @property
    def notes(self) -> dict[str, Any]:
        """All notes."""
        with schema.explained(self.path):
            return self._pairs("notes")

    def backup(self, path: str | Path) -> None:
        """A compact copy at ``path``, replacing an older one there when it is complete. Anyone may open it."""
        target = Path(path)
        draft = target.with_name(f".{target.name}.{os.getpid()}.part")
        draft.unlink(missing_ok=True)
        try:
            with schema.explained(draft):
                self._connection.execute("VACUUM INTO ?", (str(draft),))
                _disown(draft)
            os.replace(draft, target)
        finally:
            draft.unlink(missing_ok=True)

    def _number(self, sql: str, values: Sequence[Any] = ()) -> int:
        with schema.explained(self.path):
            row = self._connection.execute(sql, values).fetchone()
        return int(row[0]) if row and row[0] is not None else 0

    def _pairs(self, table: str) -> dict[str, Any]:
        found = self._connection.execute(f"SELECT key, value, crc FROM {table}").fetchall()  # noqa: S608
        pairs = (rows.checked(row, f"{table} {row[0]}") for row in found)
        return {str(key): _parsed(value) for key, value in pairs}


def _disown(path: Path) -> None:
    connection = schema.connect(path)
    try:
        connection.execute("UPDATE owner SET pid = NULL")
    finally:
        connection.close()


def _parsed(text: Any) -> Any:
    return json.loads(text)
