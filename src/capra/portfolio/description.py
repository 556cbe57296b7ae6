"""description.txt of ASlib scenarios: the part of YAML that such files use, read without a YAML library.

Mappings and lists by indentation, lists at the indentation of their key, flow values on one line (JSON or YAML's plain
words), quoted text, comments. Anchors, tags, block texts and several documents are refused: nobody needs them here, and
what a full YAML reader does with them has hurt people.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NoReturn

from capra.errors import FormatError
from capra.formats.text import numbered_lines, read_text

__all__ = ["Description", "read_description"]

Description = dict[str, Any]
DEEPEST = 20

_KEY = re.compile(r"(\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'|[^\s\[\]{}#&*!|>'\"%@`-][^#]*?|-[^\s#][^#]*?)\s*:(?:\s+|$)")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_FLOW = re.compile(
    r"\s*(\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'|[\[\]{},]|:(?=\s|$)|[^\s\[\]{},\"'][^\[\]{},]*?(?=\s*[\[\]{},]|:\s|\s*$))"
)
_WORDS: dict[str, Any] = {"": None, "~": None, "null": None, "true": True, "false": False, "yes": True, "no": False}


def read_description(path: Path) -> Description:
    """The file's top-level mapping. FormatError, with the line, where it is not in the subset."""
    lines = [(n, len(t) - len(t.lstrip()), t.strip()) for n, t in numbered_lines(read_text(path), path) if _counts(t)]
    reader = _Reader(path, lines)
    found = reader.block(0, 0) if lines else {}
    if reader.at < len(lines):
        reader.fail("does not fit the indentation above")
    if not isinstance(found, dict):
        raise FormatError("is not a mapping of keys and values", path=path)
    return found


def _counts(line: str) -> bool:
    text = line.strip()
    return bool(text) and not text.startswith("#") and text != "---"


class _Reader:
    def __init__(self, path: Path, lines: list[tuple[int, int, str]]) -> None:
        self.path, self.lines, self.at = path, lines, 0

    def fail(self, message: str) -> NoReturn:
        raise FormatError(message, path=self.path, line=self.lines[min(self.at, len(self.lines) - 1)][0])

    def block(self, indent: int, depth: int) -> Any:
        """The mapping or list whose lines begin at ``indent``, from the current line on."""
        if depth > DEEPEST:
            self.fail(f"is nested more than {DEEPEST} deep")
        return self._list(indent, depth) if _is_item(self.lines[self.at][2]) else self._mapping(indent, depth)

    def _here(self, indent: int, *, item: bool) -> bool:
        """Whether the current line belongs to the block."""
        return self.at < len(self.lines) and self.lines[self.at][1] == indent and _is_item(self.lines[self.at][2]) == item

    def _mapping(self, indent: int, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while self._here(indent, item=False):
            text = self.lines[self.at][2]
            key = _KEY.match(text)
            if not key:
                self.fail("expected `key: value`")
            name = str(_scalar(key[1], text_only=True))
            if name in found:
                self.fail(f"{name!r} stands here twice")
            found[name] = self._value(text[key.end() :], indent, depth)
        return found

    def _list(self, indent: int, depth: int) -> list[Any]:
        found: list[Any] = []
        while self._here(indent, item=True):
            number, _, text = self.lines[self.at]
            rest = text[1:].lstrip()
            if _is_item(rest) or _KEY.match(rest):  # a list or mapping that begins behind the dash
                inner = indent + len(text) - len(rest)
                self.lines[self.at] = (number, inner, rest)
                found.append(self.block(inner, depth + 1))
            else:
                found.append(self._value(rest, indent, depth))
        return found

    def _value(self, rest: str, indent: int, depth: int) -> Any:
        """What follows a key or a dash: on the same line, or as a block below it."""
        rest = _uncommented(rest)
        if rest[:1] in tuple("&*!|>%@`"):
            self.fail(f"{rest[:1]!r} is YAML that description files do not need")
        if not rest:
            self.at += 1
            if self.at < len(self.lines):
                _, below, text = self.lines[self.at]
                if below > indent or (below == indent and _is_item(text) and not _is_item(self.lines[self.at - 1][2])):
                    return self.block(below, depth + 1)
            return None
        rest = self._continued(rest, indent)
        return self._flow(rest) if rest[0] in "[{" else _scalar(rest)

    def _continued(self, rest: str, indent: int) -> str:
        """A long value goes on in the lines below, which are further in."""
        self.at += 1
        while self.at < len(self.lines) and self.lines[self.at][1] > indent:
            rest += " " + _uncommented(self.lines[self.at][2])
            self.at += 1
        return rest

    def _flow(self, text: str) -> Any:
        try:
            return json.loads(text)
        except ValueError:
            self.at -= 1  # the line to blame
        except RecursionError:
            self.fail("is nested too deep")
        tokens = _FLOW.findall(text)
        if "".join("".join(tokens).split()) != "".join(text.split()):
            self.fail("is not a list or mapping on one line")
        value, rest = self._flow_value(tokens, 0)
        if rest:
            self.fail("something stands behind the closing bracket")
        self.at += 1
        return value

    def _flow_value(self, tokens: list[str], depth: int) -> tuple[Any, list[str]]:
        if not tokens or depth > DEEPEST:
            self.fail("a bracket is not closed")
        head, rest = tokens[0], tokens[1:]
        if head not in ("[", "{"):
            return _scalar(head), rest
        close, items = ("]", []) if head == "[" else ("}", [])
        while rest and rest[0] != close:
            item, rest = self._flow_value(rest, depth + 1)
            if head == "{":
                if rest[:1] != [":"]:
                    self.fail("expected `key: value` in braces")
                item_value, rest = self._flow_value(rest[1:], depth + 1)
                item = (str(item), item_value)
            items.append(item)
            if rest[:1] == [","]:
                rest = rest[1:]
        if not rest:
            self.fail("a bracket is not closed")
        return (items if head == "[" else dict(items)), rest[1:]


def _is_item(text: str) -> bool:
    return text == "-" or text.startswith("- ")


def _uncommented(text: str) -> str:
    """Without a comment behind the value; a ``#`` in quotes is no comment."""
    found = re.match(r"((?:\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'|[^\s#\"']\S*|\s(?!\s*#)|[\"'])*)", text)
    return (found[1] if found else text).strip()


def _scalar(text: str, *, text_only: bool = False) -> Any:
    if text[:1] == "'" and text[-1:] == "'" and len(text) > 1:
        return text[1:-1].replace("''", "'")
    if text[:1] == '"' and text[-1:] == '"' and len(text) > 1:
        try:
            return json.loads(text)
        except ValueError:
            return text[1:-1]
    if text_only:
        return text
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _NUMBER.fullmatch(text):
        return float(text) if re.search(r"[.eE]", text) else int(text[:400])
    return text
