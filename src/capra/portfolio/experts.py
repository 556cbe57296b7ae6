"""Experts: somebody knows which instances belong together; each group gets a configuration of its own."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from capra.errors import InputError
from capra.portfolio.builder import Builder, Program
from capra.scenario import Scenario
from capra.strategies import Context
from capra.strategies.base import checked

__all__ = ["COMPARING", "Experts", "given_groups"]

COMPARING = 0.15
"""Share of the budget for running all members on all instances, which the selector learns from."""


class Experts(Builder):
    """One tuning for each group, with equal shares of the budget; each begins with what the groups before it found.

    Groups are the scenario's ``groups``, or a ``column`` of its instance file: the word at that place after the name.
    """

    name = "experts"

    def __init__(self, context: Context, *, column: int = 1, **options: Any) -> None:
        self.groups = given_groups(context.scenario, checked("column", column, 1, whole=True))
        super().__init__(context, **options)

    def program(self) -> Program:
        for number, (name, instances) in enumerate(self.groups.items(), start=1):
            until = (1.0 - COMPARING) * number / len(self.groups)
            step = self.tuning(f"tuning for {name}", instances, until, first=self.members)
            yield step
            self.join(step.found)
        yield from self.comparing()


def given_groups(scenario: Scenario, column: int) -> Mapping[str, list[str]]:
    """Names of the training instances by group; InputError unless each is in one and no group is empty."""
    found: dict[str, list[str]] = {}
    for instance in scenario.instances:
        words = instance.specific.split()
        named = _matching(scenario, instance.name) if scenario.groups else words[column - 1 : column]
        if len(named) != 1:
            which = " and ".join(named) or "no group"
            hint = 'say it in the scenario: groups = { easy = ["train/easy-*"], … }, or after the name in the instance file'
            raise InputError(f"the instance {instance.name} is in {which}", hint=hint)
        found.setdefault(named[0], []).append(instance.name)
    if empty := [group for group in scenario.groups if group not in found]:
        patterns = ", ".join(scenario.groups[empty[0]])
        raise InputError(f"no training instance is in the group {empty[0]}: {patterns}", hint="mend the pattern, or drop it")
    return found


def _matching(scenario: Scenario, name: str) -> list[str]:
    return [group for group, patterns in scenario.groups.items() if any(fnmatchcase(name, p) for p in patterns)]
