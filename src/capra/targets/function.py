"""Targets that are Python functions: ``f(config, instance, seed, cutoff) -> float | dict``.

The function runs in a process of its own under the supervisor, limited like any program. What it returns is the quality
(objective ``quality``), the time in its own unit (unit ``steps``, …), or a comment on the time that we measure; a dict may
say ``status``, ``time``, ``quality`` and ``answer``.
"""

from __future__ import annotations

import dataclasses
import json
import math
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from capra.errors import TargetError, did_you_mean
from capra.runs import Outcome, RunRequest, Status
from capra.scenario import Scenario
from capra.targets.base import limits_of
from capra.targets.call import ANSWER_FILE
from capra.targets.dialects import Claim, Reply
from capra.targets.judge import Judge
from capra.targets.supervisor import Facts, Job, clean_environment

__all__ = ["FunctionTarget", "read_value"]

START = 20.0
"""Seconds that starting the interpreter and importing the user's module may take, over and above the cutoff."""
_KEYS = ("status", "time", "quality", "answer")


class FunctionTarget:
    """Runs the scenario's Python function for a request and says what came of it."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.judge = Judge(scenario.cutoff, scenario.unit, scenario.objective.kind == "quality")
        self._where = _where(scenario.target)
        self._environment = clean_environment(scenario.environment)

    def job(self, request: RunRequest) -> Job:
        call = {
            **self._where,
            "path": [str(Path(entry).resolve()) for entry in sys.path],
            "config": dict(request.config),
            "instance": None if request.instance is None else self.scenario.path_of(request.instance),
            "seed": request.seed,
            "cutoff": request.cutoff,
            "bound": request.cutoff if math.isfinite(request.cutoff) else None,
            "unit": self.scenario.unit,
        }
        limits = limits_of(self.scenario, request.cutoff)
        limits = dataclasses.replace(
            limits,
            cpu=None if limits.cpu is None else limits.cpu + START,
            wall=limits.wall_bound + START,
        )
        argv = [sys.executable, "-m", "capra.targets.call", "capra-call.json"]
        files = {"capra-call.json": json.dumps(call).encode()}
        return Job(argv, limits, environment=self._environment, files=files)

    def outcome(self, request: RunRequest, facts: Facts, directory: Path) -> Outcome:
        answer = _read_answer(directory)
        facts = _of_the_function(facts, answer, request.cutoff)
        if "error" in answer:
            reply = Reply(Claim.CRASHED, reason=str(answer["error"]).strip().splitlines()[-1])
        elif "value" in answer:
            reply = read_value(answer["value"], quality=self.judge.needs_quality)
        else:
            reply = Reply(Claim.CRASHED, reason="ended without an answer")
        if self._passed_its_cutoff(request, reply):
            facts = dataclasses.replace(facts, limit="command")
        return self.judge.outcome(request, facts, reply)

    def _passed_its_cutoff(self, request: RunRequest, reply: Reply) -> bool:
        """A function that ignores its cutoff and says it took longer has told us that it takes at least that long."""
        own_unit = self.scenario.unit not in ("cpu", "wall")
        return own_unit and reply.claim is Claim.SUCCESS and (reply.time or 0.0) > request.cutoff

    def verification(self, request: RunRequest, outcome: Outcome, facts: Facts, directory: Path) -> Job | None:
        return None

    def verified(self, request: RunRequest, outcome: Outcome, facts: Facts) -> Outcome:
        return outcome


def _where(target: str | Callable[..., Any] | tuple[str, ...]) -> dict[str, Any]:
    """How another process finds the function: by its module, or by the script that defines it."""
    if isinstance(target, str):
        module, _, name = target.partition(":")
        return {"module": module, "file": None, "name": name}
    if not callable(target) or not hasattr(target, "__qualname__"):
        raise TargetError(f"{target!r} is not a function")
    if "<" in target.__qualname__:
        raise TargetError(
            f"{target.__qualname__} is defined inside a function and cannot be found by another process",
            hint="define it at the top level of a module or script",
        )
    if target.__module__ != "__main__":
        return {"module": target.__module__, "file": None, "name": target.__qualname__}
    file = getattr(sys.modules["__main__"], "__file__", None)
    if file is None:
        raise TargetError("a function typed into a session cannot be found by another process", hint="put it into a file")
    return {"module": "__main__", "file": str(Path(file).resolve()), "name": target.__qualname__}


def _read_answer(directory: Path) -> dict[str, Any]:
    try:
        answer = json.loads((directory / ANSWER_FILE).read_text())
    except (OSError, ValueError):
        return {}
    return answer if isinstance(answer, dict) else {}


def _of_the_function(facts: Facts, answer: dict[str, Any], cutoff: float) -> Facts:
    """The facts of the function alone: without the interpreter's start, and cut where its timer cut it."""
    timers = {signal.SIGPROF: "cpu", signal.SIGALRM: "wall"}
    if facts.limit is None and facts.signal in timers:
        return dataclasses.replace(facts, limit=timers[signal.Signals(facts.signal)], cutoff=cutoff)
    if facts.limit in ("cpu", "wall"):
        return dataclasses.replace(facts, cutoff=cutoff)
    cpu, wall = answer.get("cpu"), answer.get("wall")
    if isinstance(cpu, float) and isinstance(wall, float):
        return dataclasses.replace(facts, cpu=min(cpu, facts.cpu), wall=min(wall, facts.wall))
    return facts


def read_value(value: Any, *, quality: bool) -> Reply:
    """What a function's return value says; nonsense is CRASHED with the reason."""
    fields = value if isinstance(value, dict) else {"quality" if quality else "time": value}
    for key in fields:
        if key not in _KEYS:
            return Reply(Claim.CRASHED, reason=f"nonsense output: unknown key {key!r} ({did_you_mean(key, _KEYS) or _KEYS})")
    for key, least in (("time", 0.0), ("quality", -math.inf)):
        number = fields.get(key)
        if number is not None and not (_is_number(number) and number >= least):
            return Reply(Claim.CRASHED, reason=f"nonsense output: {key} is {number!r}")
    try:
        claim = Claim(str(fields.get("status", Status.SUCCESS)).upper())
    except ValueError:
        return Reply(Claim.CRASHED, reason=f"nonsense output: status is {fields['status']!r}")
    answer = fields.get("answer")
    return Reply(claim, fields.get("time"), fields.get("quality"), None if answer is None else str(answer))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
