"""Capping: how long a challenger's run may last, and what it means that it lasted longer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from capra.errors import InputError
from capra.runs import Configuration, Objective
from capra.runs.history import History, Pair
from capra.strategies.base import Context, checked

if TYPE_CHECKING:
    from capra.search.information import Belief

__all__ = ["Believer", "Capping", "Duel", "chosen_capping", "next_cutoff"]

TRIAL = 0.1
"""Share of κ_max that a run gets at first where the incumbent has failed."""
HOPELESS = 0.05
"""A challenger whose run was stopped early is rejected when its chance to be better is below this."""
_PAR = Objective()


def next_cutoff(incumbent_total: float, spent: float, slack: float, kappa_max: float, objective: Objective = _PAR) -> float:
    """Time the challenger may still use before it is provably worse than the incumbent.

    ``incumbent_total`` is the incumbent's cost on the pairs that are compared, ``spent`` the challenger's cost on those of
    them that it has finished (Hutter et al. 2009, trajectory-preserving capping; the slack factor ξ of Hutter, Hoos &
    Leyton-Brown 2011, §3: 1 is the exact bound, more buys better data). 0.0 means that it has already lost: reject, do not
    run.
    """
    return min(kappa_max, objective.time_for(slack * incumbent_total - spent))


@dataclass(frozen=True, slots=True)
class Duel:
    """A challenger, the incumbent, and a pair that the challenger runs on."""

    challenger: Configuration
    incumbent: Configuration
    pair: Pair
    history: History

    @property
    def lower(self) -> float:
        """How long the challenger is known to take at least."""
        return self.history.record(self.challenger).bounds.get(self.pair, 0.0)

    @property
    def failed(self) -> bool:
        """Did the incumbent never finish this instance? Then the challenger cannot lose by this pair.

        Where it finished with another seed, the failure was that seed's bad luck. Without such pairs a challenger would be
        compared with the incumbent's lucky runs alone.
        """
        finished = self.history.record(self.incumbent).finished
        return self.unlucky and finished is not None and self.pair[0] not in finished

    @property
    def unlucky(self) -> bool:
        """Did the incumbent not finish this very pair?"""
        return self.history.is_failure(self.history.record(self.incumbent).costs.get(self.pair, 0.0))


class Capping(Protocol):
    """A rule of capping. Whatever it chooses, a challenger that has passed ``most`` has lost."""

    def most(self, incumbent_total: float, spent: float) -> float:
        """What the challenger's next run may take before it has provably lost; 0.0: it has."""

    def cutoff(self, duel: Duel, most: float) -> float:
        """The cutoff of the next run: at most ``most``, and more than the pair is known to take."""

    def rejects(self, duel: Duel, order: int, is_lost: Callable[[], bool]) -> bool:
        """Is the challenger given up whose run number ``order`` was capped? ``is_lost``: has it passed ``most``?

        Otherwise it goes on with other pairs.
        """


class Uncapped:
    """Every run gets κ_max."""

    def __init__(self, kappa_max: float) -> None:
        self._kappa_max = kappa_max

    def most(self, incumbent_total: float, spent: float) -> float:
        return self._kappa_max

    def cutoff(self, duel: Duel, most: float) -> float:
        return most

    def rejects(self, duel: Duel, order: int, is_lost: Callable[[], bool]) -> bool:
        return True


class Slack(Uncapped):
    """Adaptive capping: a run may take what is left of ξ times the incumbent's cost.

    Where the incumbent always fails that is no bound at all: a challenger would get κ_max to no purpose but a tie, and such
    runs would take most of the time. They get a trial first, because solving the pair quickly is worth so much, and are put
    off if it fails.
    """

    def __init__(self, kappa_max: float, slack: float, objective: Objective = _PAR) -> None:
        super().__init__(kappa_max)
        self._slack, self._objective = slack, objective

    def most(self, incumbent_total: float, spent: float) -> float:
        return next_cutoff(incumbent_total, spent, self._slack, self._kappa_max, self._objective)

    def cutoff(self, duel: Duel, most: float) -> float:
        return min(most, TRIAL * self._kappa_max) if duel.failed and not duel.lower else most

    def rejects(self, duel: Duel, order: int, is_lost: Callable[[], bool]) -> bool:
        # The incumbent may have finished another seed since a trial began; only the history is the same in a replay.
        was_trial = duel.unlucky and duel.lower <= TRIAL * self._kappa_max
        return not (duel.failed or was_trial)


class Believer(Protocol):
    """Who has a model."""

    def belief(self, config: Configuration, incumbent: Configuration, pair: Pair, history: History) -> Belief | None:
        """What is believed of a run, given the other runs; None as long as there is no model."""


class Informed(Slack):
    """Within the adaptive bound, the cutoff that tells most about who is better per expected second.

    A run that is stopped earlier than the bound decides nothing by itself: if the challenger's chance to be better has
    become small it is given up. Verdicts are stored as decisions, so that a replay needs no model.
    """

    def __init__(self, kappa_max: float, slack: float, context: Context, believer: Believer) -> None:
        super().__init__(kappa_max, slack)
        self._context = context
        self._believer = believer

    def cutoff(self, duel: Duel, most: float) -> float:
        from capra.search.information import telling_cutoff  # scipy takes its time to load

        belief, upper = self._belief(duel), super().cutoff(duel, most)
        return upper if belief is None else telling_cutoff(belief, upper, duel.lower, hopeless=HOPELESS)

    def rejects(self, duel: Duel, order: int, is_lost: Callable[[], bool]) -> bool:
        verdict = self._context.recall("verdict", str(order))
        if verdict is None:
            verdict = {"config": duel.challenger.id, "chance": 0.0 if is_lost() else self._chance(duel)}
            self._context.record("verdict", str(order), verdict)
        return bool(verdict["chance"] < HOPELESS)

    def _chance(self, duel: Duel) -> float:
        from capra.search.information import chance

        belief = self._belief(duel)
        return 1.0 if belief is None else chance(belief, duel.lower)

    def _belief(self, duel: Duel) -> Belief | None:
        return self._believer.belief(duel.challenger, duel.incumbent, duel.pair, duel.history)


def chosen_capping(context: Context, capping: bool | str, slack: float, believer: Believer | None) -> Capping:
    """True: adaptive capping; False: none; "information": cutoffs chosen by a model within the adaptive bound."""
    kappa_max = context.scenario.cutoff
    slack = checked("slack", slack, 1.0)
    if not isinstance(capping, bool) and capping != "information":
        raise InputError(f"capping is true, false or 'information', not {capping!r}")
    if capping is False or context.scenario.objective.kind != "runtime":
        return Uncapped(kappa_max)
    if capping is True:
        return Slack(kappa_max, slack, context.scenario.objective)
    if context.scenario.objective.utility is not None:
        raise InputError("capping='information' is for times, not for utilities", hint="leave it out")
    if believer is None:
        raise InputError("capping='information' needs a model of the runs", hint="the strategy smac has one")
    return Informed(kappa_max, slack, context, believer)
