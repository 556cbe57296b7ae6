"""Strategies: which run comes next."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from importlib import import_module

from capra.errors import InputError, did_you_mean
from capra.strategies.base import Context, Strategy

__all__ = ["STRATEGIES", "Context", "Strategy", "make_strategy"]

STRATEGIES: Mapping[str, str] = {
    "smac": "smac",
    "roar": "roar",
    "basic": "basic",
    "ils": "ils",
    "gga": "gga",
    "irace": "irace",
}
"""Name to module; the function that makes it has the module's name. Loaded when asked for: models take their time."""


def make_strategy(name: str, context: Context) -> Strategy:
    """The strategy of that name, with the context's options. InputError for unknown names or options."""
    if name not in STRATEGIES:
        raise InputError(
            f"unknown strategy {name!r}", hint=did_you_mean(name, STRATEGIES) or "one of " + ", ".join(STRATEGIES)
        )
    make: Callable[..., Strategy] = getattr(import_module(f"capra.strategies.{STRATEGIES[name]}"), STRATEGIES[name])
    try:
        return make(context, **context.options)
    except TypeError as error:
        if not (unknown := re.search(r"unexpected keyword argument '(\w+)'", str(error))):
            raise
        raise InputError(f"strategy {name} has no option {unknown[1]!r}", hint="docs/racing.md lists them") from None
