"""irace's race table: one line per pair, with irace's columns and marks."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from capra.strategies.elimination import agreement, quality_variance

__all__ = ["MARKS", "RaceTable"]

MARKS = (
    "# x no test    c out by capping only    - out by the test    = nobody is out",
    "# ! elites would be out, but are kept    . nothing new: all runs of the pair are known",
)
HEAD = "| |   Instance|   Bound|      Alive|       Best|       Mean best| Exp so far|    Time|  rho|KenW|  Qvar|"
RULE = "+-+-----------+--------+-----------+-----------+----------------+-----------+--------+-----+----+------+"
ROWS = 8
"""Lines that are shown where there is no room for all."""


class RaceTable:
    """The lines of all races so far; a race begins with a head."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._rows: list[str] = []

    def begin(self, title: str) -> None:
        self.lines += [*(() if self.lines else MARKS), f"# {title}", RULE, HEAD, RULE]

    def add(
        self, mark: str, number: int, bound: float, best: str, costs: NDArray[np.float64], place: int, runs: int, time: float
    ) -> None:
        """``costs`` (pairs, alive), the best one's at ``place``; ``runs`` are the race's, ``time`` the pair's."""
        rho, w = agreement(costs)
        figures = [
            mark,
            f"{number:11d}",
            f"{bound:8.4g}" if math.isfinite(bound) else "      NA",
            f"{costs.shape[1]:11d}",
            f"{best[:11]:>11}",
            f"{costs[:, place].mean():16.10g}",
            f"{runs:11d}",
            f"{time:8.4g}",
            "   NA" if math.isnan(rho) else f"{rho:+5.2f}",
            "  NA" if math.isnan(w) else f"{w:4.2f}",
            "    NA" if math.isnan(variance := quality_variance(costs)) else f"{variance:6.4f}",
        ]
        self._rows.append("|" + "|".join(figures) + "|")
        self.lines.append(self._rows[-1])

    def shown(self) -> Sequence[str]:
        """A head, and the last lines."""
        return [RULE, HEAD, RULE, *self._rows[-ROWS:]] if self._rows else []
