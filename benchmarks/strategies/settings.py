"""Every strategy of the registry with its defaults, and some variants that are compared beside them."""

from __future__ import annotations

from typing import Any

from capra.strategies import GUARANTEED, STRATEGIES

VARIANTS: dict[str, dict[str, Any]] = {
    "ils-basic": {"strategy": "ils", "variant": "basic"},
    "ils-trajectory": {"strategy": "ils", "capping": "trajectory"},
    "gga-forest": {"strategy": "gga", "model": "forest"},
    "gga-no-clock": {"strategy": "gga", "clock": 0.0},
}
SETTINGS: dict[str, dict[str, Any]] = {name: {"strategy": name} for name in STRATEGIES} | VARIANTS
VIRTUAL: dict[str, dict[str, Any]] = {"smac": {"refit": 10}}
"""Options on the virtual clock, where our own time is left out: smac would fit before every run."""
PLANNED = {"irace"}
"""Strategies that divide their budget beforehand: each budget is a tuning of its own."""
REAL = tuple(name for name in STRATEGIES if name not in GUARANTEED)
"""Who tunes clasp: budgets for a guarantee are another matter (docs/guarantees.md)."""


def is_planned(setting: str) -> bool:
    return SETTINGS[setting]["strategy"] in PLANNED
