"""Writing to a store whatever its disk does: a full one is waited for, and once an hour there is a backup."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from capra.errors import StoreError, StoreFull
from capra.runs.place import backup_of, free_space

if TYPE_CHECKING:
    from capra.runs.store import Store

__all__ = ["Keeper"]

T = TypeVar("T")

PATIENCE = 0.5
"""Seconds between two looks at a full disk."""
LEAST_SPACE = 200 * 1024**2
"""Bytes that must be free beside the store before another run starts: what ends must find room."""
BACKUP_EVERY = 3600.0
"""Seconds between two backups of the store."""


class Keeper:
    """Looks after a store's disk, so that a full one costs time and nothing else."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.hurried = False
        """Somebody wants us to end: do not wait."""
        self._trouble = self._no_backup = ""
        self._backed_up = time.monotonic()

    def troubles(self) -> list[str]:
        """What keeps us from writing or backing up, if anything."""
        return [text for text in (self._trouble, self._no_backup) if text]

    def write(self, action: Callable[[], T], *, insist: bool = False) -> T:
        """Do it when there is room. In a hurry a full disk raises StoreFull, unless we ``insist``."""
        while True:
            try:
                return action()
            except StoreFull as error:
                if self.hurried and not insist:
                    raise
                self._trouble = str(error)
                time.sleep(PATIENCE)

    def has_space(self, *, busy: bool) -> bool:
        """Is there room for what runs will leave? Waits for it, unless we are ``busy`` with something else."""
        path = self.store.path
        while path is not None and free_space(path) < LEAST_SPACE:
            self._trouble = "the disk is nearly full: no run is started until there is space"
            if busy or self.hurried:
                return False
            time.sleep(PATIENCE)
        self._trouble = ""
        return True

    def back_up(self) -> None:
        """Once an hour, if there is room; a backup that fails is no reason to stop."""
        path = self.store.path
        if path is None or time.monotonic() - self._backed_up < BACKUP_EVERY:
            return
        self._backed_up = time.monotonic()
        try:
            if free_space(path) < path.stat().st_size + LEAST_SPACE:
                raise StoreFull("not enough space beside it")
            self.store.backup(backup_of(path))
            self._no_backup = ""
        except (StoreError, OSError) as error:
            self._no_backup = f"the store could not be backed up: {error}"
