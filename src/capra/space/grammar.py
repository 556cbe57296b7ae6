"""Boolean expressions over parameters, as SMAC2 (forbidden clauses) and irace (conditions, forbidden) write them.

Both are one grammar with other spellings: ``||  &&  !  comparison  + -  * / %  unary -  ^  call``. Recursive descent with
limits on depth and length; the result is data (``expressions``), nothing is evaluated here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from capra.errors import SpaceError, did_you_mean
from capra.formats.text import Scanner
from capra.runs import Value
from capra.space.expressions import (
    FUNCTIONS,
    And,
    Apply,
    Compare,
    Expression,
    Literal,
    Member,
    Name,
    Or,
    Term,
    negate,
)

__all__ = ["DEEPEST", "IRACE", "SMAC2", "Dialect", "format_expression", "parse_expression"]

DEEPEST = 50
"""Nesting beyond it is refused."""
LONGEST = 20_000
"""Characters of one expression."""
MOST_OPERATORS = 100
"""Arithmetic operators of one expression; a chain of them is as deep as it is long."""

_NUMBER = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?L?", re.ASCII)
_STRING = re.compile(r"\"([^\"\\]*)\"|'([^'\\]*)'")
_WORD = re.compile(r"[A-Za-z_.][A-Za-z0-9_.]*", re.ASCII)
_COMPARISON = re.compile(r"==|!=|<=|>=|<|>")


NameAt = Callable[[str, int], str | None]


@dataclass(frozen=True)
class Dialect:
    """How one format spells the operators and functions."""

    conjunction: tuple[str, ...]
    disjunction: tuple[str, ...]
    negation: str | None
    membership: str | None
    """``x %in% c(1, 2)``"""
    modulo: str
    quote: str
    functions: dict[str, str] = field(default_factory=dict)
    """Spelling in the file → name in FUNCTIONS."""
    constants: dict[str, Value] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    """Writing: parameters that the format spells in another way."""


_CALLS = {name: name for name in FUNCTIONS if name.isalnum() and name != "negative"}
SMAC2 = Dialect(("&&",), ("||",), "!", None, "%", "'", _CALLS)
IRACE = Dialect(
    ("&", "&&"),
    ("|", "||"),
    "!",
    "%in%",
    "%%",
    '"',
    {word: name for word, name in _CALLS.items() if word not in ("ceil", "cbrt")} | {"ceiling": "ceil"},  # R has neither
    {"TRUE": True, "FALSE": False},
)


def parse_expression(scanner: Scanner, name_at: NameAt, dialect: Dialect) -> Expression:
    """The expression that starts at the scanner's cursor; stops at the first text that cannot belong to it.

    ``name_at`` says which parameter's name stands at a place of the text (see ``Draft.name_at``).
    """
    if len(scanner.text) - scanner.at > LONGEST:
        scanner.fail(f"an expression of more than {LONGEST:,} characters")
    result = _Parser(scanner, name_at, dialect).disjunction()
    if not isinstance(result, Compare | Member | And | Or):
        scanner.fail("expected a comparison")
    return result


Node = Expression | Term
Level = Callable[[], Node]


class _Parser:
    """One method per level of the grammar; each returns a boolean expression or, below comparisons, a term."""

    def __init__(self, scanner: Scanner, name_at: NameAt, dialect: Dialect) -> None:
        self.scanner = scanner
        self.name_at = name_at
        self.dialect = dialect
        self.depth = 0
        self.operators = 0

    def disjunction(self) -> Node:
        return self._chain(self.dialect.disjunction, self.conjunction, Or)

    def conjunction(self) -> Node:
        return self._chain(self.dialect.conjunction, self.negation, And)

    def _chain(self, tokens: tuple[str, ...], level: Level, node: type[And | Or]) -> Node:
        first = level()
        parts = [first]
        while any(self.scanner.accept(token) for token in sorted(tokens, key=len, reverse=True)):
            parts.append(level())
        return first if len(parts) == 1 else node(tuple(self._boolean(part) for part in parts))

    def negation(self) -> Node:
        if self.dialect.negation and not self._at("!=") and self.scanner.accept(self.dialect.negation):
            with _Deeper(self):
                return negate(self._boolean(self.negation()))
        return self.comparison()

    def comparison(self) -> Node:
        left = self.sum()
        if self.dialect.membership and self.scanner.accept(self.dialect.membership):
            return self._membership(left)
        operator = self.scanner.take(_COMPARISON)
        if not operator:
            return left
        right = self.sum()
        return Compare(operator[0], self._term(left), self._term(right))

    def _membership(self, left: Node) -> Member:
        if not isinstance(left, Name):
            self.scanner.fail("only a parameter can be looked up in a list")
        self.scanner.expect("c(", "a list c(…)")
        values = [self._value()]
        while self.scanner.accept(","):
            values.append(self._value())
        self.scanner.expect(")")
        return Member(left.name, tuple(values))

    def _value(self) -> Value:
        term = self.unary()
        if not isinstance(term, Literal):
            self.scanner.fail("expected a value")
        return term.value

    def sum(self) -> Node:
        return self._operators(("+", "-"), self.product)

    def product(self) -> Node:
        return self._operators(("*", "/", self.dialect.modulo), self.unary)

    def _operators(self, tokens: tuple[str, ...], level: Level) -> Node:
        left = level()
        while (token := self._operator(tokens)) is not None:
            name = "%" if token == self.dialect.modulo else token
            self.operators += 1
            if self.operators > MOST_OPERATORS:
                self.scanner.fail(f"more than {MOST_OPERATORS} arithmetic operators")
            left = Apply(name, (self._term(left), self._term(level())))
        return left

    def _operator(self, tokens: tuple[str, ...]) -> str | None:
        membership = self.dialect.membership
        if membership and self._at(membership):
            return None
        return next((token for token in tokens if self.scanner.accept(token)), None)

    def unary(self) -> Node:
        if self.scanner.accept("-"):
            with _Deeper(self):
                term = self._term(self.unary())
            if isinstance(term, Literal) and isinstance(term.value, int | float):
                return Literal(-term.value)
            return Apply("negative", (term,))
        return self.power()

    def power(self) -> Node:
        base = self.atom()
        if self.scanner.accept("^"):
            with _Deeper(self):
                return Apply("^", (self._term(base), self._term(self.unary())))
        return base

    def atom(self) -> Node:
        if self.scanner.accept("("):
            with _Deeper(self):
                inner = self.disjunction()
            self.scanner.expect(")")
            return inner
        if (name := self._declared_name()) is not None:
            return Name(name)
        if number := self.scanner.take(_NUMBER):
            return Literal(_number(number[0]))
        if string := self.scanner.take(_STRING):
            return Literal(string[1] if string[1] is not None else string[2])
        return self._word()

    def _word(self) -> Node:
        start = self.scanner.at
        word = self.scanner.need(_WORD, "a parameter, a number or a quoted value")
        if word in self.dialect.constants:
            return Literal(self.dialect.constants[word])
        if self.scanner.accept("("):
            return self._call(word, start)
        return Literal(word)  # an unquoted category; resolution refuses it where no such value exists

    def _call(self, word: str, start: int) -> Apply:
        if word not in self.dialect.functions:
            self.scanner.fail(f"unknown function {word!r}", at=start, hint=did_you_mean(word, self.dialect.functions))
        function = self.dialect.functions[word]
        arguments = []
        with _Deeper(self):
            arguments.append(self._term(self.sum()))
            while self.scanner.accept(","):
                arguments.append(self._term(self.sum()))
        self.scanner.expect(")")
        arity = FUNCTIONS[function][0]
        if len(arguments) != arity:
            self.scanner.fail(f"{word} takes {arity} argument{'s' * (arity > 1)}, not {len(arguments)}", at=start)
        return Apply(function, tuple(arguments))

    def _declared_name(self) -> str | None:
        self.scanner.skip_blanks()
        name = self.name_at(self.scanner.text, self.scanner.at)
        self.scanner.at += len(name or "")
        return name

    def _at(self, token: str) -> bool:
        self.scanner.skip_blanks()
        return self.scanner.text.startswith(token, self.scanner.at)

    def _boolean(self, node: Node) -> Expression:
        if isinstance(node, Compare | Member | And | Or):
            return node
        self.scanner.fail("expected a comparison")

    def _term(self, node: Node) -> Term:
        if isinstance(node, Name | Literal | Apply):
            return node
        self.scanner.fail("a comparison cannot be computed with")


class _Deeper:
    """Counts nesting, so that hostile input meets an error and not the end of the stack."""

    def __init__(self, parser: _Parser) -> None:
        self.parser = parser

    def __enter__(self) -> None:
        self.parser.depth += 1
        if self.parser.depth > DEEPEST:
            self.parser.scanner.fail(f"nested more than {DEEPEST} deep")

    def __exit__(self, *_: object) -> None:
        self.parser.depth -= 1


def _number(text: str) -> int | float:
    text = text.rstrip("L")
    return int(text) if text.isdigit() and len(text) < 19 else float(text)


# --- writing ---


def format_expression(node: Expression, dialect: Dialect) -> str:
    """The expression as text that ``parse_expression`` reads back. SpaceError names what the dialect cannot say."""
    match node:
        case And(parts):
            return f" {dialect.conjunction[0]} ".join(f"({format_expression(part, dialect)})" for part in parts)
        case Or(parts):
            return f" {dialect.disjunction[0]} ".join(f"({format_expression(part, dialect)})" for part in parts)
        case Compare(operator, left, right):
            return f"{_format_term(left, dialect)} {operator} {_format_term(right, dialect)}"
        case Member(name, values):
            if dialect.membership is None:
                raise SpaceError(f"{name}: this format's forbidden clauses know no 'in'")
            items = ", ".join(_format_value(value, dialect) for value in values)
            return f"{dialect.names.get(name, name)} {dialect.membership} c({items})"


def _format_term(term: Term, dialect: Dialect) -> str:
    match term:
        case Name(name):
            return dialect.names.get(name, name)
        case Literal(value):
            return _format_value(value, dialect)
        case Apply("^", (Literal(int() | float() as base), exponent)) if base < 0:  # or the minus would be the power's
            return f"(({base!r}) ^ {_format_term(exponent, dialect)})"
        case Apply("negative", (argument,)):
            return f"(-{_format_term(argument, dialect)})"
        case Apply(function, (left, right)) if not function.isalnum():
            symbol = dialect.modulo if function == "%" else function
            return f"({_format_term(left, dialect)} {symbol} {_format_term(right, dialect)})"
        case Apply(function, arguments):
            spelling = next((word for word, name in dialect.functions.items() if name == function), None)
            if spelling is None:
                raise SpaceError(f"this format has no function {function!r}")
            return f"{spelling}({', '.join(_format_term(argument, dialect) for argument in arguments)})"


def _format_value(value: Value, dialect: Dialect) -> str:
    if isinstance(value, bool):
        spelling = next((word for word, constant in dialect.constants.items() if constant is value), None)
        if spelling is None:
            raise SpaceError(f"this format has no word for {value!r}")
        return spelling
    if not isinstance(value, str):
        return repr(value)
    if any(char in value for char in "\"'\\\n\r"):
        raise SpaceError(f"this format cannot quote the value {value!r}")
    return f"{dialect.quote}{value}{dialect.quote}"
