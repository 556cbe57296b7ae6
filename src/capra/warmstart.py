"""A tuning that begins with what earlier ones of the same space have found: their incumbents and their runs.

They may have had another budget, other instances or another cutoff. Nothing of theirs is a run of the new tuning: it costs
no budget, no race counts it, and no result holds it. What is used is copied to the new store, so that the old one may go.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from capra.errors import InputError, SpaceError
from capra.folder import STORE, milestones
from capra.formats.plain import plain
from capra.intake import kind_of
from capra.runs import Configuration, History, Outcome, Run, Status, trajectory
from capra.runs.exchange import import_runs
from capra.runs.foreign import objective_of, read_lines
from capra.runs.history import Pair
from capra.runs.store import Store
from capra.scenario import Scenario
from capra.search.earlier import Cell, Earlier

__all__ = ["KEPT", "WarmStart", "read_earlier"]

LAST = 3
"""Incumbents that are taken of each tuning, the last first: an early one is better only by chance."""
MOST = 20_000
"""Cells that are taken, a random choice if there are more: fits take longer with each, and gain little."""
KEPT = ("warm start", "0")
"""The decision of a store that holds it."""


class WarmStart:
    """Earlier tunings, read when they are needed: never again once a store has what they gave."""

    def __init__(self, given: str | Path | Sequence[str | Path], scenario: Scenario) -> None:
        self.places = [str(Path(place).resolve()) for place in ([given] if isinstance(given, str | Path) else given)]
        self._scenario = scenario
        self._found: Earlier | None = None

    def read(self) -> Earlier:
        """What they leave. InputError if one of them cannot be used."""
        if self._found is None:
            self._found = read_earlier(self.places, self._scenario)
        return self._found

    def kept(self, recall: Callable[[str, str], Any], record: Callable[[str, str, Any], None]) -> Earlier:
        """What a store says that its tuning was started with; at the very beginning, what is read now, and kept."""
        if (known := recall(*KEPT)) is not None:
            return Earlier.from_json(known)
        if self.places:
            record(*KEPT, self.read().to_json())
        return self.read()


def read_earlier(places: Sequence[str | Path], scenario: Scenario) -> Earlier:
    """What earlier tunings leave to a new one: the last incumbents of all first, then those before them."""
    found = [_read(Path(place), scenario) for place in places]
    by_age = chain.from_iterable(zip_longest(*(one.incumbents for one in found)))
    incumbents = dict.fromkeys(config for config in by_age if config is not None)
    cells = [cell for one in found for cell in one.cells]
    if len(cells) > MOST:
        chosen = np.random.default_rng(0).choice(len(cells), MOST, replace=False)
        cells = [cells[i] for i in sorted(chosen.tolist())]
    return Earlier(tuple(incumbents), tuple(cells))


def _read(place: Path, scenario: Scenario) -> Earlier:
    try:
        found = _of_store(place, scenario) if _is_store(place) else _of_file(place, scenario)
    except SpaceError as error:
        raise InputError(f"{place} is of another space: {error}") from None
    if not found:
        raise InputError(f"{place} holds nothing to start from", hint="a warm start needs runs or incumbents")
    return found


def _is_store(place: Path) -> bool:
    if not place.exists():
        raise InputError(f"there is no {place}", hint="a warm start needs the folder of a tuning, or a file of its runs")
    if place.is_dir() and not (place / STORE).is_file():
        raise InputError(f"{place} holds no tuning", hint="give the folder that was given to `capra tune --out`")
    return place.is_dir() or place.suffix == Path(STORE).suffix


# --- stores ---


def _of_store(place: Path, scenario: Scenario) -> Earlier:
    with Store.read(place / STORE if place.is_dir() else place) as store:
        then: dict[str, Any] = store.meta.get("scenario") or {}
        if not then:
            raise InputError(f"{place} holds no tuning")
        _check_space(then["space"], plain(scenario.space))
        _check_objective(place, objective_of(store)[0].kind, then["unit"], scenario)
        last = [milestone.config for milestone in reversed(milestones(store))]
        cells, best = _learnt(store.runs(), scenario)
    return Earlier(tuple(dict.fromkeys(last or best))[:LAST], cells)


def _check_space(then: dict[str, Any], now: dict[str, Any]) -> None:
    """SpaceError that names the parameters that differ. Where tuning starts may be another place."""

    def described(space: dict[str, Any]) -> dict[str, Any]:
        conditions = space["conditions"]
        return {
            parameter["name"]: (parameter | {"default": None, "condition": conditions.get(parameter["name"])})
            for parameter in space["parameters"]
        }

    old, new = described(then), described(now)
    differing = [
        ("only it has", [name for name in old if name not in new]),
        ("it lacks", [name for name in new if name not in old]),
        ("other values or conditions of", [name for name in new if name in old and old[name] != new[name]]),
    ]
    parts = [f"{what} {', '.join(names[:5])}{' …' if len(names) > 5 else ''}" for what, names in differing if names]
    if not parts and sorted(then["forbidden"]) != sorted(now["forbidden"]):
        parts = ["other combinations are forbidden"]
    if parts:
        raise SpaceError("; ".join(parts))


def _check_objective(place: Path, kind: str, unit: str, scenario: Scenario) -> None:
    if kind != scenario.objective.kind:
        raise InputError(f"{place} was tuned for {kind}, not for {scenario.objective.kind}")
    if kind == "runtime" and unit != scenario.unit:
        raise InputError(f"{place} has times in another unit: {unit}, not {scenario.unit}")


# --- files of runs or incumbents ---


def _of_file(place: Path, scenario: Scenario) -> Earlier:
    if _is_trajectory(place):
        found = [scenario.space.configuration(values) for values in trajectory.read(place)]
        return Earlier(tuple(dict.fromkeys(reversed(found)))[:LAST])
    runs = import_runs(place, kind_of(place), cutoff=scenario.cutoff)
    cells, best = _learnt(_checked(runs, scenario), scenario)
    return Earlier(tuple(best), cells)


def _is_trajectory(place: Path) -> bool:
    """Lines of JSON that each have an incumbent; SMAC3's runhistory.json has the same suffix."""
    if place.suffix != ".json":
        return False
    try:
        first = json.loads(next(read_lines(place), (1, "null"))[1])
    except (ValueError, RecursionError):
        return False
    return isinstance(first, dict) and "incumbent" in first


def _checked(runs: Iterable[Run], scenario: Scenario) -> Iterator[Run]:
    """The runs with configurations of the space, each checked once."""
    known: dict[Configuration, Configuration] = {}
    for run in runs:
        given = run.request.config
        if given not in known:
            known[given] = scenario.space.configuration(given)
        yield replace(run, request=replace(run.request, config=known[given]))


# --- runs as the new tuning would have judged them ---


def _learnt(runs: Iterable[Run], scenario: Scenario) -> tuple[tuple[Cell, ...], list[Configuration]]:
    """Cells for a model, and the best configuration. Test instances stay unseen, whoever ran on them."""
    history = History(scenario.objective, scenario.cutoff)
    unseen = {instance.name for instance in scenario.test_instances}
    cells: dict[tuple[Configuration, Pair], tuple[float, bool]] = {}
    for run in runs:
        request = run.request
        if run.outcome.status is Status.LOST or request.instance in unseen:
            continue
        outcome = _judged_anew(run.outcome, scenario)
        history.add(replace(run, outcome=outcome))
        cost, censored = scenario.objective.cost(outcome, scenario.cutoff), scenario.objective.censored(outcome)
        held = cells.get(key := (request.config, (request.instance, request.seed)))
        if math.isfinite(cost) and (held is None or (held[1] and (not censored or cost > held[0]))):
            cells[key] = cost, censored
    best = history.best()
    return tuple((*key, *told) for key, told in cells.items()), [] if best is None else [best]


def _judged_anew(outcome: Outcome, scenario: Scenario) -> Outcome:
    """The outcome under the new κ_max: what lasted longer timed out, and what timed out earlier was capped."""
    if scenario.objective.kind != "runtime" or outcome.status not in (Status.SUCCESS, Status.CAPPED, Status.TIMEOUT):
        return outcome
    kappa = scenario.cutoff
    if outcome.status is Status.SUCCESS and outcome.time <= kappa:
        return outcome
    if outcome.time >= kappa:
        return replace(outcome, status=Status.TIMEOUT, time=kappa, cutoff=kappa)
    return replace(outcome, status=Status.CAPPED)
