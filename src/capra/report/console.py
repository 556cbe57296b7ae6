"""The live terminal: where a tuning stands, at a glance; plain lines when nobody watches."""

from __future__ import annotations

import math
import sys
import time
from collections import deque
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from capra.runs import Status
from capra.tune import Tuning, words_of

__all__ = ["LiveConsole"]

EVENTS = 6
EVERY = 0.25
"""Seconds between two pictures."""
EVERY_LINE = 10.0
"""Seconds between two lines where the output is a file."""


class LiveConsole:
    """Watches a ``Tuning``: hand its ``watch`` to ``tune``. A context manager."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(file=sys.stderr)
        self._live = Live(console=self.console, refresh_per_second=4, transient=True) if self.console.is_terminal else None
        self._events: deque[str] = deque(maxlen=EVENTS)
        self._milestones = 0
        self._last = 0.0
        self._warnings: dict[str, str] = {}
        """What was warned of, by its words: the figures change all the time."""

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._live:
            self._live.stop()
            for text in self._warnings.values():  # the picture is gone
                self._warn(text)

    def watch(self, tuning: Tuning) -> None:
        """Something happened."""
        for milestone in tuning.trajectory[self._milestones :]:
            event = f"{_clock(milestone.wall)}  new incumbent {milestone.config.id[:6]}, cost {milestone.cost:.4g}"
            self._events.append(event)
            if not self._live:
                self.console.print(event, highlight=False)
        self._milestones = len(tuning.trajectory)
        for text in tuning.warnings():
            if not self._live and words_of(text) not in self._warnings:
                self._warn(text)
            self._warnings[words_of(text)] = text
        now = time.monotonic()
        if now - self._last >= (EVERY if self._live else EVERY_LINE):
            self._last = now
            if self._live:
                self._live.update(self._picture(tuning))
            else:
                self.console.print(_line(tuning), highlight=False, soft_wrap=True)

    def _warn(self, text: str) -> None:
        self.console.print(Text(f"warning: {text}", style="yellow"), soft_wrap=True)

    def _picture(self, tuning: Tuning) -> Group:
        share = tuning.meter.share(tuning.history, tuning.engine.clock)
        table = Table.grid(padding=(0, 2))
        for name, text in _facts(tuning):
            table.add_row(Text(name, style="dim"), text)
        warnings = [Text(f"warning: {text}", style="yellow") for text in tuning.warnings()]
        events = [Text(event, style="dim") for event in self._events]
        return Group(ProgressBar(total=1.0, completed=share, width=60), table, *warnings, *events)


def _facts(tuning: Tuning) -> list[tuple[str, str]]:
    history, meter = tuning.history, tuning.meter
    wall = _clock(meter.wall(tuning.engine.clock))
    limit = f" of {meter.budget.cpu:g}" if math.isfinite(meter.budget.cpu) else ""
    spent = f"{meter.spent(history):.4g}{limit} {tuning.scenario.unit}, {wall} on the clock"
    counts = (
        "none yet" if not len(history) else ", ".join(f"{n} {status.lower()}" for status, n in history.statuses.items() if n)
    )
    facts = [("budget", spent), ("runs", f"{len(history)} ({counts}), {len(tuning.under_way)} under way")]
    if tuning.strategy.incumbent is not None:
        facts.append(("incumbent", escape(_incumbent(tuning))))
    facts += tuning.strategy.describe()
    if tuning.repeats.made:
        facts.append(("repeats", str(tuning.repeats)))
    if history.saved:
        facts.append(("capping", f"stopped {history.statuses[Status.CAPPED]} runs, at most {history.saved:.4g} saved"))
    return facts


def _incumbent(tuning: Tuning) -> str:
    incumbent = tuning.strategy.incumbent or tuning.scenario.default
    record, default = tuning.history.record(incumbent), tuning.history.record(tuning.scenario.default)
    shared = [pair for pair in record.costs if pair in default.costs]
    ours, theirs = sum(record.costs[pair] for pair in shared), sum(default.costs[pair] for pair in shared)
    is_other = ours > 0 and incumbent != tuning.scenario.default
    faster = f", {theirs / ours:.3g} times as fast as the default on the {len(shared)} they share" if is_other else ""
    return f"{incumbent.id[:6]}: cost {record.mean:.4g} on {len(record.costs)} pairs{faster}"


def _line(tuning: Tuning) -> str:
    share = tuning.meter.share(tuning.history, tuning.engine.clock)
    return f"{100 * share:3.0f} %  " + "; ".join(f"{name} {text}" for name, text in _facts(tuning))


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"
