"""What earlier tunings of the same space leave to a new one: their incumbents, and their runs for a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from capra.runs import Configuration
from capra.runs.history import Pair

__all__ = ["Cell", "Earlier"]

Cell = tuple[Configuration, Pair, float, bool]
"""(configuration, pair, cost or lower bound of it, censored)."""


@dataclass(frozen=True)
class Earlier:
    """Configurations to try first, best first, and cells that a model may learn from. Neither are runs of the new tuning."""

    incumbents: tuple[Configuration, ...] = ()
    cells: tuple[Cell, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.incumbents or self.cells)

    def to_json(self) -> dict[str, Any]:
        """As plain data, every configuration once."""
        number = {config: i for i, config in enumerate(dict.fromkeys([*self.incumbents, *(cell[0] for cell in self.cells)]))}
        return {
            "configs": [dict(config) for config in number],
            "incumbents": [number[config] for config in self.incumbents],
            "cells": [[number[config], *pair, cost, censored] for config, pair, cost, censored in self.cells],
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Earlier:
        """The inverse of ``to_json``."""
        configs = [Configuration(values) for values in data["configs"]]
        return cls(
            tuple(configs[i] for i in data["incumbents"]),
            tuple((configs[i], (instance, seed), cost, censored) for i, instance, seed, cost, censored in data["cells"]),
        )
