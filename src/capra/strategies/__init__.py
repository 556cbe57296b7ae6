"""Strategies: which run comes next."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from importlib import import_module

from capra.errors import InputError, did_you_mean
from capra.strategies.base import Context, Strategy

__all__ = ["BUILDERS", "GUARANTEED", "STRATEGIES", "Context", "Strategy", "make_strategy", "options_of"]

STRATEGIES: Mapping[str, str] = {
    "smac": "smac:smac",
    "roar": "roar:roar",
    "basic": "basic:basic",
    "ils": "ils:ils",
    "gga": "gga:gga",
    "irace": "irace:irace",
    "sp": "sp:sp",
    "spc": "sp:spc",
    "leaps": "leaps:leaps",
    "caps": "caps:caps",
    "caps++": "caps:caps_plus_plus",
    "impatient": "impatient:impatient",
    "up": "utilitarian:up",
    "oup": "utilitarian:oup",
    "coup": "utilitarian:coup",
}
"""Name to module and the function that makes it. Loaded when asked for: models take their time."""
BUILDERS: Mapping[str, str] = {
    "experts": "experts:Experts",
    "isac": "isac:Isac",
    "hydra": "hydra:Hydra",
    "cedalion": "cedalion:Cedalion",
    "grouping": "grouping:Grouping",
}
"""Those whose answer is a portfolio: strategies made of steps, each a tuning by one of the others."""
GUARANTEED = frozenset({"sp", "spc", "leaps", "caps", "caps++", "impatient", "up", "oup", "coup"})
"""Those whose answers carry a certificate."""


def make_strategy(name: str, context: Context) -> Strategy:
    """The strategy of that name, with the context's options. InputError for unknown names or options."""
    if name not in STRATEGIES and name not in BUILDERS:
        raise InputError(
            f"unknown strategy {name!r}", hint=did_you_mean(name, STRATEGIES) or "one of " + ", ".join(STRATEGIES)
        )
    module, function = (STRATEGIES.get(name) or BUILDERS[name]).split(":")
    package = "strategies" if name in STRATEGIES else "portfolio"
    make: Callable[..., Strategy] = getattr(import_module(f"capra.{package}.{module}"), function)
    try:
        return make(context, **context.options)
    except TypeError as error:
        if not (unknown := re.search(r"unexpected keyword argument '(\w+)'", str(error))):
            raise
        options = options_of(make)
        hint = did_you_mean(unknown[1], options) or f"its options are {', '.join(options)}"
        raise InputError(f"strategy {name} has no option {unknown[1]!r}", hint=hint) from None


def options_of(make: Callable[..., Strategy]) -> list[str]:
    """What a strategy may be given by name: its own options, then those of what it hands the rest to."""
    from capra.strategies.race import Race  # imports this package

    found: list[str] = []
    for part in inspect.getmro(make) if inspect.isclass(make) else (make, Race):
        parameters = inspect.signature(part).parameters.values()
        found += [option.name for option in parameters if option.kind is option.KEYWORD_ONLY and option.name != "believer"]
        if not any(option.kind is option.VAR_KEYWORD for option in parameters):
            break
    return found
