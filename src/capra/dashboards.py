"""A tuning's runs for the dashboards of others: DeepCAVE and optuna-dashboard.

Neither knows instances: both show one value per configuration. It is the mean cost of its complete runs; a configuration
that was only ever capped has none, and is written as stopped (TIMEOUT, PRUNED).
"""

from __future__ import annotations

import json
import math
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from capra.errors import InputError
from capra.overview import load_history, load_scenario, load_settings, open_run
from capra.runs import Configuration
from capra.runs.exchange import KINDS, export_store
from capra.scenario import Scenario
from capra.space import Categorical, Integer, Ordinal, Parameter
from capra.space.json import write_json

__all__ = ["DASHBOARDS", "export_run"]

DASHBOARDS = ("deepcave", "optuna")
_SUCCESS, _CRASHED, _TIMEOUT = 1, 2, 3
"""SMAC3's numbers."""


@dataclass(slots=True)
class _Trial:
    """What is known of one configuration, as a whole."""

    config: Configuration
    cost: float
    """Of complete runs; infinite where there is none."""
    at_least: float
    pairs: int
    capped: int
    wrong: bool
    time: float
    first: float
    last: float
    origin: str


def export_run(run: Path, out: Path, kind: str) -> None:
    """Writes a tuning for others: one of ``DASHBOARDS``, or of ``runs.exchange.KINDS``."""
    if kind not in DASHBOARDS:
        if kind not in KINDS:
            raise InputError(f"unknown kind of file {kind!r}", hint=f"one of {', '.join([*KINDS, *DASHBOARDS])}")
        with open_run(run) as store:
            export_store(store, out, kind)
        return
    scenario = load_scenario(run)
    if out.exists():
        raise InputError(f"{out} is already there", hint="choose another name, or remove it")
    (_write_deepcave if kind == "deepcave" else _write_optuna)(run, scenario, _trials(run, scenario), out)


def _trials(run: Path, scenario: Scenario) -> list[_Trial]:
    history, _ = load_history(run, scenario)
    found: dict[Configuration, _Trial] = {}
    for told in history:
        config, began = told.request.config, max(0.0, told.finished - (told.outcome.wall or told.outcome.time))
        record = history.record(config)
        trial = found.setdefault(
            config,
            _Trial(
                config,
                record.mean,
                record.at_least(history.objective) if record.known else math.inf,
                len(record.costs),
                len(record.bounds),
                record.wrong,
                0.0,
                began,
                told.finished,
                told.asked_by,
            ),
        )
        trial.time += told.outcome.time
        trial.first, trial.last = min(trial.first, began), max(trial.last, told.finished)
    return [trial for trial in found.values() if trial.pairs or trial.capped]


# --- DeepCAVE: the folder of a SMAC3 2.x run (configspace.json, scenario.json, runhistory.json) ---


def _write_deepcave(run: Path, scenario: Scenario, trials: list[_Trial], out: Path) -> None:
    draft = out.with_name(f".{out.name}.{os.getpid()}.part")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    try:
        (draft / "configspace.json").write_text(write_json(scenario.space))
        (draft / "scenario.json").write_text(json.dumps(_smac_scenario(run, scenario, len(trials)), indent=2))
        (draft / "runhistory.json").write_text(json.dumps(_runhistory(trials), indent=2))
        os.replace(draft, out)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _smac_scenario(run: Path, scenario: Scenario, trials: int) -> dict[str, Any]:
    settings = load_settings(run)
    return {
        "name": scenario.name or run.resolve().name,
        "objectives": f"cost ({scenario.objective})",
        "deterministic": scenario.deterministic,
        "n_trials": trials,
        "seed": settings.get("seed", 0),
        "strategy": settings.get("strategy"),
    }


def _runhistory(trials: list[_Trial]) -> dict[str, Any]:
    data = [_entry(number, trial) for number, trial in enumerate(trials, start=1)]
    return {
        "stats": {"submitted": len(data), "finished": len(data), "running": 0},
        "data": data,
        "configs": {str(number): dict(trial.config) for number, trial in enumerate(trials, start=1)},
        "config_origins": {str(number): trial.origin for number, trial in enumerate(trials, start=1)},
    }


def _entry(number: int, trial: _Trial) -> dict[str, Any]:
    complete = trial.pairs > 0 and math.isfinite(trial.cost)
    status = _CRASHED if trial.wrong or (trial.pairs and not complete) else _SUCCESS if complete else _TIMEOUT
    cost = trial.cost if complete else trial.at_least
    told = {"pairs": trial.pairs, "capped": trial.capped, "at_least": _finite(trial.at_least), "id": trial.config.id}
    return {
        "config_id": number,
        "instance": None,
        "seed": 0,
        "budget": None,
        "cost": _finite(cost),
        "time": trial.time,
        "cpu_time": trial.time,
        "status": status,
        "starttime": trial.first,
        "endtime": trial.last,
        "additional_info": {"capra": told},
    }


def _finite(cost: float) -> float:
    """Their JSON has no infinity."""
    return cost if math.isfinite(cost) else 1e300


# --- Optuna: a study in an SQLite file ---


def _write_optuna(run: Path, scenario: Scenario, trials: list[_Trial], out: Path) -> None:
    try:
        import optuna
    except ImportError:
        raise InputError("this export needs Optuna", hint="pip install 'capra[optuna]'") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    draft = out.with_name(f".{out.name}.{os.getpid()}.part")
    draft.unlink(missing_ok=True)
    out.parent.mkdir(parents=True, exist_ok=True)
    try:
        storage = optuna.storages.RDBStorage(f"sqlite:///{draft}")
        name = scenario.name or run.resolve().name
        study = optuna.create_study(storage=storage, study_name=name, direction="minimize")
        study.set_user_attr("capra:objective", str(scenario.objective))
        study.set_user_attr("capra:settings", load_settings(run))
        study.add_trials([_optuna_trial(optuna, scenario, trial) for trial in trials])
        storage.remove_session()
        storage.engine.dispose()
        os.replace(draft, out)
    finally:
        draft.unlink(missing_ok=True)


def _optuna_trial(optuna: Any, scenario: Scenario, trial: _Trial) -> Any:
    complete = trial.pairs > 0 and math.isfinite(trial.cost) and not trial.wrong
    state = optuna.trial.TrialState
    return optuna.trial.create_trial(
        state=state.COMPLETE if complete else state.FAIL if trial.pairs else state.PRUNED,
        value=trial.cost if complete else None,
        params={name: scenario.space[name].coerce(value) for name, value in trial.config.items()},
        distributions={name: _distribution(optuna, scenario.space[name]) for name in trial.config},
        user_attrs={
            "id": trial.config.id,
            "pairs": trial.pairs,
            "capped": trial.capped,
            "at_least": _finite(trial.at_least),
            "time": trial.time,
            "asked_by": trial.origin,
        },
        intermediate_values={} if complete or not trial.capped else {trial.capped: _finite(trial.at_least)},
    )


def _distribution(optuna: Any, parameter: Parameter) -> Any:
    kinds = optuna.distributions
    if isinstance(parameter, Categorical | Ordinal):
        return kinds.CategoricalDistribution(parameter.choices)
    low, high, log = parameter.lower, parameter.upper, parameter.log  # type: ignore[attr-defined]
    if isinstance(parameter, Integer):
        return kinds.IntDistribution(low, high, log=log)
    return kinds.FloatDistribution(low, high, log=log)
