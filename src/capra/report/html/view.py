"""A tuning as its report sees it: read from the store, and read on while the tuning goes on."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from capra.analysis.speedup import SpeedUp, speed_up
from capra.errors import CapraError, InputError
from capra.folder import BUDGET, CERTIFICATE, PRODUCT, Milestone, milestones, stored_scenario
from capra.overview import command_of, open_run
from capra.report.html.columns import Columns
from capra.report.html.estimate import Estimate, estimated
from capra.report.html.team import Measured, Team, measured, team_of
from capra.runs import Configuration, History, Objective, Run, Value
from capra.runs.bulk import bulk
from capra.runs.store import Store
from capra.scenario import Scenario
from capra.space import Categorical, Integer, Ordinal, Parameter, Real, Space
from capra.strategies import BUILDERS
from capra.validate import STORE as VALIDATION

__all__ = ["View"]

_KINDS: dict[str, Callable[..., Parameter]] = {
    "categorical": Categorical, "ordinal": Ordinal, "integer": Integer, "real": Real
}  # fmt: skip


class _News(NamedTuple):
    """What changes whenever there is something new."""

    accepted: int
    last: Run | None
    notes: dict[str, Any]
    trajectory: list[Milestone]
    under_way: int
    validated: object
    built: tuple[object, list[Any]]
    """The file of a portfolio, and the decisions about its members."""


class View:
    """What the sections of a report know. Nothing in it is written, and the files of the scenario may be gone.

    ``update`` takes in what is new in the store. A view belongs to the thread that made it.
    """

    def __init__(self, run: Path, *, live: bool = False) -> None:
        self.run = run
        self.live = live
        """Is it looked at again and again, while the tuning goes on?"""
        self._store = open_run(run)
        self.meta: Mapping[str, Any] = self._store.meta
        if "scenario" not in self.meta:
            self._store.close()
            raise InputError(f"{run} does not say what was tuned", hint="give the folder of a tuning or of an import")
        self.scenario: Mapping[str, Any] = self.meta["scenario"]
        """The resolved scenario as ``capra show --json`` has it."""
        self.objective = _objective(self.scenario)
        self.cutoff = _bound(self.scenario["cutoff"])
        self.space = Space([_parameter(data) for data in self.scenario["space"]["parameters"]])
        """The parameters; conditions are not needed to encode configurations that were run."""
        self._forget()

    def _forget(self) -> None:
        self.history = History(self.objective, self.cutoff)
        self.columns = Columns()
        self.validation: History | None = None
        self.default: Configuration | None = None
        """The default configuration; None if it was never run."""
        self.team: Team | None = None
        """The portfolio, if one is built."""
        self._looked = 0
        self._last: Run | None = None
        self._seen: _News | None = None

    # --- reading on ---

    def update(self) -> bool:
        """Take in what is new; was there anything?

        Runs are read from the last known one on. A tuning may take its last runs back (see ``Store.take_back``): where the
        last known one is not what it was, everything is read again.
        """
        news = self._news()
        if news == self._seen:
            return False
        if self._last is not None and next(self._store.runs(len(self.history) - 1), None) != self._last:
            self._forget()
        with bulk():
            for run in self._store.runs(len(self.history)):
                self.history.add(run)
                self.columns.add(run)
                self._last = run
        self._find_default()
        self.notes, self.trajectory, self.under_way = news.notes, news.trajectory, news.under_way
        self.decisions = {kind: [data for *_, data in self._store.decisions(kind)] for kind in ("audit", CERTIFICATE)}
        if self._seen is None or news.validated != self._seen.validated:
            self.validation = self._validated()
        if self._seen is None or news.built != self._seen.built:
            self.team = team_of(self.folder, news.built[1])
        self._seen = news
        for name in ("estimate", "measured"):
            self.__dict__.pop(name, None)
        return True

    def _news(self) -> _News:
        store = self._store
        accepted = store.accepted
        return _News(
            accepted,
            next(store.runs(accepted - 1), None) if accepted else None,
            store.notes,
            milestones(store),
            len(store.open_leases()),
            _stamp(self._validation_file),
            (_stamp(self.folder / PRODUCT), [data for *_, data in store.decisions("portfolio")]),
        )

    def close(self) -> None:
        self._store.close()

    @property
    def folder(self) -> Path:
        return self.run.parent if self.run.is_file() else self.run

    @property
    def _validation_file(self) -> Path:
        return self.folder / VALIDATION

    def _validated(self) -> History | None:
        if not self._validation_file.is_file() or self.run.name == VALIDATION:
            return None
        history = History(self.objective, self.cutoff)
        with Store.read(self._validation_file) as store:
            for run in store.runs():
                history.add(run)
        return history if len(history) else None

    # --- what it says ---

    @property
    def name(self) -> str:
        return str(self.scenario["name"] or self.folder.resolve().name)

    @property
    def unit(self) -> str:
        return str(self.scenario["unit"])

    @property
    def settings(self) -> Mapping[str, Any]:
        """How ``tune`` was called."""
        return self.meta.get("settings") or {}

    @property
    def builds(self) -> bool:
        """Is it a portfolio that the runs were made for?"""
        return self.settings.get("strategy") in BUILDERS

    @property
    def of_time(self) -> bool:
        """Is the time of a run what counts, rather than the quality of its answer?"""
        return self.objective.kind == "runtime"

    @property
    def of_speed(self) -> bool:
        """Is a ratio of costs a speed-up? Utilities and qualities are no times."""
        return self.objective.of_speed

    @property
    def budget(self) -> Mapping[str, float]:
        """The parts of the budget that have a limit."""
        given = self.notes.get(BUDGET) or self.scenario["budget"] or {}
        return {part: value for part, value in given.items() if value is not None}

    @property
    def spent(self) -> Mapping[str, float]:
        """What was used of each part of a budget."""
        notes = self.notes.get("spent", {})
        counts_own = self.settings.get("overhead") == "count" and self.unit in ("cpu", "wall")
        own = notes.get("own", 0.0) if counts_own else 0.0
        time = self.history.spent + self.history.lost + own
        return {"cpu": time, "wall": notes.get("wall", 0.0), "runs": len(self.history)}

    @property
    def incumbent(self) -> Configuration | None:
        return self.trajectory[-1].config if self.trajectory else None

    def _find_default(self) -> None:
        """Among the configurations that are new. For a pool without the default, the pool's first counts."""
        pool = self.scenario.get("configurations") or []
        instead = pool[0] if pool and not any(map(self._is_default, pool)) else None
        known = self.columns.configs.things
        for config in known[self._looked :] if self.default is None else []:
            if self._is_default(config) if instead is None else dict(config) == instead:
                self.default = config
                break
        self._looked = len(known)

    def _is_default(self, config: Mapping[str, Value]) -> bool:
        """Who has default values only is the default: which parameters are active follows from the values."""
        return all(self.space[name].default == value for name, value in config.items())

    @property
    def training(self) -> SpeedUp | None:
        """The incumbent against the default on the training pairs that they share."""
        return self._against_default(self.history)

    @property
    def test(self) -> SpeedUp | None:
        """The same on test instances, if somebody validated."""
        return self._against_default(self.validation) if self.validation else None

    def _against_default(self, history: History) -> SpeedUp | None:
        if self.incumbent is None or self.default is None or self.incumbent == self.default:
            return None
        return speed_up(history.record(self.default).costs, history.record(self.incumbent).costs)

    @property
    def command(self) -> str | None:
        """The incumbent as a command line to copy; its parameters alone where the scenario cannot be read any more."""
        if self.incumbent is None:
            return None
        scenario = self.loaded
        return json.dumps(dict(self.incumbent)) if scenario is None else command_of(scenario, self.incumbent)

    @cached_property
    def loaded(self) -> Scenario | None:
        """The scenario itself; None where it cannot be read any more."""
        try:
            return stored_scenario(self._store)
        except (CapraError, OSError):  # its files are gone, or it holds Python objects
            return None

    @cached_property
    def estimate(self) -> Estimate | None:
        """What a model believes about the runs and the configurations; None if there is too little to learn from."""
        return estimated(self.columns, self.space, self.cutoff, self.named) if self.of_time else None

    @cached_property
    def measured(self) -> Measured | None:
        """How long the members of the portfolio took where; None if there is nothing that all of them were run on."""
        team = self.team
        return measured(team, self.history, self.validation, self.loaded, self.folder) if team and team.members else None

    @property
    def named(self) -> list[Configuration]:
        """The default and the incumbents: these are always drawn."""
        named = [self.default, *(milestone.config for milestone in self.trajectory)]
        return list(dict.fromkeys(config for config in named if config is not None))


def _parameter(data: Mapping[str, Any]) -> Parameter:
    fields = {key: value for key, value in data.items() if key != "type"}
    if data["type"] not in _KINDS:
        raise InputError(f"unknown type of parameter {data['type']!r}", hint="update Capra")
    return _KINDS[data["type"]](**fields)


def _objective(scenario: Mapping[str, Any]) -> Objective:
    return Objective.parse(scenario["objective"], crash_cost=_bound(scenario.get("crash_cost")))


def _bound(value: float | None) -> float:
    return math.inf if value is None else float(value)


def _stamp(path: Path) -> object:
    """Changes whenever the store at ``path`` is written."""
    return tuple((p.stat().st_mtime_ns, p.stat().st_size) for p in (path, Path(f"{path}-wal")) if p.is_file())
