"""ISAC: instance-specific algorithm configuration (Kadioglu, Malitsky, Sellmann & Tierney 2010)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from capra.errors import InputError
from capra.models.base import Floats
from capra.portfolio.base import Scaling
from capra.portfolio.builder import Builder, Program
from capra.portfolio.clusters import g_means, k_means
from capra.portfolio.experts import COMPARING
from capra.strategies import Context
from capra.strategies.base import checked

__all__ = ["Isac"]


class Isac(Builder):
    """Clusters the instances by their features; one tuning for all of them, then one for each cluster, with equal shares.

    Clusters come from g-means on features scaled to [−1, 1], with the Anderson–Darling test at level ``alpha``, and have at
    least ``min_size`` instances (a tenth of them, and no fewer than 10). An instance to be solved goes to the nearest
    centre; one farther than ``radius`` deviations above the mean distance gets what is best on all instances: see the
    selector ``cluster``. Where another selector does better on unseen instances, that one chooses.
    """

    name = "isac"

    def __init__(
        self, context: Context, *, alpha: float = 1e-4, min_size: int | None = None, radius: float = 2.0, **options: Any
    ) -> None:
        n = len(context.scenario.instances)
        self.alpha = checked("alpha", alpha, 1e-300, 0.5)
        self.min_size = max(10, n // 10) if min_size is None else checked("min_size", min_size, 1, whole=True)
        self.radius = checked("radius", radius, 0.0)
        super().__init__(context, **options)

    def program(self) -> Program:
        clusters = self._clusters()
        tunings = [("all instances", self.instances)] + [(f"cluster {c + 1}", names) for c, names in enumerate(clusters)]
        for number, (what, names) in enumerate(tunings, start=1):
            until = (1.0 - COMPARING) * number / len(tunings)
            step = self.tuning(f"tuning for {what}", names, until, first=self.members)
            yield step
            self.join(step.found)
        yield from self.comparing()

    def _clusters(self) -> list[list[str]]:
        """Names of the instances of each cluster; none where all are one cluster, which is tuned for anyway."""
        features = self.features(self.instances)
        if not features.shape[1]:
            raise InputError("isac clusters instances by their features, and there are none", hint="set features = …")
        points: Floats = Scaling(features)(features)
        centres = g_means(points, alpha=self.alpha, min_size=self.min_size)
        if len(centres) < 2:
            return []
        labels = k_means(points, centres)[1]
        return [[self.instances[i] for i in np.flatnonzero(labels == c)] for c in range(len(centres)) if (labels == c).any()]

    @property
    def selectors(self) -> Mapping[str, Mapping[str, float]]:
        return {"cluster": {"alpha": self.alpha, "min_size": self.min_size, "radius": self.radius}}
