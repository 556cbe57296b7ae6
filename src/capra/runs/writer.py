"""Writing to a store: transactions that are whole, fenced by the owner's epoch, and repeatable after a full disk."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from capra.errors import StoreError
from capra.runs.owner import Owner, this_process
from capra.runs.schema import explained, owner_of

__all__ = ["Statement", "Writer"]

Statement = tuple[str, Sequence[tuple[Any, ...]]]
"""SQL, and the rows to execute it with."""

BATCH_ROWS = 5000
BATCH_SECONDS = 5.0


class Writer:
    """The one writer of a store.

    ``write`` is all or nothing: if it raises, the store is as before and the same call may be repeated. Without
    ``batch`` it is durable when it returns, and so is what was ``put_off`` until then. With it, a transaction stays open
    over many writes; should it fail, those already acknowledged are kept in memory and written again with the next one.
    ``flush`` makes all of them durable.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path | None, *, batch: bool = False) -> None:
        self._connection = connection
        self._path = path
        self._batch = batch
        self._pending: list[Statement] = []
        self._rows = 0
        self._since = time.monotonic()
        self.epoch = 0

    def own(self, *, takeover: bool) -> None:
        """Becomes the owner, with a new epoch. StoreError if another may still write, unless it is a ``takeover``."""
        me = this_process()
        with explained(self._path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                epoch, owner = owner_of(self._connection)
                if owner is not None and owner.may_live(me) and not takeover:
                    raise _held(owner, me)
                self._connection.execute(
                    "UPDATE owner SET epoch = ?, host = ?, boot = ?, namespace = ?, pid = ?, started = ?",
                    (epoch + 1, me.host, me.boot, me.namespace, me.pid, me.started),
                )
                self._connection.execute("COMMIT")
            finally:
                self._roll_back()
        self.epoch = epoch + 1

    def put_off(self, statements: Sequence[Statement]) -> None:
        """To be written with whatever is written next, in one transaction, or by ``catch_up``."""
        if self._batch:
            self.write(statements)
        else:
            self._pending += statements

    def catch_up(self) -> None:
        """Writes what was put off, if nothing else did."""
        if not self._batch:
            self.flush()

    def write(self, statements: Sequence[Statement]) -> None:
        """StoreFull or StoreError leave everything as it was."""
        with explained(self._path):
            try:
                self._begin()
                for sql, rows in statements:
                    self._connection.executemany(sql, rows)
                due = not self._batch or self._is_due(statements)
                if due:
                    self._connection.execute("COMMIT")
            except BaseException:
                self._roll_back()
                raise
        if due:
            self._settled()
        else:
            self._pending += statements
            self._rows += sum(len(rows) for _, rows in statements)

    def flush(self) -> None:
        """Commits what is pending."""
        if not self._pending:
            return
        with explained(self._path):
            try:
                self._begin()
                self._connection.execute("COMMIT")
            except BaseException:
                self._roll_back()
                raise
        self._settled()

    def leave(self) -> None:
        """Flushes, and gives the store up, so that anyone may open it."""
        self.flush()
        with suppress(StoreError):  # a full disk, or a successor: then the row names a process that has ended
            self.write([("UPDATE owner SET pid = NULL", [()])])
            self.flush()

    def _begin(self) -> None:
        if self._connection.in_transaction:
            return
        self._connection.execute("BEGIN IMMEDIATE")
        # Inside the transaction nobody else can write, so this holds until the commit.
        if self._connection.execute("SELECT 1 FROM owner WHERE epoch = ?", (self.epoch,)).fetchone() is None:
            raise StoreError("another process took over", hint="this one can no longer write; let it end")
        for sql, rows in self._pending:
            self._connection.executemany(sql, rows)

    def _is_due(self, statements: Sequence[Statement]) -> bool:
        held = self._rows + sum(len(rows) for _, rows in statements)
        return held >= BATCH_ROWS or time.monotonic() - self._since >= BATCH_SECONDS

    def _settled(self) -> None:
        self._pending.clear()
        self._rows = 0
        self._since = time.monotonic()

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")


def _held(owner: Owner, me: Owner) -> StoreError:
    who = "this process" if owner == me else str(owner)
    return StoreError(f"is being written by {who}", hint="let it end; if you know that it has: capra resume --takeover")
