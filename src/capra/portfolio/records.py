"""What selectors learn from: features of instances, and one censored datum per run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from capra.errors import ModelError
from capra.models.base import Floats, Mask

__all__ = ["PENALTY", "Indices", "Records"]

Indices = NDArray[np.int64]
PENALTY = 10.0
"""PAR10: an unsolved instance costs ten times the cutoff."""


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """Runs of k configurations on n instances with f features.

    A run that was not ``solved`` was stopped at its entry of ``cutoffs``. If that is the scenario's ``cutoff``, or the run
    failed for good, its cost is 10 times the cutoff; below that it was *capped*, and only a lower bound is known. A run that
    was never made is one that was capped at 0. ``feature_cost`` is what computing an instance's features took; ``presolved``
    says that the instance was solved on the way, in that time.
    """

    features: Floats
    """(n, f); NaN = missing."""
    times: Floats
    """(n, k), in the scenario's unit; of an unsolved run: its cutoff."""
    cutoffs: Floats
    """(n, k): the bound that each run was given."""
    solved: Mask
    """(n, k)."""
    cutoff: float
    """κ_max."""
    feature_cost: Floats
    """(n,)."""
    presolved: Mask
    """(n,)."""

    def __post_init__(self) -> None:
        n, k = self.times.shape
        shapes = (self.features.shape[0], *self.feature_cost.shape, *self.presolved.shape)
        if self.cutoffs.shape != (n, k) or self.solved.shape != (n, k) or set(shapes) != {n} or self.features.ndim != 2:
            raise ModelError("times, cutoffs and solved must be (n, k), features (n, f), feature_cost and presolved (n,)")
        if not n or not k or not self.cutoff > 0.0:
            raise ModelError("there must be an instance, a configuration and a positive cutoff")
        if not (np.all(np.isfinite(self.times)) and np.all(np.isfinite(self.cutoffs)) and np.all(self.times >= 0.0)):
            raise ModelError(
                "times and cutoffs must be finite and not negative", hint="a run never made: cutoff 0, unsolved"
            )
        if np.any(np.isinf(self.features)):
            raise ModelError("a feature is infinite", hint="NaN stands for a missing one")
        if not np.all(np.isfinite(self.feature_cost) & (self.feature_cost >= 0.0)):
            raise ModelError("feature costs must be finite and not negative")

    @classmethod
    def of(
        cls,
        features: Any,
        times: Any,
        solved: Any,
        cutoff: float,
        *,
        cutoffs: Any = None,
        feature_cost: Any = None,
        presolved: Any = None,
    ) -> Records:
        """From anything array-like. Without ``cutoffs`` every run had the scenario's; without costs features are free."""
        t, s = np.array(times, dtype=np.float64), np.array(solved, dtype=np.bool_)
        n = len(t)
        bounds = np.full(t.shape, float(cutoff)) if cutoffs is None else np.array(cutoffs, dtype=np.float64)
        if t.ndim != 2 or s.shape != t.shape or bounds.shape != t.shape:
            raise ModelError("times, solved and cutoffs must all be (instances, configurations)")
        return cls(
            np.array(features, dtype=np.float64),
            np.where(s, t, bounds),
            bounds,
            s,
            float(cutoff),
            np.zeros(n) if feature_cost is None else np.array(feature_cost, dtype=np.float64),
            np.zeros(n, dtype=np.bool_) if presolved is None else np.array(presolved, dtype=np.bool_),
        )

    def __len__(self) -> int:
        return len(self.times)

    @property
    def configurations(self) -> int:
        return int(self.times.shape[1])

    @property
    def capped(self) -> Mask:
        """(n, k): stopped early, so that only a lower bound of the cost is known."""
        capped: Mask = ~self.solved & (self.cutoffs < self.cutoff)
        return capped

    @property
    def costs(self) -> Floats:
        """(n, k): PAR10; of a capped run the lower bound that is known."""
        known = np.where(self.capped, self.cutoffs, PENALTY * self.cutoff)
        return np.where(self.solved, self.times, known)

    @property
    def solvable(self) -> Mask:
        """(n,): some configuration is known to solve the instance."""
        return np.asarray(self.solved.any(axis=1))

    def take(self, rows: Indices | Mask) -> Records:
        """The records of some instances."""
        return Records(
            self.features[rows],
            self.times[rows],
            self.cutoffs[rows],
            self.solved[rows],
            self.cutoff,
            self.feature_cost[rows],
            self.presolved[rows],
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain lists for JSON; missing features are null."""
        features = [[None if np.isnan(x) else x for x in row] for row in self.features.tolist()]
        rest = ("times", "cutoffs", "solved", "feature_cost", "presolved")
        return {"features": features, "cutoff": self.cutoff} | {name: getattr(self, name).tolist() for name in rest}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Records:
        """What ``to_dict`` wrote. ModelError if it is anything else."""
        try:
            n = len(document["times"])
            features = np.array(document["features"], dtype=np.float64).reshape(n, -1)  # null becomes NaN
            return cls.of(
                features,
                document["times"],
                document["solved"],
                float(document["cutoff"]),
                cutoffs=document["cutoffs"],
                feature_cost=document["feature_cost"],
                presolved=document["presolved"],
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ModelError(f"these are not records of runs: {type(error).__name__} {error}") from None
