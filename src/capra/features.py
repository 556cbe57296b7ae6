"""Features of instances that are not in a table: from the scenario's command, or from our own extractor for formulas."""

from __future__ import annotations

import copy
import csv
import io
import json
import math
from pathlib import Path
from typing import Any, NamedTuple

from capra.errors import FormatError, InputError, TargetError
from capra.formats import cnf
from capra.formats.instances import Features, read_features
from capra.formats.options import CNF
from capra.scenario import Scenario
from capra.targets.base import find_program
from capra.targets.supervisor import Facts, Job, Limits, clean_environment, run

__all__ = ["COSTS", "TABLE", "TIMES", "Described", "described", "extract", "feature_job", "read_answer"]

TABLE, COSTS = "features.csv", "feature_costs.csv"
LIMITS = Limits(cpu=60.0, head=1024**2, tail=1024**2)
"""For one instance: features that take longer are not worth it."""
TIMES = ("cpu", "wall")
"""Units in which the seconds of features can be counted."""


class Described(NamedTuple):
    """The features of one instance, and what they cost in seconds (CPU time of the command, or ours)."""

    values: dict[str, float]
    cost: float


def extract(scenario: Scenario, path: str) -> Described:
    """Compute the features of the instance in a file. TargetError if that fails."""
    if scenario.features.command != (CNF,):
        return read_answer(run(feature_job(scenario, path)), path)
    try:
        found = cnf.extract(path)
    except FormatError as error:
        raise TargetError(f"no features of {path}: {error}") from None
    return Described(dict(zip(cnf.NAMES, found.values, strict=True)), found.seconds)


def feature_job(scenario: Scenario, path: str) -> Job:
    """The command that computes the features of one instance. TargetError if there is none: they stood in a table."""
    if not scenario.features.command:
        raise TargetError(f"no features of {path}: nobody says how they are computed", hint="build with a feature command")
    first, *rest = scenario.features.command
    argv = [find_program(first, scenario), *(word.replace("{instance}", path) for word in rest)]
    return Job(argv, LIMITS, environment=clean_environment(scenario.environment), working=scenario.directory)


def read_answer(facts: Facts, path: str) -> Described:
    """What a feature command printed: its last line is a JSON object of numbers; null is a missing one."""
    lines = facts.stdout.text().strip().splitlines()
    if facts.exit_code != 0 or not lines:
        why = facts.start_error or facts.reason or facts.stderr.text().strip()[-200:] or f"exit code {facts.exit_code}"
        raise TargetError(f"no features of {path}: {why}", hint="run the command of the option features by hand")
    try:
        document = json.loads(lines[-1])
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise TargetError(f"no features of {path}: the last line is no JSON object", hint='print {"name": number, …}')
    return Described(_numbers(document, path), facts.cpu)


def _numbers(document: Any, path: str) -> dict[str, float]:
    found = {}
    for name, value in dict(document).items():
        number = math.nan if value is None else value
        if isinstance(number, bool) or not isinstance(number, int | float) or math.isinf(number):
            raise TargetError(f"the feature {name} of {path} is {value!r}, which is no finite number")
        found[str(name)] = float(number)
    if not found:
        raise TargetError(f"there are no features of {path}")
    return found


def described(scenario: Scenario, folder: Path | None) -> tuple[Scenario, dict[str, float]]:
    """The scenario with a table of features in place of a command, and what each instance's features cost in its unit.

    The table is kept in ``folder``; what is in it already is not computed again. Where the unit is no time they are free.
    """
    if not scenario.features.command:
        return scenario, {}
    if folder is None:
        raise InputError("features that are computed need a folder", hint="give out=…")
    folder.mkdir(parents=True, exist_ok=True)
    known = read_features(folder / TABLE).rows if (folder / TABLE).exists() else {}
    costs = dict(read_features(folder / COSTS).rows) if (folder / COSTS).exists() else {}
    names = read_features(folder / TABLE).names if known else ()
    rows = {name: dict(zip(names, row, strict=True)) for name, row in known.items() if name in costs}
    for instance in (*scenario.instances, *scenario.test_instances):
        if instance.name not in rows:
            values, cost = extract(scenario, scenario.path_of(instance.name))
            rows[instance.name], costs[instance.name] = values, (cost,)
            _keep(folder, rows, costs)
    table, found = read_features(folder / TABLE), copy.copy(scenario)
    object.__setattr__(found, "features", Features(table.names, table.rows, scenario.features.command))
    return found, {name: cost for name, (cost,) in costs.items() if scenario.unit in TIMES}


def _keep(folder: Path, rows: dict[str, dict[str, float]], costs: dict[str, tuple[float, ...]]) -> None:
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    table = [[instance, *(row.get(name, math.nan) for name in names)] for instance, row in rows.items()]
    _write(folder / COSTS, ["instance", "seconds"], [[name, *cost] for name, cost in costs.items()])
    _write(folder / TABLE, ["instance", *names], table)


def _write(path: Path, header: list[str], rows: list[list[Any]]) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    for row in rows:
        writer.writerow(["?" if isinstance(cell, float) and math.isnan(cell) else cell for cell in row])
    part = path.with_suffix(".part")
    part.write_text(text.getvalue())
    part.replace(path)
