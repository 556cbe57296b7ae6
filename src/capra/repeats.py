"""Runs made again: does the same run still take the same time?

A small share of the runs repeats finished ones, with the same seed: every other one a run of the incumbent. They cost budget
and decide nothing. How much single repetitions differ is the target's own noise; if all of them lean to one side, the
machine has changed.
"""

from __future__ import annotations

import math
import statistics
from collections import deque
from typing import Any

import numpy as np

from capra.errors import InputError
from capra.runs import Configuration, History, Run, RunRequest, Status

__all__ = ["REPEAT", "Repeats"]

REPEAT = "repeat"
"""Who asked for such a run."""
DRIFT = 1.2
"""Times that changed by more than this factor are worth a warning."""
RECENT, ENOUGH = 8, 4
"""Drift is judged by the last repetitions, and not by fewer than these."""
SURE = 3.0
"""Standard errors by which recent repetitions must differ from none."""
_STREAM = 21
"""Stream of random numbers."""


class Repeats:
    """Chooses finished runs to repeat, and compares. What it knows follows from the runs it was told."""

    def __init__(self, kappa_max: float, share: float = 0.0, seed: int = 0) -> None:
        if not 0.0 <= share <= 0.5:
            raise InputError(f"repeat is a share of the runs, from 0 to 0.5, not {share!r}")
        self.share = share
        self.made = 0
        self.changed = 0
        """Repetitions that ended otherwise: another status, answer or quality."""
        self._kappa_max = kappa_max
        self._seed = seed
        self._told = 0
        self._solved: list[Run] = []
        self._of: dict[Configuration, list[Run]] = {}
        self._logs: list[float] = []
        """ln(time again / time before) of every repetition that succeeded again."""
        self._loads: deque[tuple[float, float]] = deque(maxlen=RECENT)

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
            self._solved.append(run)
            self._of.setdefault(run.request.config, []).append(run)

    def due(self, incumbent: Configuration | None) -> RunRequest | None:
        """The run to repeat now, if it is time."""
        if self.made >= self.share * self._told or not self._solved:
            return None
        rng = np.random.default_rng([self._seed, _STREAM, self.made])
        runs = self._of.get(incumbent, self._solved) if incumbent and self.made % 2 == 0 else self._solved
        request = runs[int(rng.integers(len(runs)))].request
        return RunRequest(request.config, request.instance, request.seed, self._kappa_max)

    def _compare(self, again: Run) -> None:
        self.made += 1
        first = next(run for run in self._of[again.request.config] if run.request.cell == again.request.cell)
        one, two = first.outcome, again.outcome
        self.changed += (one.status, one.answer, one.quality) != (two.status, two.answer, two.quality)
        if two.status is Status.SUCCESS and min(one.time, two.time) > 0.0:
            self._logs.append(math.log(two.time / one.time))
            self._loads.append((one.load or 0.0, two.load or 0.0))

    # --- what it says ---

    @property
    def spread(self) -> float | None:
        """Standard deviation of ln time of the same run with the same seed; None if it is not known.

        Each repetition is the difference of two such times, so its variance is twice that of one.
        """
        return statistics.stdev(self._logs) / math.sqrt(2.0) if len(self._logs) > 1 else None

    @property
    def drift(self) -> float | None:
        """How many times as long recent repetitions took as the first time, if that cannot be chance alone."""
        recent = self._logs[-RECENT:]
        if len(recent) < ENOUGH:
            return None
        sure = abs(statistics.fmean(recent)) >= SURE * statistics.stdev(recent) / math.sqrt(len(recent))
        return math.exp(statistics.median(recent)) if sure else None

    def warnings(self) -> list[str]:
        """Drift of more than 20 %."""
        drift = self.drift
        if drift is None or 1.0 / DRIFT <= drift <= DRIFT:
            return []
        before, now = (statistics.fmean(column) for column in zip(*self._loads, strict=True))
        return [
            f"runs take {drift:.2g} times as long as when they were first made (the last {len(self._loads)} repetitions; "
            f"load {before:.1f} then, {now:.1f} now): other work on this machine, or another machine?"
        ]

    def __str__(self) -> str:
        varies = "" if self.spread is None else f": with the same seed their time varies by {100 * self.spread:.2g} %"
        ended = f", {self.changed} ended otherwise" if self.changed else ""
        return f"{self.made} runs made again{varies}{ended}"

    def summary(self) -> dict[str, Any]:
        """The figures, as plain data."""
        return {"runs": self.made, "changed": self.changed, "spread": self.spread, "drift": self.drift}
