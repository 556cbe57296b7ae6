"""ASlib scenarios: algorithm-selection data of the community, read whole and written back.

What others stumble over: measures given as a word instead of a list; several repetitions of a cross-validation in one file
(only one is used); ``?`` for missing numbers; feature steps that cost time, fail, or solve the instance themselves.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from capra.errors import FormatError, InputError
from capra.models.base import Floats
from capra.portfolio.description import read_description
from capra.portfolio.records import Indices, Records
from capra.runs.arff import Table, arff_cell, arff_head, read_arff
from capra.runs.foreign import replacing

__all__ = ["AslibScenario", "read_aslib", "write_aslib"]

RUN_STATUS = ("ok", "timeout", "memout", "not_applicable", "crash", "other")
FEATURE_STATUS = ("ok", "timeout", "memout", "presolved", "crash", "other", "unknown")


@dataclass(frozen=True, slots=True, eq=False)
class AslibScenario:
    """A scenario's runs, features and folds; rows of ``records`` are ``instances``, columns are ``algorithms``."""

    name: str
    instances: tuple[str, ...]
    algorithms: tuple[str, ...]
    features: tuple[str, ...]
    records: Records
    folds: Indices
    """(n,): the test fold of each instance, from 1; 0 everywhere if the scenario has none."""
    commands: Mapping[str, str] = field(default_factory=dict)
    """What each algorithm is called with, where the description says it."""


# --- reading ---


def read_aslib(path: Path, *, repetition: int = 1) -> AslibScenario:
    """The scenario in a folder, with the folds of one ``repetition`` of its cross-validation.

    FormatError with file and line where a file is not what ASlib asks for. Features of the default steps only, since only
    they are paid for; what a step provides is missing where it failed.
    """
    if not (path / "description.txt").is_file():
        raise InputError(f"{path} is not an ASlib scenario", hint="a folder with description.txt and algorithm_runs.arff")
    about = read_description(path / "description.txt")
    cutoff = _check_kind(about, path / "description.txt")
    instances, algorithms, runs = _read_runs(path / "algorithm_runs.arff", cutoff)
    index = {name: i for i, name in enumerate(instances)}
    steps = _steps(about, path / "description.txt")
    names, values = _read_features(path / "feature_values.arff", index, steps)
    cost, presolved = _read_steps(path, index, steps)
    records = Records.of(values, *runs, cutoff, feature_cost=cost, presolved=presolved)
    folds = _read_folds(path / "cv.arff", index, repetition)
    commands = {name: str((info or {}).get("configuration") or "") for name, info in _algorithms(about)}
    return AslibScenario(str(about.get("scenario_id", path.name)), instances, algorithms, names, records, folds, commands)


def _listed(value: Any) -> list[Any]:
    """A list, also where a file has a single word instead."""
    return value if isinstance(value, list) else [] if value in (None, "?") else [value]


def _algorithms(about: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    found = about.get("metainfo_algorithms")
    return (
        ((name, info if isinstance(info, dict) else None) for name, info in found.items()) if isinstance(found, dict) else ()
    )


def _check_kind(about: Mapping[str, Any], path: Path) -> float:
    """The cutoff of a scenario that minimises runtime."""
    kinds, maximize = _listed(about.get("performance_type")), _listed(about.get("maximize"))
    if kinds[:1] != ["runtime"]:
        raise FormatError(f"performance_type is {kinds[:1]}", path=path, hint="selection is for scenarios of runtime")
    if maximize and str(maximize[0]).lower() not in ("false", "0"):
        raise FormatError("a runtime that is to be maximised", path=path, hint="maximize must be false")
    cutoff = about.get("algorithm_cutoff_time")
    if isinstance(cutoff, bool) or not isinstance(cutoff, int | float) or not 0 < cutoff < math.inf:
        raise FormatError(f"algorithm_cutoff_time is {cutoff!r}", path=path, hint="it must be a positive number of seconds")
    return float(cutoff)


def _read_runs(path: Path, cutoff: float) -> tuple[tuple[str, ...], tuple[str, ...], tuple[Floats, Any]]:
    """Names of instances and algorithms, then times and what was solved.

    Of several repetitions the first counts; a cell without a run has not been solved.
    """
    table = read_arff(path)
    at = _columns(table, "instance_id", "repetition", "algorithm", "runstatus")
    measure = next((j for j in range(len(table.columns)) if j not in at), None)
    if measure is None:
        raise FormatError("has no column with the runtime", path=path)
    cells: dict[tuple[str, str], tuple[float, float, bool]] = {}
    for row, line in zip(table.rows, table.lines, strict=True):
        instance, repetition, algorithm, status = (row[j] for j in at)
        if status not in RUN_STATUS:
            raise FormatError(f"unknown runstatus {status!r}", path=path, line=line, hint="one of " + ", ".join(RUN_STATUS))
        time = _number(row[measure], path, line)
        if status == "ok" and time < 0.0:
            raise FormatError(f"a run of {time} seconds", path=path, line=line)
        solved = status == "ok" and time <= cutoff  # NaN is not
        run = (_number(repetition, path, line), time if solved else cutoff, solved)
        cells[instance, algorithm] = min(run, cells.get((instance, algorithm), run))
    if not cells:
        raise FormatError("has no runs", path=path)
    instances, algorithms = (tuple(dict.fromkeys(key[part] for key in cells)) for part in (0, 1))
    never = (0.0, cutoff, False)
    grid = np.array([[cells.get((i, a), never)[1:] for a in algorithms] for i in instances], dtype=np.float64)
    return instances, algorithms, (grid[:, :, 0], grid[:, :, 1] > 0.0)


def _columns(table: Table, *names: str) -> list[int]:
    """Where the named columns stand, whatever the case they are written in."""
    lower = [column.lower() for column in table.columns]
    missing = [name for name in names if name not in lower]
    if missing:
        raise FormatError(f"has no column {missing[0]}", path=table.path, hint=f"columns: {', '.join(table.columns[:10])}")
    return [lower.index(name) for name in names]


def _number(text: str, path: Path, line: int) -> float:
    if text == "?":
        return math.nan
    try:
        value = float(text)
    except ValueError:
        raise FormatError(f"{text[:40]!r} is not a number", path=path, line=line) from None
    return value if math.isfinite(value) else math.nan


def _steps(about: Mapping[str, Any], path: Path) -> dict[str, frozenset[str]]:
    """What each default step provides, in the order they are computed; older files list features under the step itself."""
    steps = about.get("feature_steps")
    steps = steps if isinstance(steps, dict) else {}
    provided = {}
    for name in map(str, _listed(about.get("default_steps")) or steps):
        if name not in steps:
            raise FormatError(f"the default step {name!r} is not among the feature_steps", path=path)
        found = steps[name]
        provided[name] = frozenset(map(str, _listed(found.get("provides") if isinstance(found, dict) else found)))
    return provided


def _rows_of(table: Table, index: Mapping[str, int], skip: list[int]) -> Iterable[tuple[int, int, list[str]]]:
    """Row and line of the instances that have runs; the others (test sets, leftovers) are passed over."""
    instance = skip[0]
    for row, line in zip(table.rows, table.lines, strict=True):
        if row[instance] in index:
            yield index[row[instance]], line, row


def _read_features(
    path: Path, index: Mapping[str, int], steps: Mapping[str, frozenset[str]]
) -> tuple[tuple[str, ...], Floats]:
    """Names and values (n, f), averaged over repetitions, of what the default steps provide."""
    table = read_arff(path)
    skip = _columns(table, "instance_id", "repetition")
    wanted = set().union(*steps.values()) or set(table.columns)
    columns = [j for j, name in enumerate(table.columns) if j not in skip and name in wanted]
    return tuple(table.columns[j] for j in columns), _averaged(table, index, skip, columns)


def _averaged(table: Table, index: Mapping[str, int], skip: list[int], columns: list[int]) -> Floats:
    """Means over repetitions of numeric columns, (n, columns); NaN where there is no number."""
    sums, counts = (np.zeros((len(index), len(columns))) for _ in range(2))
    for i, line, row in _rows_of(table, index, skip):
        values = np.array([_number(row[j], table.path, line) for j in columns])
        known = ~np.isnan(values)
        sums[i, known] += values[known]
        counts[i] += known
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _read_steps(path: Path, index: Mapping[str, int], steps: Mapping[str, frozenset[str]]) -> tuple[Floats, Any]:
    """What the default steps took for each instance, up to the one that solved it; and whether one did."""
    names = list(steps)
    presolved = np.zeros((len(index), len(names)), dtype=np.bool_)
    if (path / "feature_runstatus.arff").exists():
        table = read_arff(path / "feature_runstatus.arff")
        skip = _columns(table, "instance_id", "repetition")
        at = {name: table.columns.index(name) for name in names if name in table.columns}
        for i, line, row in _rows_of(table, index, skip):
            if bad := {row[j] for j in at.values()} - {*FEATURE_STATUS, "?"}:
                raise FormatError(f"unknown runstatus {min(bad)!r}", path=table.path, line=line)
            presolved[i] |= [name in at and row[at[name]] == "presolved" for name in names]
    cost = np.zeros((len(index), len(names)))
    if (path / "feature_costs.arff").exists():
        table = read_arff(path / "feature_costs.arff")
        skip = _columns(table, "instance_id", "repetition")
        columns = [table.columns.index(name) if name in table.columns else -1 for name in names]
        given = [j for j in columns if j >= 0]
        cost[:, [j >= 0 for j in columns]] = np.nan_to_num(_averaged(table, index, skip, given))
    before: Any = np.cumsum(presolved, axis=1) - presolved == 0  # steps after the one that solved it are not computed
    return np.maximum(cost * before, 0.0).sum(axis=1), presolved.any(axis=1)


def _read_folds(path: Path, index: Mapping[str, int], repetition: int) -> Indices:
    """Of one repetition: 10 × 10 folds mixed would test on instances that were trained on."""
    folds = np.zeros(len(index), dtype=np.int64)
    if not path.exists():
        return folds
    table = read_arff(path)
    at = _columns(table, "instance_id", "repetition", "fold")
    for i, line, row in _rows_of(table, index, at):
        given = _number(row[at[1]], path, line), _number(row[at[2]], path, line)
        if given[0] != repetition:
            continue
        if not (given[1] >= 1 and given[1] == int(given[1])):
            raise FormatError(f"the fold {row[at[2]]!r} is not a whole number from 1", path=path, line=line)
        if folds[i] not in (0, given[1]):
            raise FormatError(f"{row[at[0]]} is in two folds of repetition {repetition}", path=path, line=line)
        folds[i] = int(given[1])
    if np.any(folds == 0):
        missing = next(name for name, i in index.items() if folds[i] == 0)
        raise FormatError(f"{missing} is in no fold of repetition {repetition}", path=path, hint="repetitions count from 1")
    return folds


# --- writing ---


def write_aslib(scenario: AslibScenario, path: Path) -> None:
    """A new folder that ``read_aslib`` and other tools read. A capped run gets the status ``other``."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise InputError(f"{path} exists already", hint="an ASlib scenario is a new folder")
    path.mkdir(parents=True, exist_ok=True)
    records = scenario.records
    _write(
        path, "algorithm_runs", ["algorithm STRING", "runtime NUMERIC", _nominal("runstatus", RUN_STATUS)], _runs(scenario)
    )
    columns = [f"{arff_cell(name)} NUMERIC" for name in scenario.features]
    _write(path, "feature_values", columns, zip(scenario.instances, records.features.tolist(), strict=True))
    status = [["presolved" if done else "ok"] for done in records.presolved]
    _write(path, "feature_runstatus", [_nominal("all", FEATURE_STATUS)], zip(scenario.instances, status, strict=True))
    costs = [[cost] for cost in records.feature_cost.tolist()]
    _write(path, "feature_costs", ["all NUMERIC"], zip(scenario.instances, costs, strict=True))
    if scenario.folds.any():
        folds = [[fold] for fold in scenario.folds.tolist()]
        _write(path, "cv", ["fold NUMERIC"], zip(scenario.instances, folds, strict=True))
    with replacing(path / "description.txt") as file:  # last: a folder without it is no scenario
        file.writelines(f"{key}: {json.dumps(value)}\n" for key, value in _description(scenario).items())


def _nominal(name: str, words: tuple[str, ...]) -> str:
    return f"{name} {{{', '.join(words)}}}"


def _write(path: Path, name: str, columns: list[str], rows: Iterable[tuple[str, list[Any]]]) -> None:
    with replacing(path / f"{name}.arff") as file:
        file.write(arff_head(name.upper(), ["instance_id STRING", "repetition NUMERIC", *columns]))
        file.writelines(",".join(map(arff_cell, (instance, 1, *cells))) + "\n" for instance, cells in rows)


def _runs(scenario: AslibScenario) -> Iterable[tuple[str, list[Any]]]:
    records = scenario.records
    for i, instance in enumerate(scenario.instances):
        for j, algorithm in enumerate(scenario.algorithms):
            status = "ok" if records.solved[i, j] else "other" if records.capped[i, j] else "timeout"
            yield instance, [algorithm, float(records.times[i, j]), status]


def _description(scenario: AslibScenario) -> dict[str, Any]:
    return {
        "scenario_id": scenario.name,
        "performance_measures": ["runtime"],
        "maximize": [False],
        "performance_type": ["runtime"],
        "algorithm_cutoff_time": scenario.records.cutoff,
        "algorithm_cutoff_memory": "?",
        "features_cutoff_time": "?",
        "features_cutoff_memory": "?",
        "number_of_feature_steps": 1,
        "feature_steps": {"all": {"provides": list(scenario.features)}},
        "default_steps": ["all"],
        "features_deterministic": list(scenario.features),
        "features_stochastic": [],
        "metainfo_algorithms": {
            name: {"configuration": scenario.commands.get(name, ""), "deterministic": True} for name in scenario.algorithms
        },
    }
