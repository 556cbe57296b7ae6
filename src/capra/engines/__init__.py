"""Engines carry requests to targets and outcomes back."""

from capra.engines.base import Engine, Ticket
from capra.engines.local import LocalEngine
from capra.engines.simulated import SimulatedEngine, simulated_target
from capra.errors import InputError, did_you_mean
from capra.scenario import Scenario

__all__ = ["ENGINES", "Engine", "LocalEngine", "SimulatedEngine", "Ticket", "make_engine", "simulated_target"]

ENGINES = ("local", "simulated")


def make_engine(scenario: Scenario, name: str, workers: int) -> Engine:
    """The engine of that name."""
    if name not in ENGINES:
        raise InputError(f"unknown engine {name!r}", hint=did_you_mean(name, ENGINES) or "one of " + ", ".join(ENGINES))
    if name == "simulated":
        return SimulatedEngine(simulated_target(scenario), workers)
    return LocalEngine(scenario, workers)
