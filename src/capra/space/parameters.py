"""The four types of parameter, each with its codec between values and the numbers that models and searches work on.

A *code* is a float: the category's index for a categorical parameter, a point of the unit interval for all others, NaN
where the parameter is inactive. A *rank* is what expressions compare: the position of an ordinal or categorical value,
the number itself for integers and reals. All methods work on whole columns.
"""

from __future__ import annotations

from capra.space.base import LARGEST_REAL, LONGEST_TEXT, Parameter
from capra.space.discrete import MOST_VALUES, Categorical, Discrete, Ordinal
from capra.space.numeric import LARGEST_INTEGER, Integer, Real

__all__ = [
    "LARGEST_INTEGER",
    "LARGEST_REAL",
    "LONGEST_TEXT",
    "MOST_VALUES",
    "Categorical",
    "Discrete",
    "Integer",
    "Ordinal",
    "Parameter",
    "Real",
]
