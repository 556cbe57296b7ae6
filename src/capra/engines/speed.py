"""Machines of different speed: times are scaled to what they would have been on one reference machine.

A fixed loop of integer work is timed on every host; the ratio to the reference's time is the host's slowness. It is one
number for a whole machine: good for a mix of CPU generations, no remedy for solvers that depend on caches or memory.
"""

from __future__ import annotations

import dataclasses
import math
import time

from capra.runs import Outcome, RunRequest, Status

__all__ = ["loop_seconds", "on_host", "on_reference"]

ROUNDS = 200_000
TIMES = 5


def loop_seconds() -> float:
    """CPU seconds that the fixed loop takes here: the least of several times, since others only ever slow it down."""
    return min(_once() for _ in range(TIMES))


def _once() -> float:
    state, before = 12345, time.thread_time()
    for _ in range(ROUNDS):  # a linear congruential generator: nothing to cache, nothing to look up
        state = (1103515245 * state + 12345) & 0x7FFFFFFF
    return time.thread_time() - before


def on_host(request: RunRequest, slowness: float) -> RunRequest:
    """The request with the cutoff that means the same on a host which is this much slower than the reference."""
    return request if slowness == 1.0 else dataclasses.replace(request, cutoff=request.cutoff * slowness)


def on_reference(outcome: Outcome, cutoff: float, slowness: float, kappa_max: float) -> Outcome:
    """The outcome as the reference would have seen it; ``cutoff`` is the bound in force there.

    ``cpu`` and ``wall`` stay what was measured, so that the ratio can be read from every run.
    """
    if slowness == 1.0:
        return outcome
    in_force = math.isclose(outcome.cutoff, cutoff * slowness, rel_tol=1e-8, abs_tol=1e-8)  # the supervisor rounds
    bound = cutoff if in_force else min(outcome.cutoff / slowness, cutoff)
    if not outcome.censored:
        return dataclasses.replace(outcome, time=min(outcome.time / slowness, bound), cutoff=bound)
    status = Status.TIMEOUT if bound >= kappa_max else Status.CAPPED
    return dataclasses.replace(outcome, status=status, time=bound, cutoff=bound)
