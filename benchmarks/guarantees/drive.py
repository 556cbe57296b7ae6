"""Cores on matrices of runtimes."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from capra._guarantees import Ledger
from capra.runs.utility import Utility

DAY = 86400.0
ALWAYS = 1 << 62


def ledger(times: np.ndarray, place: np.ndarray | None = None, utility: Utility | None = None) -> Ledger:
    """``times`` (n, c) as a target; column j is c[place[j]], by default the j-th of the matrix."""
    columns = np.arange(times.shape[1]) if place is None else place
    return Ledger(times, times if utility is None else np.ascontiguousarray(utility(times)), columns.astype(np.int64))


def drive(core, book: Ledger, gap: float = 0.0, budget: float = float("inf"), steps: int = ALWAYS) -> float:  # type: ignore[no-untyped-def]
    """Run a core until it has finished, its gap is small enough, or the budget is used up; returns the CPU seconds it took."""
    begun = time.process_time()
    if hasattr(core, "simulate"):
        core.simulate(book, gap, budget, steps)
    else:
        while steps > 0 and book.restart < budget and (step := core.wanted()) is not None:
            core.take(*book.look(*step))
            steps -= 1
    return time.process_time() - begun


@dataclass(frozen=True)
class Loglaplace:
    """κ0 = 1 and the worth of its doublings."""

    scale: float = 60.0

    @property
    def utility(self) -> Utility:
        return Utility("loglaplace", self.scale, 1.0)

    @property
    def worth(self) -> list[float]:
        return self.utility(2.0 ** np.arange(64)).tolist()
