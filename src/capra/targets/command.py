"""Targets that are programs: an argument list, a dialect, a verifier."""

from __future__ import annotations

import dataclasses
import math
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from capra.errors import InputError, TargetError
from capra.runs import Configuration, Outcome, RunRequest, Status
from capra.scenario import Scenario
from capra.targets.base import find_program, limits_of
from capra.targets.dialects import Call, Claim, Reply, make_dialect
from capra.targets.judge import Judge
from capra.targets.supervisor import Facts, Job, Limits, clean_environment
from capra.targets.verify import (
    Formula,
    Verdict,
    check_answer,
    check_model,
    known_answer,
    read_cnf,
    read_verifier,
    verifier_argv,
)

__all__ = ["CommandTarget"]

VERIFIER_LIMITS = Limits(cpu=60.0, wall=120.0)
MODEL_SIZE = 4 * 1024**2
"""Bytes of output kept at each end where a model is to be checked: one with a gap in it proves nothing."""


@lru_cache(maxsize=64)
def _formula(path: str) -> Formula:
    return read_cnf(Path(path))


class CommandTarget:
    """Runs the scenario's argument list for a request and says what came of it."""

    def __init__(self, scenario: Scenario, path_of: Callable[[str], str] | None = None) -> None:
        if not isinstance(scenario.target, tuple):
            raise TargetError(f"{scenario.target!r} is not an argument list")
        self.scenario = scenario
        self._path_of = path_of or scenario.path_of
        self.dialect = make_dialect(scenario.dialect, scenario.renderer, scenario.output)
        self.judge = Judge(scenario.cutoff, scenario.unit, scenario.objective.kind == "quality")
        self._argv = (find_program(scenario.target[0], scenario), *scenario.target[1:])
        if isinstance(scenario.verifier, tuple):
            find_program(scenario.verifier[0], scenario)
        self._instances = {i.name: i for i in (*scenario.instances, *scenario.test_instances)}
        self._numbers = {name: i for i, name in enumerate(self._instances, start=1)}
        self._configs: dict[Configuration, int] = {}
        self._environment = clean_environment(scenario.environment)

    @property
    def can_wait(self) -> bool:
        return self.scenario.unit in ("cpu", "wall")

    def argv(self, request: RunRequest) -> list[str]:
        """The arguments of a request, as they will be executed."""
        instance = self._instances.get(request.instance or "")
        call = Call(
            target=self._argv,
            config=request.config,
            instance=None if request.instance is None else self._path_of(request.instance),
            specific=instance.specific if instance else "",
            seed=request.seed,
            cutoff=self._told(request.cutoff),
            features=self._features(request.instance),
            config_number=self._configs.setdefault(request.config, len(self._configs) + 1),
            instance_number=self._numbers.get(request.instance or "", 0),
        )
        return self.dialect.argv(call)

    def _told(self, cutoff: float) -> float:
        """The cutoff that the target hears of; ours is the exact one, and is kept from outside.

        irace rounds bounds up to whole seconds (boundDigits = 0), and its target-runners hand them to ulimit and to programs
        that take nothing else. Steps of the target's own are kept by the target alone, so they are not rounded.
        """
        if self.scenario.dialect != "irace" or not self.can_wait or math.isinf(cutoff):
            return cutoff
        return min(math.ceil(cutoff), self.scenario.cutoff)

    def _features(self, instance: str | None) -> tuple[float, ...]:
        """Only SMAC3's calls have them: others must not wait until features were computed."""
        return self.scenario.features.rows.get(instance or "", ()) if self.scenario.dialect == "smac3" else ()

    def job(self, request: RunRequest) -> Job:
        limits = limits_of(self.scenario, request.cutoff)
        if self.scenario.verifier == "sat":
            limits = dataclasses.replace(limits, head=MODEL_SIZE, tail=MODEL_SIZE)
        return Job(
            self.argv(request),
            limits,
            environment=self._environment,
            working=self.scenario.directory,
        )

    def bounds(self, request: RunRequest, directory: Path) -> Limits | None:
        return limits_of(self.scenario, request.cutoff) if self.scenario.unit in ("cpu", "wall") else None

    def outcome(self, request: RunRequest, facts: Facts, directory: Path) -> Outcome:
        reply = self.dialect.read(facts.stdout.text(), facts.stderr.text(), facts.exit_code)
        if self.scenario.dialect == "irace" and reply.time is not None and reply.time >= request.cutoff:
            reply = dataclasses.replace(reply, claim=Claim.TIMEOUT)  # a target-runner that stopped itself prints the bound
        return self.judge.outcome(request, facts, reply, self._verdict(request, facts, reply))

    # --- verification ---

    def _verdict(self, request: RunRequest, facts: Facts, reply: Reply) -> Verdict | None:
        """What can be checked without running anything."""
        if request.instance is None or self.scenario.verifier is None:
            return None
        instance = self._instances.get(request.instance)
        known = known_answer(instance.specific) if instance else None
        verdict = check_answer(known, reply) if known is not None else None
        if verdict is not None and verdict.right is False:
            return verdict
        if self.scenario.verifier == "sat" and reply.answer != "UNSAT":
            return self._check_model(request.instance, facts)
        return verdict

    def _check_model(self, instance: str, facts: Facts) -> Verdict:
        try:
            return check_model(_formula(self._path_of(instance)), facts.stdout.text())
        except InputError as error:  # the formula is malformed, or no longer there
            return Verdict(None, str(error))

    def verification(self, request: RunRequest, outcome: Outcome, facts: Facts, directory: Path) -> Job | None:
        if not isinstance(self.scenario.verifier, tuple) or outcome.status is not Status.SUCCESS:
            return None
        # A new file: one that the target left under a known name might be a link to somewhere else.
        descriptor, output = tempfile.mkstemp(suffix=".txt", prefix="output-", dir=directory)
        with open(descriptor, "wb") as file:
            file.write(facts.stdout.text().encode())
        instance = None if request.instance is None else self._path_of(request.instance)
        argv = verifier_argv(self.scenario.verifier, instance, output)
        program = find_program(argv[0], self.scenario)
        return Job([program, *argv[1:]], VERIFIER_LIMITS, environment=self._environment, working=self.scenario.directory)

    def verified(self, request: RunRequest, outcome: Outcome, facts: Facts) -> Outcome:
        if facts.lost or facts.start_error or facts.limit is not None:
            return dataclasses.replace(outcome, reason="not verified: the verifier did not finish")
        verdict = read_verifier(facts.exit_code, facts.stdout.text())
        if verdict.right is False:
            return dataclasses.replace(outcome, status=Status.WRONG, reason=verdict.reason)
        return outcome if verdict.right else dataclasses.replace(outcome, reason=f"not verified: {verdict.reason}")
