"""Incumbents on the test instances. Those of real runs all in one batch, run after run in turn, so that they share the weather."""

from __future__ import annotations

import shutil
from typing import Any

import numpy as np

from benchmarks.peers.problems import WORK, Clasp, Spear
from benchmarks.peers.rows import Row, replace, rows
from capra.runs import Configuration
from capra.validate import Validated, validate

POINTS = 8
"""Incumbents of a tuning on its curve."""
FRESH = 2026
"""Seed of the test seeds: other than all seeds of tunings."""


def measured(configs: list[Configuration], seeds: int, name: str) -> dict[str, Validated]:
    """Every configuration, and the default, on the test instances with so many seeds; nothing of an earlier batch is kept."""
    clasp, place = Clasp(), WORK / "clasp" / name
    shutil.rmtree(place, ignore_errors=True)
    unique = {config.id: config for config in (clasp.problem.space.default, *configs)}
    found = validate(clasp.scenario(), list(unique.values()), seeds=seeds, seed=FRESH, out=place)
    return dict(zip(unique, found, strict=True))


def judge(seeds: int, *, finals: bool) -> None:
    """Writes the test cost into the rows: ``cost`` of the last incumbents, ``rough`` of the others (for the curves)."""
    kept = rows("clasp")
    moments = [moment for row in kept for moment in (row["incumbents"][-1:] if finals else thinned(row["incumbents"]))]
    found = measured([Configuration(moment["config"]) for moment in moments], seeds, "finals" if finals else "curves")
    for moment in moments:
        answer = found[Configuration(moment["config"]).id]
        moment["cost" if finals else "rough"] = answer.cost
        moment["runs_judged" if finals else "runs_rough"] = answer.runs
    default = next(iter(found.values()))
    for row in kept:
        row["default"] = default.cost
    replace("clasp", _merged(kept))
    print(f"default {default.cost:.4f} {default.interval}")
    for row in kept:
        print(row["tool"], row["seed"], described(row))


def judge_simulated(problem: str) -> None:
    """The same for tunings of SPEAR, every incumbent; rows are judged when they are made, this is for what was added since."""
    kept = rows(problem)
    for row in kept:
        spear = Spear(problem, row["seed"])
        for moment in row["incumbents"]:
            moment |= spear.judged(Configuration(moment["config"]))
    replace(problem, kept)


def thinned(moments: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first and the last, and at most so many between them, evenly over the logarithm of what was spent."""
    at = np.log([moment["target"] + moment["own"] + 0.1 for moment in moments])
    wanted = np.searchsorted(at, np.linspace(at[0], at[-1], POINTS))
    return [moments[i] for i in sorted({min(int(i), len(moments) - 1) for i in wanted})]


def _merged(kept: list[Row]) -> list[Row]:
    """With rows that were added in the meantime."""
    known = {(row["tool"], row["seed"]) for row in kept}
    return kept + [row for row in rows("clasp") if (row["tool"], row["seed"]) not in known]


def described(row: Row) -> dict[str, Any]:
    last = row["incumbents"][-1]
    return {key: round(last[key], 4) for key in ("cost", "rough", "target", "own") if key in last}
