"""A portfolio at work on one instance: features, choice or schedule, supervised runs, and the first answer."""

from __future__ import annotations

import dataclasses
import json
import math
import select
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from capra.errors import InputError, TargetError
from capra.features import TIMES, Described, extract, feature_job, read_answer
from capra.formats.instances import Features
from capra.formats.options import CNF
from capra.models.base import Floats
from capra.portfolio.product import Portfolio, read_portfolio
from capra.portfolio.schedule import Plan
from capra.runs import Configuration, Outcome, RunRequest, Status
from capra.scenario import Scenario
from capra.space.json import parse_json
from capra.targets.command import CommandTarget
from capra.targets.supervisor import Facts, Job, Supervised

__all__ = ["Ran", "Runner", "run_portfolio", "summary"]

OUTPUT = 64 * 1024**2
"""Bytes of output that are kept at each end: the solver's whole answer is to be passed on."""


@dataclass(slots=True)
class Ran:
    """What came of it: the run that answered, or the last one if none did."""

    answered: bool = False
    member: int | None = None
    configuration: Configuration | None = None
    outcome: Outcome | None = None
    facts: Facts | None = None
    feature_time: float = 0.0
    used: float = 0.0
    """Time of the lane that ended it, features included, in the scenario's unit."""
    wall: float = 0.0
    tried: int = 0
    """Runs that were started."""


Work = Generator[Job, tuple[Facts, Path], bool]
"""Yields what to run next and is sent what came of it; true if that was an answer."""


def run_portfolio(
    path: str | Path, instance: str | Path, *, seed: int = 1, cutoff: float | None = None, cores: int = 1
) -> Ran:
    """Solve an instance with the portfolio in a file. ``cutoff`` is for all runs together (the portfolio's own).

    With several ``cores`` the first follows the selection, and the others start the members that are best together at
    once; a schedule brings its own lanes. The first answer ends all of it.
    """
    if not Path(instance).is_file():
        raise InputError(f"no such file: {instance}")
    return Runner(read_portfolio(path), Path(path), Path(instance), seed, cutoff).run(cores)


class Runner:
    """One instance, one portfolio."""

    def __init__(self, portfolio: Portfolio, file: Path, instance: Path, seed: int, cutoff: float | None = None) -> None:
        self.portfolio = portfolio
        self.cutoff = portfolio.cutoff if cutoff is None else cutoff
        self.instance, self.seed = str(instance.resolve()), seed
        self.scenario = _scenario(portfolio, file, self.instance)
        self.target = CommandTarget(self.scenario)
        self.ran = Ran()

    def run(self, cores: int = 1) -> Ran:
        """Run until somebody answers or the time is up; whatever still runs then is killed."""
        began = time.monotonic()
        lanes = [_Lane(work) for work in self._lanes(cores)]
        try:
            self.ran.answered = _first(lanes)
        finally:
            for lane in lanes:
                lane.close()
        self.ran.wall = time.monotonic() - began
        return self.ran

    def _lanes(self, cores: int) -> list[Work]:
        if cores < 1:
            raise InputError(f"a portfolio needs at least one core, not {cores}")
        if self.portfolio.selection is None:
            lanes: Sequence[Plan] = self.portfolio.schedule[:cores]
            return [self._slots(lane, _Clock()) for lane in lanes]
        others = range(min(cores - 1, len(self.portfolio.members)))
        return [self._selected(), *(self._slots(((member, math.inf),), _Clock()) for member in others)]

    def _selected(self) -> Work:
        """Slots before features, features, then what the selector says."""
        clock = _Clock()
        if (yield from self._slots(self.portfolio.before(), clock)):
            return True
        row: Floats = np.full((1, len(self.portfolio.names)), math.nan)
        if self.portfolio.needs_features:
            row = yield from self._features(clock)
        return (yield from self._slots(self.portfolio.plan(row), clock))

    def _features(self, clock: _Clock) -> Generator[Job, tuple[Facts, Path], Floats]:
        """In the portfolio's order, (1, f); NaN where they could not be computed: that is no reason to give up."""
        began = time.process_time()
        found = Described({}, 0.0)
        try:
            if self.portfolio.features == (CNF,):
                found = extract(self.scenario, self.instance)
            else:
                facts, _ = yield feature_job(self.scenario, self.instance)
                found = Described({}, facts.cpu)
                found = read_answer(facts, self.instance)
        except TargetError:
            found = Described({}, max(found.cost, time.process_time() - began))
        self.ran.feature_time = found.cost
        clock.used += found.cost if self.scenario.unit in TIMES else 0.0
        return np.array([[found.values.get(name, math.nan) for name in self.portfolio.names]])

    def _slots(self, plan: Plan, clock: _Clock) -> Work:
        for member, slot in plan:
            left = self.cutoff - clock.used
            if left <= 0.0:
                return False
            request = RunRequest(self.portfolio.members[member], self.instance, self.seed, min(slot, left))
            job = self.target.job(request)
            self.ran.tried += 1
            facts, directory = yield dataclasses.replace(
                job, limits=dataclasses.replace(job.limits, head=OUTPUT, tail=OUTPUT)
            )
            outcome = self.target.outcome(request, facts, directory)
            clock.used += outcome.time
            self.ran.member, self.ran.configuration = member, request.config
            self.ran.outcome, self.ran.facts, self.ran.used = outcome, facts, clock.used
            if outcome.status is Status.SUCCESS:
                return True
        return False


@dataclass(slots=True)
class _Clock:
    used: float = 0.0


class _Lane:
    """Work under way on one core."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self.supervised: Supervised | None = None
        self.answered = False
        self._step(None)

    def _step(self, said: tuple[Facts, Path] | None) -> None:
        """Go on with the work; at its end ``supervised`` is None."""
        before = self.supervised
        try:
            job = next(self._work) if said is None else self._work.send(said)
            self.supervised = Supervised.start(job)
        except StopIteration as end:
            self.supervised, self.answered = None, bool(end.value)
        finally:
            if before is not None:
                before.close()

    def look(self) -> None:
        """Something happened to the run."""
        if self.supervised is not None and (facts := self.supervised.wait(0.0)) is not None:
            self._step((facts, self.supervised.directory))

    def close(self) -> None:
        if self.supervised is not None:
            self.supervised.close()
            self.supervised = None


def _first(lanes: list[_Lane]) -> bool:
    """Wait until one lane has an answer, or all have ended."""
    while not any(lane.answered for lane in lanes):
        poll = select.poll()
        running = {lane.supervised.fileno(): lane for lane in lanes if lane.supervised is not None}
        if not running:
            return False
        for file in running:
            poll.register(file, select.POLLIN)
        for file, _ in poll.poll():
            running[file].look()
            if running[file].answered:
                break
    return True


def _scenario(portfolio: Portfolio, file: Path, instance: str) -> Scenario:
    if not portfolio.options:
        raise InputError(f"{file} says nothing of how to run the target", hint="it was built for a Python function")
    given = {**portfolio.options, "space": parse_json(portfolio.space), "instances": [instance], "instance_kind": "file"}
    bases = (file.resolve().parent, *(Path(base) for base in portfolio.bases))
    if portfolio.features:
        given["features"] = Features(command=portfolio.features)
    return Scenario(base=bases, **given)


def summary(ran: Ran) -> dict[str, object]:
    """As plain data."""
    outcome, config = ran.outcome, ran.configuration
    return {
        "answered": ran.answered,
        "status": None if outcome is None else str(outcome.status),
        "exit_code": None if ran.facts is None else ran.facts.exit_code,
        "answer": None if outcome is None else outcome.answer,
        "configuration": None if config is None else json.loads(json.dumps(dict(config))),
        "member": ran.member,
        "time": None if outcome is None else outcome.time,
        "feature_time": ran.feature_time,
        "used": ran.used,
        "wall": ran.wall,
        "runs": ran.tried,
    }
