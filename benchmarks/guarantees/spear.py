"""What each configurator costs on SPEAR-SWV, beside the authors' code.

1,000 configurations, 604 instances, 300 s taken as the true time; 20,000 columns drawn with replacement, rows in random order.
Two views of the columns: each a fresh run, as the authors count; and each instance's cell known once it was run, as Capra does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.guarantees.drive import DAY, Loglaplace, drive, ledger
from benchmarks.kept import Kept
from benchmarks.spear import load
from capra._guarantees import CapsAndRuns, Confidence, Coup, Impatient, LeapsAndBounds, Oup, Procrastination, Up
from capra.strategies.caps import BASIC, PLUS_PLUS, Constants, settings
from capra.strategies.impatient import sample_sizes

FIRST = 520
"""Seed of the published columns."""
UTILITY = Loglaplace()


@dataclass(frozen=True)
class Row:
    """One line of the table: how to make the core, when to stop, and the authors' CPU days, mean (rank)."""

    name: str
    parameters: str
    make: Callable[[], Any]
    theirs: str
    stop: dict[str, float] = field(default_factory=dict)
    is_utility: bool = False
    trimmed: float = 0.1


def _caps(n: int, delta: float, constants: Constants) -> Callable[[], Any]:
    return lambda: CapsAndRuns(settings(n, 0.05, delta, 0.05 / 7, 1.0, constants))


def _impatient(gamma: float, delta: float) -> Callable[[], Any]:
    sizes = sample_sizes(gamma, 0.05 / 12)
    return lambda: Impatient(sizes, settings(sizes[-1], 0.05, delta, 0.05 / 12, 1.0))


def _utility(kind: Any, *last: float) -> Callable[[], Any]:
    return lambda: kind(1000, 0.05 if kind is Coup else 0.1, 1.0, UTILITY.worth, *last)


def _sp() -> Procrastination:
    return Procrastination(1000, 0.5, 0.1, 1.0, 1e6)


ROWS = [
    Row("sp", "eps .5, until delta .5", _sp, "0.04 / 0.04, 21.5 (48)", {"gap": 0.5}),
    Row("sp", "eps .5, until delta .1", _sp, "4.46 / 3.58, 21.0 (41)", {"gap": 0.1}),
    Row("spc", "10 CPU days", lambda: Confidence(1000, 1.0), "no useful answer", {"budget": 10 * DAY}),
    Row("spc", "50 CPU days", lambda: Confidence(1000, 1.0), "no useful answer", {"budget": 50 * DAY}),
    Row("leaps", "eps .2 delta .2", lambda: LeapsAndBounds(1000, 0.2, 0.2, 0.1, 1.0), "66.5 / 56.6, 20.9 (40)", trimmed=0.2),
    Row("caps", "gamma .05 delta .1", _caps(97, 0.1, BASIC), "39.9 / 29.6, 21.5 (48)"),
    Row("caps", "gamma .02 delta .1", _caps(245, 0.1, BASIC), "104.8 / 80.4, 21.7 (49)"),
    Row("caps++", "gamma .05 delta .1", _caps(97, 0.1, PLUS_PLUS), "21.5 / 15.6, 21.5 (48)"),
    Row("caps++", "gamma .02 delta .1", _caps(245, 0.1, PLUS_PLUS), "55.0 / 42.0, 21.5 (48)"),
    Row("impatient", "gamma .05 delta .1", _impatient(0.05, 0.1), "9.7 / 5.4, 21.5 (48)"),
    Row("impatient", "gamma .02 delta .1", _impatient(0.02, 0.1), "19.8 / 12.0, 21.5 (48)"),
    Row("caps++", "gamma .05 delta .01", _caps(97, 0.01, PLUS_PLUS), "527.9 / 187.9, 4.35 (4)", trimmed=0.01),
    Row("impatient", "gamma .05 delta .01", _impatient(0.05, 0.01), "291.3 / 71.7, 4.35 (4)", trimmed=0.01),
    Row("up", "loglaplace(60, 1), eps .2", _utility(Up), "154.0 / 123.9, 3.05 (0)", {"gap": 0.2}, True),
    Row("oup", "loglaplace(60, 1), eps .2", _utility(Oup), "0.18 / 0.18, 4.35 (4)", {"gap": 0.2}, True),
    Row("oup", "loglaplace(60, 1), eps .05", _utility(Oup), "49.8 / 49.7, 3.05 (0)", {"gap": 0.05}, True),
    Row("coup", "loglaplace(60, 1), 9 phases", _utility(Coup, 5.0, 9), "0.22 / 0.22, 4.35 (4)", {}, True),
]


class Columns:
    """The matrix of one seed, with its rows and columns drawn."""

    def __init__(self, seed: int) -> None:
        table = load().table
        times = np.maximum(np.where(table.solved, table.times, 300.0), 0.001)
        random = np.random.RandomState(seed)
        self.place = random.randint(times.shape[1], size=20_000)
        self.times = np.ascontiguousarray(times[random.permutation(len(times))])
        self.means = self.times.mean(axis=1)
        self.ranks = np.argsort(np.argsort(self.means))

    def trimmed(self, row: int, delta: float) -> float:
        """Mean of a configuration's times, capped at its own δ-quantile."""
        times = self.times[row]
        return float(np.minimum(times, np.quantile(times, 1.0 - delta, method="higher")).mean())


def measured(row: Row, columns: Columns) -> dict[str, Any]:
    """One seed of one row, in both views."""
    utility = UTILITY.utility if row.is_utility else None
    book, core = ledger(columns.times, columns.place, utility), row.make()
    seconds = drive(core, book, **row.stop)
    answer = core.answer
    found = {
        "restart_days": book.fresh_restart / DAY,
        "resumed_days": book.fresh_resumed / DAY,
        "once_restart_days": book.restart / DAY,
        "once_resumed_days": book.resumed / DAY,
        "mean": float(columns.means[answer]),
        "rank": int(columns.ranks[answer]),
        "trimmed_mean": columns.trimmed(answer, row.trimmed),
        "steps": book.steps,
        "seconds": round(seconds, 2),
    }
    if isinstance(core, Impatient):
        found["kept"] = core.kept
    if isinstance(core, Coup):
        found["configurations"] = core.configs
    return {key: round(value, 4) if isinstance(value, float) else value for key, value in found.items()}


def table(seeds: int) -> None:
    """All rows, first the published seed."""
    kept = Kept("guarantees", {"utility": str(UTILITY.utility), "first_seed": FIRST}, "capra", "numpy")
    for number in range(seeds):
        columns = None
        for row in ROWS:
            line = kept.row(name=row.name, parameters=row.parameters, authors=row.theirs)
            if len(line["found"]) != number:
                continue
            columns = columns or Columns(FIRST + number)
            line["found"].append(measured(row, columns))
            kept.write()
            found = line["found"][-1]
            print(
                f"{FIRST + number} {row.name:10s} {row.parameters:28s} {found['restart_days']:8.2f} / {found['resumed_days']:7.2f}"
                f"  mean {found['mean']:6.2f} ({found['rank']:3d})  once {found['once_restart_days']:7.2f} / {found['once_resumed_days']:6.2f}"
                f"  authors {row.theirs}  {found['seconds']:.1f} s",
                flush=True,
            )


def shares() -> dict[str, list[float]]:
    """Share of configurations whose trimmed mean is at most 1 + ε times the best mean, ε = .1, .5, 1, 5, 10."""
    columns = Columns(FIRST)
    best, found = columns.means.min(), {}
    for delta in (0.001, 0.01, 0.1):
        trimmed = np.array([columns.trimmed(i, delta) for i in range(len(columns.times))])
        found[str(delta)] = [float(np.mean(trimmed <= (1 + epsilon) * best)) for epsilon in (0.1, 0.5, 1, 5, 10)]
    return found
