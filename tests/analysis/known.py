"""Targets whose structure is known, and tunings of them on the virtual clock."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import capra
from capra.folder import open_store
from capra.runs import Outcome, Run, RunRequest, Status
from capra.runs.exchange import add_runs
from capra.space import Categorical, Integer, Real, Space, equals
from capra.space.json import write_json
from capra.validate import STORE as VALIDATION

INSTANCES = [f"i{k}" for k in range(8)]
TESTS = ["t0", "t1", "t2"]

space = Space(
    [
        Categorical("restarts", ("off", "on"), "off"),
        Integer("base", 1, 5, 1),
        Categorical("phase", ("true", "saved"), "true"),
        Categorical("heuristic", ("vsids", "berkmin"), "vsids"),
        Real("decay", 0.0, 1.0, 0.0),
        Categorical("useless", ("a", "b"), "a"),
    ],
    {"base": equals("restarts", "on")},
)
BEST = {"restarts": "on", "base": 5, "phase": "saved", "heuristic": "berkmin", "decay": 1.0, "useless": "b"}


def seconds(config: Any, instance: str | None, seed: int, cutoff: float) -> float:
    """From 40 s down to 1 s or so: restarts help most (with a good base), phase and heuristic only together, decay a
    little, and one parameter not at all."""
    noise = random.Random(f"{instance} {seed}").gauss(0.0, 0.2)  # the same for all configurations
    log = math.log10(40.0) + noise
    log -= 0.2 * config["base"] if config["restarts"] == "on" else 0.0
    log -= 0.4 if (config["phase"], config["heuristic"]) == ("saved", "berkmin") else 0.0
    log += 0.15 if (config["phase"], config["heuristic"]) == ("saved", "vsids") else 0.0
    return 10.0 ** (log - 0.1 * config["decay"])


def scenario(**options: Any) -> capra.Scenario:
    given = {"target": seconds, "space": space, "instances": INSTANCES, "cutoff": 200.0, "budget": {"runs": 60}}
    return capra.Scenario(**{**given, "initial": [BEST], **options})


def tuned(out: Path, **options: Any) -> capra.Result:
    """A short tuning that has found the best configuration."""
    result = capra.tune(scenario(**options), engine="simulated", overhead="ignore", out=out)
    assert result.incumbent == BEST
    return result


# --- folders as the command line knows them: no Python objects in the scenario ---


def plain_scenario(place: Path) -> capra.Scenario:
    """The same space and instances for a command that is never started."""
    place.mkdir(parents=True, exist_ok=True)
    (place / "space.json").write_text(write_json(space))
    for name in (*INSTANCES, *TESTS):
        (place / name).write_text("an instance\n")
    return capra.Scenario(
        target=["true", "{instance}", "{params}"],
        space="space.json",
        instances=INSTANCES,
        test_instances=TESTS,
        cutoff=200.0,
        budget={"cpu": "1h"},
        base=(place,),
    )


def stored(place: Path, name: str, *, runs: int = 60, seed: int = 0, validated: bool = False, capping: bool = True) -> Path:
    """A folder as ``capra tune --out`` leaves it, with runs of ``seconds``."""
    result = capra.tune(scenario(budget={"runs": runs}), engine="simulated", overhead="ignore", seed=seed, capping=capping)
    out, plain = place / name, plain_scenario(place)
    settings = {"strategy": "roar", "seed": seed, "workers": 1, "engine": "local", "overhead": "count", "repeat": 0.0}
    with open_store(plain, settings | {"options": {}}, out) as store:
        add_runs(store, result.history)
        for i, one in enumerate(result.trajectory):
            told = {"config": dict(one.config), "cost": one.cost, "spent": one.spent, "wall": one.wall, "evaluations": i}
            store.decide("incumbent", str(i), told)
    if validated:
        configs = [plain.default, *(one.config for one in result.trajectory)]
        requests = [RunRequest(config, test, 1, 200.0) for config in dict.fromkeys(configs) for test in TESTS]
        times = [seconds(request.config, request.instance, request.seed, 200.0) for request in requests]
        with open_store(plain, {"engine": "local", "validation": True}, out, VALIDATION) as store:
            outcomes = [Outcome(Status.SUCCESS, time, 200.0) for time in times]
            add_runs(store, [Run(request, told) for request, told in zip(requests, outcomes, strict=True)])
    return out
