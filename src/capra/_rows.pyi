from collections.abc import Mapping
from typing import Any

from capra.runs.configuration import Configuration
from capra.runs.outcome import Run, Status

class Kind:
    """A class whose objects are made from rows."""

    def __init__(self, type: type, slots: tuple[Any, ...]) -> None: ...

def digest(row: tuple[str | int | float | None, ...]) -> int:
    """Checksum of the values (None, int, float, str) and of their types."""

def read_runs(
    rows: list[Any],
    configs: Mapping[str, Configuration],
    statuses: Mapping[str, Status],
    request: Kind,
    outcome: Kind,
    run: Kind,
) -> list[Run]:
    """Runs of rows with checksum, up to the first whose checksum is wrong."""

def read_configs(rows: list[Any], configs: dict[str, Configuration], config: Kind) -> str | None:
    """Puts configurations of rows with checksum into the dictionary; the id of the first whose checksum is wrong."""
