"""Small runs for the tests of stores and files."""

from __future__ import annotations

import math
from pathlib import Path

from capra.runs import Configuration, Outcome, RunRequest, Status
from capra.runs.store import Store

FAST, SLOW = Configuration({"mode": "fast", "alpha": 0.1}), Configuration({"mode": "slow", "beta": 3, "deep": True})
META = {"scenario": {"objective": "par10", "cutoff": 5.0}, "seed": 7}


def ask(seed: int = 1, config: Configuration = FAST, instance: str | None = "a.cnf", cutoff: float = 5.0) -> RunRequest:
    return RunRequest(config, instance, seed, cutoff)


def solved(time: float = 1.0, cutoff: float = 5.0) -> Outcome:
    return Outcome(Status.SUCCESS, time, cutoff)


def lost() -> Outcome:
    return Outcome(Status.LOST, 0.25, 5.0, reason="the worker is gone")


def run(store: Store, request: RunRequest, outcome: Outcome, who: str = "race") -> None:
    lease = store.lease(request, who)
    store.finish(lease.assignment, lease.attempt, outcome, float(lease.assignment))


def varied(path: Path | None) -> Store:
    """A store with a run of every status, a retried one, an open lease, decisions and notes."""
    store = Store.create(path, META, durability="full" if path else "memory")
    full = Outcome(
        Status.SUCCESS, 0.1, 5.0, -2.5, cpu=0.1, wall=1 / 3, memory=2**40, overshoot=1e-9, exit_code=10, signal=None,
        reported=math.inf, answer='say "1"\n', reason=None, backend="native", host="naïve,host",
    )  # fmt: skip
    run(store, ask(1), full, "default")
    run(store, ask(1, SLOW, cutoff=0.13), Outcome(Status.CAPPED, 0.13, 0.13, reason="cut"))
    run(store, ask(1, SLOW), Outcome(Status.TIMEOUT, 5.0, 5.0))
    run(store, ask(2, SLOW, "b c'.cnf"), Outcome(Status.MEMOUT, 2.0, 5.0, memory=1))
    run(store, ask(-3, SLOW, None, math.inf), Outcome(Status.CRASHED, 0.0, math.inf, exit_code=139, signal=11))
    run(store, ask(4, SLOW, "true"), Outcome(Status.WRONG, 1.5, 5.0, answer=""))
    run(store, ask(5, SLOW, "12"), Outcome(Status.CAPPED, 2.0, 2.0), "")
    lease = store.lease(ask(9), "retried")
    store.finish(lease.assignment, 1, lost(), 8.0)
    store.finish(lease.assignment, store.release(lease).attempt, solved(4.0), 9.0)
    for n, (spent, cost) in enumerate([(20.0, 0.1), (21.5, 0.05)], start=1):
        data = {"config": dict(FAST), "cost": cost, "spent": spent, "wall": 2 * spent, "evaluations": n}
        store.decide("incumbent", str(n), data)
    store.note("wall", [1.5, 2.5])
    store.lease(ask(10), "open")
    return store
