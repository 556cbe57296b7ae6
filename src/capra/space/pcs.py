"""Parameter files of ParamILS, SMAC and AClib (PCS), in both dialects.

The old dialect (ParamILS, SMAC2 before 2.08)::

    name {v1, v2} [default]                categorical
    name [lo, hi] [default] [i][l]         real; i = integer, l = log scale
    child | parent in {v1, v2}             condition; several lines for one child must all hold

The new one (SMAC2 from 2.10, AClib2, SMAC3)::

    name categorical|ordinal {v1, v2} [default]
    name integer|real [lo, hi] [default] [log]
    child | cond && cond || cond           cond: parent in {…}, or parent with ==, !=, <, > and a value

Forbidden clauses are ``{p1=v1, p2=v2}`` in both, and expressions (``{x^2 + y < 1 && a == 'v'}``) in the new one. A file is
one or the other; its first parameter decides. Lines are matched whole: trailing text is an error.
"""

from __future__ import annotations

import re
from pathlib import Path

from capra.errors import SpaceError, did_you_mean
from capra.formats.text import Scanner, numbered_lines, strip_comment
from capra.runs import Value
from capra.space.draft import Draft
from capra.space.expressions import And, Compare, Expression, Literal, Member, Name, Or
from capra.space.grammar import SMAC2, format_expression, parse_expression
from capra.space.parameters import LONGEST_TEXT, Categorical, Discrete, Integer, Ordinal, Parameter, Real
from capra.space.space import Space

__all__ = ["parse_pcs", "write_pcs"]

_NAME = re.compile(r"[A-Za-z0-9_\-@.:;\\/?!$%&*+<>]+", re.ASCII)
_VALUE = re.compile(r"(?:(?!&&)[^\s,{}\[\]|=#\"'])+")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_TYPES = ("categorical", "ordinal", "integer", "real")
_TYPE = re.compile(rf"(?:{'|'.join(_TYPES)})(?=\s*[\[{{])")
_FLAGS = re.compile(r"il|li|i|l|")
_OPERATOR = re.compile(r"==|!=|<|>|in\b")
_CLASSIC = re.compile(r"[^=]*[^=<>!]=[^=]")
_HEADING = re.compile(r"(?:parameters?|conditionals?|conditions?|forbidden(?:\s+\w+)?)\s*:?", re.IGNORECASE)


def parse_pcs(text: str, path: str | Path = "<pcs>") -> Space:
    """The space of a PCS text, old or new; ``path`` is what errors name."""
    reader = _Reader(path)
    for number, line in numbered_lines(text, path):
        content = strip_comment(line)
        if content.strip() and not _HEADING.fullmatch(content.strip()):
            reader.line(Scanner(content, path, number))
    return reader.finish()


class _Reader:
    """Declarations are taken as they come; conditions and clauses wait until every name is known."""

    def __init__(self, path: str | Path) -> None:
        self.draft = Draft(path)
        self.new: bool | None = None
        self.waiting: list[Scanner] = []

    def line(self, scanner: Scanner) -> None:
        if scanner.accept("{") or "|" in scanner.text.partition("{")[0]:
            scanner.at = 0
            self.waiting.append(scanner)
        else:
            self._parameter(scanner)

    def finish(self) -> Space:
        for scanner in self.waiting:
            if scanner.accept("{"):
                self._forbidden(scanner)
            else:
                self._condition(scanner)
        return self.draft.finish()

    # --- parameters ---

    def _parameter(self, scanner: Scanner) -> None:
        name = scanner.need(_NAME, "a parameter name")
        kind = scanner.take(_TYPE)
        rest = scanner.text[scanner.at :].lstrip()
        if kind is None and not rest.startswith(("{", "[")):
            near = did_you_mean(rest.split(maxsplit=1)[0], _TYPES) if rest else None
            scanner.fail(f"expected a type ({', '.join(_TYPES)}) or a domain in {{}} or []", hint=near)
        self._same_dialect(scanner, new=kind is not None)
        if kind is None:
            self._old_parameter(scanner, name)
        elif kind[0] in ("categorical", "ordinal"):
            self._discrete(scanner, name, Ordinal if kind[0] == "ordinal" else Categorical)
        else:
            lower, upper, default = _range(scanner)
            log = scanner.accept("log")
            self._numeric(scanner, name, (lower, upper, default), integer=kind[0] == "integer", log=log)

    def _same_dialect(self, scanner: Scanner, *, new: bool) -> None:
        if self.new is None:
            self.new = new
        if self.new != new:
            line, file = ("old", "new") if self.new else ("new", "old")
            scanner.fail(f"a declaration of the {line} format in a file of the {file} one", at=0)

    def _old_parameter(self, scanner: Scanner, name: str) -> None:
        if scanner.text[scanner.at :].lstrip().startswith("{"):
            self._discrete(scanner, name, Categorical)
            return
        lower, upper, default = _range(scanner)
        flags = scanner.need(_FLAGS, "i, l or il")
        self._numeric(scanner, name, (lower, upper, default), integer="i" in flags, log="l" in flags)

    def _discrete(self, scanner: Scanner, name: str, kind: type[Discrete]) -> None:
        choices = _values(scanner)
        scanner.expect("[", "[default]")
        default = scanner.need(_VALUE, "the default value")
        scanner.expect("]")
        scanner.finish()
        self.draft.declare(scanner.line, lambda: kind(name, choices, default))

    def _numeric(self, scanner: Scanner, name: str, texts: tuple[str, str, str], *, integer: bool, log: bool) -> None:
        scanner.finish()

        def make() -> Parameter:
            if integer:
                lower, upper, default = (_integer(name, text) for text in texts)
                return Integer(name, lower, upper, default, log)
            return Real(name, float(texts[0]), float(texts[1]), float(texts[2]), log)

        self.draft.declare(scanner.line, make)

    # --- conditions and forbidden clauses ---

    def _condition(self, scanner: Scanner) -> None:
        child = self._known(scanner)
        scanner.expect("|")
        if self.new and child in self.draft.conditions:
            scanner.fail(f"a second condition for {child}", at=0, hint="join them with && in one line")
        alternatives = [self._conjunction(scanner)]
        while self.new and scanner.accept("||"):
            alternatives.append(self._conjunction(scanner))
        scanner.finish()
        condition = alternatives[0] if len(alternatives) == 1 else Or(tuple(alternatives))
        self.draft.activate(scanner.line, child, condition)

    def _conjunction(self, scanner: Scanner) -> Expression:
        parts = [self._comparison(scanner)]
        while self.new and scanner.accept("&&"):
            parts.append(self._comparison(scanner))
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def _comparison(self, scanner: Scanner) -> Expression:
        parent = self._known(scanner)
        operator = scanner.need(_OPERATOR, "in, ==, !=, < or >")
        if operator == "in":
            return Member(parent, _values(scanner))
        if not self.new:
            scanner.fail("old-format conditions know only 'in'", at=scanner.at - len(operator))
        return Compare(operator, Name(parent), Literal(scanner.need(_VALUE, "a value")))

    def _forbidden(self, scanner: Scanner) -> None:
        if _CLASSIC.match(scanner.text, scanner.at):
            clause = self._classic_clause(scanner)
        else:
            clause = parse_expression(scanner, self.draft.name_at, SMAC2)
        scanner.expect("}")
        scanner.finish()
        self.draft.forbid(scanner.line, clause)

    def _classic_clause(self, scanner: Scanner) -> Expression:
        parts = [self._assignment(scanner)]
        while scanner.accept(","):
            parts.append(self._assignment(scanner))
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def _assignment(self, scanner: Scanner) -> Expression:
        name = self._known(scanner)
        scanner.expect("=")
        return Compare("==", Name(name), Literal(scanner.need(_VALUE, "a value")))

    def _known(self, scanner: Scanner) -> str:
        """A declared parameter."""
        scanner.skip_blanks()
        start = scanner.at
        if name := self.draft.name_at(scanner.text, start):
            scanner.at += len(name)
            return name
        word = scanner.need(_NAME, "a parameter name")[:LONGEST_TEXT]
        scanner.fail(f"unknown parameter {word!r}", at=start, hint=did_you_mean(word, self.draft.parameters))


def _values(scanner: Scanner) -> tuple[str, ...]:
    scanner.expect("{", "{values}")
    values = [scanner.need(_VALUE, "a value")]
    while scanner.accept(","):
        values.append(scanner.need(_VALUE, "a value"))
    scanner.expect("}", "',' or '}'")
    return tuple(values)


def _range(scanner: Scanner) -> tuple[str, str, str]:
    scanner.expect("[", "[lower, upper]")
    lower = scanner.need(_NUMBER, "the lower bound")
    scanner.expect(",")
    upper = scanner.need(_NUMBER, "the upper bound")
    scanner.expect("]")
    scanner.expect("[", "[default]")
    default = scanner.need(_NUMBER, "the default")
    scanner.expect("]")
    return lower, upper, default


def _integer(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        number = float(text)
    if number != number // 1 or abs(number) > 1e18:
        raise SpaceError(f"{name}: {text[:30]} is not an integer", part=("parameter", name))
    return int(number)


# --- writing ---


def write_pcs(space: Space) -> str:
    """The space in the new dialect. SpaceError names what PCS cannot say (values that are not text, nested conditions)."""
    lines = [_declaration(parameter) for parameter in space.parameters.values()]
    lines += [""] * bool(space.conditions)
    lines += [f"{child} | {_disjunction(child, test)}" for child, test in space.conditions.items()]
    lines += [""] * bool(space.forbidden)
    lines += [f"{{{_clause(clause, i)}}}" for i, clause in enumerate(space.forbidden)]
    return "\n".join(lines) + "\n"


def _declaration(parameter: Parameter) -> str:
    name = parameter.name
    if not _NAME.fullmatch(name):
        raise parameter.error("PCS cannot write this name", hint="names are letters, digits and _-@.:;\\/?!$%&*+<>")
    match parameter:
        case Categorical() | Ordinal():
            kind = "ordinal" if isinstance(parameter, Ordinal) else "categorical"
            choices = ", ".join(_word(choice, name) for choice in parameter.choices)
            return f"{name} {kind} {{{choices}}} [{_word(parameter.default, name)}]"
        case Integer() | Real():
            kind = "integer" if isinstance(parameter, Integer) else "real"
            log = " log" * parameter.log
            return f"{name} {kind} [{parameter.lower!r}, {parameter.upper!r}] [{parameter.default!r}]{log}"
    raise parameter.error("PCS has no such type")


def _word(value: Value, name: str) -> str:
    if not isinstance(value, str):
        raise SpaceError(
            f"{name}: PCS values are text; it cannot say that {value!r} is a {type(value).__name__}",
            part=("parameter", name),
            hint="convert to ConfigSpace JSON instead",
        )
    if not _VALUE.fullmatch(value):
        raise SpaceError(f"{name}: PCS cannot write the value {value!r}", part=("parameter", name))
    return value


def _disjunction(child: str, condition: Expression) -> str:
    parts = condition.parts if isinstance(condition, Or) else (condition,)
    return " || ".join(_conjunct(child, part) for part in parts)


def _conjunct(child: str, condition: Expression) -> str:
    parts = condition.parts if isinstance(condition, And) else (condition,)
    return " && ".join(_test(child, part) for part in parts)


def _test(child: str, condition: Expression) -> str:
    match condition:
        case Member(name, values):
            return f"{name} in {{{', '.join(_text(value, name) for value in values)}}}"
        case Compare(("==" | "!=" | "<" | ">") as operator, Name(name), Literal(value)):
            return f"{name} {operator} {_text(value, name)}"
    raise SpaceError(
        f"PCS cannot write the condition of {child}: it knows no brackets, no <= or >= and no arithmetic there",
        part=("condition", child),
    )


def _text(value: Value, name: str) -> str:
    return repr(value) if isinstance(value, int | float) and not isinstance(value, bool) else _word(value, name)


def _clause(clause: Expression, position: int) -> str:
    parts = clause.parts if isinstance(clause, And) else (clause,)
    classic = [_classic(part) for part in parts]
    if all(classic):
        return ", ".join(text for text in classic if text)
    try:
        return format_expression(clause, SMAC2)
    except SpaceError as error:
        error.part = ("forbidden", position)
        raise


def _classic(part: Expression) -> str | None:
    match part:
        case Compare("==", Name(name), Literal(value)):
            return f"{name}={_text(value, name)}"
    return None
