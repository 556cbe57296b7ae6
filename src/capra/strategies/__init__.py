"""Strategies: which run comes next."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from capra.errors import InputError, did_you_mean
from capra.strategies.base import Context, Strategy
from capra.strategies.basic import basic
from capra.strategies.roar import roar

__all__ = ["STRATEGIES", "Context", "Strategy", "make_strategy"]

STRATEGIES: Mapping[str, Callable[..., Strategy]] = {"roar": roar, "basic": basic}


def make_strategy(name: str, context: Context) -> Strategy:
    """The strategy of that name, with the context's options. InputError for unknown names or options."""
    if name not in STRATEGIES:
        raise InputError(
            f"unknown strategy {name!r}", hint=did_you_mean(name, STRATEGIES) or "one of " + ", ".join(STRATEGIES)
        )
    try:
        return STRATEGIES[name](context, **context.options)
    except TypeError as error:
        raise InputError(f"strategy {name}: {error}") from None
