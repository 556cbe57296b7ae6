"""Engines carry requests to targets and outcomes back."""

from capra.engines.base import Engine, Ticket
from capra.engines.local import LocalEngine
from capra.engines.simulated import SimulatedEngine, simulated_target

__all__ = ["Engine", "LocalEngine", "SimulatedEngine", "Ticket", "simulated_target"]
