"""Runs made elsewhere become a tuning's folder: to look at, export, validate or start from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from capra.errors import InputError, SpaceError, did_you_mean
from capra.folder import STORE, open_store
from capra.runs import History, Run
from capra.runs.exchange import add_runs, import_runs
from capra.scenario import Scenario

__all__ = ["import_folder", "kind_of"]

ASKED_BY = "import"
"""Who asked for an imported run; also the name of the strategy that a folder of them has."""


def kind_of(path: Path) -> str:
    """The format that a file's name suggests."""
    if path.is_dir():
        return "aslib"
    if not path.exists():
        raise InputError(f"{path} is not there", hint="give the file (for aslib: the folder) with the runs")
    kinds = {".jsonl": "jsonl", ".csv": "csv", ".json": "smac"}
    if path.suffix not in kinds:
        raise InputError(f"{path} may be anything", hint="say what it is: --from jsonl, csv, smac or aslib")
    return kinds[path.suffix]


def import_folder(path: Path, kind: str, scenario: Scenario, out: Path) -> int:
    """Make the folder ``out`` with the runs of a file; how many. Nothing is left behind if one of them cannot be used.

    Every configuration must be one of the scenario's space and every instance one of its instances. The configuration with
    the most pairs, and among those the lowest cost, is taken for the incumbent.
    """
    if (out / STORE).exists():
        raise InputError(f"{out} holds a tuning already", hint="choose another folder")
    names: set[str | None] = {instance.name for instance in (*scenario.instances, *scenario.test_instances)} or {None}
    runs = [_fitting(run, scenario, names) for run in import_runs(path, kind, cutoff=scenario.cutoff)]
    history = History(scenario.objective, scenario.cutoff)
    with open_store(scenario, {"strategy": ASKED_BY, "engine": "none", "options": {}}, out) as store:
        count = add_runs(store, runs)
        for run in runs:
            history.add(run)
        if (best := history.best()) is not None:
            record = history.record(best)
            found = {"config": dict(best), "cost": record.mean, "spent": history.spent, "wall": 0.0, "evaluations": count}
            store.decide("incumbent", "0", found)
    return count


def _fitting(run: Run, scenario: Scenario, names: set[str | None]) -> Run:
    instance = run.request.instance
    try:
        config = scenario.space.configuration(run.request.config)
    except SpaceError as error:
        raise InputError(f"run {run.order} is not of this scenario's space: {error}") from None
    if instance not in names:
        hint = did_you_mean(str(instance), map(str, names))
        raise InputError(f"run {run.order} is on an unknown instance {instance!r}", hint=hint)
    return replace(run, request=replace(run.request, config=config), asked_by=ASKED_BY)
