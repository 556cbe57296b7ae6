"""ConfigSpace's JSON (format 0.4), read and written without importing ConfigSpace.

Uniform, categorical, ordinal and constant hyperparameters, all conditions, forbidden clauses and relations. A constant is a
categorical parameter with one value. Other prior distributions and category weights have no counterpart here and are
refused by name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

from capra.errors import FormatError, SpaceError
from capra.formats.text import numbered_lines
from capra.runs import Value
from capra.space.draft import Draft
from capra.space.expressions import And, Compare, Expression, Literal, Member, Name, Or
from capra.space.grammar import DEEPEST
from capra.space.parameters import Categorical, Integer, Ordinal, Parameter, Real
from capra.space.space import Space

__all__ = ["parse_json", "write_json"]

FORMAT_VERSION = 0.4

_LANDMARK = re.compile(r'"(name|child|forbiddens)"\s*:\s*(?:("(?:[^"\\]|\\.)*")|\[)')

_CONDITIONS = {"EQ": "==", "NEQ": "!=", "LT": "<", "GT": ">"}
_RELATIONS = {
    "RELATION_EQ": "==",
    "RELATION_LT": "<",
    "RELATION_LE": "<=",
    "RELATION_GT": ">",
    "RELATION_GE": ">=",
}
_CONDITION_NAMES = {operator: name for name, operator in _CONDITIONS.items()}
_RELATION_NAMES = {operator: name for name, operator in _RELATIONS.items()}


def parse_json(text: str, path: str | Path = "<json>") -> Space:
    """The space of a ConfigSpace JSON text; ``path`` is what errors name."""
    for _ in numbered_lines(text, path):  # refuses endless lines
        pass
    reader = _Reader(text, path)
    return reader.space(_load(text, path))


def _load(text: str, path: str | Path) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_no_duplicates, parse_constant=_no_constants)
    except json.JSONDecodeError as error:
        raise FormatError(error.msg, path=path, line=error.lineno, column=error.colno) from None
    except (ValueError, RecursionError) as error:
        raise FormatError(f"is not usable JSON: {error}", path=path, line=1) from None


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _no_constants(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a number")


class _Reader:
    def __init__(self, text: str, path: str | Path) -> None:
        self.text = text
        self.draft = Draft(path)
        self.line = 1

    def space(self, document: Any) -> Space:
        if not isinstance(document, dict) or "hyperparameters" not in document:
            self._fail("is not a ConfigSpace file: no 'hyperparameters'")
        for entry in self._list(document, "hyperparameters"):
            self._parameter(entry)
        for entry in self._list(document, "conditions", optional=True):
            self.line = self._line_of("child", self._get(entry, "child", str))
            self.draft.activate(self.line, entry["child"], self._condition(entry))
        self.line = self._line_of("forbiddens", "")
        for entry in self._list(document, "forbiddens", optional=True):
            self.draft.forbid(self.line, self._clause(entry))
        return self.draft.finish()

    # --- parameters ---

    def _parameter(self, entry: Any) -> None:
        name = self._get(entry, "name", str)
        self.line = self._line_of("name", name)
        kind = self._get(entry, "type", str)
        if kind not in _PARAMETERS:
            self._fail(f"{name}: hyperparameters of type {kind!r} are not supported", hint="use a uniform one")
        weights = entry.get("weights")
        if entry.get("q") is not None:
            self._fail(f"{name}: quantised hyperparameters are not supported", hint="use an ordinal one")
        if weights is not None and not (isinstance(weights, list) and weights == weights[:1] * len(weights)):
            self._fail(f"{name}: category weights are not supported", hint="remove them")
        try:
            self.draft.declare(self.line, lambda: _PARAMETERS[kind](entry))
        except (KeyError, TypeError) as error:
            self._fail(f"{name}: missing or unusable {error}")
        switch = (entry.get("meta") or {}).get("switch") if isinstance(entry.get("meta"), dict) else None
        if isinstance(switch, str):
            self.draft.switches[name] = switch

    # --- conditions and forbidden clauses ---

    def _condition(self, entry: Any, depth: int = 0) -> Expression:
        kind = self._get(entry, "type", str)
        if depth > DEEPEST:
            self._fail(f"conditions nested more than {DEEPEST} deep")
        if kind in ("AND", "OR"):
            parts = tuple(self._condition(part, depth + 1) for part in self._list(entry, "conditions"))
            return And(parts) if kind == "AND" else Or(parts)
        parent = self._get(entry, "parent", str)
        if kind == "IN":
            return Member(parent, self._values(entry))
        if kind not in _CONDITIONS:
            self._fail(f"unknown condition type {kind!r}")
        return Compare(_CONDITIONS[kind], Name(parent), Literal(self._get(entry, "value", Value)))

    def _clause(self, entry: Any, depth: int = 0) -> Expression:
        kind = self._get(entry, "type", str)
        if depth > DEEPEST:
            self._fail(f"clauses nested more than {DEEPEST} deep")
        if kind == "AND":
            return And(tuple(self._clause(part, depth + 1) for part in self._list(entry, "clauses")))
        if kind in _RELATIONS:
            left, right = self._get(entry, "left", str), self._get(entry, "right", str)
            return Compare(_RELATIONS[kind], Name(left), Name(right))
        name = self._get(entry, "name", str)
        if kind == "EQUALS":
            return Compare("==", Name(name), Literal(self._get(entry, "value", Value)))
        if kind == "IN":
            return Member(name, self._values(entry))
        self._fail(f"unknown forbidden type {kind!r}")

    def _values(self, entry: Any) -> tuple[Value, ...]:
        return tuple(self._get({"values": value}, "values", Value) for value in self._list(entry, "values"))

    # --- access with errors ---

    def _get(self, entry: Any, key: str, kind: Any) -> Any:
        if not isinstance(entry, dict) or not isinstance(entry.get(key), kind):
            self._fail(f"expected an object with {key!r}")
        return entry[key]

    def _list(self, entry: Any, key: str, *, optional: bool = False) -> list[Any]:
        found = entry.get(key) if isinstance(entry, dict) else None
        if found is None and optional:
            return []
        if not isinstance(found, list) or not (found or optional):
            self._fail(f"expected a list {key!r}")
        return found

    def _line_of(self, key: str, word: str) -> int:
        """The next line on which ``word`` is the value of ``key`` (JSON readers do not say)."""
        lines = self._lines.get((key, word), [self.line])
        return lines.pop(0) if len(lines) > 1 else lines[0]

    @cached_property
    def _lines(self) -> dict[tuple[str, str], list[int]]:
        """Where names and children stand, and where the list of clauses begins."""
        found: dict[tuple[str, str], list[int]] = {}
        line, seen = 1, 0
        for match in _LANDMARK.finditer(self.text):
            line, seen = line + self.text.count("\n", seen, match.start()), match.start()
            found.setdefault((match[1], json.loads(match[2] or '""')), []).append(line)
        return found

    def _fail(self, message: str, hint: str | None = None) -> NoReturn:
        raise FormatError(message, path=self.draft.path, line=self.line, hint=hint)


def _scalar(entry: Mapping[str, Any], key: str) -> Any:
    value = entry[key]
    if not isinstance(value, str | int | float | bool):
        raise SpaceError(f"{entry.get('name', key)}: {value!r} is not a text, a number or a truth value")
    return value


def _discrete(kind: type[Categorical | Ordinal], key: str) -> Callable[[Mapping[str, Any]], Parameter]:
    def make(entry: Mapping[str, Any]) -> Parameter:
        if not isinstance(entry[key], list):
            raise SpaceError(f"{entry['name']}: {key} is not a list")
        choices = tuple(_scalar({key: choice}, key) for choice in entry[key])
        return kind(entry["name"], choices, _scalar(entry, "default_value"))

    return make


def _integer(entry: Mapping[str, Any]) -> Parameter:
    bounds = entry["lower"], entry["upper"], entry["default_value"]
    return Integer(entry["name"], *bounds, _log(entry))


def _real(entry: Mapping[str, Any]) -> Parameter:
    bounds = entry["lower"], entry["upper"], entry["default_value"]
    return Real(entry["name"], *bounds, _log(entry))


def _log(entry: Mapping[str, Any]) -> bool:
    log = entry.get("log", False)
    if not isinstance(log, bool):
        raise SpaceError(f"{entry['name']}: log is true or false, not {log!r}")
    return log


def _constant(entry: Mapping[str, Any]) -> Parameter:
    value = _scalar(entry, "value")
    return Categorical(entry["name"], (value,), value)


_PARAMETERS: Mapping[str, Callable[[Mapping[str, Any]], Parameter]] = {
    "categorical": _discrete(Categorical, "choices"),
    "ordinal": _discrete(Ordinal, "sequence"),
    "uniform_int": _integer,
    "uniform_float": _real,
    "constant": _constant,
}


# --- writing ---


def write_json(space: Space) -> str:
    """The space as ConfigSpace JSON. SpaceError names what the format cannot say (arithmetic, <= and >=, or in clauses)."""
    document = {
        "name": None,
        "hyperparameters": [_entry(parameter, space) for parameter in space.parameters.values()],
        "conditions": [_condition(child, test) for child, test in space.conditions.items()],
        "forbiddens": [_forbidden(clause, i) for i, clause in enumerate(space.forbidden)],
        "python_module_version": "1.2.0",
        "format_version": FORMAT_VERSION,
    }
    return json.dumps(document, indent=2) + "\n"


def _entry(parameter: Parameter, space: Space) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": "", "name": parameter.name}
    match parameter:
        case Categorical(choices=(only,)):
            entry |= {"type": "constant", "value": only}
        case Categorical(choices=choices, default=default):
            entry |= {
                "type": "categorical",
                "choices": list(choices),
                "weights": None,
                "default_value": default,
            }
        case Ordinal(choices=choices, default=default):
            entry |= {"type": "ordinal", "sequence": list(choices), "default_value": default}
        case Integer() | Real():
            kind = "uniform_int" if isinstance(parameter, Integer) else "uniform_float"
            entry |= {"type": kind, "lower": parameter.lower, "upper": parameter.upper}
            entry |= {"default_value": parameter.default, "log": parameter.log}
    switch = space.switches.get(parameter.name)
    return entry | {"meta": None if switch is None else {"switch": switch}}


def _condition(child: str, condition: Expression) -> dict[str, Any]:
    match condition:
        case And(parts) | Or(parts):
            kind = "AND" if isinstance(condition, And) else "OR"
            return {"type": kind, "child": child, "conditions": [_condition(child, part) for part in parts]}
        case Member(name, values):
            return {"type": "IN", "child": child, "parent": name, "values": list(values)}
        case Compare(operator, Name(name), Literal(value)) if operator in _CONDITION_NAMES:
            return {"type": _CONDITION_NAMES[operator], "child": child, "parent": name, "value": value}
    raise SpaceError(
        f"ConfigSpace cannot express the condition of {child}: it has no <= or >= and no arithmetic",
        part=("condition", child),
    )


def _forbidden(clause: Expression, position: int) -> dict[str, Any]:
    match clause:
        case And(parts):
            return {"type": "AND", "clauses": [_forbidden(part, position) for part in parts]}
        case Member(name, values):
            return {"type": "IN", "name": name, "values": list(values)}
        case Compare("==", Name(name), Literal(value)):
            return {"type": "EQUALS", "name": name, "value": value}
        case Compare(operator, Name(left), Name(right)) if operator in _RELATION_NAMES:
            return {"type": _RELATION_NAMES[operator], "left": left, "right": right}
    raise SpaceError(
        f"ConfigSpace cannot express forbidden clause {position + 1}: it knows 'and' of equalities only",
        part=("forbidden", position),
    )
