"""Capra finds the parameter configuration that makes an algorithm fastest on your instances.

>>> import capra
>>> scenario = capra.Scenario.load("scenario.toml")        # doctest: +SKIP
"""

from capra.errors import CapraError, FormatError, InputError, ScenarioError, SpaceError, TargetError
from capra.minimize import Minimizer, Minimum, minimize
from capra.runs import Configuration, Objective, Outcome, Run, RunRequest, Status
from capra.scenario import Budget, Scenario
from capra.space import Space
from capra.tune import Result, resume, tune
from capra.validate import validate

__version__ = "0.1.0"

__all__ = [
    "Budget",
    "CapraError",
    "Configuration",
    "FormatError",
    "InputError",
    "Minimizer",
    "Minimum",
    "Objective",
    "Outcome",
    "Result",
    "Run",
    "RunRequest",
    "Scenario",
    "ScenarioError",
    "Space",
    "SpaceError",
    "Status",
    "TargetError",
    "__version__",
    "minimize",
    "resume",
    "tune",
    "validate",
]
