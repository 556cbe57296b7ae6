"""Spaces of configurations: parameters, conditions, forbidden clauses; sampling, neighbours, codes for models."""

from capra.space.expressions import And, Apply, Compare, Expression, Literal, Member, Name, Or, equals, is_in
from capra.space.parameters import Categorical, Integer, Ordinal, Parameter, Real
from capra.space.space import Space

__all__ = [
    "And",
    "Apply",
    "Categorical",
    "Compare",
    "Expression",
    "Integer",
    "Literal",
    "Member",
    "Name",
    "Or",
    "Ordinal",
    "Parameter",
    "Real",
    "Space",
    "equals",
    "is_in",
]
