"""What is minimised, and what each status costs.

================  ===================  ==================  =====================  ==================
status            cost (PARk)          model of log PARk   model of log time      budget charged
================  ===================  ==================  =====================  ==================
SUCCESS           time                 observed            observed               time
CAPPED at κ       ≥ κ, a lower bound   censored at κ       censored at κ          κ
TIMEOUT           k·κ_max              observed            censored at κ_max      κ_max
MEMOUT, CRASHED,
WRONG             k·κ_max              observed            k·κ_max, observed      measured time
LOST              none                 not shown           not shown              measured, apart
================  ===================  ==================  =====================  ==================

(Hutter, Hoos & Leyton-Brown, censored response data, §2; PAR1 is the model of time itself.)

Under a utility u (``utility.py``) a success costs 1 − u(time), CAPPED at κ at least 1 − u(κ), and a run without an answer 1.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from capra.errors import InputError
from capra.runs.outcome import Outcome, Status
from capra.runs.utility import Utility

__all__ = ["Objective"]

_PAR = re.compile(r"(?:par(?=\d)|mean)(\d{0,6})", re.ASCII)
"""Only AClib's files may leave the number away; their reader says par1."""


@dataclass(frozen=True, slots=True)
class Objective:
    """The mean over (instance, seed) pairs of a run's cost: PARk of its time, or the quality it reports.

    ``penalty`` is the k of PARk: an unsolved run costs k·κ_max. ``crash_cost`` is what a run without a result costs under
    a quality objective. ``utility`` says what a time is worth, in place of PARk.
    """

    kind: str = "runtime"
    penalty: float = 10.0
    crash_cost: float = math.inf
    utility: Utility | None = None

    def __post_init__(self) -> None:
        if self.kind not in ("runtime", "quality"):
            raise InputError(f"an objective is 'runtime' or 'quality', not {self.kind!r}")
        if not (math.isfinite(self.penalty) and self.penalty >= 1.0):
            raise InputError(f"the penalty factor of PARk is at least 1, not {self.penalty!r}")

    @classmethod
    def parse(cls, text: str, *, crash_cost: float = math.inf) -> Objective:
        """``par10``, ``PAR1``, ``mean`` (= PAR1), ``mean10`` and ``runtime`` (= PAR10), ``quality`` or ``utility:…``."""
        word = text.strip().lower()
        if word.startswith("utility:"):
            return cls("runtime", 1.0, crash_cost, Utility.parse(word.removeprefix("utility:")))
        if word == "quality":
            return cls("quality", 1.0, crash_cost)
        if word == "runtime":
            return cls("runtime", 10.0, crash_cost)
        match = _PAR.fullmatch(word)
        if not match or match[1] == "0":
            raise InputError(f"unknown objective {text!r}", hint="use par10, par1, mean (= par1), quality or utility:…")
        return cls("runtime", float(match[1] or 1), crash_cost)

    def __str__(self) -> str:
        if self.utility is not None:
            return f"utility:{self.utility}"
        return "quality" if self.kind == "quality" else f"par{self.penalty:g}"

    @property
    def of_speed(self) -> bool:
        """Is a ratio of costs a speed-up? Utilities and qualities are no times."""
        return self.kind == "runtime" and self.utility is None

    def cost(self, outcome: Outcome, kappa_max: float) -> float:
        """The run's cost; for CAPPED the lower bound it proves; NaN for LOST, which has none."""
        if outcome.status is Status.LOST:
            return math.nan
        if self.kind == "quality":
            return self._quality(outcome)
        if outcome.status in (Status.SUCCESS, Status.CAPPED):
            return outcome.time if self.utility is None else 1.0 - self.utility.of(outcome.time)
        return self.worst(kappa_max)

    def worst(self, kappa_max: float) -> float:
        """What a run without an answer costs, under a runtime objective."""
        return self.penalty * kappa_max if self.utility is None else 1.0

    def failed(self, cost: float, kappa_max: float) -> bool:
        """Is that the cost of a run that did not finish?"""
        return cost >= (kappa_max if self.utility is None else 1.0)

    def time_for(self, cost: float) -> float:
        """The longest time that costs no more than ``cost``; 0 for no cost at all."""
        if self.utility is None or cost <= 0.0:
            return max(0.0, cost)
        return self.utility.latest(1.0 - cost)

    def _quality(self, outcome: Outcome) -> float:
        if outcome.status in (Status.SUCCESS, Status.CAPPED, Status.TIMEOUT) and outcome.quality is not None:
            return outcome.quality
        return self.crash_cost

    def censored(self, outcome: Outcome, *, of_time: bool = False) -> bool:
        """Is the run a lower bound only, for a model of the cost (or, with ``of_time``, of the time)?"""
        if self.kind == "quality":
            return False
        if outcome.status is Status.TIMEOUT:
            return of_time or (self.penalty == 1.0 and self.utility is None)
        return outcome.status is Status.CAPPED
