"""Engines carry requests to targets and outcomes back."""

from capra.engines.base import Engine, Ticket
from capra.engines.local import LocalEngine

__all__ = ["Engine", "LocalEngine", "Ticket"]
