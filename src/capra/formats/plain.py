"""Resolved options as plain data, for ``--json`` and for people."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from capra.errors import SpaceError
from capra.formats.instances import Features, Instance
from capra.runs import Objective
from capra.space import Expression, Space
from capra.space.grammar import IRACE, format_expression

__all__ = ["plain"]


def plain(value: Any) -> Any:
    """``value`` as JSON has it; no bound (infinity) becomes null, and so does what is no number."""
    match value:
        case Space():
            return _space(value)
        case Features():
            return {"names": list(value.names), "instances": len(value.rows)}
        case Instance():
            return dataclasses.asdict(value)
        case Objective() | Path():
            return str(value)
        case re.Pattern():
            return value.pattern
        case float() if not math.isfinite(value):
            return None
        case Mapping():
            return {key: plain(item) for key, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return plain({field.name: getattr(value, field.name) for field in dataclasses.fields(value)})
    return f"{value.__module__}:{getattr(value, '__qualname__', type(value).__qualname__)}" if callable(value) else value


def _space(space: Space) -> dict[str, Any]:
    parameters = [
        {"type": type(parameter).__name__.lower(), **plain(dataclasses.asdict(parameter))}  # type: ignore[call-overload]
        for parameter in space.parameters.values()
    ]
    return {
        "parameters": parameters,
        "conditions": {child: _text(condition) for child, condition in space.conditions.items()},
        "forbidden": [_text(clause) for clause in space.forbidden],
    }


def _text(expression: Expression) -> str:
    try:
        return format_expression(expression, IRACE)
    except SpaceError:  # values with quotes in them
        return repr(expression)
