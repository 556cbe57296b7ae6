"""``capra check``: is this scenario ready to be tuned?

``Scenario`` itself refuses what is contradictory. Here is what only a look at the machine, or experience, can tell: the
program is missing, there is nothing to validate on, the budget is too small to learn anything.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path

from capra.errors import TargetError
from capra.report.words import unit_in_words
from capra.scenario import Scenario
from capra.targets.base import find_program

__all__ = ["Finding", "check_scenario"]

FEW_INSTANCES = 10
"""Tuning on fewer mostly learns those instances by heart."""
FEW_RUNS = 20
"""A budget for fewer full-length runs than this rarely pays."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to know before tuning. ``level`` is "ok", "warning" or "error" (tuning would be pointless)."""

    level: str
    topic: str
    text: str


def check_scenario(scenario: Scenario) -> list[Finding]:
    """What there is to say about a scenario without running the target. TargetError if it cannot be started."""
    return [
        _target(scenario),
        *_words(scenario),
        *_space(scenario),
        *_instances(scenario),
        *_time(scenario),
    ]


def _target(scenario: Scenario) -> Finding:
    target = scenario.target
    if callable(target):
        return Finding("ok", "target", f"Python function {getattr(target, '__qualname__', target)!s}")
    if isinstance(target, str):
        module = target.partition(":")[0]
        top, folders = module.partition(".")[0], [str(base) for base in scenario.bases]
        if PathFinder.find_spec(top, folders) is None and importlib.util.find_spec(top) is None:
            hint = "it must lie beside the scenario or on PYTHONPATH"
            raise TargetError(f"the module {module!r} of the target cannot be found", hint=hint)
        return Finding("ok", "target", f"Python function {target}")
    if isinstance(scenario.verifier, tuple):
        find_program(scenario.verifier[0], scenario)
    return Finding("ok", "target", f"{find_program(target[0], scenario)} ({scenario.dialect} dialect)")


def _words(scenario: Scenario) -> Iterator[Finding]:
    """What is missing on the command line of a program that is called in its own way."""
    target = scenario.target
    if not isinstance(target, tuple) or scenario.dialect != "native":
        return
    line = " ".join(target)
    if "{params}" not in line and "{config." not in line:
        text = "no parameter reaches the target: {params}, or a {config.NAME}, must stand in it"
        yield Finding("error", "target", text)
    if "{seed}" not in line and not scenario.deterministic:
        text = "no seed reaches the target: put {seed} in it, or set deterministic = true if it uses no random numbers"
        yield Finding("warning", "target", text)
    relative = [word for word in target[1:] if not Path(word).is_absolute()]
    beside = [word for word in relative if any((base / word).is_file() for base in scenario.bases)]
    if beside and scenario.directory is None:
        text = f"{beside[0]} lies beside the scenario, but every run has an empty directory of its own"
        yield Finding("warning", "target", f"{text}: write its whole path, or let it be the program: ./{beside[0]}")


def _space(scenario: Scenario) -> Iterator[Finding]:
    space = scenario.space
    text = f"{len(space)} parameters, {len(space.conditions)} conditional, {len(space.forbidden)} forbidden clauses"
    yield Finding("ok", "space", text)
    sizes = [parameter.size for parameter in space.parameters.values()]
    if math.prod(sizes) == 1:
        yield Finding("warning", "space", "there is nothing to tune: every parameter has one value")
    if scenario.configurations:
        yield Finding("ok", "space", f"only the {len(scenario.configurations)} configurations of the pool are tried")


def _instances(scenario: Scenario) -> Iterator[Finding]:
    train, test = scenario.instances, scenario.test_instances
    if not train:
        yield Finding("ok", "instances", "none: the target is tuned as it is")
        return
    yield Finding("ok", "instances", f"{len(train)} for training, {len(test)} for validation")
    if len(train) < FEW_INSTANCES:
        yield Finding("warning", "instances", f"{len(train)} training instances are few: expect overtuning")
    if not test:
        text = "no test instances: the result cannot be validated; set test_instances or split"
        yield Finding("warning", "instances", text)
    if linked := _links(scenario):
        yield Finding("warning", "instances", f"{len(linked)} are symbolic links, the first is {linked[0]}")
    if scenario.features.names:
        yield Finding("ok", "features", f"{len(scenario.features.names)} per instance")


def _links(scenario: Scenario) -> list[str]:
    if not scenario.instances_are_files:
        return []
    names = [instance.name for instance in (*scenario.instances, *scenario.test_instances)]
    return [name for name in names if any((base / name).is_symlink() for base in scenario.bases)]


def _time(scenario: Scenario) -> Iterator[Finding]:
    budget = scenario.budget
    yield Finding("ok", "objective", f"{scenario.objective}, cutoff {scenario.cutoff:g} {unit_in_words(scenario.unit)}")
    if math.isinf(min(budget.cpu, budget.wall, budget.runs)):
        yield Finding("warning", "budget", "no budget is set: `capra tune` needs one")
    elif math.isfinite(scenario.cutoff) and budget.cpu / scenario.cutoff < FEW_RUNS:
        runs = budget.cpu / scenario.cutoff
        text = f"pays for {runs:.0f} runs of full length; with luck most are shorter, but a smaller cutoff would help"
        yield Finding("warning", "budget", text)
    else:
        yield Finding("ok", "budget", ", ".join(_limits(scenario)))
    if scenario.memory is None and not callable(scenario.target):
        yield Finding("warning", "memory", "no memory limit is set: one hungry configuration can stop this machine")


def _limits(scenario: Scenario) -> Iterator[str]:
    budget, seconds = scenario.budget, scenario.unit in ("cpu", "wall")
    if math.isfinite(budget.cpu):
        yield f"{budget.cpu:g} {'s of target time' if seconds else scenario.unit}"
    if math.isfinite(budget.wall):
        yield f"{budget.wall:g} s on the clock"
    if math.isfinite(budget.runs):
        yield f"{budget.runs:g} runs"
