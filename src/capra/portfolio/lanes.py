"""Schedules on one core or several: what they cost, and the best order and slots for given configurations."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from capra.errors import ModelError
from capra.models.base import Floats
from capra.portfolio.schedule import Slot

__all__ = ["Lanes", "best_schedule", "finish_times", "schedule_cost"]

Lanes = tuple[tuple[Slot, ...], ...]
"""One sequence of (configuration, slot) for each core; all cores start together, and the first answer ends it all."""
MOST_MEMBERS = 6
MOST_TRIED = 50_000
"""So many combinations of order and slots are searched: with that the number of slots tried for a member is chosen."""


def finish_times(times: Floats, lanes: Lanes, *, resumed: bool = False) -> Floats:
    """When each instance is solved, (n,), infinite if never. ``times`` are (n, k), infinite where unsolved.

    A second slot of a configuration starts from the beginning; with ``resumed`` it goes on where the last one in its
    lane was stopped.
    """
    found = np.full(len(times), math.inf)
    for lane in lanes:
        clock, used = 0.0, dict.fromkeys((c for c, _ in lane), 0.0)
        for c, slot in lane:
            before = used[c] if resumed else 0.0
            fits = (times[:, c] > before) & (times[:, c] <= before + slot) if resumed else times[:, c] <= slot
            found = np.where(fits, np.minimum(found, clock + times[:, c] - before), found)
            clock, used[c] = clock + slot, before + slot
    return found


def schedule_cost(times: Floats, lanes: Lanes, cutoff: float, penalty: float, *, resumed: bool = False) -> float:
    """Mean PARk of a schedule that ends at the cutoff."""
    return _mean(finish_times(times, lanes, resumed=resumed), cutoff, penalty)


def _mean(finish: Floats, cutoff: float, penalty: float) -> float:
    return float(np.where(finish <= cutoff, finish, penalty * cutoff).mean())


def best_schedule(times: Floats, cutoff: float, penalty: float, *, cores: int = 1) -> Lanes:
    """The order, the cores and the slots of the k configurations with the lowest mean PARk; each gets at most one slot.

    Branch and bound over orders and slots. Only times at which something is solved can be good slots; where there are few of
    them the answer is exact. Otherwise a selection of them, spread evenly, is searched, and then every slot is improved by
    itself over all of them until none can be. The last slot of a lane has no end.
    """
    if times.shape[1] > MOST_MEMBERS:
        raise ModelError(f"the best schedule is searched for at most {MOST_MEMBERS} configurations, not {times.shape[1]}")
    if cores < 1:
        raise ModelError(f"a schedule needs at least one core, not {cores}")
    search = _Search(np.where(times <= cutoff, times, math.inf), cutoff, penalty, cores)
    search.extend((), (), 0.0, frozenset(range(times.shape[1])), np.full(len(times), math.inf))
    return _polished(times, search.best, cutoff, penalty)


class _Search:
    """Depth first: lane after lane, slot after slot; a branch ends where even perfect slots would not be better."""

    def __init__(self, times: Floats, cutoff: float, penalty: float, cores: int) -> None:
        self.times, self.cutoff, self.penalty, self.cores = times, cutoff, penalty, cores
        self.slots = [_spread(times[:, c], _tried(times.shape[1], cores)) for c in range(times.shape[1])]
        self.best: Lanes = ()
        self.cost = math.inf

    def extend(self, done: Lanes, lane: tuple[Slot, ...], clock: float, left: frozenset[int], finish: Floats) -> None:
        """All ways to go on with a lane that has used ``clock``, for the configurations ``left``."""
        if (cost := _mean(finish, self.cutoff, self.penalty)) < self.cost:
            self.best, self.cost = tuple(part for part in (*done, lane) if part), cost
        if not left or clock >= self.cutoff or self._bound(len(done), clock, left, finish) >= self.cost:
            return
        ends = sorted(left, key=lambda c: _mean(self._after(c, math.inf, clock, finish), self.cutoff, self.penalty))
        for c in ends:
            self._end_lane(done, (*lane, (c, math.inf)), left - {c}, self._after(c, math.inf, clock, finish))
        for c in ends:
            for slot in self.slots[c] if len(left) > 1 else ():
                after = self._after(c, slot, clock, finish)
                self.extend(done, (*lane, (c, slot)), clock + slot, left - {c}, after)

    def _end_lane(self, done: Lanes, lane: tuple[Slot, ...], left: frozenset[int], finish: Floats) -> None:
        if len(done) + 1 < self.cores:
            self.extend((*done, lane), (), 0.0, left, finish)
        elif (cost := _mean(finish, self.cutoff, self.penalty)) < self.cost:
            self.best, self.cost = (*done, lane), cost

    def _after(self, c: int, slot: float, clock: float, finish: Floats) -> Floats:
        times = self.times[:, c]
        return np.where(times <= slot, np.minimum(finish, clock + times), finish)

    def _bound(self, done: int, clock: float, left: frozenset[int], finish: Floats) -> float:
        """As if all configurations that are left could run at once, on another core if there is one."""
        start = 0.0 if done + 1 < self.cores else clock
        return _mean(np.minimum(finish, start + self.times[:, sorted(left)].min(axis=1)), self.cutoff, self.penalty)


def _tried(members: int, cores: int) -> int:
    """Slots per member, so that all orders and slots together are about MOST_TRIED."""
    orders = math.factorial(members) * cores**members
    return max(3, int((MOST_TRIED / orders) ** (1.0 / max(1, members - 1))))


def _spread(times: Floats, count: int) -> list[float]:
    """At most ``count`` of the times at which something is solved, evenly by rank, always with the last."""
    known = np.unique(times[np.isfinite(times)])
    if len(known) <= count:
        return [float(time) for time in known]
    return [float(known[i]) for i in np.unique(np.linspace(0, len(known) - 1, count).round().astype(int))]


def _polished(times: Floats, lanes: Lanes, cutoff: float, penalty: float) -> Lanes:
    """Each slot by itself over all times, as long as one can be improved."""
    cost, better = schedule_cost(times, lanes, cutoff, penalty), True
    while better:
        better = False
        for i, lane in enumerate(lanes):
            for j, (c, slot) in enumerate(lane[:-1]):
                for tried in np.unique(times[times[:, c] <= cutoff, c]).tolist():
                    changed = _with_slot(lanes, i, j, (c, tried))
                    if tried != slot and (now := schedule_cost(times, changed, cutoff, penalty)) < cost:
                        lanes, cost, better, slot = changed, now, True, tried
    return lanes


def _with_slot(lanes: Lanes, i: int, j: int, slot: Slot) -> Lanes:
    lane: Sequence[Slot] = lanes[i]
    return (*lanes[:i], (*lane[:j], slot, *lane[j + 1 :]), *lanes[i + 1 :])
