"""A tuning's folder: its store, made or opened again, and what stands in it beside the runs."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import capra
from capra.errors import InputError
from capra.formats.plain import plain
from capra.runs import Configuration
from capra.scenario import Scenario

if TYPE_CHECKING:
    from capra.runs.store import Durability, Store

__all__ = ["STORE", "Milestone", "is_begun", "milestone", "milestones", "open_store", "stored_scenario"]

STORE = "history.sqlite"


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


def stored_scenario(meta: dict[str, Any]) -> Scenario:
    """The scenario that a store was made with."""
    if meta.get("given") is None:
        raise InputError("the stored scenario holds Python objects", hint="call capra.resume(out, scenario)")
    return Scenario(base=tuple(Path(base) for base in meta["bases"]), **meta["given"])


def open_store(
    scenario: Scenario,
    settings: dict[str, Any],
    out: str | Path | None,
    name: str = STORE,
    *,
    durability: Durability | None = None,
    takeover: bool = False,
) -> Store:
    """The store in a folder, made or resumed; in memory where nothing is to be kept."""
    from capra.runs.store import Store  # like the engines: `import capra` stays quick

    simulated = settings["engine"] == "simulated"
    if out is None and simulated:
        return Store.create(None, {}, durability="memory")
    how: Durability = durability or ("batch" if simulated else "full")
    path = Path(out or "runs/latest") / name
    meta = {
        "capra": capra.__version__,
        "python": platform.python_version(),
        "machine": platform.platform(),
        "scenario": scenario.to_dict(),
        "given": plain(dict(scenario.given)) if _is_plain(scenario.given) else None,
        "bases": [str(base.resolve()) for base in scenario.bases],
        "settings": plain(settings),
    }
    if not is_begun(path.parent, name):
        path.parent.mkdir(parents=True, exist_ok=True)
        return Store.create(path, meta, durability=how)
    store = Store.open(path, durability="batch" if how == "batch" else "full", takeover=takeover)
    for key in ("scenario", "settings"):
        if store.meta[key] != meta[key]:
            store.close()
            differ = sorted(name for name in meta[key] if store.meta[key].get(name) != meta[key][name])
            what = f"another {key} ({', '.join(differ)})"
            raise InputError(f"{path} was made with {what}", hint="choose another out, or resume it as it was")
    return store


def is_begun(out: str | Path | None, name: str = STORE) -> bool:
    """Is there a store in the folder? A creation that was killed leaves an empty file."""
    path = Path(out or "runs/latest") / name
    return path.exists() and path.stat().st_size > 0


def _is_plain(given: Any) -> bool:
    """Could a TOML file have said it?"""
    if isinstance(given, dict):
        return all(_is_plain(item) for item in given.values())
    if isinstance(given, list | tuple):
        return all(_is_plain(item) for item in given)
    return isinstance(given, str | int | float | bool | Path)
