"""A tuning's folder, looked at from outside: where it stands, what it found, how it does on test instances."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from capra.errors import InputError
from capra.folder import CERTIFICATE, STORE, Milestone, milestones, stored_scenario
from capra.formats.plain import plain
from capra.repeats import Repeats
from capra.report.words import speed_up_of, standing
from capra.runs import Configuration, History, Run, Value
from capra.runs.store import Store
from capra.scenario import Scenario
from capra.strategies import BUILDERS
from capra.strategies.certificate import Certificate
from capra.targets import SurrogateTarget
from capra.targets.dialects import Call, make_dialect
from capra.tune import Result, Tuning
from capra.validate import STORE as VALIDATION
from capra.validate import Validated, validate
from capra.warmstart import KEPT

__all__ = [
    "command_of",
    "configuration_of",
    "is_portfolio",
    "load_history",
    "load_result",
    "load_scenario",
    "load_settings",
    "load_validation",
    "open_run",
    "status_of",
    "summary_of",
    "surrogate_of",
    "validate_run",
    "verdict_of",
]


def open_run(run: Path) -> Store:
    """The store of a tuning's folder, for reading."""
    path = run if run.is_file() else run / STORE
    if not path.is_file() or not _is_database(path):
        raise InputError(f"{run} holds no tuning", hint="give the folder that was given to `capra tune --out`")
    return Store.read(path)


def _is_database(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(16) == b"SQLite format 3\0"


def is_portfolio(run: Path) -> bool:
    """Was it a portfolio that the runs of a folder were made for?"""
    with open_run(run) as store:
        return store.meta["settings"].get("strategy") in BUILDERS


def load_scenario(run: Path) -> Scenario:
    """The scenario of a tuning's folder."""
    with open_run(run) as store:
        return stored_scenario(store)


def load_history(run: Path, scenario: Scenario) -> tuple[History, list[Milestone]]:
    """All runs of a tuning's folder, and its incumbents."""
    history = History(scenario.objective, scenario.cutoff)
    with open_run(run) as store:
        for told in store.runs():
            history.add(told)
        return history, milestones(store)


def load_settings(run: Path) -> dict[str, Any]:
    """How a tuning was started: strategy, seed, workers, options."""
    with open_run(run) as store:
        return dict(store.meta["settings"])


def load_validation(run: Path, scenario: Scenario) -> History | None:
    """The runs on test instances that validation has made so far; None if it was never begun."""
    path = (run.parent if run.is_file() else run) / VALIDATION
    if not path.is_file():
        return None
    history = History(scenario.objective, scenario.cutoff)
    with Store.read(path) as store:
        for told in store.runs():
            history.add(told)
    return history


def load_result(run: str | Path, scenario: Scenario | None = None) -> Result:
    """What a tuning has found so far, finished or not. ``scenario`` as in ``resume``."""
    place = Path(run)
    with open_run(place) as store:
        scenario, path, spent = stored_scenario(store, scenario), store.path, store.notes.get("spent", {})
        promised = [data for _, _, _, data in store.decisions(CERTIFICATE)]
    history, trajectory = load_history(place, scenario)
    incumbent = trajectory[-1].config if trajectory else scenario.default
    return Result(
        incumbent=dict(incumbent),
        cost=history.record(incumbent).estimate(scenario.objective),
        default_cost=history.record(scenario.default).estimate(scenario.objective),
        history=history,
        store=path,
        trajectory=trajectory,
        spent=history.spent + (spent.get("own", 0.0) if scenario.unit in ("cpu", "wall") else 0.0),
        certificate=Certificate.of(promised[-1]) if promised else None,
        scenario=scenario,
    )


def command_of(scenario: Scenario, config: Mapping[str, Value]) -> str:
    """The configuration as a command line to copy; INSTANCE is left for the user to fill in, and the seed is 1."""
    if not isinstance(scenario.target, tuple):
        return json.dumps(dict(config))
    call = Call(scenario.target, Configuration(config), "INSTANCE", "", seed=1, cutoff=scenario.cutoff)
    return shlex.join(make_dialect(scenario.dialect, scenario.renderer, scenario.output).argv(call))


def summary_of(result: Result) -> dict[str, Any]:
    """A result as plain data."""
    return {
        "incumbent": result.incumbent if result.trajectory else None,
        "cost": plain(result.cost) if result.trajectory else None,
        "pairs": len(result.history.record(Configuration(result.incumbent)).costs) if result.trajectory else 0,
        "default_cost": plain(result.default_cost),
        "spent": result.spent,
        "runs": len(result.history),
        "repeats": Repeats.of(result.history).summary(),
        "certificate": result.certificate.plain() if result.certificate else None,
        "store": str(result.store) if result.store else None,
    }


def surrogate_of(run: Path) -> SurrogateTarget:
    """A model of the target, fitted to the runs of a tuning."""
    scenario = load_scenario(run)
    return SurrogateTarget.of_history(scenario, load_history(run, scenario)[0])


def status_of(run: Path) -> dict[str, Any]:
    """Where a tuning stands."""
    from capra.analysis.homogeneity import homogeneity  # other commands start without it

    scenario = load_scenario(run)
    history, trajectory = load_history(run, scenario)
    with open_run(run) as store:
        notes = store.notes
        opened, in_use = len(store.open_leases()), store.in_use
        audits = [data["wrong"] for _, _, _, data in store.decisions("audit")]
        promised = [data for _, _, _, data in store.decisions(CERTIFICATE)]
        earlier = store.decision(*KEPT)
    spent = notes.get("spent", {})
    incumbent = trajectory[-1].config if trajectory else None
    record = history.record(incumbent) if incumbent else None
    shared, ratio = speed_up_of(history, incumbent, scenario.default) if incumbent else (0, None)
    alike = homogeneity(history, deterministic=scenario.deterministic)
    return {
        "name": scenario.name,
        "runs": len(history),
        "statuses": {str(status): count for status, count in history.statuses.items() if count},
        "under_way": opened if in_use else 0,
        "interrupted": 0 if in_use else opened,
        "target_time": history.spent,
        "continued_time": history.continued,
        "own_time": spent.get("own", 0.0),
        "wall": spent.get("wall", 0.0),
        "unit": scenario.unit,
        "budget": plain(scenario.budget),
        "id": incumbent.id if incumbent else None,
        "incumbent": dict(incumbent) if incumbent else None,
        "standing": standing(history, incumbent, scenario.default) if incumbent else None,
        "cost": plain(record.estimate(scenario.objective)) if record else None,
        "pairs": len(record.costs) if record else 0,
        "default_cost": plain(history.record(scenario.default).estimate(scenario.objective)),
        "warm_start": {key: len(earlier[key]) for key in ("incumbents", "cells")} if earlier else None,
        "shared_pairs": shared,
        "speed_up": ratio,
        "audited_rejections": {"checked": len(audits), "wrong": sum(audits)} if audits else None,
        "certificate": promised[-1] if promised else None,
        "homogeneity": alike.to_dict() if alike else None,
        "command": command_of(scenario, incumbent) if incumbent else None,
        "repeats": Repeats.of(history).summary(),
        "warnings": notes.get("warnings", []),
    }


def configuration_of(run: Path, prefix: str) -> dict[str, Any]:
    """One configuration of a tuning: by the beginning of its id, "default" or "incumbent"."""
    scenario = load_scenario(run)
    history, trajectory = load_history(run, scenario)
    named = {"default": scenario.default, "incumbent": trajectory[-1].config if trajectory else None}
    config = named.get(prefix) or _by_id(history, prefix)
    record = history.record(config)
    return {
        "id": config.id,
        "unit": scenario.unit,
        "config": dict(config),
        "command": command_of(scenario, config),
        "cost": plain(record.mean),
        "pairs": len(record.costs),
        "runs": [_told(told) for told in history if told.request.config == config],
    }


def _by_id(history: History, prefix: str) -> Configuration:
    found = [config for config in history.configurations if config.id.startswith(prefix)]
    if len(found) != 1:
        many = f"{len(found)} configurations begin" if found else "no configuration begins"
        raise InputError(f"{many} with {prefix!r}", hint="give more of the id, as `capra export` lists it")
    return found[0]


def _told(run: Run) -> dict[str, Any]:
    request, outcome = run.request, run.outcome
    return {
        "instance": request.instance,
        "seed": request.seed,
        "status": str(outcome.status),
        "time": outcome.time,
        "cutoff": plain(outcome.cutoff),
        "asked_by": run.asked_by,
        "reason": outcome.reason,
    }


def validate_run(
    run: Path,
    *,
    seeds: int = 5,
    trajectory: bool = False,
    watch: Callable[[Tuning], None] = lambda _: None,
    **how: Any,
) -> list[dict[str, Any]]:
    """The default and the incumbent (or every incumbent) of a tuning on its test instances, as plain rows.

    ``how``: workers, engine and the like, for ``validate``.
    """
    scenario = load_scenario(run)
    history, found = load_history(run, scenario)
    if not found:
        raise InputError(f"{run} has no incumbent yet", hint="let it run for a while")
    named = {"default": scenario.default}
    if trajectory:
        named |= {f"incumbent {i}": milestone.config for i, milestone in enumerate(found[:-1], start=1)}
    named |= {"incumbent": found[-1].config}
    unique = {config: name for name, config in reversed(named.items())}
    configs = [config for config in dict.fromkeys(named.values())]
    results = validate(scenario, configs, seeds=seeds, out=run, watch=watch, **how)
    since = {milestone.config: milestone for milestone in reversed(found)}
    return [_row(unique[result.config], result, history, since.get(result.config)) for result in results]


def _row(name: str, result: Validated, history: History, since: Milestone | None) -> dict[str, Any]:
    record = history.record(result.config)
    return {
        "name": name,
        "config": dict(result.config),
        "cost": plain(result.cost),
        "interval": plain(result.interval),
        "solved": result.solved,
        "runs": result.runs,
        "p_value": result.p_value,
        "training_cost": plain(record.mean),
        "training_pairs": len(record.costs),
        "incumbent_since": since.spent if since else None,
        "training_cost_then": plain(since.cost) if since else None,
        "of_speed": history.objective.of_speed,
    }


def verdict_of(rows: list[dict[str, Any]]) -> str:
    """The result in one sentence; an incumbent that validation does not bear out is not recommended."""
    default, incumbent = rows[0], rows[-1]
    if default is incumbent:
        return "the default is the best that was found: keep it"
    before, after = default["cost"], incumbent["cost"]
    if before is None or after is None:
        failed = "the incumbent" if after is None else "the default"
        return (
            f"{failed} has runs without a result on the test instances, so that the two cannot be compared: set crash_cost"
        )
    if after >= before:
        times = f"{after / before:.3g} times the default's cost" if before > 0 else f"{after:.4g} against {before:.4g}"
        return f"on test instances the incumbent is worse ({times}): keep the default"
    sure = "" if (incumbent["p_value"] or 1.0) < 0.05 else ", but that may be chance: validate with more seeds"
    if after > 0 and incumbent["of_speed"]:
        return f"{before / after:.3g} times as fast as the default on the test instances{sure}"
    return f"better than the default on the test instances ({after:.4g} against {before:.4g}){sure}"
