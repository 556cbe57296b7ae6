"""A tuning with real processes, to be disturbed: ``python -m tests.faults.real FOLDER SECONDS [SCHEDULER]``. Resumes what is there.

Lognormal runtimes; two workers here, or those of a Dask scheduler. Every result is handed to the store twice, and once more
much later; so is what a cluster's workers say. Each accepted run is acknowledged, once it is written, by a line ``POSITION TIME``
on the standard output, flushed; ``fenced N`` counts answers that the engine ignored; the last line is FINISHED. It comes when the
seconds are used up, or when there is a file STOP beside the folder.
"""

from __future__ import annotations

import faulthandler
import signal
import sys
from collections import deque
from pathlib import Path
from typing import Any

import capra
from capra import keeper
from capra.errors import StoreError, StoreFull, TargetError
from capra.runs import Run
from capra.runs.store import Store
from capra.tune import Tuning

SLEEP = "import random, sys, time; time.sleep(0.05 * random.Random(sys.argv[2]).lognormvariate(float(sys.argv[1]), 0.7))"
CUTOFF = 1.0
WORKERS = 2
FULL = 75
"""Exit code: begin again when there is space."""
DAMAGED = 76
"""Exit code: the store was refused."""
LOST = 77
"""Exit code: too many runs in a row were lost; to be resumed when the machines are well again."""
STOP = "stop"
LATE_RESULTS = 20
"""Results after which one is handed in once more."""
LATE_ANSWERS = 2.0
"""Seconds after which a worker's word is heard once more."""


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


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def hand_in_twice() -> list[Run]:
    """Results arrive twice, and once more when nobody waits for them; that must change nothing. What was accepted is listed."""
    finish = Store.finish
    earlier: deque[Any] = deque()
    accepted: list[Run] = []

    def twice(self: Store, *result: Any, **how: Any) -> Any:
        run = finish(self, *result, **how)
        earlier.append(result)
        late = earlier.popleft() if len(earlier) > LATE_RESULTS else result
        if any(finish(self, *again, **how) is not None for again in (result, late)):
            raise SystemExit("a result was accepted twice")
        if run is not None:
            accepted.append(run)
        return run

    Store.finish = twice  # type: ignore[method-assign]
    return accepted


def hear_twice() -> None:
    """What Dask's workers say arrives twice, and once more after some seconds. They are given up quickly, too."""
    from capra.engines import dask
    from capra.engines.link import Link

    once = Link._site_event

    def twice(self: Link, event: Any) -> None:
        once(self, event)
        once(self, event)
        self._loop.call_later(LATE_ANSWERS, once, self, event)

    Link._site_event = twice  # type: ignore[method-assign]
    dask.HEARTBEAT = 0.5


def explained(error: Exception, expected: str, code: int) -> int:
    """The exit code, if this was to be expected."""
    if expected not in str(error):
        raise error
    sys.stderr.write(f"{error}\n")
    return code


def main(folder: Path, seconds: float, scheduler: str | None) -> None:
    faulthandler.register(signal.SIGUSR1)  # whoever waits for us in vain can see where we are
    keeper.LEAST_SPACE = 0  # the disk is meant to be small
    accepted = hand_in_twice()
    how: dict[str, Any] = {"workers": WORKERS}
    if scheduler is not None:
        hear_twice()
        how = {"engine": "dask", "client": scheduler, **how}
    fenced = [0]

    def watch(tuning: Tuning) -> None:
        for run in accepted:  # whoever watches is called when all of them are written
            say(run.order, repr(run.outcome.time))
        accepted.clear()
        if (folder.parent / STOP).exists():
            tuning.stop()
        if (now := getattr(tuning.engine, "fenced", 0)) > fenced[0]:
            fenced[0] = now
            say("fenced", now)

    try:
        capra.tune(scenario(folder, seconds), out=folder, repeat=0.05, overhead="ignore", watch=watch, **how)
    except StoreFull:  # when the store was to be opened or closed; in between a full disk is waited for
        sys.exit(FULL)
    except StoreError as error:
        sys.exit(explained(error, "damaged", DAMAGED))
    except TargetError as error:
        sys.exit(explained(error, "in a row were lost", LOST))
    say("FINISHED")


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else None)
