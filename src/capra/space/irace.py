"""irace's ``parameters.txt``::

    name "switch " type[,log] (domain) [| condition]        type: c categorical, o ordinal, i integer, r real

then optionally ``[forbidden]`` (one expression a line) and ``[global]`` (``digits = 4``). Conditions and forbidden clauses
are R expressions; we read the part of R that compares and computes (``grammar``), and never evaluate text. irace files
carry no defaults: the default is the first value or the middle of the range; if that is forbidden, a legal sample. irace 3
knows no sections: it has forbidden clauses in a file of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np

from capra.errors import SpaceError
from capra.formats.text import Scanner, numbered_lines
from capra.runs import Value
from capra.space.draft import Draft
from capra.space.grammar import IRACE, Dialect, format_expression, parse_expression
from capra.space.parameters import Categorical, Integer, Ordinal, Parameter, Real
from capra.space.space import Space

__all__ = [
    "irace3_forbidden",
    "irace_digits",
    "irace_names",
    "parse_irace",
    "write_irace",
    "write_irace3",
]

USUAL_DIGITS = 4
"""Decimals that irace keeps of real numbers unless it is told otherwise."""

_NAME = re.compile(r"[A-Za-z._][A-Za-z0-9._-]*", re.ASCII)
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_VALUE = re.compile(r"\"[^\"]*\"|'[^']*'|[^\s,()\"'|#]+")
_TYPE = re.compile(r"[crio](?=[\s,(])")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_SECTION = re.compile(r"\[\s*(forbidden|global)\s*\]")
_R_NAME = re.compile(r"(?:[A-Za-z]|\.(?![0-9]))[A-Za-z0-9._]*", re.ASCII)
_R_WORDS = frozenset("if else repeat while function for next break in TRUE FALSE NULL Inf NaN NA".split())
_DIGITS = re.compile(r"digits\s*=\s*\d{1,2}", re.ASCII)


def parse_irace(text: str, path: str | Path = "<irace>") -> Space:
    """The space of an irace parameter text, its switches in ``space.switches``; ``path`` is what errors name."""
    reader = _Reader(path)
    for number, line in numbered_lines(text, path):
        content = _without_comment(line)
        if content.strip():
            reader.line(Scanner(content, path, number))
    return reader.finish()


def _without_comment(line: str) -> str:
    """The line up to a ``#`` that is not inside quotes."""
    quote = ""
    for i, char in enumerate(line):
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char == "#":
            return line[:i]
    return line


class _Reader:
    """Declarations are taken as they come; expressions wait until every name is known."""

    def __init__(self, path: str | Path) -> None:
        self.draft = Draft(path)
        self.section = "parameters"
        self.conditions: list[tuple[str, Scanner]] = []
        self.clauses: list[Scanner] = []

    def line(self, scanner: Scanner) -> None:
        if section := _SECTION.fullmatch(scanner.text.strip()):
            self.section = section[1]
        elif self.section == "forbidden":
            self.clauses.append(scanner)
        elif self.section == "global":
            # irace rounds reals to this many decimals; we keep our own ten digits.
            scanner.need(_DIGITS, "digits = N")
            scanner.finish()
        else:
            self._parameter(scanner)

    def _parameter(self, scanner: Scanner) -> None:
        name = scanner.need(_NAME, "a parameter name")
        switch = scanner.need(_QUOTED, 'a switch in quotes ("" for none)')[1:-1]
        kind = scanner.need(_TYPE, "a type: c, o, i or r")
        log = scanner.accept(",") and bool(scanner.need(re.compile(r"log\b"), "log"))
        values = self._domain(scanner, numeric=kind in "ir")
        if scanner.accept("|"):
            self.conditions.append((name, scanner))
        else:
            scanner.finish()
        self.draft.declare(scanner.line, _maker(name, kind, values, log))
        self.draft.switches[name] = switch

    def _domain(self, scanner: Scanner, *, numeric: bool) -> list[str]:
        scanner.expect("(", "(domain)")
        values = [self._value(scanner, numeric)]
        while scanner.accept(","):
            values.append(self._value(scanner, numeric))
        scanner.expect(")", "',' or ')'")
        return values

    def _value(self, scanner: Scanner, numeric: bool) -> str:
        if not numeric:
            word = scanner.need(_VALUE, "a value")
            return word[1:-1] if word[0] in "\"'" else word
        match = scanner.take(_NUMBER)
        if not match:
            scanner.fail(
                "a bound that is not a number: domains that depend on other parameters are not supported",
                hint="use the widest range and forbid what is outside it in [forbidden]",
            )
        return match[0]

    def finish(self) -> Space:
        for child, scanner in self.conditions:
            condition = parse_expression(scanner, self.draft.name_at, IRACE)
            scanner.finish()
            self.draft.activate(scanner.line, child, condition)
        for scanner in self.clauses:
            clause = parse_expression(scanner, self.draft.name_at, IRACE)
            scanner.finish()
            self.draft.forbid(scanner.line, clause)
        return self.draft.finish(suggested_default=True)


def _maker(name: str, kind: str, values: list[str], log: bool) -> Callable[[], Parameter]:
    def make() -> Parameter:
        if kind in "co":
            if log:
                raise SpaceError(f"{name}: only numbers have a log scale")
            return (Categorical if kind == "c" else Ordinal)(name, tuple(values), values[0])
        if len(values) != 2:
            raise SpaceError(f"{name}: a range is (lower, upper)")
        lower, upper = float(values[0]), float(values[1])
        if kind == "i" and (lower % 1 or upper % 1):
            raise SpaceError(f"{name}: the bounds of an integer are integers")
        parameter: Parameter = (
            Real(name, lower, upper, lower, log) if kind == "r" else Integer(name, int(lower), int(upper), int(lower), log)
        )
        return parameter.with_default(parameter.decode(np.array([0.5]))[0])

    return make


# --- writing ---


def write_irace(space: Space) -> str:
    """The space as parameters.txt of irace 4 and later; defaults are not part of that format.

    A ``-`` in a name becomes a dot (see ``irace_names``); switches keep theirs. SpaceError names what irace cannot say:
    names that are no R names, values that are not text or hold characters that end an entry.
    """
    text = write_irace3(space)
    if space.forbidden:
        text += f"\n[forbidden]\n{irace3_forbidden(space)}"
    if (digits := irace_digits(space)) > USUAL_DIGITS:
        text += f"\n[global]\ndigits = {digits}\n"
    return text


def write_irace3(space: Space) -> str:
    """The space as parameters.txt of irace 3, which has no sections.

    Its scenario has options instead: forbiddenFile for a file with ``irace3_forbidden``, and digits.
    """
    dialect = replace(IRACE, names=irace_names(space))
    return "".join(_declaration(space, parameter, dialect) + "\n" for parameter in space.parameters.values())


def irace3_forbidden(space: Space) -> str:
    """The forbidden clauses, one R expression a line."""
    dialect = replace(IRACE, names=irace_names(space))
    return "".join(format_expression(clause, dialect) + "\n" for clause in space.forbidden)


def irace_digits(space: Space) -> int:
    """Decimals that irace must keep of real numbers: with fewer it rounds bounds, and refuses what that leaves."""
    bounds = [bound for p in space.parameters.values() if isinstance(p, Real) for bound in (p.lower, p.upper)]
    exponents = [Decimal(repr(bound)).normalize().as_tuple().exponent for bound in bounds]
    return max([USUAL_DIGITS, *(-exponent for exponent in exponents if isinstance(exponent, int))])


def irace_names(space: Space) -> dict[str, str]:
    """Every parameter's name in irace's files: R takes a ``-`` for a minus."""
    names = {name: name.replace("-", ".") for name in space.names}
    taken: dict[str, str] = {}
    for name, ours in names.items():
        if not _R_NAME.fullmatch(ours) or ours in _R_WORDS:
            hint = "R names are letters, digits, '.' and '_', begin with a letter, and are no words of R"
            raise space[name].error("irace cannot write this name", hint=hint)
        if (other := taken.setdefault(ours, name)) != name:
            raise space[name].error(f"irace cannot tell this name from {other}: both are {ours} in R")
    return names


def _declaration(space: Space, parameter: Parameter, dialect: Dialect) -> str:
    name = parameter.name
    switch = space.switches.get(name, f"--{name}=")
    if any(char in switch for char in '"#\n\r'):
        raise parameter.error("irace cannot write a switch with quotes, '#' or several lines")
    line = f'{dialect.names[name]} "{switch}" {_domain(parameter)}'
    if name in space.conditions:
        line += f" | {format_expression(space.conditions[name], dialect)}"
    return line


def _domain(parameter: Parameter) -> str:
    match parameter:
        case Categorical(choices=choices) | Ordinal(choices=choices):
            kind = "c" if isinstance(parameter, Categorical) else "o"
            return f"{kind} ({', '.join(_word(parameter, choice) for choice in choices)})"
        case Integer() | Real():
            kind = "i" if isinstance(parameter, Integer) else "r"
            return f"{kind}{',log' * parameter.log} ({parameter.lower!r}, {parameter.upper!r})"
    raise parameter.error("irace has no such type")


def _word(parameter: Parameter, value: Value) -> str:
    if not isinstance(value, str) or any(char in value for char in "\"'\\#|\n\r"):
        hint = "its values are one line of text without quotes, '#', '|' and backslashes"
        raise parameter.error(f"irace cannot write the value {value!r}", hint=hint)
    return f'"{value}"'
