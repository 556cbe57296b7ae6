"""Our own scenario files, in TOML: the options of ``Scenario`` by their names."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from capra.errors import FormatError, InputError, shown
from capra.formats.scenarios import ScenarioDraft

__all__ = ["format_value", "parse", "write"]

_KEY = re.compile(r"^\s*(?:\[\s*)?([A-Za-z_][\w-]*)")
_BARE = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_PLACE = re.compile(r"\(at line (\d+), column (\d+)\)|\(at end of document\)")
_ENDLESS = re.compile(r"[\d_]{4300}")
_TOO_LARGE = "a whole number has more than 64 bits"


def parse(text: str, path: Path) -> ScenarioDraft:
    """The options of a TOML scenario; relative paths mean the folder of the file."""
    options = _loaded(text, path)
    lines: dict[str, int] = {}
    for number, content in enumerate(text.splitlines(), start=1):
        if found := _KEY.match(content):
            lines.setdefault(found[1], number)
    for key, value in options.items():
        if not key.isprintable():  # nor would a message that names it be one line
            raise FormatError(f"{shown(key)} cannot be the name of an option", path=path)
        if any(not -(2**63) <= number < 2**63 for number in _whole_numbers(value)):
            raise FormatError(f"{key}: {_TOO_LARGE}", path=path, line=lines.get(key))
    return ScenarioDraft(path, options, lines, bases=(path.parent,))


def _loaded(text: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        match = _PLACE.search(str(error))
        line = int(match[1]) if match and match[1] else text.count("\n") + 1
        column = int(match[2]) if match and match[2] else None
        message = _PLACE.sub("", str(error)).strip() or "nested too deeply"
        raise FormatError(message, path=path, line=line, column=column) from None
    except ValueError:  # Python itself reads no more than 4300 digits
        endless = _ENDLESS.search(text)
        raise FormatError(
            _TOO_LARGE, path=path, line=None if endless is None else text.count("\n", 0, endless.start()) + 1
        ) from None


def _whole_numbers(value: Any) -> Iterator[int]:
    """All that are in a value. Not by recursion: dotted keys nest as deep as they like."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item
        elif isinstance(item, int):
            yield item


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
