"""A tuning's folder: its store, made or opened again, and what stands in it beside the runs."""

from __future__ import annotations

import math
import platform
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import capra
from capra.errors import InputError
from capra.formats.instances import ComputedRows
from capra.formats.plain import plain
from capra.runs import Configuration
from capra.scenario import Budget, Scenario

if TYPE_CHECKING:
    from capra.engines import Engine
    from capra.runs.store import Durability, Store

__all__ = [
    "CERTIFICATE",
    "STORE",
    "Milestone",
    "check_budget",
    "is_begun",
    "keep_budget",
    "keep_cluster",
    "keep_features",
    "last_cluster",
    "milestone",
    "milestones",
    "open_store",
    "raised",
    "store_and_engine",
    "stored_scenario",
]

STORE = "history.sqlite"
PRODUCT = "portfolio.json"
"""What building a portfolio ends in."""
CERTIFICATE = "certificate"
"""Kind of the decisions that say what was promised, and when."""
FEATURES = "features.json"
"""Features that were computed, by content; beside the folders of tunings, which share it."""
BUDGET = "budget"
"""The note that holds a budget which was raised."""
CLUSTER = "cluster"
"""The note that says which cluster the tuning ran on last; a resume may name another."""


class Milestone(NamedTuple):
    """A new incumbent: when (target time and wall time spent), which, and its estimated cost then."""

    spent: float
    wall: float
    config: Configuration
    cost: float


def milestones(store: Store) -> list[Milestone]:
    """The incumbents of a stored tuning, in order."""
    return [milestone(data) for _, _, _, data in store.decisions("incumbent")]


def milestone(data: dict[str, Any]) -> Milestone:
    """The milestone of a stored decision."""
    return Milestone(data["spent"], data["wall"], Configuration(data["config"]), data["cost"])


def stored_scenario(store: Store, scenario: Scenario | None = None) -> Scenario:
    """The scenario that a store was made with, and the budget that it has now.

    ``scenario`` stands in for a stored one that holds Python objects.
    """
    meta = store.meta
    if scenario is None and meta.get("given") is None:
        raise InputError("the stored scenario holds Python objects", hint="call capra.resume(out, scenario)")
    found = scenario or Scenario(base=tuple(Path(base) for base in meta["bases"]), **meta["given"])
    return _with_budget(found, store.notes[BUDGET]) if BUDGET in store.notes else found


# --- a budget may grow ---


def raised(scenario: Scenario, budget: Mapping[str, Any] | Budget) -> Scenario:
    """The scenario with parts of its budget raised. InputError for a part that is no larger than it was."""
    if not isinstance(budget, Mapping | Budget):
        raise InputError("a budget is a table with any of cpu, wall, runs", hint='for example {"cpu": "4h"}')
    given = _parts(budget)
    found = _with_budget(scenario, _parts(scenario.budget) | given)
    for part in given:
        before, now = getattr(scenario.budget, part), getattr(found.budget, part)
        if now <= before:
            what = "without limit" if math.isinf(before) else f"{before:g}"
            hint = "what is given is for the whole tuning, and can only be more than it was"
            raise InputError(f"the budget for {part} is {what}, which is not less than {now:g}", hint=hint)
    return found


def keep_budget(store: Store, scenario: Scenario) -> None:
    """From now on this is the tuning's budget."""
    store.note(BUDGET, _parts(scenario.budget))


def check_budget(store: Store, scenario: Scenario) -> None:
    """InputError if a tuning's budget is another one than the scenario's."""
    if store.path is None:
        return
    before = store.notes.get(BUDGET) or _parts(store.meta["scenario"]["budget"])
    if before != _parts(scenario.budget):
        said = ", ".join(f"{part} = {value:g}" for part, value in before.items())
        hint = f"to raise it: capra resume {shlex.quote(str((store.path or Path()).parent))} --budget …"
        raise InputError(f"{store.path} was made with another budget ({said})", hint=hint)


def keep_cluster(store: Store, client: Any, stage: Any) -> None:
    """Remember where it runs, as far as that can be said in words: a ``Client`` object has to be given again."""
    store.note(CLUSTER, {"client": client if isinstance(client, str | int) else None, "stage": stage})


def last_cluster(store: Store) -> dict[str, Any]:
    """Where the tuning ran last, as options of ``tune``."""
    return dict(store.notes.get(CLUSTER, {}))


def _with_budget(scenario: Scenario, budget: Mapping[str, Any]) -> Scenario:
    found = Scenario(base=scenario.bases, **{**scenario.given, "budget": budget})
    object.__setattr__(found, "features", scenario.features)  # they may have been computed since
    return found


def _parts(budget: Mapping[str, Any] | Budget) -> dict[str, Any]:
    """Those with a limit."""
    given: dict[str, Any] = plain(budget)
    return {part: value for part, value in given.items() if value is not None}


# --- the store ---


def open_store(
    scenario: Scenario,
    settings: dict[str, Any],
    out: str | Path | None,
    name: str = STORE,
    *,
    durability: Durability | None = None,
    takeover: bool = False,
) -> Store:
    """The store in a folder, made or resumed; in memory where nothing is to be kept.

    InputError if it was made with another scenario or settings; budgets do not count, since they may grow.
    """
    from capra.runs.store import Store  # like the engines: `import capra` stays quick

    simulated = settings["engine"] == "simulated"
    if out is None and simulated:
        return Store.create(None, {}, durability="memory")
    how: Durability = durability or ("batch" if simulated else "full")
    path, meta = Path(out or "runs/latest") / name, _meta(scenario, settings)
    if not is_begun(path.parent, name):
        path.parent.mkdir(parents=True, exist_ok=True)
        return Store.create(path, meta, durability=how)
    store = Store.open(path, durability="batch" if how == "batch" else "full", takeover=takeover)
    try:
        _check_same(store, meta)
    except InputError:
        store.close()
        raise
    return store


@contextmanager
def store_and_engine(
    store: Callable[[], Store], engine: Callable[[], Engine], *, begun: bool
) -> Iterator[tuple[Store, Engine]]:
    """Both, opened and closed again.

    A store that is there comes first: one that is damaged, or somebody else's, is refused before anybody waits for a
    cluster. A new one comes last: an engine that cannot start leaves no folder behind.
    """
    with ExitStack() as stack:
        opened = stack.enter_context(store()) if begun else None
        running = engine()
        stack.callback(running.close)
        yield stack.enter_context(store()) if opened is None else opened, running


def _meta(scenario: Scenario, settings: dict[str, Any]) -> dict[str, Any]:
    """What a store says of itself."""
    return {
        "capra": capra.__version__,
        "python": platform.python_version(),
        "machine": platform.platform(),
        "scenario": scenario.to_dict(),
        "given": plain(dict(scenario.given)) if _is_plain(scenario.given) else None,
        "bases": [str(base.resolve()) for base in scenario.bases],
        "settings": plain(settings),
    }


def _check_same(store: Store, meta: dict[str, Any]) -> None:
    for what, other in (("scenario", "another scenario"), ("settings", "other settings")):
        before, now = store.meta[what], meta[what]
        differ = {key for key in now.keys() | before.keys() if before.get(key) != now.get(key)} - {"budget"}
        if differ:
            text = f"{store.path} was made with {other} ({', '.join(sorted(differ))})"
            raise InputError(text, hint="choose another out, or resume it as it was")


def keep_features(scenario: Scenario, out: str | Path) -> None:
    """Features that have to be computed are kept beside the folder, for the next tuning of the same instances."""
    if isinstance(scenario.features.rows, ComputedRows):
        scenario.features.rows.cache = Path(out).absolute().parent / FEATURES


def is_begun(out: str | Path | None, name: str = STORE) -> bool:
    """Is there a store in the folder?"""
    return (Path(out or "runs/latest") / name).exists()


def _is_plain(given: Any) -> bool:
    """Could a TOML file have said it?"""
    if isinstance(given, dict):
        return all(_is_plain(item) for item in given.values())
    if isinstance(given, list | tuple):
        return all(_is_plain(item) for item in given)
    return isinstance(given, str | int | float | bool | Path)
