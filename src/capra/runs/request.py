"""What a strategy asks for: one run."""

from __future__ import annotations

import math
from dataclasses import dataclass

from capra.errors import InputError
from capra.runs.configuration import Configuration

__all__ = ["RunRequest"]


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One execution of the target, before it happens.

    ``cutoff`` is the bound of this run, positive, in the scenario's unit. ``instance`` is None for targets without
    instances.
    """

    config: Configuration
    instance: str | None
    seed: int
    cutoff: float

    def __post_init__(self) -> None:
        if not self.cutoff > 0.0 or math.isnan(self.cutoff):
            raise InputError(f"a run needs a positive cutoff, not {self.cutoff!r}")

    @property
    def cell(self) -> tuple[str, str | None, int]:
        """(configuration id, instance, seed): what is known by its longest run."""
        return self.config.id, self.instance, self.seed
