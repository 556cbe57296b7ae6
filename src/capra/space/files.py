"""Any space file in, any space file out; and ConfigSpace objects."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from capra.errors import InputError
from capra.formats.text import read_text
from capra.space.irace import parse_irace, write_irace, write_irace3
from capra.space.json import parse_json, write_json
from capra.space.pcs import parse_pcs, write_pcs
from capra.space.space import Space

__all__ = ["SPACE_FORMATS", "as_space", "from_configspace", "read_space", "space_format", "to_configspace"]

_PCS_LINE = re.compile(
    r"^[ \t]*[^\s{}\[\]|#]+[ \t]*(?:(?:categorical|ordinal|integer|real)[ \t]*)?(?:\{[^}\n]*\}|\[[^\]\n]*\])[ \t]*\[",
    re.ASCII | re.MULTILINE,
)
_IRACE_LINE = re.compile(r"^[ \t]*[A-Za-z._][\w.-]*[ \t]+[\"'][^\"'\n]*[\"'][ \t]+[crio][\s,(]", re.ASCII | re.MULTILINE)

SPACE_FORMATS: Mapping[str, tuple[Callable[[str, str | Path], Space], Callable[[Space], str]]] = {
    "pcs": (parse_pcs, write_pcs),
    "json": (parse_json, write_json),
    "irace": (parse_irace, write_irace),
    "irace3": (parse_irace, write_irace3),
}
_SUFFIXES = {".pcs": "pcs", ".json": "json", ".txt": "irace"}


def read_space(path: str | Path) -> Space:
    """The space of a PCS (old or new), ConfigSpace JSON or irace parameter file, whatever its name.

    The name decides only where the text looks like none of them: then the message is that of the format it should have.
    """
    text = read_text(path)
    kind = _sniff(text) or _SUFFIXES.get(Path(path).suffix.lower(), "pcs")
    return SPACE_FORMATS[kind][0](text, path)


def as_space(value: Any) -> Space:
    """The space that somebody means who gives a Space, the path of a file, or a ``ConfigSpace.ConfigurationSpace``."""
    if isinstance(value, Space):
        return value
    if isinstance(value, str | Path):
        return read_space(value)
    if hasattr(value, "to_serialized_dict"):
        return from_configspace(value)
    raise InputError(f"expected a path, a Space or a ConfigurationSpace, not {type(value).__name__}")


def _sniff(text: str) -> str | None:
    if text.lstrip()[:1] == "{" and '"hyperparameters"' in text:
        return "json"
    if _IRACE_LINE.search(text):
        return "irace"
    return "pcs" if _PCS_LINE.search(text) else None


def space_format(path: str | Path) -> str:
    """The format that a file to be written has, by its suffix: .pcs, .json, or .txt (irace)."""
    suffix = Path(path).suffix.lower()
    if suffix not in _SUFFIXES:
        raise InputError(f"{path}: cannot tell the format from the name", hint="end it in .pcs, .json or .txt (irace)")
    return _SUFFIXES[suffix]


def from_configspace(configuration_space: Any) -> Space:
    """Our space for a ``ConfigSpace.ConfigurationSpace``."""
    return parse_json(json.dumps(configuration_space.to_serialized_dict(), indent=1), "<ConfigurationSpace>")


def to_configspace(space: Space) -> Any:
    """A ``ConfigSpace.ConfigurationSpace`` for our space."""
    try:
        from ConfigSpace import ConfigurationSpace
    except ImportError:
        raise InputError("ConfigSpace is not installed", hint="pip install 'capra[configspace]'") from None
    return ConfigurationSpace.from_serialized_dict(json.loads(write_json(space)))
