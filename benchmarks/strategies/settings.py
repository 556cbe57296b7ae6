"""Every strategy of the registry with its defaults, and some variants that are compared beside them."""

from __future__ import annotations

from typing import Any

from capra.strategies import STRATEGIES

VARIANTS: dict[str, dict[str, Any]] = {
    "ils-basic": {"strategy": "ils", "variant": "basic"},
    "ils-trajectory": {"strategy": "ils", "capping": "trajectory"},
    "gga-forest": {"strategy": "gga", "model": "forest"},
    "gga-no-clock": {"strategy": "gga", "clock": 0.0},
}
GIVEN: dict[str, dict[str, Any]] = {"smac": {"refit": 10}}
"""Options that differ from the defaults: on the virtual clock our own time is left out, and smac would fit before every run."""
SETTINGS: dict[str, dict[str, Any]] = {name: {"strategy": name} | GIVEN.get(name, {}) for name in STRATEGIES} | VARIANTS
PLANNED = {"irace"}
"""Strategies that divide their budget beforehand: each budget is a tuning of its own."""


def is_planned(setting: str) -> bool:
    return SETTINGS[setting]["strategy"] in PLANNED
