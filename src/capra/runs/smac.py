"""SMAC3's ``runhistory.json``.

SMAC3 2.x knows no capped runs: ours are written as TIMEOUT with the bound as cost, and ``additional_info`` says what they
are. It keeps one result per (configuration, instance, seed), so the most informative one is written. Read are the forms
of 2.3 and later (objects), 2.0 to 2.2 (lists) and 1.4 (pairs of lists). None of them holds cutoffs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from capra.errors import FormatError, InputError
from capra.runs.configuration import Configuration
from capra.runs.foreign import best_runs, configuration, objective_of, read_whole
from capra.runs.outcome import Outcome, Run, Status
from capra.runs.reader import Reader
from capra.runs.request import RunRequest

__all__ = ["read", "write"]

_NUMBERS = {
    Status.SUCCESS: 1,
    Status.CRASHED: 2,
    Status.WRONG: 2,
    Status.TIMEOUT: 3,
    Status.CAPPED: 3,
    Status.MEMOUT: 4,
}
_WORDS = {
    0: None,
    1: Status.SUCCESS,
    2: Status.CRASHED,
    3: Status.TIMEOUT,
    4: Status.MEMOUT,
    "SUCCESS": Status.SUCCESS,
    "TIMEOUT": Status.TIMEOUT,
    "CRASHED": Status.CRASHED,
    "ABORT": Status.CRASHED,
    "MEMOUT": Status.MEMOUT,
    "CAPPED": Status.CAPPED,
    "DONOTADVANCE": Status.SUCCESS,
    "STOP": None,
    "RUNNING": None,
}
"""None: not a result."""


def write(store: Reader, file: TextIO) -> None:
    """The form of SMAC3 2.4, which its own ``RunHistory.load`` and DeepCAVE read."""
    objective, kappa_max = objective_of(store)
    runs = best_runs(store)
    numbers: dict[str, int] = {}
    configs: dict[str, Any] = {}
    origins: dict[str, str | None] = {}
    data = []
    for run in runs:
        config = run.request.config
        number = numbers.setdefault(config.id, len(numbers) + 1)
        configs.setdefault(str(number), dict(config))
        origins.setdefault(str(number), run.asked_by or None)
        data.append(_entry(run, number, objective.cost(run.outcome, kappa_max)))
    stats = {"submitted": len(data), "finished": len(data), "running": 0}
    json.dump({"stats": stats, "data": data, "configs": configs, "config_origins": origins}, file, indent=2)


def _entry(run: Run, number: int, cost: float) -> dict[str, Any]:
    outcome = run.outcome
    wall = outcome.time if outcome.wall is None else outcome.wall
    told = {"status": str(outcome.status), "time": outcome.time, "cutoff": outcome.cutoff, "quality": outcome.quality}
    return {
        "config_id": number,
        "instance": run.request.instance,
        "seed": run.request.seed,
        "budget": None,
        "cost": cost,
        "time": wall,
        "cpu_time": outcome.time if outcome.cpu is None else outcome.cpu,
        "status": _NUMBERS[outcome.status],
        "starttime": max(0.0, run.finished - wall),
        "endtime": run.finished,
        "additional_info": {"capra": told},
    }


def read(path: Path, cutoff: float) -> Iterator[Run]:
    """Finished runs; ``cutoff`` is κ_max, which the file does not tell. The cost is kept as the runs' quality."""
    data = _load(path)
    try:
        configs = {key: configuration(values) for key, values in data["configs"].items()}
    except InputError as error:
        raise FormatError(error.message, path=path) from None
    order, began = 0, None
    for place, entry in enumerate(data["data"], start=1):
        try:
            fields = _fields(entry)
            if (status := _status(fields["status"])) is None:
                continue
            began = fields["starttime"] if began is None else began
            request, outcome = _run(fields, status, configs[str(fields["config_id"])], cutoff)
            order, finished = order + 1, max(0.0, float(fields["endtime"]) - float(began))
        except (InputError, KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
            raise FormatError(f"entry {place} of data is not a run: {error}", path=path) from None
        yield Run(request, outcome, "", order, finished)


def _load(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(read_whole(path))
    except (ValueError, RecursionError) as error:
        raise FormatError(f"is not JSON: {error}", path=path, line=getattr(error, "lineno", None)) from None
    kinds = {"data": list, "configs": dict}
    if not isinstance(data, dict) or any(not isinstance(data.get(key), kind) for key, kind in kinds.items()):
        raise FormatError("is not a run history: it needs a list 'data' and an object 'configs'", path=path)
    return data


_LIST = "config_id instance seed budget cost time status starttime endtime additional_info".split()


def _fields(entry: Any) -> dict[str, Any]:
    if isinstance(entry, dict):
        return entry
    if len(entry) == 2:  # SMAC3 1.4
        return dict(zip(_LIST, [*entry[0], *entry[1]], strict=True))
    return dict(zip(_LIST, entry, strict=True))


def _status(value: Any) -> Status | None:
    if isinstance(value, dict):
        value = str(value["__enum__"]).removeprefix("StatusType.")
    return _WORDS[value]


def _run(fields: dict[str, Any], status: Status, config: Configuration, cutoff: float) -> tuple[RunRequest, Outcome]:
    instance, seed = fields["instance"], 0 if fields["seed"] is None else int(fields["seed"])
    told = (fields["additional_info"] or {}).get("capra")
    if told is None:
        outcome = _outcome(fields, status, cutoff)
    else:
        outcome = Outcome(Status(told["status"]), float(told["time"]), float(told["cutoff"]), told["quality"])
    return RunRequest(config, None if instance is None else str(instance), seed, outcome.cutoff), outcome


def _outcome(fields: dict[str, Any], status: Status, cutoff: float) -> Outcome:
    cost, time, cpu = float(fields["cost"]), float(fields["time"]), fields.get("cpu_time")
    if status is Status.TIMEOUT and math.isfinite(cutoff):
        time = cutoff
    bound = time if status.censored else max(time, cutoff)
    quality = None if math.isnan(cost) else cost
    return Outcome(status, time, bound, quality, cpu=None if cpu is None else float(cpu), backend="smac")
