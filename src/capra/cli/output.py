"""How commands print: one JSON object, lines, or columns."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from capra.formats.plain import plain
from capra.report.rows import Rows

__all__ = ["next_step", "print_document", "print_json", "print_rows", "say"]


def print_json(document: Any) -> None:
    sys.stdout.write(json.dumps(plain(document), indent=2, allow_nan=False) + "\n")
    sys.stdout.flush()  # `serve` goes on after it


def say(text: str) -> None:
    """One line, whole even when it is longer than the terminal is wide."""
    Console(soft_wrap=True).print(text, highlight=False)


def next_step(command: str, path: Path) -> str:
    """What to type now, as it can be copied; marked up for ``say``."""
    return f"next: capra {command} {escape(shlex.quote(str(path)))}"


def print_rows(rows: Sequence[tuple[str, ...]]) -> None:
    """Columns of marked-up text: wrapped to the terminal's width, or plain unwrapped lines when piped."""
    table = Table(box=None, show_header=False, pad_edge=False)
    for row in rows:
        table.add_row(*row)
    if sys.stdout.isatty():
        Console().print(table)
    else:
        for row in rows:
            say("  ".join(row))


def print_document(document: dict[str, Any], rows_of: Callable[[dict[str, Any]], Rows], as_json: bool) -> None:
    if as_json:
        print_json(document)
    else:
        print_rows([(f"[bold]{name}[/]", escape(text)) for name, text in rows_of(document)])
