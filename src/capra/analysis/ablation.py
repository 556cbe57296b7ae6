"""What made the difference: the path from the default to the incumbent, one parameter at a time.

With real runs (Fawcett & Hoos 2016; the races are in ``strategies/ablation.py``), or without any, by what a model of the
tuning's runs predicts (Biedenkapp et al. 2017). The runs are kept beside the tuning's, none is ever made twice, and an
ablation that was interrupted goes on where it was.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from capra.analysis.flips import Flip, flips
from capra.analysis.importance import Importance
from capra.analysis.statistics import bootstrap_interval, paired_permutation_test
from capra.budget import Meter
from capra.errors import InputError
from capra.folder import STORE, milestones, open_store, stored_scenario
from capra.formats.plain import plain
from capra.formats.quantities import duration
from capra.keeper import Keeper
from capra.runs import Configuration, History, Value
from capra.scenario import Budget, Scenario
from capra.strategies.ablation import Ablating, Candidate
from capra.strategies.base import Context, checked
from capra.tune import Tuning

if TYPE_CHECKING:
    from capra.runs.store import Store

__all__ = ["Ablation", "Step", "ablate", "load_ablation", "predict_ablation"]

PAIRS = 20
"""Pairs of a race, unless somebody says otherwise or there are fewer."""
_STATISTICS = 13
"""Stream of random numbers."""
Changes = dict[str, tuple[Value | None, Value | None]]


@dataclass(frozen=True, slots=True)
class Step:
    """One configuration on the path, and how it differs from the one before."""

    label: str
    changes: Changes
    """Parameters with their value before and after; None: inactive."""
    config: Configuration
    cost: float
    """Mean over the pairs, or what the model predicts."""
    interval: tuple[float, float]
    """95 % bootstrap interval; of a prediction, one deviation over the trees to either side."""
    share: float | None
    """Of the whole difference between the two ends; None where there is none."""
    p_value: float | None = None
    """Paired permutation test against the configuration before."""


@dataclass(frozen=True, slots=True)
class Ablation:
    """The path from one configuration to another."""

    kind: str
    """"runs" or "model"."""
    steps: list[Step]
    """The first is the source, the last (when finished) the target."""
    finished: bool
    pairs: int = 0
    runs: int = 0
    spent: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        document: dict[str, Any] = {
            "kind": self.kind,
            "finished": self.finished,
            "pairs": self.pairs,
            "runs": self.runs,
            "spent": self.spent,
            "steps": [],
        }
        for step in self.steps:
            changes = {name: {"from": before, "to": after} for name, (before, after) in step.changes.items()}
            told = {"label": step.label, "changes": changes, "config": dict(step.config), "cost": plain(step.cost)}
            told |= {"interval": plain(list(step.interval)), "share": step.share, "p_value": step.p_value}
            document["steps"].append(told)
        return document


# --- the tuning that is explained ---


@dataclass(frozen=True, slots=True)
class _Tuned:
    scenario: Scenario
    history: History
    source: Configuration
    target: Configuration
    settings: Mapping[str, Any]


def _tuned(run: Path, scenario: Scenario | None, until: int | None = None, target: Configuration | None = None) -> _Tuned:
    """A tuning's folder, as of its first ``until`` runs."""
    from capra.runs.store import Store  # `import capra` stays quick

    path = run if run.is_file() else run / STORE
    if not path.is_file():
        raise InputError(f"{run} holds no tuning", hint="give the folder that was given to `capra tune --out`")
    with Store.read(path) as store:
        scenario = stored_scenario(store, scenario)
        history = History(scenario.objective, scenario.cutoff)
        for told in store.runs():
            if until is not None and len(history) == until:
                break
            history.add(told)
        found = milestones(store)
        settings = dict(store.meta["settings"])
    if not found:
        raise InputError(f"{run} has no incumbent yet", hint="let it run for a while")
    target = target or found[-1].config
    if target == scenario.default:
        raise InputError("the default is the incumbent: there is no path between them", hint="let the tuning run on")
    return _Tuned(scenario, history, scenario.default, target, settings)


# --- with runs ---


def ablate(
    run: str | Path,
    scenario: Scenario | None = None,
    *,
    pairs: int | None = None,
    budget: str | float | None = None,
    workers: int = 1,
    racing: bool = True,
    watch: Callable[[Tuning], None] = lambda _: None,
) -> Ablation:
    """The path from the default to the incumbent of a tuning's folder, by real runs, raced and capped.

    ``pairs`` (instance, seed) pairs of the training set are compared on: the first ones of the tuning, so that its own runs
    count. ``budget`` ends it early: what it found so far is the answer, and calling it again goes on. ``racing=False``
    gives up nobody by a test: the path of brute force, for more runs. ``scenario`` is needed only where the stored one
    holds Python objects.
    """
    tuned = _tuned(Path(run), scenario)
    if tuned.scenario.configurations:
        raise InputError("a scenario with a list of configurations has none between two of them", hint="use the model")
    folder = Path(run) if Path(run).is_dir() else Path(run).parent
    plan = _stored_plan(folder, tuned.target) or _plan(tuned, pairs, racing)
    if pairs is not None and plan["pairs"] != pairs:
        raise InputError(
            f"an ablation with {plan['pairs']} pairs was begun", hint=f"go on with it, or delete {_name(tuned.target)}"
        )
    if plan["known"] != len(tuned.history):
        tuned = _tuned(Path(run), scenario, plan["known"], tuned.target)
    settings = {"engine": _engine(tuned), "ablation": plan}
    limit = Budget() if budget is None else Budget(cpu=duration(budget) if isinstance(budget, str) else float(budget))
    with open_store(tuned.scenario, settings, folder, _name(tuned.target)) as store:
        strategy = _walked(tuned, plan, store, limit, workers, watch)
    return _path(tuned, strategy)


def load_ablation(run: str | Path, scenario: Scenario | None = None) -> Ablation | None:
    """What ``ablate`` has found so far, without any run; None if it was never begun for the present incumbent."""
    from capra.runs.store import Store

    tuned = _tuned(Path(run), scenario)
    folder = Path(run) if Path(run).is_dir() else Path(run).parent
    if (plan := _stored_plan(folder, tuned.target)) is None:
        return None
    tuned = _tuned(Path(run), scenario, plan["known"], tuned.target)
    strategy = _strategy(tuned, plan)
    with Store.read(folder / _name(tuned.target)) as store:
        for told in store.runs():
            strategy.tell(told)
    return _path(tuned, strategy)


def _engine(tuned: _Tuned) -> str:
    """That of the tuning; imported runs have none."""
    return "simulated" if tuned.settings["engine"] == "simulated" else "local"


def _name(target: Configuration) -> str:
    """The store of an ablation: one for each incumbent."""
    return f"ablation-{target.id[:8]}.sqlite"


def _stored_plan(folder: Path, target: Configuration) -> dict[str, Any] | None:
    from capra.runs.store import Store

    if not (folder / _name(target)).exists():
        return None
    with Store.read(folder / _name(target)) as store:
        return dict(store.meta["settings"]["ablation"])


def _plan(tuned: _Tuned, pairs: int | None, racing: bool) -> dict[str, Any]:
    """What must stay the same when an ablation goes on. The model says once who is to be tried first."""
    count = PAIRS if pairs is None else checked("pairs", pairs, 1, whole=True)
    steps = flips(tuned.scenario.space, tuned.source, tuned.target)
    try:
        cost, _, _ = _model(tuned).expected(tuned.scenario.space.encode([step.config for step in steps]))
        favourites = [steps[i].label for i in np.argsort(cost, kind="stable")]
    except InputError:  # too few runs for a model
        favourites = []
    return {"pairs": count, "racing": racing, "known": len(tuned.history), "favourites": favourites}


def _strategy(tuned: _Tuned, plan: Mapping[str, Any]) -> Ablating:
    space, target = tuned.scenario.space, tuned.target

    def steps(here: Configuration) -> list[Candidate]:
        return [Candidate(step.label, step.config) for step in flips(space, here, target)]

    context = Context(tuned.scenario, int(tuned.settings.get("seed", 0)))
    return Ablating(
        context,
        tuned.source,
        steps,
        pairs=plan["pairs"],
        known=tuned.history,
        favourites=plan["favourites"],
        racing=plan["racing"],
    )


def _walked(
    tuned: _Tuned, plan: Mapping[str, Any], store: Store, budget: Budget, workers: int, watch: Callable[[Tuning], None]
) -> Ablating:
    from capra.engines import make_engine

    running = make_engine(tuned.scenario, _engine(tuned), workers)
    try:
        strategy = _strategy(tuned, plan)
        meter = Meter(budget, tuned.scenario.unit, overhead="ignore")
        tuning = Tuning(tuned.scenario, strategy, running, Keeper(store), meter)
        tuning.replay()
        tuning.run(watch)
        return strategy
    finally:
        running.close()


def _path(tuned: _Tuned, strategy: Ablating) -> Ablation:
    """The steps so far, with their statistics."""
    rng = np.random.default_rng([int(tuned.settings.get("seed", 0)), _STATISTICS])
    walked = [Flip(("default",), tuned.source)]
    walked += [Flip((one.winner.label,), one.winner.config) for one in strategy.rounds if one.winner is not None]
    known = [flip for flip in walked if len(strategy.costs(flip.config)) == len(strategy.chosen)]
    costs = [np.array(strategy.costs(flip.config)) for flip in known]
    means = [float(each.mean()) for each in costs]
    whole = means[0] - means[-1] if strategy.finished and means else math.nan
    steps = []
    for i, flip in enumerate(known):
        groups = _by_instance(costs[i], strategy)
        before = known[i - 1].config if i else flip.config
        p_value = paired_permutation_test(costs[i], costs[i - 1], rng) if i else None
        share = (means[i - 1] - means[i]) / whole if i and whole and math.isfinite(whole) else None
        interval = bootstrap_interval(groups, rng)
        steps.append(Step(flip.label, flip.changes(before), flip.config, means[i], interval, share, p_value))
    history = strategy.history
    return Ablation("runs", steps, strategy.finished, len(strategy.chosen), len(history), history.spent)


def _by_instance(costs: np.ndarray[Any, Any], strategy: Ablating) -> list[np.ndarray[Any, Any]]:
    names = [instance for instance, _ in strategy.chosen]
    return [costs[[i for i, name in enumerate(names) if name == one]] for one in dict.fromkeys(names)]


# --- with a model ---


def predict_ablation(run: str | Path, scenario: Scenario | None = None, *, seed: int = 0) -> Ablation:
    """The same path by what a forest predicts that was fitted to the tuning's runs: no run is made.

    It can be wrong where the model is: see the intervals, and check what matters with ``ablate``.
    """
    tuned = _tuned(Path(run), scenario)
    space, model = tuned.scenario.space, _model(tuned, seed)
    walked = [Flip(("default",), tuned.source)]
    while steps := flips(space, walked[-1].config, tuned.target):
        cost, _, _ = model.expected(space.encode([step.config for step in steps]))
        walked.append(steps[int(np.argmin(cost))])
    cost, low, high = model.expected(space.encode([flip.config for flip in walked]))
    whole = float(cost[0] - cost[-1])
    found = [
        Step(
            flip.label,
            flip.changes(walked[i - 1].config) if i else {},
            flip.config,
            float(cost[i]),
            (float(low[i]), float(high[i])),
            float(cost[i - 1] - cost[i]) / whole if i and whole else None,
        )
        for i, flip in enumerate(walked)
    ]
    return Ablation("model", found, True)


def _model(tuned: _Tuned, seed: int = 0) -> Importance:
    return Importance(tuned.scenario, tuned.history, seed=seed)
