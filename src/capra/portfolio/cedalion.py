"""Cedalion: a schedule of configurations with time slots, one after another (Seipp, Sievers, Helmert & Hutter 2015)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from capra.errors import InputError
from capra.models.base import Floats
from capra.portfolio.builder import Builder, Program, Step
from capra.portfolio.experts import COMPARING
from capra.portfolio.lanes import MOST_MEMBERS, Lanes, best_schedule, finish_times
from capra.portfolio.schedule import Slot
from capra.portfolio.views import Ceilings, View
from capra.runs import Configuration, Objective, Outcome, RunRequest, Status
from capra.runs.history import Pair
from capra.search.earlier import Cell
from capra.space import Real, Space
from capra.strategies import Context
from capra.strategies.base import checked

__all__ = ["SLOT", "Cedalion", "Slots"]

SLOT = "capra-slot"
"""The parameter that stands for the time slot."""
SHORTEST = 1e-3
"""The shortest first slot, as a share of the cutoff."""
GRID = 6
"""Slots that each configuration of a finite pool may have."""
TUNING = 0.7
"""Share of a round's time that its tuning gets; validation gets the rest."""
SEMANTICS = ("restart", "resume")


class Slots(View):
    """Configurations with a slot: what they gain per second, on top of a schedule (Seipp et al. 2015, eq. 1).

    The strategy minimises −(c_i(S) − c_i(S ⊕ ⟨θ, t⟩))/t as a quality. A run of θ lasts t at most, so that one run answers
    for every shorter slot. ``used`` is how long each configuration has run in the schedule where a slot resumes it.
    """

    def __init__(self, elapsed: float, cutoff: float, worst: float, used: Mapping[Configuration, float]) -> None:
        self._elapsed, self._cutoff, self._worst, self._used = elapsed, cutoff, worst, used

    def config(self, proposed: Configuration) -> Configuration:
        return Configuration({name: value for name, value in proposed.items() if name != SLOT})

    def real(self, request: RunRequest) -> RunRequest:
        config = self.config(request.config)
        cutoff = min(self._cutoff, self._used.get(config, 0.0) + float(request.config[SLOT]))
        return RunRequest(config, request.instance, request.seed, cutoff)

    def tag(self, request: RunRequest) -> str:
        return repr(float(request.config[SLOT]))

    def asked(self, real: RunRequest, tag: str) -> RunRequest:
        config = Configuration({**real.config, SLOT: float(tag)})
        return RunRequest(config, real.instance, real.seed, real.cutoff)

    def shown(self, asked: RunRequest, outcome: Outcome) -> Outcome:
        if outcome.status in (Status.WRONG, Status.LOST):
            return outcome
        gain, slot = 0.0, float(asked.config[SLOT])
        if outcome.status is Status.SUCCESS:
            finish = self._elapsed + outcome.time - self._used.get(self.config(asked.config), 0.0)
            gain = max(0.0, self._worst - finish) / slot
        return Outcome(Status.SUCCESS, outcome.time, outcome.cutoff, quality=-gain)

    def cells(self, known: Iterable[Cell]) -> Iterator[Cell]:
        return iter(())


class Cedalion(Builder):
    """Up to ``slots`` slots; each is tuned for, together with its configuration, on the instances not solved so far.

    At the end order and slots of what was found are optimised once more, for ``cores`` cores. ``semantics``: a configuration
    with two slots starts anew in the second ("restart") or goes on where it was stopped ("resume").
    """

    name = "cedalion"

    def __init__(
        self, context: Context, *, slots: int = 5, cores: int = 1, semantics: str = "restart", **options: Any
    ) -> None:
        self.slots = checked("slots", slots, 1, MOST_MEMBERS, whole=True)
        self.cores = checked("cores", cores, 1, 1000, whole=True)
        if semantics not in SEMANTICS:
            raise InputError(f"semantics is 'restart' or 'resume', not {semantics!r}")
        self.semantics = semantics
        self.found: list[list[Slot]] = [[] for _ in range(self.cores)]
        """The slots as they were added, for each core; configurations by their place among the members."""
        super().__init__(context, **options)

    def program(self) -> Program:
        share = (1.0 - COMPARING) / self.slots
        for number in range(self.slots):
            lane = min(self.found, key=lambda lane: sum(slot for _, slot in lane))
            elapsed, pairs = sum(slot for _, slot in lane), self._unsolved()
            if not pairs or elapsed >= (1.0 - SHORTEST) * self.kappa_max:
                break
            names = list(dict.fromkeys(str(instance) for instance, _ in pairs))
            step = self._tuning(
                f"slot {number + 1}", names, share * (number + TUNING), elapsed, lane, self._lengths(number, elapsed)
            )
            yield step
            if (best := step.strategy.incumbent) is None:
                break
            config, slot = step.view.config(best), float(best[SLOT])
            longest = self._used(lane).get(config, 0.0) + slot
            what = f"slot {number + 1}, validation"
            yield self.measuring(
                what, [config], pairs, share * (number + 1), Ceilings(dict.fromkeys(pairs, longest).__getitem__)
            )
            if min(self.cells.best_time([config], pair) for pair in pairs) <= longest:  # else another round tries again
                self.join(config)
                lane.append((self.members.index(config), slot))
        yield from self.comparing()

    @property
    def kappa_max(self) -> float:
        return self.context.scenario.cutoff

    def _lengths(self, number: int, elapsed: float) -> tuple[float, float]:
        """How long a slot may be: slots grow geometrically, so that they come near the cutoff together.

        A gain per second is greatest in the shortest slots: with a few of these nobody would ever be looked for who solves
        what is hard. And runs in long slots would use up the time of the first tunings.
        """
        least, most = (self.kappa_max * SHORTEST ** (1.0 - k / self.slots) for k in (number, number + 1))
        room = self.kappa_max - elapsed
        return min(least, room / 2.0), min(most, room)

    def _tuning(
        self, what: str, names: list[str], until: float, elapsed: float, lane: list[Slot], lengths: tuple[float, float]
    ) -> Step:
        scenario = self.context.scenario
        view = Slots(elapsed, self.kappa_max, scenario.objective.worst(self.kappa_max), self._used(lane))
        changes: dict[str, Any] = {
            "space": with_slot(scenario.space, *lengths),
            "objective": Objective("quality", 1.0, 0.0),
            "initial": (),
        }
        if scenario.configurations:
            slot = changes["space"].parameters[SLOT]
            grid = [slot.coerce(length) for length in np.geomspace(slot.lower, slot.upper, GRID).tolist()]
            pool = [Configuration({**config, SLOT: length}) for length in grid for config in scenario.configurations]
            changes["configurations"] = tuple(pool)
        return self.tuning(what, names, until, view=view, changes=changes)

    def _used(self, lane: list[Slot]) -> dict[Configuration, float]:
        """How long each configuration has run in a lane, where that counts."""
        used: dict[Configuration, float] = {}
        if self.semantics == "resume":
            for c, slot in lane:
                used[self.members[c]] = used.get(self.members[c], 0.0) + slot
        return used

    def times(self, pairs: list[Pair]) -> Floats:
        """Known times of the members, (n, k); infinite where they are not known to solve a pair."""
        found = [[self.cells.best_time([config], pair) for config in self.members] for pair in pairs]
        return np.array(found).reshape(len(pairs), len(self.members))

    def _unsolved(self) -> list[Pair]:
        pairs = self.pairs
        if not self.members:
            return pairs
        lanes: Lanes = tuple(tuple(lane) for lane in self.found)
        finish = finish_times(self.times(pairs), lanes, resumed=self.semantics == "resume")
        return [pair for pair, time in zip(pairs, finish, strict=True) if time > self.kappa_max]

    @property
    def schedule(self) -> Lanes:
        """The best order and slots for the members, by what is known of them."""
        if not self.members:
            return ()
        penalty = self.context.scenario.objective.penalty
        return best_schedule(self.times(self.pairs), self.kappa_max, penalty, cores=self.cores)


def with_slot(space: Space, least: float, most: float) -> Space:
    """The space with the time slot as one more parameter, on a log scale."""
    if SLOT in space.parameters:
        raise InputError(f"a parameter is called {SLOT}", hint="rename it")
    slot = Real(SLOT, least, most, math.sqrt(least * most), log=True)
    return Space([*space.parameters.values(), slot], space.conditions, space.forbidden, switches=space.switches)
