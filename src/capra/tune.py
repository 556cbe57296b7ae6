"""The loop: ask, execute, record, tell.

The strategy is asked for runs; the store records each before it can start; the engine carries it to the target; the store
appends the outcome; the strategy is told. Nothing else holds state: kill any process, resume, go on.
"""

from __future__ import annotations

import math
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import capra
from capra.budget import Meter
from capra.errors import InputError, StoreFull, TargetError, did_you_mean
from capra.formats.plain import plain
from capra.runs import Configuration, History, Outcome, Run, Status, Value
from capra.runs.bulk import bulk
from capra.runs.place import free_space
from capra.scenario import Scenario
from capra.strategies import Context, Strategy, make_strategy

__all__ = ["Milestone", "Result", "Tuning", "resume", "tune"]

if TYPE_CHECKING:
    from capra.engines import Engine, Ticket
    from capra.runs.store import Durability, Lease, Store

T = TypeVar("T")

STORE = "history.sqlite"
HEARTBEAT = 0.5
"""Seconds after which the loop looks up even if nothing happened."""
LEAST_SPACE = 200 * 1024**2
"""Bytes that must be free beside the store before another run starts: what ends must find room."""
LOST_IN_A_ROW = 5
"""So many runs in a row that the infrastructure lost are no accident."""
ENGINES = ("local", "simulated")


@dataclass(frozen=True, slots=True)
class Milestone:
    """A new incumbent: when (target time and wall time spent), which, and its estimated cost then."""

    spent: float
    wall: float
    config: Configuration
    cost: float


@dataclass(frozen=True, slots=True)
class Result:
    """What tuning found."""

    incumbent: dict[str, Value]
    """The active parameters of the best configuration."""
    cost: float
    """Its mean cost over the pairs that it was run on."""
    default_cost: float
    history: History
    store: Path | None
    trajectory: list[Milestone]
    spent: float
    certificate: str | None = None


class Tuning:
    """One tuning under way."""

    def __init__(self, scenario: Scenario, strategy: Strategy, engine: Engine, store: Store, meter: Meter) -> None:
        self.scenario = scenario
        self.strategy = strategy
        self.engine = engine
        self.store = store
        self.meter = meter
        self.stopping = False
        self.trouble = ""
        """What keeps us from going on, if anything."""
        self.trajectory = milestones(store)
        self._leases: dict[Ticket, Lease] = {}
        self._tickets: dict[tuple[str, str | None, int], Ticket] = {}
        self._lost_in_a_row = 0

    @property
    def history(self) -> History:
        """All runs so far."""
        return self.strategy.history

    @property
    def under_way(self) -> list[Lease]:
        """Runs that were started and are not over."""
        return list(self._leases.values())

    def warnings(self) -> list[str]:
        """What a user should know about the measurements and the store."""
        return [*self.engine.warnings(), *self.store.warnings, *([self.trouble] if self.trouble else [])]

    def replay(self) -> None:
        """Bring the strategy to where the store is; runs that were under way when we died count as never made."""
        with bulk():
            for run in self.store.runs():
                self.strategy.tell(run)
        self.store.abandon_open_leases("the tuning was interrupted")

    def run(self, watch: Callable[[Tuning], None] = lambda _: None) -> None:
        """Until the budget is used up, the strategy has finished, or somebody stops us."""
        while True:
            self._start_runs()
            watch(self)
            if not self._leases:
                return
            for ticket, outcome in self.engine.wait(min(HEARTBEAT, self.meter.wall_left(self.engine.clock))):
                self._record(ticket, outcome)
            self._tighten()
            if self.stopping or self.meter.wall_left(self.engine.clock) == 0.0:
                self._cancel_all()

    def stop(self) -> None:
        """Finish soon: runs under way are stopped and count as never made. May be called from a signal handler."""
        self.stopping = True

    def _start_runs(self) -> None:
        cutoffs = [lease.request.cutoff for lease in self._leases.values()]
        room = min(self.engine.free, self.meter.room(self.history, cutoffs, self.engine.clock))
        if self.stopping or room <= 0 or not self._has_space():
            return
        wanted = [(request, self.strategy.why(request)) for request in self.strategy.ask(int(room))]
        for lease in self._keep(lambda: self.store.lease_many(wanted)):
            ticket = self.engine.submit(lease.request)
            self._leases[ticket] = lease
            self._tickets[lease.request.cell] = ticket

    def _record(self, ticket: Ticket, outcome: Outcome) -> None:
        lease = self._leases.pop(ticket)
        del self._tickets[lease.request.cell]
        wall = self.meter.wall(self.engine.clock)
        spent = {"spent": {"wall": wall, "own": self.meter.own}}
        run = self._keep(lambda: self.store.finish(lease.assignment, lease.attempt, outcome, wall, spent))
        self.strategy.tell(run or Run(lease.request, outcome, lease.asked_by))
        self._refuse_a_broken_target(outcome)
        self._note_incumbent()

    def _has_space(self) -> bool:
        """Is there room for what the runs will leave? Waits for it when there is nothing else to wait for."""
        while self.store.path is not None and free_space(self.store.path) < LEAST_SPACE:
            self.trouble = "the disk is nearly full: no run is started until there is space"
            if self._leases or self.stopping:
                return False
            time.sleep(HEARTBEAT)
        self.trouble = ""
        return True

    def _keep(self, write: Callable[[], T]) -> T:
        """Write to the store; a full disk is waited for, and nothing is lost meanwhile."""
        while True:
            try:
                return write()
            except StoreFull as error:
                if self.stopping:
                    raise
                self.trouble = str(error)
                time.sleep(HEARTBEAT)

    def _tighten(self) -> None:
        for request, cutoff in self.strategy.tighten():
            if (ticket := self._tickets.get(request.cell)) is not None:
                self.engine.tighten(ticket, cutoff)

    def _cancel_all(self) -> None:
        for ticket in self._leases:
            self.engine.cancel(ticket)

    def _refuse_a_broken_target(self, outcome: Outcome) -> None:
        """A target that cannot run at all ends the tuning with a reason; resuming works once it is mended."""
        if self.stopping:
            return
        self._lost_in_a_row = self._lost_in_a_row + 1 if outcome.status is Status.LOST else 0
        if self._lost_in_a_row >= LOST_IN_A_ROW:
            raise TargetError(f"{LOST_IN_A_ROW} runs in a row were lost: {outcome.reason}", hint="capra check, then resume")
        if len(self.history) == 1 and outcome.status is Status.CRASHED:
            raise TargetError(f"the default configuration crashes: {outcome.reason}", hint="capra check shows the command")

    def _note_incumbent(self) -> None:
        incumbent = self.strategy.incumbent
        if incumbent is None or (self.trajectory and self.trajectory[-1].config == incumbent):
            return
        data = {
            "config": dict(incumbent),
            "cost": self.history.record(incumbent).mean,
            "spent": self.meter.spent(self.history),
            "wall": self.meter.wall(self.engine.clock),
            "evaluations": len(self.history),
        }
        self._keep(lambda: self.store.decide("incumbent", str(len(self.trajectory)), data))
        self.trajectory.append(_milestone(data))

    def result(self) -> Result:
        """What was found so far."""
        incumbent = self.strategy.incumbent or self.scenario.default
        return Result(
            incumbent=dict(incumbent),
            cost=self.history.record(incumbent).mean,
            default_cost=self.history.record(self.scenario.default).mean,
            history=self.history,
            store=self.store.path,
            trajectory=self.trajectory,
            spent=self.meter.spent(self.history),
        )


def milestones(store: Store) -> list[Milestone]:
    """The incumbents of a stored tuning, in order."""
    return [_milestone(data) for _, _, _, data in store.decisions("incumbent")]


def _milestone(data: dict[str, Any]) -> Milestone:
    return Milestone(data["spent"], data["wall"], Configuration(data["config"]), data["cost"])


# --- putting one together ---


def tune(
    scenario: Scenario,
    strategy: str = "roar",
    *,
    seed: int = 0,
    workers: int = 1,
    engine: str = "local",
    out: str | Path | None = None,
    overhead: str = "count",
    durability: Durability | None = None,
    watch: Callable[[Tuning], None] = lambda _: None,
    **options: Any,
) -> Result:
    """Tune a scenario and say what was found.

    ``out`` is a folder for the store; a store that is there already is resumed, if it was made with the same scenario,
    strategy, seed and options. Without it a simulated tuning leaves nothing behind, and a real one writes to ``runs/``.
    ``overhead="ignore"`` leaves our own computing time out of the budget. ``durability`` is "full" for real runs (every run
    is safe before the next step) and "batch" for simulated ones (a crash may cost the last second). ``watch`` is called
    whenever something happened. ``options`` go to the strategy (``slack``, ``capping``, …).
    """
    if overhead not in ("count", "ignore"):
        raise InputError(f"overhead is 'count' or 'ignore', not {overhead!r}")
    if math.isinf(min(scenario.budget.cpu, scenario.budget.wall, scenario.budget.runs)):
        raise InputError("the scenario has no budget", hint="set budget = { cpu = …, wall = …, runs = … }, any of them")
    settings = {"strategy": strategy, "seed": seed, "workers": workers, "engine": engine, "overhead": overhead}
    with open_store(scenario, settings | {"options": options}, out, durability=durability) as store:
        context = Context(scenario, seed, store.decision, store.decide, options)
        before = store.notes.get("spent", {"wall": 0.0, "own": 0.0})
        meter = Meter(scenario.budget, scenario.unit, overhead=overhead, **before)
        running = make_engine(scenario, engine, workers)
        try:
            tuning = Tuning(scenario, make_strategy(strategy, context), running, store, meter)
            tuning.replay()
            tuning.run(watch)
            return tuning.result()
        finally:
            running.close()


def resume(out: str | Path, scenario: Scenario | None = None, watch: Callable[[Tuning], None] = lambda _: None) -> Result:
    """Go on with the tuning in a folder. ``scenario`` is needed only where the stored one holds Python objects."""
    from capra.runs.store import Store

    if not (Path(out) / STORE).exists():
        raise InputError(f"{out} holds no tuning", hint="give the folder that was given to `capra tune --out`")
    with Store.read(Path(out) / STORE) as store:
        meta = dict(store.meta)
    settings = dict(meta["settings"])
    return tune(scenario or stored_scenario(meta), out=out, watch=watch, **settings.pop("options"), **settings)


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
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        return Store.create(path, meta, durability=how)
    store = Store.open(path, durability="batch" if how == "batch" else "full")
    for key in ("scenario", "settings"):
        if store.meta[key] != meta[key]:
            store.close()
            differ = sorted(name for name in meta[key] if store.meta[key].get(name) != meta[key][name])
            what = f"another {key} ({', '.join(differ)})"
            raise InputError(f"{path} was made with {what}", hint="choose another out, or resume it as it was")
    return store


def _is_plain(given: Any) -> bool:
    """Could a TOML file have said it?"""
    if isinstance(given, dict):
        return all(_is_plain(item) for item in given.values())
    if isinstance(given, list | tuple):
        return all(_is_plain(item) for item in given)
    return isinstance(given, str | int | float | bool | Path)


def make_engine(scenario: Scenario, name: str, workers: int) -> Engine:
    """The engine of that name."""
    from capra.engines import LocalEngine, SimulatedEngine, simulated_target  # `import capra` stays quick

    if name not in ENGINES:
        raise InputError(f"unknown engine {name!r}", hint=did_you_mean(name, ENGINES) or "one of " + ", ".join(ENGINES))
    if name == "simulated":
        return SimulatedEngine(simulated_target(scenario), workers)
    return LocalEngine(scenario, workers)
