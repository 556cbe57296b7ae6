"""What a strategy promises, and what it is given to work with."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np

from capra.errors import InputError
from capra.runs import Configuration, Run, RunRequest
from capra.runs.history import History
from capra.scenario import Scenario
from capra.search.earlier import Earlier
from capra.strategies.certificate import Certificate

__all__ = ["Context", "Strategy", "checked"]


class Strategy(Protocol):
    """Decides what to run next.

    ``ask`` may return fewer than ``n`` requests, even none, while it waits for pending runs; an empty answer with nothing
    pending means the strategy is finished. ``tell`` takes runs in any order. Telling a stored history to a new strategy
    brings it to the same state: what it decides depends on what it was told, and on nothing else. ``tighten`` gives new,
    smaller cutoffs for runs under way (0 = stop it: it comes back CAPPED); asking twice gives each only once.
    """

    history: History
    """Everything it was told."""

    @property
    def incumbent(self) -> Configuration | None:
        """The best configuration so far; None before there is one. Never one that gave a wrong answer."""

    @property
    def certificate(self) -> Certificate | None:
        """What is promised of the incumbent now; None for strategies without guarantees."""

    @property
    def lines(self) -> Sequence[str]:
        """What it writes down on its way, for a log: lines are only added, at the end."""

    def ask(self, n: int) -> list[RunRequest]:
        """Up to ``n`` runs to make next."""

    def tell(self, run: Run) -> None:
        """A run is over; also those of earlier processes, on resume."""

    def why(self, request: RunRequest) -> str:
        """Who asked for this run, for the store; ``tell`` finds it in ``Run.asked_by``."""

    def describe(self) -> list[tuple[str, str]]:
        """Where it stands, for people: (word, text) lines; those without a word are shown only where there is room."""

    def tighten(self) -> list[tuple[RunRequest, float]]:
        """Runs under way that need less time than they were given, each with its new cutoff."""


@dataclass
class Context:
    """What a strategy is made from: the scenario, the seed of its choices, and its stored decisions."""

    scenario: Scenario
    seed: int = 0
    recall: Callable[[str, str], Any] = lambda kind, key: None
    """A decision that was stored before, or None."""
    record: Callable[[str, str, Any], None] = lambda kind, key, data: None
    """Store a decision, so that a replay need not take it again."""
    clock: Callable[[], float] = lambda: 0.0
    """Our own CPU seconds where they count against the budget; always 0 where they do not."""
    options: dict[str, Any] = field(default_factory=dict)
    earlier: Earlier = field(default_factory=Earlier)
    """What earlier tunings found."""

    @property
    def first(self) -> list[Configuration]:
        """Challengers to begin with: incumbents of earlier tunings, as far as a pool has them, then the scenario's own."""
        pool, begun = self.scenario.configurations, self.scenario.default
        earlier = [config for config in self.earlier.incumbents if config != begun and (not pool or config in pool)]
        return [*earlier, *(config for config in self.scenario.initial if config not in earlier)]

    def rng(self, *decision: int) -> np.random.Generator:
        """The random numbers of one decision: the same for the same seed, whatever was drawn elsewhere."""
        return np.random.default_rng([self.seed, *decision])


N = TypeVar("N", int, float)


def checked(name: str, value: N, low: float, high: float = math.inf, *, whole: bool = False) -> N:
    """An option's value, if it is a number from ``low`` to ``high``; InputError otherwise."""
    kinds = int if whole else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds) or not low <= value <= high:
        what = "a whole number" if whole else "a number"
        bounds = f"of at least {low:g}" if math.isinf(high) else f"from {low:g} to {high:g}"
        raise InputError(f"{name} is {what} {bounds}, not {value!r}")
    return value
