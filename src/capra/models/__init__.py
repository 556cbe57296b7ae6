"""Surrogates: regression models of log10 cost that understand censored runs. They know only arrays."""

from capra.models.base import Surrogate
from capra.models.forest import CensoredForest
from capra.models.gp import CensoredGP

__all__ = ["CensoredForest", "CensoredGP", "Surrogate"]
