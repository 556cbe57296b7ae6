"""Targets: what is tuned. Programs, Python functions, tables of recorded runs, and models of such."""

from collections.abc import Callable

from capra.scenario import Scenario
from capra.targets.base import ProcessTarget
from capra.targets.command import CommandTarget
from capra.targets.function import FunctionTarget
from capra.targets.surrogate import SurrogateTarget
from capra.targets.table import Table

__all__ = ["CommandTarget", "FunctionTarget", "ProcessTarget", "SurrogateTarget", "Table", "make_target"]


def make_target(scenario: Scenario, path_of: Callable[[str], str] | None = None) -> ProcessTarget:
    """The target of a scenario, as a process. ``path_of`` says where an instance lies, if not where the scenario says."""
    kind = CommandTarget if isinstance(scenario.target, tuple) else FunctionTarget
    return kind(scenario, path_of or scenario.path_of)
