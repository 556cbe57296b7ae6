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

from capra.loop import Tuning, words_of
from capra.report.words import amount, clock, standing, unit_in_words
from capra.runs import Status

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
        self._milestones: int | None = None
        """How many incumbents were told of; None before the first look."""
        self._lines: int | None = None
        """How many of the strategy's lines were printed; None before the first look."""
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
        self._tell_incumbents(tuning)
        self._tell_lines(tuning)
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

    def _tell_incumbents(self, tuning: Tuning) -> None:
        """Those of an earlier session are news to nobody, but belong in the picture."""
        for milestone in tuning.trajectory[self._milestones or 0 :]:
            event = f"{clock(milestone.wall)}  new incumbent {milestone.config.id[:6]}, cost {milestone.cost:.4g}"
            self._events.append(event)
            if not self._live and self._milestones is not None:
                self.console.print(event, highlight=False)
        self._milestones = len(tuning.trajectory)

    def _tell_lines(self, tuning: Tuning) -> None:
        """Where nobody watches, all of them; the picture shows the last ones."""
        lines = tuning.strategy.lines
        if not self._live and self._lines is not None:
            for line in lines[self._lines :]:
                self.console.print(line, highlight=False, markup=False, soft_wrap=True)
        self._lines = len(lines)

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
    history, unit = tuning.history, tuning.scenario.unit
    counts = (
        "none yet" if not len(history) else ", ".join(f"{n} {status.lower()}" for status, n in history.statuses.items() if n)
    )
    facts = [("spent", _spent(tuning)), ("runs", f"{len(history)} ({counts}), {len(tuning.under_way)} under way")]
    if (incumbent := tuning.strategy.incumbent) is not None:
        facts.append(("incumbent", escape(standing(history, incumbent, tuning.scenario.default))))
    facts += tuning.strategy.describe()
    if tuning.repeats.made:
        facts.append(("repeats", str(tuning.repeats)))
    if history.saved:
        facts.append(
            ("capping", f"stopped {history.statuses[Status.CAPPED]} runs, at most {amount(history.saved, unit)} saved")
        )
    return facts


def _spent(tuning: Tuning) -> str:
    meter, unit = tuning.meter, tuning.scenario.unit
    limit = f" of {meter.budget.cpu:g}" if math.isfinite(meter.budget.cpu) else ""
    spent = f"{meter.spent(tuning.history):.3g}{limit} {unit_in_words(unit)}"
    return f"{spent}, {clock(meter.wall(tuning.engine.clock))} on the clock"


def _line(tuning: Tuning) -> str:
    budget, facts = tuning.meter.budget, "; ".join(f"{name} {text}" for name, text in _facts(tuning) if name)
    if math.isinf(min(budget.cpu, budget.wall, budget.runs)):  # a validation: it says itself how much is left
        return facts
    return f"{100 * tuning.meter.share(tuning.history, tuning.engine.clock):3.0f} %  {facts}"
