"""Utility functions: what a run of a given time is worth, from 1 (at once) to 0 (never).

A bounded utility makes guarantees about heavy tails possible: a run that takes for ever is worth nothing, however long that
is (Graham, Leyton-Brown & Roughgarden 2023). Times are in the scenario's unit.

====================  ============================================================  =====================================
name                  u(t)                                                          says
====================  ============================================================  =====================================
uniform(K)            1 − t/K below K, 0 above                                      the deadline is somewhere before K
loglaplace(K, a)      1 − (t/K)^a / 2 below K, (K/t)^a / 2 above                     half of the worth is gone at K
exponential(K)        exp(−t/K)                                                     a constant risk to be interrupted
step(K)               1 up to K, 0 above                                            the deadline is K
parN(K)               1 − t/(N·K) up to K, 0 above                                  PARN under the cutoff K, scaled
====================  ============================================================  =====================================
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from capra.errors import InputError

__all__ = ["Utility"]

_CALL = re.compile(r"(uniform|loglaplace|exponential|step|par(\d{1,6}))\(([^()]*)\)", re.ASCII)
_HINT = "use uniform(60), loglaplace(60, 1), exponential(60), step(60) or par10(300)"


@dataclass(frozen=True, slots=True)
class Utility:
    """One of the functions above: non-increasing, within [0, 1]."""

    kind: str
    scale: float
    """K: a time."""
    shape: float = 1.0
    """a of loglaplace, N of parN; 1 elsewhere."""

    def __post_init__(self) -> None:
        if not (0.0 < self.scale < math.inf and 0.0 < self.shape < math.inf):
            raise InputError("the numbers of a utility function are positive", hint=_HINT)

    @classmethod
    def parse(cls, text: str) -> Utility:
        """``loglaplace(60, 1)`` and so on."""
        match = _CALL.fullmatch(re.sub(r"\s", "", text.lower()))
        if not match:
            raise InputError(f"unknown utility function {text!r}", hint=_HINT)
        try:
            numbers = [float(part) for part in match[3].split(",")]
        except ValueError:
            raise InputError(f"{match[3]!r} in {text!r} is no list of numbers", hint=_HINT) from None
        if match[2]:
            numbers.append(float(match[2]))
        if len(numbers) != (2 if match[2] or match[1] == "loglaplace" else 1):
            raise InputError(f"{text!r} has {len(numbers)} numbers", hint=_HINT)
        return cls("par" if match[2] else match[1], *numbers)

    def __str__(self) -> str:
        if self.kind == "par":
            return f"par{self.shape:g}({self.scale:g})"
        return f"{self.kind}({self.scale:g}{f', {self.shape:g}' if self.kind == 'loglaplace' else ''})"

    def __call__(self, time: ArrayLike) -> NDArray[np.float64]:
        """u(t), elementwise; t ≥ 0, infinite times included."""
        t = np.asarray(time, dtype=np.float64) / self.scale
        if self.kind == "uniform":
            return np.maximum(1.0 - t, 0.0)
        if self.kind == "loglaplace":
            ratio = np.where(t < 1.0, t, 1.0 / np.maximum(t, 1.0)) ** self.shape / 2.0
            return np.where(t < 1.0, 1.0 - ratio, ratio)
        if self.kind == "exponential":
            return np.exp(-t)
        return np.where(t <= 1.0, 1.0 - np.minimum(t, 1.0) / self.shape if self.kind == "par" else 1.0, 0.0)

    def of(self, time: float) -> float:
        """u of one time."""
        return float(self(time))

    def latest(self, utility: float) -> float:
        """The longest time that is worth at least ``utility``; infinite for 0, and 0 for more than u(0)."""
        if utility <= 0.0:
            return math.inf
        if utility > 1.0:
            return 0.0
        return self.scale * self._inverse(utility)

    def _inverse(self, u: float) -> float:
        found: dict[str, Any] = {
            "uniform": lambda: 1.0 - u,
            "loglaplace": lambda: ((2.0 - 2.0 * u) if u > 0.5 else 1.0 / (2.0 * u)) ** (1.0 / self.shape),
            "exponential": lambda: -math.log(u),
            "step": lambda: 1.0,
            "par": lambda: min(1.0, self.shape * (1.0 - u)),
        }
        return float(found[self.kind]())
