"""Results as pandas frames."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from capra.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from pandas import DataFrame

    from capra.tune import Result

__all__ = ["FRAMES", "frame_of"]

Rows = list[dict[str, Any]]


def frame_of(result: Result, what: str) -> DataFrame:
    """One of ``FRAMES``. InputError if pandas is not installed."""
    try:
        import pandas
    except ImportError:
        raise InputError("frames need pandas", hint="pip install 'capra[plots]'") from None
    if what not in FRAMES:
        raise InputError(f"unknown frame {what!r}", hint=did_you_mean(what, FRAMES) or f"one of {', '.join(FRAMES)}")
    rows = FRAMES[what](result)
    if what == "matrix":
        frame = pandas.DataFrame(rows, columns=["config", "instance", "cost"])
        return frame.pivot_table(index="config", columns="instance", values="cost", sort=False, dropna=False)
    return pandas.DataFrame(rows)


def _runs(result: Result) -> Rows:
    """One row per run, its parameters in columns ``param:NAME``."""
    history = result.history
    return [
        {
            "order": run.order,
            "config": run.request.config.id,
            "instance": run.request.instance,
            "seed": run.request.seed,
            "asked_by": run.asked_by,
            "finished": run.finished,
            **{key: str(value) if key == "status" else value for key, value in asdict(run.outcome).items()},
            "cost": history.objective.cost(run.outcome, history.kappa_max),
            "censored": history.objective.censored(run.outcome),
            **{f"param:{name}": value for name, value in run.request.config.items()},
        }
        for run in history
    ]


def _configurations(result: Result) -> Rows:
    rows = []
    for config in result.history.configurations:
        record = result.history.record(config)
        known = {"cost": record.mean, "at_least": record.at_least(result.history.objective), "pairs": len(record.costs)}
        rows.append({"config": config.id, **known, "capped": len(record.bounds), "wrong": record.wrong, **config})
    return rows


def _trajectory(result: Result) -> Rows:
    return [
        {"spent": one.spent, "wall": one.wall, "cost": one.cost, "config": one.config.id, **one.config}
        for one in result.trajectory
    ]


def _matrix(result: Result) -> Rows:
    return [
        {"config": config.id, "instance": instance or "", "cost": cost}
        for config, (instance, _), cost, censored in result.history.cells()
        if not censored
    ]


FRAMES: Mapping[str, Callable[[Result], Rows]] = {
    "runs": _runs,
    "configurations": _configurations,
    "trajectory": _trajectory,
    "matrix": _matrix,
}
