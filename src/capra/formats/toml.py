"""Our own scenario files, in TOML: the options of ``Scenario`` by their names."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from capra.errors import FormatError, InputError
from capra.formats.scenarios import ScenarioDraft

__all__ = ["format_value", "parse", "write"]

_KEY = re.compile(r"^\s*(?:\[\s*)?([A-Za-z_][\w-]*)")
_BARE = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_PLACE = re.compile(r"\(at line (\d+), column (\d+)\)|\(at end of document\)")


def parse(text: str, path: Path) -> ScenarioDraft:
    """The options of a TOML scenario; relative paths mean the folder of the file."""
    try:
        options = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        match = _PLACE.search(str(error))
        line = int(match[1]) if match and match[1] else text.count("\n") + 1
        column = int(match[2]) if match and match[2] else None
        message = _PLACE.sub("", str(error)).strip() or "nested too deeply"
        raise FormatError(message, path=path, line=line, column=column) from None
    lines: dict[str, int] = {}
    for number, content in enumerate(text.splitlines(), start=1):
        if found := _KEY.match(content):
            lines.setdefault(found[1], number)
    return ScenarioDraft(path, options, lines, bases=(path.parent,))


def write(options: Mapping[str, Any]) -> str:
    """The options as TOML, tables last."""
    plain = {key: value for key, value in options.items() if not isinstance(value, Mapping)}
    tables = {key: value for key, value in options.items() if isinstance(value, Mapping)}
    lines = [f"{_key(key)} = {format_value(value)}" for key, value in plain.items()]
    for key, table in tables.items():
        lines += ["", f"[{_key(key)}]"]
        lines += [f"{_key(name)} = {format_value(value)}" for name, value in table.items()]
    return "\n".join(lines) + "\n"


def format_value(value: Any) -> str:
    """One TOML value."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str | Path):
        return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_key(key)} = {format_value(item)}" for key, item in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, Sequence):
        return "[" + ", ".join(format_value(item) for item in value) + "]"
    raise InputError(f"TOML cannot say {value!r}")


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else json.dumps(key, ensure_ascii=False)
