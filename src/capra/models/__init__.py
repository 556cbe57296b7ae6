"""Surrogates: regression models of log10 cost that understand censored runs. They know only arrays.

Names are looked up when somebody asks for them: who needs only the types of arrays does not wait for scipy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from capra.models.base import Surrogate
    from capra.models.forest import CensoredForest
    from capra.models.gp import CensoredGP
    from capra.models.network import TobitEnsemble, TobitNetwork
    from capra.models.training import FAST, PAPER, Recipe

__all__ = ["FAST", "PAPER", "CensoredForest", "CensoredGP", "Recipe", "Surrogate", "TobitEnsemble", "TobitNetwork"]

_MODULES = {
    "Surrogate": "base",
    "CensoredForest": "forest",
    "CensoredGP": "gp",
    "TobitEnsemble": "network",
    "TobitNetwork": "network",
    "FAST": "training",
    "PAPER": "training",
    "Recipe": "training",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
