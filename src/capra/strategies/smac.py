"""SMAC with censored surrogates: racing and capping, with challengers proposed by a model.

Sequential model-based algorithm configuration (Hutter, Hoos & Leyton-Brown 2011) on the data that capping leaves behind
(Hutter et al., censored response data, Alg. 3; Eggensperger et al., neural model-based optimisation): an initial design,
then challengers that a model proposes, with random ones between them.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from capra.models import CensoredGP
from capra.models.instances import reduced_features
from capra.runs import Configuration, History, Status
from capra.runs.history import Pair
from capra.search.information import Belief
from capra.search.observations import Observations
from capra.search.suggest import Suggester
from capra.search.surrogates import MODELS, Maker, chosen_model, known_name
from capra.space import Space
from capra.space.design import initial_design
from capra.strategies.base import Context, checked
from capra.strategies.near import NearProposer
from capra.strategies.race import Busy, Race
from capra.strategies.roar import RandomProposer

__all__ = ["ModelProposer", "make_suggester", "smac"]

_DESIGN, _FITS, _TURNS = 6, 7, 18
"""Streams of random numbers (see Context.rng)."""
Floats = NDArray[np.float64]
AUTO = "auto"
"""The model by itself: a forest, or a Gaussian process where that was measured to be better."""
FEW = 7
"""Parameters at most for the process: as many as there were where it was measured."""
LIST = 20
"""Suggestions that are kept of one fit, at least."""
OWN = ("challenger", "incumbent", "audit")
"""Who asks for the runs of a race. Others are made again, to watch the machine: they decide nothing."""
GROWTH = 0.01
"""The runs must be so many more than at the last fit: then all fits together take no longer than a hundred of the last one,
whatever a second of ours costs."""
LEAST = 0.2
"""Fits need not wait below this part of their share: where runs are so short that starting them takes all of it."""
RETURNED = 0.25
"""This share of the runs under way at the last fit must be back as well: each fit makes lists for all workers."""


@dataclass(frozen=True)
class Plan:
    """When to ask the model."""

    design: str = "lhd"
    """Kind and size of the initial design."""
    initial: int = 10
    random: float = 0.6
    """Share of the challengers' time that goes to others than the model's: they keep the search honest where it is wrong."""
    near: float = 0.15
    """Share of these that are drawn near the best; the others are drawn from the whole space."""
    refit: int = 2
    """Challengers between two fits, at least."""
    fit_share: float = 0.08
    """Fits wait while our own time, that of starting runs included, is above this share of the target time (Alg. 3:
    intensify at least as long as they took)."""


class ModelProposer:
    """A ``Proposer``: the initial design, then the model's suggestions with random challengers between them.

    Each fit's suggestions are stored as a decision, so that a replay needs no fit.
    """

    def __init__(self, context: Context, suggester: Suggester, plan: Plan) -> None:
        self._context = context
        self._suggester = suggester
        self._plan = plan
        self._random = RandomProposer(context)
        self._near = NearProposer(context)
        self._design = self._initial_design()
        self._fits = self._known = self._runs_then = self._busy_then = 0
        self._last_number, self._last_seconds, self._total_seconds = -plan.refit, 0.0, 0.0
        self._list: deque[Configuration] = deque()
        self._suggested: set[Configuration] = set()
        self._seen = self._runs = 0
        """Runs looked at, and those of them that the race asked for."""
        self._times = {True: 0.0, False: 0.0}
        """Of challengers that were suggested, and of others."""
        while (stored := context.recall("fit", str(self._fits))) is not None:
            self._remember(stored)

    def propose(self, number: int, history: History, busy: Busy, incumbent: Configuration | None) -> Configuration | None:
        self._look(history)
        if number < len(self._design) and self._design[number] not in busy:
            return self._design[number]
        if incumbent is None or self._random_is_due():
            return self._by_chance(number, history, busy, incumbent)
        if self._is_due(number, history):
            self._refit(number, history, busy, incumbent)
        while self._list and history.record(self._list[0]).known:
            self._list.popleft()
        for config in self._list:
            if config not in busy and not history.record(config).known:
                return config
        return self._random.propose(number, history, busy, incumbent)

    def _by_chance(self, number: int, history: History, busy: Busy, incumbent: Configuration | None) -> Configuration | None:
        """A challenger that no model has a hand in."""
        if incumbent is not None and self._context.rng(_TURNS, number).random() < self._plan.near:
            near = self._near.propose(number, history, busy, incumbent)
            if near is not None:
                return near
        return self._random.propose(number, history, busy, incumbent)

    def belief(self, config: Configuration, incumbent: Configuration, pair: Pair, history: History) -> Belief | None:
        """See ``Suggester.belief``. After a replay the last model is made again, of the runs that it was made of."""
        if self._suggester.learnt is None and self._fits:
            self._suggester.learn(history, self._context.rng(_FITS, self._fits - 1), self._known)
        return self._suggester.belief(config, incumbent, pair, history)

    def _look(self, history: History) -> None:
        """Count the runs that are new, and the challengers' time."""
        for run in history.runs[self._seen :]:
            if run.asked_by.startswith(OWN) and run.outcome.status is not Status.LOST:  # a replay sees no lost runs
                self._runs += 1
                self._near.look(run.request.config, history)
                if run.asked_by.startswith("challenger"):
                    self._times[run.request.config in self._suggested] += run.outcome.time
        self._seen = len(history)

    def _random_is_due(self) -> bool:
        """Have random challengers had less than their share of the time?

        Time, not number: neighbours of a good configuration are nearly as good, and to tell so takes long races, while
        random ones mostly lose their first run. By number, few would be left to find another valley.
        """
        return self._times[False] <= self._plan.random * sum(self._times.values())

    def _initial_design(self) -> list[Configuration]:
        scenario = self._context.scenario
        if scenario.configurations:
            return self._context.first
        rows = initial_design(scenario.space, self._plan.design, self._plan.initial, self._context.rng(_DESIGN))
        return [*self._context.first, *scenario.space.decode(rows)]

    def _is_due(self, number: int, history: History) -> bool:
        """Challengers and runs since the last fit, and enough target time to pay for all of ours so far and one more fit."""
        enough = self._runs_then + max(GROWTH * self._runs_then, RETURNED * self._busy_then)
        if number < self._last_number + self._plan.refit or self._runs < enough:
            return False
        share, fits = self._plan.fit_share * history.spent, self._total_seconds + self._last_seconds
        return fits <= LEAST * share or self._context.clock() + self._last_seconds <= share

    def _refit(self, number: int, history: History, busy: Busy, incumbent: Configuration) -> None:
        began, known = self._context.clock(), len(history) - history.statuses[Status.LOST]  # a replay sees no lost runs
        pending = [(config, instance) for config, pairs in busy.items() for instance, _ in pairs]
        rng = self._context.rng(_FITS, self._fits)
        racing = len(busy)
        count = max(LIST, 2 * racing, 2 * (number - self._last_number))  # the next fit may be as far away as the last
        found = self._suggester.suggest(history, incumbent, rng, count=count, pending=pending)
        seconds = self._context.clock() - began
        configs = [dict(config) for config in found]
        decision = {
            "number": number,
            "seconds": seconds,
            "known": known,
            "runs": self._runs,
            "busy": racing,
            "configs": configs,
        }
        self._context.record("fit", str(self._fits), decision)
        self._remember(decision)

    def _remember(self, decision: dict[str, Any]) -> None:
        self._fits += 1
        self._last_number, self._last_seconds = decision["number"], decision["seconds"]
        self._total_seconds += self._last_seconds
        self._known = decision["known"]
        self._runs_then = decision.get("runs", self._known)  # older stores count all runs
        self._busy_then = decision.get("busy", 0)
        self._list = deque(Configuration(config) for config in decision["configs"])
        self._suggested.update(self._list)


def _features(context: Context, instances: Sequence[str | None]) -> Floats:
    """What is known of the instances beforehand, (m, f ≤ 7); an instance of an earlier tuning may have gaps."""
    known = context.scenario.features
    if not all(instance.name in known.rows for instance in context.scenario.instances) or not known.rows:
        return np.empty((len(instances), 0))
    gaps = (math.nan,) * len(known.names)
    return reduced_features(np.array([known.rows.get(str(name), gaps) for name in instances], dtype=np.float64))


def _maker(model: str | Maker, acquisition: str | None, *, smooth: bool, exact: bool) -> tuple[Callable[[int], Maker], str]:
    """What makes the model of so many rows, and the acquisition function to use. ``exact``: there is no luck in a run."""
    if callable(model):
        return lambda rows: model, acquisition or "log-ei"
    name = known_name("model", model, [AUTO, *MODELS])
    wanted = "forest" if name == AUTO else name
    make, used = chosen_model(wanted, acquisition, exact=exact and wanted.startswith("forest"))
    if name == AUTO and smooth:
        process, used = chosen_model("gp", acquisition)
        return lambda rows: process if rows <= CensoredGP.largest else make, used
    return lambda rows: make, used


def _is_smooth(space: Space, instances: int) -> bool:
    """A handful of numbers and a single instance: there a Gaussian process sees more in few runs than a forest does
    (docs/studies/saps.md and accuracy.md)."""
    return len(space) <= FEW and not space.types.any() and not space.conditions and instances <= 1


def make_suggester(
    context: Context, model: str | Maker, acquisition: str | None = None, candidates: int = 10_000, *, plain: bool = False
) -> Suggester:
    """Who learns from a scenario's runs and suggests what to try; ``model`` is one of ``search.surrogates.MODELS``, "auto",
    or makes another one. With ``plain`` it learns qualities as they are: to explain them, not to search."""
    scenario = context.scenario
    instances: list[str | None] = [instance.name for instance in scenario.instances] or [None]
    kind = scenario.objective.kind
    upper = math.log10(scenario.objective.worst(scenario.cutoff)) if kind == "runtime" else None
    seen = "plain" if plain and kind == "quality" else kind
    observations = Observations(scenario.space, instances, kind=seen, earlier=context.earlier.cells)
    count = len(observations.instances)
    exact = scenario.deterministic and count <= 1
    make, used = _maker(model, acquisition, smooth=_is_smooth(scenario.space, count), exact=exact)
    return Suggester(
        scenario.space,
        observations,
        _features(context, observations.instances),
        lambda types, seed, rows: make(rows)(types, seed, upper),
        acquisition=used,
        candidates=candidates,
        pool=scenario.space.encode(scenario.configurations) if scenario.configurations else None,
    )


def smac(
    context: Context,
    *,
    model: str = AUTO,
    acquisition: str | None = None,
    candidates: int = 10_000,
    design: str = Plan.design,
    initial: int = Plan.initial,
    random: float = Plan.random,
    near: float = Plan.near,
    refit: int = Plan.refit,
    fit_share: float = Plan.fit_share,
    **options: Any,
) -> Race:
    """Racing with model-proposed challengers; ``model`` is one of ``search.surrogates.MODELS``, or "auto"."""
    suggester = make_suggester(context, model, acquisition, checked("candidates", candidates, 1, whole=True))
    plan = Plan(
        design,
        checked("initial", initial, 0, whole=True),
        checked("random", random, 0.0, 1.0),
        checked("near", near, 0.0, 1.0),
        checked("refit", refit, 1, whole=True),
        checked("fit_share", fit_share, 0.0),
    )
    proposer = ModelProposer(context, suggester, plan)
    return Race(context, proposer, believer=proposer, **options)
