"""ASlib folders: every configuration is an algorithm, every seed a repetition.

Capped runs have the runstatus ``other``: how long they would have taken is not known. Cells that were never run are left
out, so tools that need a full matrix need a store that has one (``capra validate``).
"""

from __future__ import annotations

import json
import math
import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from capra.errors import FormatError, InputError
from capra.runs.arff import arff_cell, arff_head, arff_rows
from capra.runs.configuration import Configuration
from capra.runs.foreign import best_runs, objective_of, read_lines, replacing
from capra.runs.outcome import Outcome, Run, Status
from capra.runs.reader import Reader
from capra.runs.request import RunRequest

__all__ = ["read_folder", "write_folder"]

_STATUS = {
    Status.SUCCESS: "ok",
    Status.TIMEOUT: "timeout",
    Status.MEMOUT: "memout",
    Status.CRASHED: "crash",
    Status.WRONG: "crash",
    Status.CAPPED: "other",
}
_WORDS = {"ok": Status.SUCCESS, "timeout": Status.TIMEOUT, "memout": Status.MEMOUT}
NO_INSTANCE = "none"
"""The instance_id of targets without instances."""


# --- writing ---


def write_folder(store: Reader, path: Path) -> None:
    """description.txt, algorithm_runs.arff and, if meta has ``features`` {names, rows}, feature_values.arff."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise InputError(f"{path} exists already", hint="an ASlib scenario is a new folder")
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    runs = best_runs(store)
    objective, kappa_max = objective_of(store)
    measure = "quality" if objective.kind == "quality" else "runtime"
    draft.mkdir(parents=True)
    try:
        features = store.meta.get("features") or {"names": [], "rows": {}}
        _write_runs(draft / "algorithm_runs.arff", path.name, runs, measure)
        if features["names"]:
            _write_features(draft / "feature_values.arff", path.name, features)
        with replacing(draft / "description.txt") as file:
            file.write(_yaml(_description(path.name, runs, measure, kappa_max, features["names"])))
        os.replace(draft, path)
    finally:
        for left in draft.glob("*") if draft.exists() else ():
            left.unlink()
        if draft.exists():
            draft.rmdir()


def _write_runs(path: Path, name: str, runs: Sequence[Run], measure: str) -> None:
    seeds: dict[tuple[str, str | None], list[int]] = defaultdict(list)
    with replacing(path) as file:
        head = ("instance_id STRING", "repetition NUMERIC", "algorithm STRING", f"{measure} NUMERIC")
        status = "runstatus {ok, timeout, memout, not_applicable, crash, other}"
        file.write(arff_head(f"ALGORITHM_RUNS_{name}", [*head, status]))
        for run in runs:
            request, outcome = run.request, run.outcome
            tried = seeds[request.config.id, request.instance]
            tried.append(request.seed)
            value = outcome.time if measure == "runtime" else outcome.quality
            cells = (request.instance or NO_INSTANCE, len(tried), request.config.id, value, _STATUS[outcome.status])
            file.write(",".join(map(arff_cell, cells)) + "\n")


def _write_features(path: Path, name: str, features: Mapping[str, Any]) -> None:
    with replacing(path) as file:
        columns = [f"{arff_cell(feature)} NUMERIC" for feature in features["names"]]
        file.write(arff_head(f"FEATURE_VALUES_{name}", ["instance_id STRING", "repetition NUMERIC", *columns]))
        for instance, values in features["rows"].items():
            file.write(",".join(map(arff_cell, (instance, 1, *values))) + "\n")


def _description(name: str, runs: Sequence[Run], measure: str, kappa: float, features: Sequence[str]) -> dict[str, Any]:
    configs = {run.request.config.id: run.request.config for run in runs}
    algorithms = {
        key: {"configuration": " ".join(f"{name}={value}" for name, value in config.items()), "deterministic": False}
        for key, config in configs.items()
    }
    return {
        "scenario_id": name,
        "performance_measures": [measure],
        "maximize": [False],
        "performance_type": ["runtime" if measure == "runtime" else "solution_quality"],
        "algorithm_cutoff_time": kappa if math.isfinite(kappa) else "?",
        "algorithm_cutoff_memory": "?",
        "features_cutoff_time": "?",
        "features_cutoff_memory": "?",
        "features_deterministic": list(features),
        "features_stochastic": [],
        "number_of_feature_steps": 1,
        "feature_steps": {"all": {"provides": list(features)}},
        "default_steps": ["all"],
        "metainfo_algorithms": algorithms,
    }


def _yaml(data: Mapping[str, Any]) -> str:
    """Top-level keys on lines of their own, values as JSON, which YAML contains."""
    return "".join(f"{key}: {json.dumps(value)}\n" for key, value in data.items())


# --- reading ---


def read_folder(path: Path, cutoff: float) -> Iterator[Run]:
    """Runs of algorithm_runs.arff: the configuration is {"algorithm": name}, the seed is the repetition."""
    bound = _cutoff_of(path / "description.txt", cutoff)
    file = path / "algorithm_runs.arff"
    rows = arff_rows(file)
    columns = _columns(next(rows)[1], file)
    for order, (number, cells) in enumerate(rows, start=1):
        try:
            row = dict(zip(columns, cells, strict=True))
            run = _run(row, columns[3], order, bound)
        except (InputError, KeyError, ValueError, IndexError, OverflowError) as error:
            raise FormatError(f"is not a run: {error}", path=file, line=number) from None
        yield run


def _columns(names: Sequence[str], path: Path) -> list[str]:
    """Instance, repetition and algorithm may be written in any case."""
    if len(names) < 5:
        raise FormatError("has no @DATA with instance, repetition, algorithm, measure and runstatus", path=path)
    return [*(name.lower() for name in names[:3]), *names[3:]]


def _cutoff_of(path: Path, cutoff: float) -> float:
    for number, line in read_lines(path):
        if found := re.match(r"algorithm_cutoff_time\s*:\s*['\"]?([^'\"#\s]+)", line):
            try:
                return cutoff if found[1] == "?" else float(found[1])
            except ValueError:
                raise FormatError(f"the cutoff is a number, not {found[1]}", path=path, line=number) from None
    return cutoff


def _run(row: Mapping[str, str], measure: str, order: int, cutoff: float) -> Run:
    status = _WORDS.get(row["runstatus"], Status.CRASHED)
    value = None if row[measure] == "?" else float(row[measure])
    time = 0.0 if value is None else value
    if status is Status.TIMEOUT or (status is Status.SUCCESS and value is None):
        status, time = Status.TIMEOUT, cutoff if math.isfinite(cutoff) else time
    bound = time if status.censored else cutoff
    reason = None if status is Status.SUCCESS else f"runstatus {row['runstatus']}"
    outcome = Outcome(status, min(time, bound), bound, value, reason=reason, backend="aslib")
    request = RunRequest(Configuration({"algorithm": row["algorithm"]}), row["instance_id"], int(row["repetition"]), bound)
    return Run(request, outcome, "", order)
