"""Targets that are programs: an argument list, a dialect, a verifier."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from capra.errors import TargetError
from capra.runs import Configuration, Outcome, RunRequest, Status
from capra.scenario import Scenario
from capra.targets.base import find_program, limits_of
from capra.targets.dialects import Call, Reply, make_dialect
from capra.targets.judge import Judge
from capra.targets.supervisor import Facts, Job, Limits, clean_environment
from capra.targets.verify import Verdict, check_answer, check_model, known_answer, read_verifier, verifier_argv

__all__ = ["CommandTarget"]

VERIFIER_LIMITS = Limits(cpu=60.0, wall=120.0)
OUTPUT_FILE = "capra-output.txt"


class CommandTarget:
    """Runs the scenario's argument list for a request and says what came of it."""

    def __init__(self, scenario: Scenario) -> None:
        if not isinstance(scenario.target, tuple):
            raise TargetError(f"{scenario.target!r} is not an argument list")
        self.scenario = scenario
        self.dialect = make_dialect(scenario.dialect, scenario.renderer, scenario.output)
        self.judge = Judge(scenario.cutoff, scenario.unit, scenario.objective.kind == "quality")
        self._argv = (find_program(scenario.target[0], scenario), *scenario.target[1:])
        self._instances = {i.name: i for i in (*scenario.instances, *scenario.test_instances)}
        self._numbers = {name: i for i, name in enumerate(self._instances, start=1)}
        self._configs: dict[Configuration, int] = {}
        self._environment = clean_environment(scenario.environment)

    def argv(self, request: RunRequest) -> list[str]:
        """The arguments of a request, as they will be executed."""
        instance = self._instances.get(request.instance or "")
        call = Call(
            target=self._argv,
            config=request.config,
            instance=None if request.instance is None else self.scenario.path_of(request.instance),
            specific=instance.specific if instance else "",
            seed=request.seed,
            cutoff=request.cutoff,
            features=self.scenario.features.rows.get(request.instance or "", ()),
            config_number=self._configs.setdefault(request.config, len(self._configs) + 1),
            instance_number=self._numbers.get(request.instance or "", 0),
        )
        return self.dialect.argv(call)

    def job(self, request: RunRequest) -> Job:
        return Job(
            self.argv(request),
            limits_of(self.scenario, request.cutoff),
            environment=self._environment,
            working=self.scenario.directory,
        )

    def outcome(self, request: RunRequest, facts: Facts, directory: Path) -> Outcome:
        reply = self.dialect.read(facts.stdout.text(), facts.stderr.text(), facts.exit_code)
        return self.judge.outcome(request, facts, reply, self._verdict(request, facts, reply))

    # --- verification ---

    def _verdict(self, request: RunRequest, facts: Facts, reply: Reply) -> Verdict | None:
        """What can be checked without running anything."""
        if request.instance is None or self.scenario.verifier is None:
            return None
        known = known_answer(self._instances[request.instance].specific)
        verdict = check_answer(known, reply) if known is not None else None
        if verdict is not None and verdict.right is False:
            return verdict
        if self.scenario.verifier == "sat" and reply.answer == "SAT":
            return check_model(Path(self.scenario.path_of(request.instance)), facts.stdout.text())
        return verdict

    def verification(self, request: RunRequest, outcome: Outcome, facts: Facts, directory: Path) -> Job | None:
        if not isinstance(self.scenario.verifier, tuple) or outcome.status is not Status.SUCCESS:
            return None
        output = directory / OUTPUT_FILE
        output.write_bytes(facts.stdout.head + facts.stdout.tail)
        instance = "" if request.instance is None else self.scenario.path_of(request.instance)
        argv = verifier_argv(self.scenario.verifier, instance, str(output))
        program = find_program(argv[0], self.scenario)
        return Job([program, *argv[1:]], VERIFIER_LIMITS, environment=self._environment, working=self.scenario.directory)

    def verified(self, request: RunRequest, outcome: Outcome, facts: Facts) -> Outcome:
        if facts.lost or facts.start_error or facts.limit is not None:
            return dataclasses.replace(outcome, reason="not verified: the verifier did not finish")
        verdict = read_verifier(facts.exit_code, facts.stdout.text())
        if verdict.right is False:
            return dataclasses.replace(outcome, status=Status.WRONG, reason=verdict.reason)
        return outcome if verdict.right else dataclasses.replace(outcome, reason=f"not verified: {verdict.reason}")
