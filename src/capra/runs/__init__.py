"""The vocabulary of runs: configurations, requests, outcomes, objectives."""

from capra.runs.configuration import Configuration, Value
from capra.runs.history import History
from capra.runs.objective import Objective
from capra.runs.outcome import Outcome, Run, Status
from capra.runs.request import RunRequest

__all__ = ["Configuration", "History", "Objective", "Outcome", "Run", "RunRequest", "Status", "Value"]
