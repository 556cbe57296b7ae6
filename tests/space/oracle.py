"""What a space means, said slowly: one configuration at a time, from decoded values, in plain Python."""

from __future__ import annotations

import math
from collections.abc import Mapping

from capra.runs import Value
from capra.space import And, Apply, Compare, Integer, Literal, Member, Name, Or, Space
from capra.space.parameters import Discrete

Config = Mapping[str, Value]


def rank(space: Space, name: str, value: Value) -> float:
    """The position of a discrete value, the number itself for a number."""
    parameter = space[name]
    if isinstance(parameter, Discrete):
        same = [i for i, c in enumerate(parameter.choices) if type(c) is type(value) and c == value]
        return float(same[0])
    return float(value)


def compare(operator: str, left: float, right: float) -> bool:
    return {
        "==": left == right,
        "!=": left != right,
        "<": left < right,
        "<=": left <= right,
        ">": left > right,
        ">=": left >= right,
    }[operator]


def number(term, config: Config) -> float | None:
    """None where a parameter is inactive or the arithmetic has no answer."""
    if isinstance(term, Literal):
        return float(term.value)
    if isinstance(term, Name):
        return float(config[term.name]) if term.name in config else None
    assert isinstance(term, Apply)
    arguments = [number(argument, config) for argument in term.arguments]
    if any(argument is None for argument in arguments):
        return None
    if term.function == "negative":
        return -arguments[0]
    if term.function == "abs":
        return abs(arguments[0])
    left, right = arguments
    if term.function in "/%" and right == 0:
        return None if left == 0 or term.function == "%" else math.copysign(math.inf, left) * math.copysign(1.0, right)
    return {
        "+": lambda: left + right,
        "-": lambda: left - right,
        "*": lambda: left * right,
        "/": lambda: left / right,
        "%": lambda: left % right,
        "min": lambda: min(left, right),
        "max": lambda: max(left, right),
    }[term.function]()


def truth(expression, config: Config, space: Space) -> bool | None:
    """Kleene's logic: None is unknown."""
    if isinstance(expression, And | Or):
        parts = [truth(part, config, space) for part in expression.parts]
        decisive = isinstance(expression, Or)
        if decisive in parts:
            return decisive
        return None if None in parts else not decisive
    if isinstance(expression, Member):
        if expression.name not in config:
            return None
        own = rank(space, expression.name, config[expression.name])
        return own in [rank(space, expression.name, value) for value in expression.values]
    assert isinstance(expression, Compare)
    if isinstance(expression.left, Name) and isinstance(expression.right, Literal):
        name = expression.left.name
        if name not in config:
            return None
        own = rank(space, name, config[name])
        return compare(expression.operator, own, rank(space, name, expression.right.value))
    left, right = number(expression.left, config), number(expression.right, config)
    return None if left is None or right is None else compare(expression.operator, left, right)


def settle(space: Space, config: Config) -> dict[str, Value]:
    """The configuration with activity made right: inactive values dropped, missing active ones at their default."""
    settled: dict[str, Value] = {}
    waiting = list(space.names)
    parents = {child: names(condition) for child, condition in space.conditions.items()}
    while waiting:
        name = next(n for n in waiting if not parents.get(n, set()) & set(waiting))
        waiting.remove(name)
        if name not in space.conditions or truth(space.conditions[name], settled, space) is True:
            settled[name] = config.get(name, space[name].default)
    return settled


def names(node) -> set[str]:
    if isinstance(node, Name | Member):
        return {node.name}
    children = getattr(node, "parts", None) or getattr(node, "arguments", None) or ()
    if isinstance(node, Compare):
        children = (node.left, node.right)
    return {name for child in children for name in names(child)}


def forbidden(space: Space, config: Config) -> bool:
    return any(truth(clause, config, space) is True for clause in space.forbidden)


def in_domain(parameter, value: Value) -> bool:
    if isinstance(parameter, Discrete):
        return any(type(c) is type(value) and c == value for c in parameter.choices)
    kind = int if isinstance(parameter, Integer) else float
    return type(value) is kind and parameter.lower <= value <= parameter.upper


def legal(space: Space, config: Config) -> bool:
    """Exactly the active parameters have values, each in its domain, and no clause holds."""
    return (
        dict(config) == settle(space, config)
        and all(in_domain(space[name], value) for name, value in config.items())
        and not forbidden(space, config)
    )
