"""Bayesian optimisation of a function whose evaluations can be cut short: ``f(config, cutoff)``.

For functions where evaluating takes as much as the value says (a running time, a number of steps, money): an evaluation
that has passed the best value by the factor ``slack`` has lost, and is stopped there. What is left is a lower bound, and the
models understand it (Hutter, Hoos & Leyton-Brown, Bayesian optimisation with censored response data, Alg. 2 and §3).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from capra.errors import InputError, shown
from capra.runs import Configuration, Objective, Outcome, Run, RunRequest, Status, Value
from capra.runs.history import History
from capra.space import Space
from capra.space.design import initial_design
from capra.space.files import as_space

if TYPE_CHECKING:
    from capra.search.suggest import Suggester

__all__ = ["Evaluation", "Improvement", "Minimizer", "Minimum", "minimize"]

FLOOR = 1e-6
"""Costs below this are all the same: models see logarithms, and a cutoff is positive."""
CANDIDATES = 2_000
"""Random configurations that the acquisition function looks at before each evaluation; ``smac`` has five times as many, but
only a fit now and then, and nobody says here what an evaluation takes beside our own time."""
_DESIGN, _CHOICES = 0, 1
"""Streams of random numbers."""


class Evaluation(NamedTuple):
    """What one call of the function told: if ``censored``, that its value there is at least ``cost``."""

    config: dict[str, Value]
    cost: float
    cutoff: float
    censored: bool


class Improvement(NamedTuple):
    """A new best configuration: what had been spent when it was known, which, and its cost."""

    spent: float
    config: dict[str, Value]
    cost: float


@dataclass(frozen=True, slots=True)
class Minimum:
    """What ``minimize`` found."""

    incumbent: dict[str, Value] | None
    """The best configuration; None if no evaluation was completed."""
    cost: float
    """The function's value there; infinite if there is none."""
    spent: float
    """Sum of all costs, up to their cutoffs."""
    stopped: str
    """What ended the search: "budget", "evaluations", or "space" (every configuration was tried)."""
    trajectory: list[Improvement]
    observations: list[Evaluation]


class Minimizer:
    """The search as questions and answers: ``ask`` what to evaluate and up to where, ``tell`` what came of it.

    The default configuration comes first, then a Latin hypercube, then what the model proposes. What is asked next depends
    on the seed and on what was told, and on nothing else: a new minimizer that is told the same ``observations`` asks the
    same. Several questions may be open at a time; what they may cost at most is kept free. The function is taken to be
    deterministic: of a configuration that is told twice, the first complete value counts.
    """

    def __init__(
        self,
        space: Any,
        *,
        budget: float = math.inf,
        slack: float = 1.3,
        model: str = "forest",
        acquisition: str | None = None,
        initial: int = 10,
        cutoff: float = math.inf,
        evaluations: int = 1000,
        seed: int = 0,
    ) -> None:
        """What may be said of a search.

        ``space``: a Space, the path of a parameter file, or a ``ConfigSpace.ConfigurationSpace``. ``budget``: for the sum of
        all costs, each up to its cutoff. ``slack``: an evaluation is stopped at this factor times the best cost (1 = as soon
        as it cannot win; infinite = never). ``cutoff``: no evaluation may cost more; without it the first one may cost the
        whole budget. ``model``: forest, forest-mean, network, ensemble or gp; ``acquisition``: ei, log-ei, pi, lcb or
        thompson, by default what suits the model. ``initial``: size of the Latin hypercube. ``evaluations``: how many.
        """
        self.space = as_space(space)
        self._budget, self._largest = _positive("budget", budget), _positive("cutoff", cutoff)
        self._slack = _positive("slack", slack, least=1.0)
        self._evaluations = _whole("evaluations", evaluations)
        self._seed = _seed(seed)
        self._history = History(Objective("runtime", penalty=1.0), math.inf)
        self._suggester = _suggester(self.space, model, acquisition)
        self._design = _design(self.space, _whole("initial", initial), self._rng(_DESIGN))
        self._open: dict[Configuration, float] = {}
        self._stopped: dict[Configuration, float] = {}
        """Those that were stopped from outside, and where: with a larger cutoff they may win."""
        self.observations: list[Evaluation] = []
        self.trajectory: list[Improvement] = []

    # --- where it stands ---

    @property
    def best(self) -> Improvement | None:
        """The best complete evaluation so far."""
        return self.trajectory[-1] if self.trajectory else None

    @property
    def spent(self) -> float:
        """Sum of all costs told, up to their cutoffs."""
        return self._history.spent

    @property
    def cutoff(self) -> float:
        """Up to where the next evaluation may go: κ = ξ · f_min (§3), and never beyond what is left of the budget."""
        bound = self._slack * max(self.best.cost, FLOOR) if self.best else math.inf
        return min(bound, self._largest, self._left)

    @property
    def _left(self) -> float:
        """Of the budget, when all open questions have reached their cutoffs."""
        return self._budget - self.spent - sum(self._open.values()) if math.isfinite(self._budget) else math.inf

    @property
    def exhausted(self) -> str | None:
        """ "budget" or "evaluations" if there are none left, now that some questions are open."""
        if self._left <= 0.0:
            return "budget"
        return "evaluations" if len(self.observations) + len(self._open) >= self._evaluations else None

    # --- questions and answers ---

    def ask(self) -> tuple[dict[str, Value], float] | None:
        """A configuration to evaluate and its cutoff; None if nothing is left to spend or to try.

        While questions are open that may only mean "not now": the first one may cost the whole budget unless there is a
        ``cutoff``.
        """
        config = None if self.exhausted else self._choose()
        if config is None:
            return None
        self._open[config] = self.cutoff
        return dict(config), self._open[config]

    def tell(
        self, config: Mapping[str, Any], cost: float | None, *, censored: bool = False, cutoff: float | None = None
    ) -> None:
        """The cost of a configuration; if ``censored``, it was stopped there and its true cost is at least that.

        None means that it reached the cutoff it was asked with. A cost above that cutoff counts as that, too. Configurations
        that nobody asked for are welcome: what is known beforehand makes the search shorter. ``cutoff`` is for them: the one
        that they were evaluated with.
        """
        checked = self.space.configuration(config)
        cutoff = self._open.get(checked, math.inf) if cutoff is None else _positive("cutoff", cutoff)
        evaluation = _evaluation(dict(checked), cost, cutoff, censored)
        self._open.pop(checked, None)
        is_first = not self._history.record(checked).costs
        self._history.add(_run(checked, evaluation))
        self.observations.append(evaluation)
        self._note_stopped(checked, evaluation)
        if is_first and not evaluation.censored and (self.best is None or evaluation.cost < self.best.cost):
            self.trajectory.append(Improvement(self.spent, evaluation.config, evaluation.cost))

    def _note_stopped(self, config: Configuration, evaluation: Evaluation) -> None:
        """A function that gives up before its cutoff would do so again."""
        gave_up = evaluation.cost < evaluation.cutoff < math.inf
        if evaluation.censored and not gave_up and not self._history.record(config).costs:
            self._stopped[config] = evaluation.cost
        else:
            self._stopped.pop(config, None)

    def _choose(self) -> Configuration | None:
        for config in self._design:
            if self._is_new(config):
                return config
        if (again := self._stopped_too_early()) is not None:
            return again
        rng = self._rng(_CHOICES, len(self.observations) + len(self._open))
        if not len(self._history):  # all of the design is under way, and there is nothing to fit a model to
            return next(filter(self._is_new, self.space.decode(self.space.sample(CANDIDATES, rng))), None)
        incumbent = Configuration(self.best.config) if self.best else None
        pending = [(config, None) for config in self._open]
        found = self._suggester.suggest(self._history, incumbent, rng, count=len(pending) + 1, pending=pending)  # l. 3–4
        return next(filter(self._is_new, found), None)

    def _stopped_too_early(self) -> Configuration | None:
        """Where it could still have won: little was left of the budget while others were open, or somebody told us of it."""
        beaten = min(self.best.cost if self.best else math.inf, self.cutoff)
        return next((config for config, at in self._stopped.items() if at < beaten and config not in self._open), None)

    def _is_new(self, config: Configuration) -> bool:
        return config not in self._open and not self._history.record(config).known

    def _rng(self, *decision: int) -> np.random.Generator:
        return np.random.default_rng([self._seed, *decision])


def minimize(f: Callable[[dict[str, Value], float], Any], space: Any, *, budget: float, **options: Any) -> Minimum:
    """Find the configuration with the smallest ``f(config, cutoff)``, a positive number that is also what the call costs.

    ``f`` may stop once its value is known to exceed ``cutoff``: it then returns None, ``(bound, True)``, or
    ``{"cost": bound, "censored": True}``. If it does not care, what it returns above the cutoff counts as stopped there.

    ``budget`` is for the sum of all costs, each up to its cutoff. The ``options`` are those of ``Minimizer``: slack, model,
    acquisition, initial, cutoff, evaluations, seed.
    """
    search = Minimizer(space, budget=budget, **options)
    while (question := search.ask()) is not None:  # Alg. 2 l. 2–6
        config, bound = question
        search.tell(config, **_answer(f(dict(config), bound)))
    best = search.best
    return Minimum(
        incumbent=best.config if best else None,
        cost=best.cost if best else math.inf,
        spent=search.spent,
        stopped=search.exhausted or "space",
        trajectory=search.trajectory,
        observations=search.observations,
    )


def _suggester(space: Space, model: str, acquisition: str | None) -> Suggester:
    from capra.search.observations import Observations  # models need scipy, which is slow to import
    from capra.search.suggest import Suggester
    from capra.search.surrogates import FINE, chosen_model

    make, used = chosen_model(model, acquisition, exact=True)
    return Suggester(
        space,
        Observations(space, [None], floor=FLOOR),
        np.empty((1, 0)),
        lambda types, seed, _: make(types, seed, None),
        acquisition=used,
        candidates=CANDIDATES,
        refine=model in FINE,
    )


def _design(space: Space, size: int, rng: np.random.Generator) -> list[Configuration]:
    return [space.default, *space.decode(initial_design(space, "lhd", size, rng))]


def _run(config: Configuration, evaluation: Evaluation) -> Run:
    status = Status.CAPPED if evaluation.censored else Status.SUCCESS
    outcome = Outcome(status, evaluation.cost, evaluation.cost if evaluation.censored else evaluation.cutoff)
    return Run(RunRequest(config, None, 0, evaluation.cutoff), outcome)


# --- checks ---


def _answer(value: Any) -> dict[str, Any]:
    """What the function returned, as arguments of ``tell``."""
    if isinstance(value, Mapping):
        if "cost" not in value or not value.keys() <= {"cost", "censored"}:
            raise InputError(f"the function returned {shown(value)}", hint="a dict has 'cost' and may have 'censored'")
        return dict(value)
    if isinstance(value, tuple):
        if len(value) != 2:
            raise InputError(f"the function returned {shown(value)}", hint="a tuple is (cost, censored)")
        return {"cost": value[0], "censored": value[1]}
    return {"cost": value}


def _evaluation(config: dict[str, Value], cost: Any, cutoff: float, censored: Any) -> Evaluation:
    """Costs up to the cutoff are what they are; the rest is cut there."""
    if not isinstance(censored, bool | np.bool_):
        raise InputError(f"censored is True or False, not {shown(censored)}")
    if cost is None and math.isinf(cutoff):
        raise InputError("no cost was told, and there was no cutoff to reach", hint="tell the cost that it had reached")
    value = cutoff if cost is None else _cost(cost)
    cut = cost is None or bool(censored) or value > cutoff
    if cut and value == 0.0:
        raise InputError("an evaluation that was stopped at a cost of 0 tells nothing", hint="tell what it had reached")
    return Evaluation(config, min(value, cutoff), cutoff, cut)


def _cost(cost: Any) -> float:
    if isinstance(cost, bool) or not isinstance(cost, Real):
        raise InputError(f"a cost is a number, not {shown(cost)}", hint="None = the cutoff was reached")
    value = float(cost)
    if not math.isfinite(value):
        raise InputError(f"a cost is finite, not {value}", hint="None = the cutoff was reached")
    if value < 0.0:
        raise InputError(f"a cost is not negative: {value}", hint="add a constant; models see the cost's logarithm")
    return value


def _positive(name: str, value: Any, least: float = 0.0) -> float:
    number = math.nan if isinstance(value, bool) or not isinstance(value, Real) else _float(value)
    if not number >= least or number == 0.0:
        raise InputError(f"{name} is {shown(value)}", hint=f"a number {f'of at least {least:g}' if least else 'above 0'}")
    return number


def _float(value: Real) -> float:
    try:
        return float(value)
    except OverflowError:  # a whole number beyond all others
        return math.inf if value > 0 else -math.inf  # type: ignore[operator]


def _whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InputError(f"{name} is {shown(value)}", hint="a whole number of at least 1")
    return int(value)


def _seed(seed: Any) -> int:
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InputError(f"seed is {shown(seed)}", hint="a whole number, not negative")
    return int(seed)
