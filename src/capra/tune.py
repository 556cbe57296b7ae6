"""Putting a tuning together: from a scenario and a strategy's name to a result, or on from where a folder stands."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capra.budget import Meter
from capra.errors import InputError, shown
from capra.folder import (
    STORE,
    check_budget,
    is_begun,
    keep_budget,
    keep_cluster,
    keep_features,
    last_cluster,
    open_store,
    raised,
    store_and_engine,
    stored_scenario,
)
from capra.formats.quantities import size
from capra.keeper import Keeper
from capra.loop import Result, Tuning
from capra.repeats import Repeats
from capra.scenario import Budget, Scenario
from capra.strategies import GUARANTEED, Context, make_strategy

__all__ = ["Result", "Tuning", "check_call", "resume", "tune", "whole_number"]

if TYPE_CHECKING:
    from distributed import Client

    from capra.engines import Engine
    from capra.runs.store import Durability, Store
    from capra.warmstart import WarmStart

REPEAT_SHARE = 0.01
"""Share of real runs that repeat an earlier one, unless somebody says otherwise."""


def tune(
    scenario: Scenario,
    strategy: str = "smac",
    *,
    seed: int = 0,
    workers: int | None = None,
    engine: str = "local",
    client: Client | str | int | None = None,
    calibrate: bool = False,
    stage: str | int | None = None,
    out: str | Path | None = None,
    warm_start: str | Path | Sequence[str | Path] = (),
    overhead: str = "count",
    repeat: float | None = None,
    hold: str | float | None = None,
    durability: Durability | None = None,
    takeover: bool = False,
    watch: Callable[[Tuning], None] = lambda _: None,
    **options: Any,
) -> Result:
    """Tune a scenario and say what was found.

    ``workers`` is the number of runs at a time: 1, or with ``engine="dask"`` as many as the cluster has threads. For that
    engine ``client`` is a ``distributed.Client``, the address of a scheduler, or a number of worker processes to start on
    this machine; ``calibrate`` scales times to this machine's speed; ``stage`` ("2GB") is the space on each worker's own
    disk for copies of instances.
    ``out`` is a folder for the store; a store that is there already is resumed, if it was made with the same scenario,
    strategy, seed and options. Without it a simulated tuning leaves nothing behind, and a real one writes to ``runs/``.
    ``warm_start`` names earlier tunings of the same space (folders, stores, or files of runs or incumbents): their
    incumbents are raced first, and models learn from their runs, which are copied to the store and no runs of this tuning.
    ``overhead="ignore"`` leaves our own computing time out of the budget. ``durability`` is "full" for real runs (every run
    is safe before the next step) and "batch" for simulated ones (a crash may cost the last second). ``repeat`` is the share
    of runs that repeat an earlier one, to see whether the machine still measures the same: 0.01 of real runs, none of
    simulated ones. ``hold`` is memory ("4GB") in which the runs of a strategy with guarantees wait, once they were stopped
    at their cap, for a longer one: they go on instead of beginning again. ``takeover`` resumes a store although another
    process may still write to it: that one's next write fails. ``watch`` is called whenever something happened.
    ``options`` go to the strategy (``slack``, ``capping``, …).
    """
    from capra.engines import make_engine  # `import capra` stays quick

    check_call(scenario, engine, out)
    seed = whole_number("seed", seed, 0)
    workers = _workers(workers, engine)
    settings = {"strategy": strategy, "seed": seed, "workers": workers, "engine": engine, "overhead": overhead}
    settings |= _further_settings(engine, calibrate, repeat, hold) | {"options": options}
    if out is not None or engine != "simulated":
        keep_features(scenario, out or "runs/latest")
    _check(scenario, settings)
    warm = _warm(warm_start, scenario, settings, out)
    where: dict[str, Any] = {"client": client, "calibrate": calibrate, "stage": stage}
    where["hold"] = 0 if hold is None else size(hold)
    with store_and_engine(
        lambda: open_store(scenario, settings, out, durability=durability, takeover=takeover),
        lambda: make_engine(scenario, engine, workers, **where),
        begun=is_begun(out),
    ) as (store, running):
        check_budget(store, scenario)
        if engine == "dask":
            keep_cluster(store, client, stage)
        tuning = _put_together(scenario, settings, running, store, warm)
        tuning.replay()
        tuning.run(watch)
        return tuning.result()


def check_call(scenario: Scenario, engine: str, out: str | Path | None) -> None:
    """What every call is given: a scenario, the name of an engine, and a place for a folder."""
    if not isinstance(scenario, Scenario):
        hint = f"Scenario.load({shown(str(scenario))})" if isinstance(scenario, str | Path) else "see capra.Scenario"
        raise InputError(f"expected a Scenario, not {shown(scenario)}", hint=hint)
    if not isinstance(engine, str):
        raise InputError(f"engine is a name, not {shown(engine)}", hint="for example engine='local'")
    places = () if out is None else (Path(out), *Path(out).parents)
    if file := next((place for place in places if place.exists() and not place.is_dir()), None):
        raise InputError(f"{file} is a file, and no folder for runs", hint="choose another out")


def whole_number(name: str, value: object, least: int) -> int:
    """The number, also one of numpy's; InputError unless it is a whole one of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise InputError(f"{name} is a whole number of at least {least}, not {shown(value)}")
    return int(value)


def _workers(workers: int | None, engine: str) -> int | None:
    if workers is None:
        return None if engine == "dask" else 1
    return whole_number("workers", workers, 1)


def _further_settings(engine: str, calibrate: bool, repeat: float | None, hold: str | float | None) -> dict[str, Any]:
    """Those with a default that depends on others, or that are kept only where they were given: older stores lack them."""
    usual = 0.0 if engine == "simulated" else REPEAT_SHARE
    found: dict[str, Any] = {"repeat": usual if repeat is None else repeat}
    found |= {"calibrate": True} if calibrate else {}
    return found | ({} if hold is None else {"hold": hold})


def _check(scenario: Scenario, settings: dict[str, Any]) -> None:
    """What is no good is refused before there is a folder."""
    if settings["overhead"] not in ("count", "ignore"):
        raise InputError(f"overhead is 'count' or 'ignore', not {settings['overhead']!r}")
    if not isinstance(settings["strategy"], str):
        raise InputError(f"strategy is a name, not {shown(settings['strategy'])}", hint="for example strategy='smac'")
    if isinstance(settings["repeat"], bool) or not isinstance(settings["repeat"], int | float):
        raise InputError(f"repeat is a share of the runs, from 0 to 0.5, not {shown(settings['repeat'])}")
    if math.isinf(min(scenario.budget.cpu, scenario.budget.wall, scenario.budget.runs)):
        raise InputError("the scenario has no budget", hint="set budget = { cpu = …, wall = …, runs = … }, any of them")
    Repeats(scenario.cutoff, settings["repeat"])
    if "hold" in settings and settings["strategy"] not in GUARANTEED:
        hint = f"drop hold, or use one of {', '.join(sorted(GUARANTEED))}"
        raise InputError("only strategies with guarantees come back to a run with a longer cap", hint=hint)
    make_strategy(settings["strategy"], Context(scenario, settings["seed"], options=settings["options"]))


def _warm(
    places: str | Path | Sequence[str | Path], scenario: Scenario, settings: dict[str, Any], out: str | Path | None
) -> WarmStart:
    """Earlier tunings, named in the settings, and read unless this tuning has begun: then the store has what it needs."""
    from capra.warmstart import WarmStart

    warm = WarmStart(places, scenario)
    settings |= {"warm_start": warm.places} if warm.places else {}
    if not is_begun(out):
        warm.read()
    return warm


def _put_together(scenario: Scenario, settings: dict[str, Any], engine: Engine, store: Store, warm: WarmStart) -> Tuning:
    before = store.notes.get("spent", {"wall": 0.0, "own": 0.0})
    meter = Meter(scenario.budget, scenario.unit, overhead=settings["overhead"], **before)
    keeper = Keeper(store)

    def record(kind: str, key: str, data: Any) -> None:
        """In the middle of a strategy's thoughts, which cannot be repeated."""
        keeper.write(lambda: store.decide(kind, key, data), insist=True)

    earlier = warm.kept(store.decision, record)
    context = Context(scenario, settings["seed"], store.decision, record, meter.overhead, settings["options"], earlier)
    strategy = make_strategy(settings["strategy"], context)
    return Tuning(scenario, strategy, engine, keeper, meter, Repeats(scenario.cutoff, settings["repeat"]))


def resume(
    out: str | Path,
    scenario: Scenario | None = None,
    watch: Callable[[Tuning], None] = lambda _: None,
    *,
    budget: Mapping[str, Any] | Budget | None = None,
    client: Client | str | int | None = None,
    takeover: bool = False,
) -> Result:
    """Go on with the tuning in a folder. ``scenario`` is needed only where the stored one holds Python objects.

    A tuning with the engine "dask" goes on at the cluster where it was, or at another that ``client`` names.

    ``budget`` raises parts of the budget (``{"cpu": "4h"}``), also of a tuning that has used up what it had. It is for the
    whole tuning, what was spent included, and is kept: the next resume knows it.
    """
    from capra.runs.store import Store

    path = Path(out) / STORE
    if not path.exists():
        raise InputError(f"{out} holds no tuning", hint="give the folder that was given to `capra tune --out`")
    with Store.read(path) as store:
        settings = dict(store.meta["settings"])
        if settings["strategy"] == "import":
            raise InputError(f"{out} holds imported runs, which nobody can go on with", hint="start a tuning of its own")
        scenario = stored_scenario(store, scenario)
        where = last_cluster(store) | ({} if client is None else {"client": client})
    if budget is not None:
        scenario = raised(scenario, budget)
        with Store.open(path, takeover=takeover) as store:
            keep_budget(store, scenario)
    how = {"out": out, "watch": watch, "takeover": takeover, **where, **settings.pop("options")}
    return tune(scenario, **how, **settings)
