"""Tunings to look at: simulated in a moment, with names that strangers chose."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import capra
from capra import tune as tune_function
from capra import validate
from capra.formats.instances import Instance
from capra.runs import Outcome, RunRequest, Status
from tests.strategies.conformance import lognormal, scenario

HOSTILE = [
    "<img src=x onerror=\"document.title='owned'\">",
    "</script><script>document.title='owned'</script>",
    "<!-- <script>",
    "two\nlines\tand 'quotes' \"both\"",
    '=HYPERLINK("x")',
    "\u202egnp.exe\u202c mirrored",
    "שלום עולם",
    "&amp; &lt;b&gt;",
    "plain.cnf",
    "{{ 7*7 }} ${7*7} %s",
    "x" * 300,
    "último 例 😀",
]


def rude(request: RunRequest) -> Outcome:
    """Crashes now and then, with words of its own."""
    if request.config["algorithm"] == "c" and int(request.config.id, 16) % 4 == 0:
        return Outcome(Status.CRASHED, 0.5, request.cutoff, reason=HOSTILE[1])
    return lognormal(request)


class Target:
    """A target on the virtual clock."""

    def __init__(self, run: Any = lognormal) -> None:
        self.run = run

    def __call__(self, *_: object) -> float:
        raise AssertionError("the simulated engine asks run()")


def given(run: Any = lognormal, **options: Any) -> capra.Scenario:
    return scenario(target=Target(run), **({"budget": {"cpu": 1500}} | options))


def named(names: list[str]) -> list[Instance]:
    """Instances of any name; a scenario file may not have control characters in them."""
    return [Instance(name) for name in names]


def tuned(out: Path, run: Any = rude, *, validated: bool = False, strategy: str = "roar", **options: Any) -> capra.Scenario:
    """A tuning in ``out``, on hostile instances unless others are given; and its validation."""
    if validated:
        options |= {"test_instances": named([f"test {name}" for name in HOSTILE])}
    made = given(run, **({"instances": named(HOSTILE), "name": HOSTILE[0]} | options))
    result = tune_function(made, strategy, engine="simulated", overhead="ignore", out=out)
    if validated:
        validate(made, [made.default, *(m.config for m in result.trajectory)], seeds=3, engine="simulated", out=out)
    return made


SCENARIO = """
target = [{python}, "-I", "{folder}/solver.py", "{{params}}", "{{instance}}"]
style = "{{name}}={{value}}"
space = "parameters.pcs"
instances = {names}
instance_kind = "name"
unit = "steps"
cutoff = 200
deterministic = true
budget = {{ runs = {runs} }}
[output]
time = 'steps (\\S+)'
"""


def real(folder: Path, solver: str, parameters: str, names: list[str], runs: int) -> Path:
    """The file of a scenario with a solver of its own: a Python program that prints its steps."""
    (folder / "solver.py").write_text(solver)
    (folder / "parameters.pcs").write_text(parameters)
    written = {"python": json.dumps(sys.executable), "names": json.dumps(names, ensure_ascii=False)}
    (folder / "scenario.toml").write_text(SCENARIO.format(folder=folder, runs=runs, **written))
    return folder / "scenario.toml"
