"""A tuning with real processes, to be disturbed: ``python -m tests.faults.real FOLDER SECONDS``. Resumes what is there.

Two workers, lognormal runtimes. Every result is handed to the store twice. Each accepted run is acknowledged by a line
``POSITION TIME`` on the standard output, flushed; the last line is FINISHED.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import capra
from capra import keeper
from capra.errors import StoreFull
from capra.runs.store import Store

SLEEP = "import random, sys, time; time.sleep(0.05 * random.Random(sys.argv[2]).lognormvariate(float(sys.argv[1]), 0.7))"
CUTOFF = 1.0
WORKERS = 2
FULL = 75
"""Exit code: begin again when there is space."""


def scenario(folder: Path, seconds: float) -> capra.Scenario:
    (folder.parent / "space.pcs").write_text("x real [-1, 2] [1]\n")
    return capra.Scenario(
        target=[sys.executable, "-E", "-S", "-c", SLEEP, "{config.x}", "{instance}{seed}"],
        space="space.pcs",
        instances=[f"i{k}" for k in range(10)],
        instance_kind="name",
        cutoff=CUTOFF,
        unit="wall",
        budget={"wall": seconds},
        base=folder.parent,
    )


def say_twice() -> None:
    """Results arrive twice; the second time must change nothing. What was accepted is said aloud."""
    finish = Store.finish

    def twice(self: Store, *result: Any) -> Any:
        run = finish(self, *result)
        if finish(self, *result) is not None:
            raise SystemExit("a result was accepted twice")
        if run is not None:
            sys.stdout.write(f"{run.order} {run.outcome.time!r}\n")
            sys.stdout.flush()
        return run

    Store.finish = twice  # type: ignore[method-assign]


if __name__ == "__main__":
    keeper.LEAST_SPACE = 0  # the disk is meant to be small
    say_twice()
    place = Path(sys.argv[1])
    try:
        capra.tune(scenario(place, float(sys.argv[2])), out=place, workers=WORKERS, repeat=0.05, overhead="ignore")
    except StoreFull:  # when the store was to be opened or closed; in between a full disk is waited for
        raise SystemExit(FULL) from None
    sys.stdout.write("FINISHED\n")
