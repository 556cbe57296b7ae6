"""Surrogates: models of a cost's logarithm that understand censored data."""

from capra.models.base import Surrogate
from capra.models.forest import CensoredForest

__all__ = ["CensoredForest", "Surrogate"]
