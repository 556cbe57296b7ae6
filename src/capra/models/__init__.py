"""Surrogates: regression models of log10 cost that understand censored runs. They know only arrays."""

from capra.models.base import Surrogate
from capra.models.forest import CensoredForest
from capra.models.gp import CensoredGP
from capra.models.network import TobitEnsemble, TobitNetwork
from capra.models.training import FAST, PAPER, Recipe

__all__ = ["FAST", "PAPER", "CensoredForest", "CensoredGP", "Recipe", "Surrogate", "TobitEnsemble", "TobitNetwork"]
