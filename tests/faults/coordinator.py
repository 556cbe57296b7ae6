"""A small tuning to be killed: ``python -m tests.faults.coordinator FOLDER``. Prints READY before, FINISHED after."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from capra.runs import Outcome, RunRequest
from capra.scenario import Scenario
from capra.tune import Result, tune
from tests.strategies.conformance import lognormal, scenario

PAUSE = 0.001
"""Seconds a virtual run really takes, so that there is something to interrupt."""


class Target:
    """The conformance suite's target, on the virtual clock."""

    def run(self, request: RunRequest) -> Outcome:
        time.sleep(PAUSE)
        return lognormal(request)

    def __call__(self, *_: object) -> float:
        raise AssertionError("the simulated engine asks run()")


def small() -> Scenario:
    return scenario(target=Target(), budget={"cpu": 1500})


def run(folder: Path | None) -> Result:
    return tune(small(), "roar", engine="simulated", seed=3, out=folder, overhead="ignore", durability="full")


if __name__ == "__main__":
    sys.stdout.write("READY\n")
    sys.stdout.flush()
    run(Path(sys.argv[1]))
    sys.stdout.write("FINISHED\n")
