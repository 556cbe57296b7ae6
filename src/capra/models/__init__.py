"""Surrogates: regression models of log10 cost that understand censored runs. They know only arrays."""

from capra.models.gp import CensoredGP

__all__ = ["CensoredGP"]
