"""The store: everything a tuning knows, in one SQLite file that survives whatever happens to the process.

A run is *leased* before it can start and *finished* once; what a strategy decided stands beside the runs. One process
writes, guarded by an epoch; any number read meanwhile. Tables and their columns are in ``schema.py``.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from capra.errors import InputError, StoreError
from capra.runs import rows, schema
from capra.runs.outcome import Outcome, Run, Status
from capra.runs.place import free_space
from capra.runs.reader import Reader
from capra.runs.request import RunRequest
from capra.runs.rows import FIELDS, Lease
from capra.runs.writer import Statement, Writer

__all__ = ["Durability", "Lease", "Result", "Store", "free_space"]

Durability = Literal["full", "batch", "memory"]
Result = tuple[int, int, Outcome, float]
"""assignment, attempt, outcome, seconds since the tuning began."""


def _insert(table: str, columns: int, *, lenient: bool = False) -> str:
    return f"INSERT {'OR IGNORE ' if lenient else ''}INTO {table} VALUES ({', '.join('?' * columns)})"  # noqa: S608


_CONFIG, _LEASE = _insert("configs", 3, lenient=True), _insert("leases", 10)
_OUTCOME, _LOSS = _insert("outcomes", len(FIELDS) + 5), _insert("losses", len(FIELDS) + 4)
_DECISION = _insert("decisions", 6, lenient=True)
_NOTE = "INSERT OR REPLACE INTO notes VALUES (?, ?, ?)"
_NONE: Mapping[str, Any] = MappingProxyType({})


class Store(Reader):
    """Leases, runs, decisions and notes of one tuning.

    Every writing method is all or nothing: after a StoreFull the same call may be repeated. With durability "full" it is
    on the disk when it returns; with "batch" after ``flush`` or some seconds of further writes; "memory" has no file.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path | None, writer: Writer | None) -> None:
        """Use ``create``, ``open`` or ``read``."""
        super().__init__(connection, path)
        self.warnings: list[str] = []
        """What the user should know about where the store lies."""
        self._writer = writer
        self._open: dict[int, Lease] = {}
        self._assignments = self._number("SELECT max(assignment) FROM leases")
        self._accepted = self._number("SELECT max(position) FROM outcomes")
        if writer is not None:
            self._open = {lease.assignment: lease for lease in self.open_leases()}

    # --- opening and closing ---

    @classmethod
    def create(cls, path: str | Path | None, meta: Mapping[str, Any], *, durability: Durability = "full") -> Store:
        """A new store that holds ``meta`` (JSON). StoreError if there is something at ``path`` already."""
        if durability not in ("full", "batch", "memory"):
            raise InputError(f"durability is full, batch or memory, not {durability!r}")
        file = None if path is None or durability == "memory" else Path(path)
        pairs = [(key, text := _json(value, f"meta {key}"), rows.digest((key, text))) for key, value in meta.items()]
        if file is None:
            connection = schema.connect("", "memory")
            schema.lay_out(connection, pairs)
            return cls._owned(connection, None, [], batch=True)
        file.parent.mkdir(parents=True, exist_ok=True)
        with schema.explained(file):
            schema.create(file, pairs)
            try:
                return cls._connected(file, batch=durability == "batch")
            except BaseException:
                file.unlink()
                raise

    @classmethod
    def _connected(cls, file: Path, *, batch: bool, takeover: bool = False) -> Store:
        connection = schema.connect(file)
        try:
            return cls._owned(connection, file, schema.prepare(connection, file), batch=batch, takeover=takeover)
        except BaseException:
            connection.close()
            raise

    @classmethod
    def _owned(
        cls, connection: sqlite3.Connection, path: Path | None, warnings: list[str], *, batch: bool, takeover: bool = False
    ) -> Store:
        writer = Writer(connection, path, batch=batch)
        writer.own(takeover=takeover)
        try:
            store = cls(connection, path, writer)
        except StoreError:
            writer.leave()
            raise
        store.warnings += warnings
        return store

    @classmethod
    def open(cls, path: str | Path, *, takeover: bool = False, durability: Literal["full", "batch"] = "full") -> Store:
        """Becomes the writer of an existing store, after checking all of it.

        StoreError if it is damaged, of another version, or held by a process that may still live (``takeover`` fences
        that one out: its next write fails). Nothing is changed before all this is known.
        """
        file = Path(path)
        schema.inspect(file, thoroughly=True)
        with schema.explained(file):
            return cls._connected(file, batch=durability == "batch", takeover=takeover)

    @classmethod
    def read(cls, path: str | Path) -> Store:
        """A reader, at any time and beside a writer. It checks what it reads, not the whole file."""
        file = Path(path)
        schema.inspect(file, thoroughly=False)
        with schema.explained(file):
            connection = schema.connect(file, "ro")
            try:
                return cls(connection, file, None)
            except BaseException:
                connection.close()
                raise

    def flush(self) -> None:
        """Makes all writes so far durable (with durability "batch"; otherwise they are)."""
        if self._writer is not None:
            self._writer.flush()

    def catch_up(self) -> None:
        """Writes what was not written at once, if nothing else did."""
        if self._writer is not None:
            self._writer.catch_up()

    def close(self) -> None:
        """Flushes and lets go. If that raises StoreFull the store is still open: make room and close it again."""
        if self._writer is not None:
            self._writer.leave()
            self._writer = None
        self._connection.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- runs: leased, then finished ---

    def lease(self, request: RunRequest, asked_by: str = "") -> Lease:
        """A new assignment, recorded before it may start."""
        return self.lease_many([(request, asked_by)])[0]

    def lease_many(self, wanted: Iterable[tuple[RunRequest, str]]) -> list[Lease]:
        """New assignments, in one transaction."""
        leases = [Lease(self._assignments + i, 1, request, who) for i, (request, who) in enumerate(wanted, start=1)]
        self._record(leases)
        self._assignments += len(leases)
        return leases

    def release(self, lease: Lease) -> Lease:
        """Another attempt at an assignment whose run was LOST. Results of earlier attempts are ignored from now on."""
        place = (lease.assignment,)
        last = self._number("SELECT max(attempt) FROM leases WHERE assignment = ?", place)
        if lease.attempt != last or self._number("SELECT 1 FROM outcomes WHERE assignment = ?", place):
            raise StoreError(f"run {lease.assignment}.{lease.attempt} is over and cannot be released", path=self.path)
        again = Lease(lease.assignment, last + 1, lease.request, lease.asked_by)
        self._record([again])
        return again

    def _record(self, leases: list[Lease]) -> None:
        if not leases:
            return
        configs = {lease.request.config.id: lease.request.config for lease in leases}
        new = {name: config for name, config in configs.items() if name not in self._configs}
        at = time.time()
        plain = [(row, rows.digest(row)) for row in map(rows.lease_row, leases)]
        self._write(
            (_CONFIG, [rows.config_row(config) for config in new.values()]),
            (_LEASE, [(*row, self._accepted, at, crc) for row, crc in plain]),
        )
        self._configs.update(new)
        self._open |= {lease.assignment: lease for lease in leases}

    def finish(
        self,
        assignment: int,
        attempt: int,
        outcome: Outcome,
        finished: float,
        notes: Mapping[str, Any] = _NONE,
        *,
        at_once: bool = True,
    ) -> Run | None:
        """The accepted run, or None: a second result, one of an older attempt, or LOST (kept apart; may be released).

        ``notes`` are kept in the same transaction. Unless ``at_once``, that is the one of the next lease or decision, or of
        ``catch_up``: a transaction costs more than all the rest.
        """
        return self.finish_many([(assignment, attempt, outcome, finished)], notes, at_once=at_once)[0]

    def finish_many(
        self, results: Iterable[Result], notes: Mapping[str, Any] = _NONE, *, at_once: bool = True
    ) -> list[Run | None]:
        """As ``finish``, in one transaction. StoreError if one was never leased."""
        runs: list[Run | None] = []
        closed: set[int] = set()
        accepted: list[tuple[Any, ...]] = []
        lost: list[tuple[Any, ...]] = []
        for assignment, attempt, outcome, finished in results:
            lease = self._awaited(assignment, attempt)
            run = None
            if lease is not None and assignment not in closed:
                closed.add(assignment)
                if outcome.status is Status.LOST:
                    lost.append(_loss_row(lease, outcome, finished))
                else:
                    position = self._accepted + len(accepted) + 1
                    accepted.append(_outcome_row(position, lease, outcome, finished))
                    run = Run(lease.request, outcome, lease.asked_by, position, finished)
            runs.append(run)
        told = (_OUTCOME, accepted), (_LOSS, lost), (_NOTE, [_note_row(*note) for note in notes.items()])
        self._write(*told, at_once=at_once)
        self._accepted += len(accepted)
        for assignment in closed:
            del self._open[assignment]
        return runs

    def _awaited(self, assignment: int, attempt: int) -> Lease | None:
        lease = self._open.get(assignment)
        if not 1 <= assignment <= self._assignments or (lease is not None and attempt > lease.attempt):
            raise StoreError(f"run {assignment}.{attempt} was never leased", path=self.path)
        return lease if lease is not None and lease.attempt == attempt else None

    def abandon_open_leases(self, reason: str) -> int:
        """Marks them LOST; how many there were. ``release`` gives one of them another attempt."""
        leases = list(self._open.values())
        self.finish_many(
            (lease.assignment, lease.attempt, Outcome(Status.LOST, 0.0, lease.request.cutoff, reason=reason), 0.0)
            for lease in leases
        )
        return len(leases)

    def take_back(self, gone: Sequence[tuple[Lease, Run]], reason: str) -> None:
        """Accepted runs, the last ones of ``latest``, become LOST after all.

        Decisions that knew one of them are dropped, to be taken again; runs that were accepted later, but leased before
        all of them, move up.
        """
        numbers = {run.order for _, run in gone}
        if not numbers:
            return
        first, earliest = min(numbers), min(lease.assignment for lease, _ in gone)
        kept = [(lease, run) for lease, run in self.latest(first - 1) if run.order not in numbers]
        if any(lease.assignment > earliest for lease, _ in kept):
            raise StoreError("only the runs that were leased last can be taken back", path=self.path)
        kept.sort(key=lambda pair: pair[1].order)
        lost = [(lease, replace(run.outcome, status=Status.LOST, reason=reason), run.finished) for lease, run in gone]
        self._write(
            ("DELETE FROM outcomes WHERE position >= ?", [(first,)]),
            (_OUTCOME, [_outcome_row(n, lease, run.outcome, run.finished) for n, (lease, run) in enumerate(kept, first)]),
            (_LOSS, [_loss_row(*loss) for loss in lost]),
            ("DELETE FROM decisions WHERE known >= ?", [(first,)]),
        )
        self._accepted -= len(numbers)

    # --- decisions, notes ---

    def decide(self, kind: str, key: str, data: Any) -> None:
        """Keeps what was decided (JSON). The first word stands: the same (kind, key) again changes nothing."""
        self.decide_many([(kind, key, data)])

    def decide_many(self, decisions: Iterable[tuple[str, str, Any]]) -> None:
        """As ``decide``, in one transaction."""
        plain = [(kind, key, _json(data, f"{kind} {key}"), self._accepted) for kind, key, data in decisions]
        self._write((_DECISION, [(None, *row, rows.digest(row)) for row in plain]))

    def note(self, key: str, value: Any) -> None:
        """A small fact (JSON) that may change: the last word stands."""
        self._write((_NOTE, [_note_row(key, value)]))

    @property
    def accepted(self) -> int:
        """Number of runs in the store."""
        return super().accepted if self._writer is None else self._accepted

    def backup(self, path: str | Path) -> None:
        """As of now, with all that is pending."""
        self.flush()
        super().backup(path)

    def _write(self, *statements: Statement, at_once: bool = True) -> None:
        if self._writer is None:
            raise StoreError("is open for reading only", path=self.path)
        if wanted := [(sql, values) for sql, values in statements if values]:
            (self._writer.write if at_once else self._writer.put_off)(wanted)


def _outcome_row(position: int, lease: Lease, outcome: Outcome, finished: float) -> tuple[Any, ...]:
    promise, told = (
        rows.lease_row(lease),
        (*rows.outcome_row(outcome), float(finished) + 0.0),
    )  # SQLite knows no negative zero
    return position, lease.assignment, lease.attempt, *told, rows.digest((position, *promise, *told))


def _loss_row(lease: Lease, outcome: Outcome, finished: float) -> tuple[Any, ...]:
    row = (lease.assignment, lease.attempt, *rows.outcome_row(outcome), float(finished) + 0.0)
    return *row, rows.digest(row)


def _note_row(key: str, value: Any) -> tuple[Any, ...]:
    text = _json(value, f"note {key}")
    return key, text, rows.digest((key, text))


def _json(value: Any, what: str) -> str:
    try:
        return json.dumps(value)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} cannot be kept: {error}") from None
