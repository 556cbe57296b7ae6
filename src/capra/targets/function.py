"""Targets that are Python functions: ``f(config, instance, seed, cutoff) -> float | dict``.

The function runs in a process of its own under the supervisor, limited like any program. What it returns is the quality
(objective ``quality``), the time in its own unit (unit ``steps``, …), or a comment on the time that we measure; a dict may
say ``status``, ``time``, ``quality`` and ``answer``.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from capra.errors import TargetError, did_you_mean
from capra.runs import Outcome, RunRequest, Status
from capra.scenario import Scenario
from capra.targets.base import limits_of
from capra.targets.call import ANSWER_FILE, STARTED_FILE
from capra.targets.call import __file__ as call_file
from capra.targets.dialects import Claim, Reply, normal_answer
from capra.targets.judge import Judge
from capra.targets.supervisor import Facts, Job, Limits, clean_environment
from capra.targets.verify import Verdict, check_answer, known_answers

__all__ = ["FunctionTarget", "read_value", "whereabouts"]

START = 20.0
"""Seconds that starting the interpreter and importing the user's module may take, over and above the cutoff."""
SIGNALS = {"cpu": signal.SIGPROF, "wall": signal.SIGALRM}
"""What ends a function at its cutoff."""
_KEYS = ("status", "time", "quality", "answer")


class FunctionTarget:
    """Runs the scenario's Python function for a request and says what came of it."""

    def __init__(self, scenario: Scenario, path_of: Callable[[str], str] | None = None) -> None:
        if scenario.verifier not in (None, "answers"):
            raise TargetError(
                "a function prints nothing that a verifier could read",
                hint="let it check its own answer and raise, or use verifier = 'answers'",
            )
        self.scenario = scenario
        self._path_of = path_of or scenario.path_of
        self._known = known_answers((*scenario.instances, *scenario.test_instances)) if scenario.verifier else {}
        self.judge = Judge(scenario.cutoff, scenario.unit, scenario.objective.kind == "quality")
        self._where = whereabouts(scenario.target)
        self._environment = {"PYTHONHASHSEED": "0"} | clean_environment(scenario.environment)
        self._start = START

    @property
    def can_wait(self) -> bool:
        return False  # its own timer ends it

    def argv(self, request: RunRequest) -> list[str]:
        module, file, (head, *rest) = self._where["module"], self._where["file"], self._where["name"].split(".")
        given = (dict(request.config), self._instance(request), request.seed, request.cutoff)
        found = f"import {module}; print({module}.{head}"
        if file:
            found = f"import runpy; print(runpy.run_path({_literal(file)})[{_literal(head)}]"
        code = ".".join([found, *rest]) + f"({', '.join(map(_literal, given))}))"
        folders = os.pathsep.join(str(base.resolve()) for base in self.scenario.bases)
        return ["env", f"PYTHONPATH={folders}", sys.executable, "-c", code]

    def job(self, request: RunRequest) -> Job:
        call = {
            **self._where,
            "path": [str(Path(entry).resolve()) for entry in [*map(str, self.scenario.bases), *sys.path]],
            "config": dict(request.config),
            "instance": self._instance(request),
            "seed": request.seed,
            "cutoff": request.cutoff,
            "bound": request.cutoff if math.isfinite(request.cutoff) else None,
            "unit": self.scenario.unit,
            "asked": time.monotonic(),
        }
        limits = _later(limits_of(self.scenario, request.cutoff), self._start, START)
        argv = [sys.executable, "-P", call_file, "capra-call.json"]
        files = {"capra-call.json": json.dumps(call).encode()}
        return Job(argv, limits, environment=self._environment, files=files)

    def _instance(self, request: RunRequest) -> str | None:
        return None if request.instance is None else self._path_of(request.instance)

    def bounds(self, request: RunRequest, directory: Path) -> Limits | None:
        if self.scenario.unit not in SIGNALS:
            return None
        started = _read(directory / STARTED_FILE)
        limits = limits_of(self.scenario, request.cutoff)
        return _later(limits, started.get("cpu", self._start), started.get("wall", START))

    def outcome(self, request: RunRequest, facts: Facts, directory: Path) -> Outcome:
        started, answer = _read(directory / STARTED_FILE), _read(directory / ANSWER_FILE)
        if started:  # the next time we know how much of the time is not the function's
            self._start = min(START, 2.0 * started["cpu"] + 1.0)
        reply = self._reply(started, answer, facts)
        if not started and facts.limit in SIGNALS:
            facts = dataclasses.replace(facts, limit=None, signal=None)
        elif self._passed_its_cutoff(request, reply):
            facts = dataclasses.replace(facts, limit=self.scenario.unit)
        else:
            facts = _of_the_function(facts, started, answer, request.cutoff, self.scenario.unit)
        return self.judge.outcome(request, facts, reply, self._verdict(request, reply))

    def _verdict(self, request: RunRequest, reply: Reply) -> Verdict | None:
        known = self._known.get(request.instance or "")
        return None if known is None else check_answer(known, reply)

    def _reply(self, started: dict[str, Any], answer: dict[str, Any], facts: Facts) -> Reply:
        if "error" in answer:
            return Reply(Claim.CRASHED, reason=str(answer["error"]).strip().rpartition("\n")[2])
        if "value" in answer:
            return read_value(answer["value"], quality=self.judge.needs_quality)
        what = "ended without an answer" if started else "the function was not found and started in time"
        return Reply(Claim.CRASHED, reason=what + (f" (exit code {facts.exit_code})" if facts.exit_code is not None else ""))

    def _passed_its_cutoff(self, request: RunRequest, reply: Reply) -> bool:
        """A function that ignores its cutoff and says it took longer has told us that it takes at least that long."""
        own_unit = self.scenario.unit not in SIGNALS
        return own_unit and reply.claim is Claim.SUCCESS and (reply.time or 0.0) > request.cutoff

    def verification(self, request: RunRequest, outcome: Outcome, facts: Facts, directory: Path) -> Job | None:
        return None

    def verified(self, request: RunRequest, outcome: Outcome, facts: Facts) -> Outcome:
        return outcome


def _literal(value: Any) -> str:
    """Python text for a value, without the single quotes that make a mess of shell commands."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_literal(key)}: {_literal(item)}" for key, item in value.items()) + "}"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return 'float("inf")' if value == math.inf else repr(value)


def _later(limits: Limits, cpu: float, wall: float) -> Limits:
    """The limits with this much time to start in."""
    return dataclasses.replace(limits, cpu=None if limits.cpu is None else limits.cpu + cpu, wall=limits.wall_bound + wall)


def whereabouts(target: str | Callable[..., Any] | tuple[str, ...]) -> dict[str, Any]:
    """How another process finds the function: by its module, or by the script that defines it."""
    if isinstance(target, str):
        module, _, name = target.rpartition(":")
        script = module if "/" in module else None
        return {"module": "__main__" if script else module, "file": script, "name": name}
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


def _read(path: Path) -> dict[str, Any]:
    """What the process left in a file; nothing if it did not come to that."""
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _of_the_function(facts: Facts, started: dict[str, Any], answer: dict[str, Any], cutoff: float, unit: str) -> Facts:
    """The facts of the function alone: without the interpreter's start, and cut where its timer cut it."""
    if facts.limit == "command":
        return dataclasses.replace(facts, cutoff=max(0.0, facts.cutoff - started.get(unit, math.inf)))
    if facts.limit in SIGNALS:
        return dataclasses.replace(facts, cutoff=cutoff)
    if _timer_fired(facts, started, unit):  # at less than the cutoff if that was raised while the run was held
        return dataclasses.replace(facts, limit=unit, cutoff=min(cutoff, started["bound"]))
    if "value" in answer and facts.limit is None:
        facts = dataclasses.replace(facts, cpu=min(answer["cpu"], facts.cpu), wall=min(answer["wall"], facts.wall))
        passed = unit in SIGNALS and getattr(facts, unit) > cutoff  # in its children, which its timer does not see
        return dataclasses.replace(facts, limit=unit, cutoff=cutoff) if passed else facts
    return facts


def _timer_fired(facts: Facts, started: dict[str, Any], unit: str) -> bool:
    """Did it die of its timer, and not of a signal of its own making?"""
    by_signal = facts.limit is None and facts.signal is not None and facts.signal == SIGNALS.get(unit)
    return by_signal and bool(getattr(facts, unit) >= (started.get("bound") or math.inf))


def read_value(value: Any, *, quality: bool) -> Reply:
    """What a function's return value says; nonsense is CRASHED with the reason."""
    fields = value if isinstance(value, dict) else {"quality" if quality else "time": value}
    for key in fields:
        if key not in _KEYS:
            return Reply(Claim.CRASHED, reason=f"nonsense output: unknown key {key!r} ({did_you_mean(key, _KEYS) or _KEYS})")
    for key, least in (("time", 0.0), ("quality", -math.inf)):
        given = fields.get(key)
        number = _number(given)
        if given is not None and (number is None or number < least):
            return Reply(Claim.CRASHED, reason=f"nonsense output: {key} is {given!r:.80}")
    try:
        claim = Claim(str(fields.get("status", Status.SUCCESS)).upper())
    except ValueError:
        return Reply(Claim.CRASHED, reason=f"nonsense output: status is {fields['status']!r}")
    answer = None if fields.get("answer") is None else normal_answer(str(fields["answer"]))
    reason = None if claim is Claim.SUCCESS else f"the function says {claim}"
    return Reply(claim, _number(fields.get("time")), _number(fields.get("quality")), answer, reason)


def _number(value: Any) -> float | None:
    """The finite number that this is, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    with contextlib.suppress(OverflowError):
        return float(value) if math.isfinite(value) else None
    return None
