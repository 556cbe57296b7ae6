"""The commented scenario that ``capra init`` writes, and the option table of the documentation.

Both are made from the declarations in ``Scenario``: an option is described in one place only.
"""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Mapping
from typing import Any

from capra.formats.plain import plain
from capra.formats.toml import format_value
from capra.scenario import Scenario

__all__ = ["commented_scenario", "option_table"]

_TABLES = ("budget",)


def commented_scenario(given: Mapping[str, Any]) -> str:
    """A TOML scenario with every option explained: the given ones set, the others commented out with an example."""
    fields = sorted(dataclasses.fields(Scenario), key=lambda field: field.name in _TABLES)  # tables come last in TOML
    blocks = ["# A Capra scenario. `capra check` tells what is missing; docs/formats.md explains every option.\n"]
    for field in fields:
        help_lines = textwrap.wrap(field.metadata["help"], 100, initial_indent="# ", subsequent_indent="# ")
        blocks.append("\n".join([*help_lines, _assignment(field, given)]) + "\n")
    return "\n".join(blocks)


def _assignment(field: dataclasses.Field[Any], given: Mapping[str, Any]) -> str:
    if field.name in given:
        return f"{field.name} = {format_value(given[field.name])}"
    return f"# {field.name} = {field.metadata['example']}"


def option_table() -> str:
    """Markdown: one row per option."""
    rows = ["| option | value | default | meaning |", "|---|---|---|---|"]
    for field in dataclasses.fields(Scenario):
        meta = field.metadata
        cells = [f"`{field.name}`", meta["kind"], _default(meta["default"]), meta["help"]]
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows) + "\n"


def _default(default: Any) -> str:
    if default is dataclasses.MISSING:
        return "required"
    value = plain(default)
    if isinstance(value, dict):
        value = {key: item for key, item in value.items() if item}
    return "–" if value in (None, "", [], {}) else f"`{value if isinstance(value, str) else format_value(value)}`"
