"""``python -m benchmarks.peers.ours TOOL SEED FOLDER [PORT]``: one tuning by Capra, as a process of its own.

On the virtual clock it asks the referee, as its peers do; real runs it makes itself. Prints its account as JSON.
"""

from __future__ import annotations

import contextlib
import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.peers.client import Referee, Stop
from benchmarks.peers.problems import TARGET, Clasp, told_scenario
from capra.runs import Outcome, RunRequest, Status
from capra.tune import Result, Tuning, tune

STRATEGIES: dict[str, dict[str, Any]] = {
    "capra-roar": {"strategy": "roar"},
    "capra-smac": {"strategy": "smac"},
}
DEAR = {"fit_share": 0.015}
"""With the default of 8 % a tuning of an hour takes these up to five minutes of CPU time; so it is one."""
MODELS: dict[str, dict[str, Any]] = {
    "capra-forest-mean": {"strategy": "smac", "model": "forest-mean"},
    **{f"capra-{model}": {"strategy": "smac", "model": model, **DEAR} for model in ("network", "ensemble", "gp")},
}
"""Those that ``smac`` does not take by itself on these problems."""
OWN = 0.1 * TARGET
"""What our own CPU time may come to on clasp, in s."""
SETTINGS = STRATEGIES | MODELS


class Remote:
    """A target that the referee runs."""

    def __init__(self, port: int) -> None:
        self.referee = Referee(port)

    def run(self, request: RunRequest) -> Outcome:
        status, seconds = self.referee.run(request.config, request.instance or "", request.seed, request.cutoff)
        return Outcome(Status[status], seconds, request.cutoff)

    def __call__(self, *_: object) -> float:
        raise NotImplementedError("simulated only")

    def watch(self, tuning: Tuning) -> None:
        if tuning.strategy.incumbent is not None:
            self.referee.best(tuning.strategy.incumbent)


def simulated(tool: str, seed: int, folder: Path, port: int) -> None:
    target = Remote(port)
    with contextlib.suppress(Stop):
        tune(told_scenario(folder, target), engine="simulated", seed=seed, watch=target.watch, **SETTINGS[tool])
    target.referee.bye()


def real(tool: str, seed: int, folder: Path) -> dict[str, Any]:
    """Ends with the target time that the peers have, or when that and our own CPU time are a tenth more."""
    moments: list[dict[str, Any]] = []

    def watch(tuning: Tuning) -> None:
        if tuning.history.spent >= TARGET:
            tuning.stop()
        incumbent = tuning.strategy.incumbent
        if incumbent is not None and (not moments or moments[-1]["config"] != dict(incumbent)):
            spent = {"target": tuning.history.spent, "own": tuning.meter.own, "runs": len(tuning.history)}
            moments.append(spent | {"config": dict(incumbent)})

    scenario = Clasp().scenario(TARGET + OWN)
    began, before = time.monotonic(), time.process_time()
    result = tune(scenario, seed=seed, out=folder / "store", watch=watch, **SETTINGS[tool])
    own, wall = time.process_time() - before, time.monotonic() - began
    return account(result, own, wall) | {"incumbents": moments}


def account(result: Result, own: float, wall: float) -> dict[str, Any]:
    history = result.history
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "runs": len(history),
        "configurations": len(list(history.configurations)),
        "target": round(history.spent, 3),
        "own": round(own, 3),
        "wall": round(wall, 1),
        "end": "finished",
        "supervisors": round(children.ru_utime + children.ru_stime - history.spent, 3),
    }


def main() -> None:
    tool, seed, folder, *port = sys.argv[1:]
    if port:
        simulated(tool, int(seed), Path(folder), int(port[0]))
    else:
        print(json.dumps(real(tool, int(seed), Path(folder))))


if __name__ == "__main__":
    main()
