"""What an engine needs to know of a target."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Protocol

from capra.errors import TargetError
from capra.runs import Outcome, RunRequest
from capra.scenario import Scenario
from capra.targets.supervisor import Facts, Job, Limits

__all__ = ["ProcessTarget", "find_program", "limits_of"]

LONGEST_WALL = 86400.0
"""Wall bound of runs that have neither a cutoff in seconds nor a wall_limit of their own."""


class ProcessTarget(Protocol):
    """A target that runs as a process of its own, under the supervisor.

    Whatever a run did, ``outcome`` and ``verified`` give one; the others raise TargetError, InputError or OSError.
    """

    @property
    def can_wait(self) -> bool:
        """May a run be stopped at its cutoff, and go on later? Not if the target keeps the cutoff itself."""

    def argv(self, request: RunRequest) -> list[str]:
        """What to type to repeat the run by hand."""

    def job(self, request: RunRequest) -> Job:
        """What to start for a request."""

    def bounds(self, request: RunRequest, directory: Path) -> Limits | None:
        """The limits for a run under way if its cutoff were the request's; None if only the target can keep it."""

    def outcome(self, request: RunRequest, facts: Facts, directory: Path) -> Outcome:
        """What the facts mean; ``directory`` is the run's private one, still there."""

    def verification(self, request: RunRequest, outcome: Outcome, facts: Facts, directory: Path) -> Job | None:
        """The verifier to run on this outcome, if the scenario names a command and there is something to check."""

    def verified(self, request: RunRequest, outcome: Outcome, facts: Facts) -> Outcome:
        """The outcome after the verifier's word; ``facts`` are the verifier's."""


def limits_of(scenario: Scenario, cutoff: float) -> Limits:
    """The supervisor's limits for a run with this cutoff."""
    cpu = cutoff if scenario.unit == "cpu" and cutoff < float("inf") else None
    wall = scenario.wall_limit
    if scenario.unit == "wall" and cutoff < float("inf"):
        wall = cutoff
    elif wall is None and cpu is None:
        wall = LONGEST_WALL
    return Limits(cpu=cpu, wall=wall, memory=scenario.memory, file_size=scenario.file_size)


def find_program(name: str, scenario: Scenario) -> str:
    """Absolute path of the target's program: on PATH, or relative to where it runs or to the scenario's folder."""
    if "/" not in name and (found := shutil.which(name)):
        return found
    for base in (scenario.directory, *scenario.bases):
        if base is not None and (base / name).is_file():
            place = (base / name).absolute()  # not resolved: a virtual environment's python is a link
            if not shutil.which(str(place)):
                raise TargetError(f"{place} is not executable", hint=f"chmod +x {place}")
            return str(place)
    raise TargetError(f"the program {name!r} is not there", hint="install it, or give its path in target")
