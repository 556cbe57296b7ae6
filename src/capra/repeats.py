"""Runs made again: does the same run still take the same time?

A small share of the runs repeats what the incumbent has run, with the same seeds, its oldest runs in turn: challengers are
measured now and compared with what was measured then. Repetitions cost budget and decide nothing. How much they differ among
themselves is the target's own noise; if all of them lean to one side, the machine has changed.
"""

from __future__ import annotations

import math
import statistics
from collections import deque
from typing import Any

from capra.errors import InputError
from capra.runs import Configuration, History, Run, RunRequest, Status

__all__ = ["REPEAT", "Repeats"]

REPEAT = "repeat"
"""Who asked for such a run."""
PANEL = 10
"""So many of the incumbent's oldest runs are repeated, one after the other."""
DRIFT = 1.2
"""Times that changed by more than this factor are worth a warning."""
RECENT, ENOUGH = 8, 4
"""Drift is judged by the last repetitions, and not by fewer than these."""
SURE = 3.0
"""Standard errors by which recent repetitions must differ from none."""

Cell = tuple[str, str | None, int]


class Repeats:
    """Chooses runs to repeat, and compares. What it knows follows from the runs it was told."""

    def __init__(self, kappa_max: float, share: float = 0.0) -> None:
        if not 0.0 <= share <= 0.5:
            raise InputError(f"repeat is a share of the runs, from 0 to 0.5, not {share!r}")
        self.share = share
        self.made = 0
        self.changed = 0
        """Repetitions that ended otherwise: another status, answer or quality."""
        self._kappa_max = kappa_max
        self._told = 0
        self._solved: dict[Configuration, list[Run]] = {}
        """The first successful runs of each configuration."""
        self._times: dict[Cell, list[float]] = {}
        """ln of every time of the runs that were repeated, the first one included."""
        self._recent: deque[tuple[Run, Run]] = deque(maxlen=RECENT)
        self.drift: float | None = None
        """How many times as long recent repetitions took as the first time, if that is hardly chance; else None."""

    @classmethod
    def of(cls, history: History) -> Repeats:
        """What the repetitions in a history say."""
        found = cls(history.kappa_max, 0.5)
        for run in history:
            found.tell(run)
        return found

    def tell(self, run: Run) -> None:
        """A run was accepted, or lost."""
        if not self.share or run.outcome.status is Status.LOST:
            return
        self._told += 1
        if run.asked_by == REPEAT:
            self._compare(run)
        elif run.outcome.status is Status.SUCCESS:
            solved = self._solved.setdefault(run.request.config, [])
            if len(solved) < PANEL:
                solved.append(run)

    def due(self, incumbent: Configuration | None) -> RunRequest | None:
        """The run to repeat now, if it is time."""
        solved = self._solved.get(incumbent) if incumbent is not None else None
        if not solved or self.made + 1 > self.share * self._told:
            return None
        request = solved[self.made % len(solved)].request
        return RunRequest(request.config, request.instance, request.seed, self._kappa_max)

    def _compare(self, again: Run) -> None:
        self.made += 1
        first = next(run for run in self._solved[again.request.config] if run.request.cell == again.request.cell)
        one, two = first.outcome, again.outcome
        self.changed += (one.status, one.answer, one.quality) != (two.status, two.answer, two.quality)
        if two.status is Status.SUCCESS and min(one.time, two.time) > 0.0:
            self._times.setdefault(first.request.cell, [math.log(one.time)]).append(math.log(two.time))
            self._recent.append((first, again))
            self.drift = self._drift_now()

    # --- what it says ---

    @property
    def spread(self) -> float | None:
        """Standard deviation of ln time of the same run with the same seed, pooled over runs; None if nothing is known."""
        degrees = sum(len(times) - 1 for times in self._times.values())
        squares = sum((len(times) - 1) * statistics.variance(times) for times in self._times.values())
        return math.sqrt(squares / degrees) if degrees else None

    def _drift_now(self) -> float | None:
        logs = [math.log(again.outcome.time / first.outcome.time) for first, again in self._recent]
        if len(logs) < ENOUGH:
            return None
        sure = abs(statistics.fmean(logs)) > SURE * statistics.stdev(logs) / math.sqrt(len(logs))
        return math.exp(statistics.median(logs)) if sure else None

    def warnings(self) -> list[str]:
        """Drift of more than 20 %."""
        drift = self.drift
        if drift is None or 1.0 / DRIFT <= drift <= DRIFT:
            return []
        before, now = (statistics.fmean(run.outcome.load or 0.0 for run in runs) for runs in zip(*self._recent, strict=True))
        return [
            f"runs take {drift:.2g} times as long as when they were first made (the last {len(self._recent)} repetitions; "
            f"load {before:.1f} then, {now:.1f} now): other work on this machine, or a target that varies with the same seed"
        ]

    def __str__(self) -> str:
        varies = "" if self.spread is None else f": with the same seed their time varies by {100 * self.spread:.2g} %"
        ended = f", {self.changed} ended otherwise" if self.changed else ""
        return f"{self.made} runs made again{varies}{ended}"

    def summary(self) -> dict[str, Any]:
        """The figures, as plain data."""
        return {"runs": self.made, "changed": self.changed, "spread": self.spread, "drift": self.drift}
