"""The dynamic part of ``capra check``: a few real runs, to see whether the target behaves as the scenario says.

The default configuration on a few instances, once more with the same seed, once with half of its time; some random
configurations. Then what we measured is held against what the target claims.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from capra.check import Finding
from capra.engines import LocalEngine, Ticket
from capra.runs import Configuration, Outcome, RunRequest, Status
from capra.scenario import Scenario

__all__ = ["Rehearsed", "findings_of", "rehearse"]

INSTANCES = 3
RANDOM = 3
LATE = 0.25
"""Seconds past its cutoff that a stopped run may have used."""
MEASURABLE = 0.02
"""Runs shorter than this cannot be cut in half."""
TOO_SHORT = 0.05
"""Seconds. Runs that all end sooner mostly measure how long a program takes to start."""


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """One run of the rehearsal: why it was made, what came of it, and how to repeat it by hand."""

    purpose: str
    request: RunRequest
    outcome: Outcome
    command: str


def rehearse(
    scenario: Scenario,
    *,
    workers: int = 1,
    told: Callable[[Rehearsed], None] = lambda _: None,
    warned: Callable[[str], None] = lambda _: None,
) -> list[Rehearsed]:
    """Make the runs; ``told`` hears of each as it ends, ``warned`` in the end what there is to know about the machine."""
    seed = scenario.seeds[0] if scenario.seeds else 0 if scenario.deterministic else 1
    done: list[Rehearsed] = []
    with LocalEngine(scenario, workers) as engine:

        def run(purposes: list[tuple[str, RunRequest]]) -> None:
            for purpose, request, outcome in _run_all(engine, purposes):
                done.append(Rehearsed(purpose, request, outcome, engine.command(request)))
                told(done[-1])

        instances = _instances(scenario)
        default = scenario.default
        run([("default", RunRequest(default, name, seed, scenario.cutoff)) for name in instances])
        if solved := [run for run in done if run.outcome.status is Status.SUCCESS]:
            run(_second_looks(solved))
            run([("random", RunRequest(config, instances[0], seed, scenario.cutoff)) for config in _random(scenario, seed)])
        for text in engine.warnings():
            warned(text)
    return done


def _instances(scenario: Scenario) -> list[str | None]:
    """From the first to the last: in a folder names tell sizes, and the first ones alone would be the smallest."""
    names = [instance.name for instance in scenario.instances]
    last, steps = len(names) - 1, INSTANCES - 1
    return [names[place] for place in sorted({last * i // steps for i in range(INSTANCES)})] if names else [None]


def _second_looks(solved: list[Rehearsed]) -> list[tuple[str, RunRequest]]:
    """The first run again, and the longest one with half of its time."""
    again = ("same seed", solved[0].request)
    longest = max(solved, key=lambda run: run.outcome.time)
    if longest.outcome.time < MEASURABLE:
        return [again]
    request = longest.request
    half = RunRequest(request.config, request.instance, request.seed, longest.outcome.time / 2)
    return [again, ("half its time", half)]


def _random(scenario: Scenario, seed: int) -> list[Configuration]:
    rng = np.random.default_rng(seed)
    if scenario.configurations:
        return list(scenario.configurations[:RANDOM])
    return scenario.space.decode(scenario.space.sample(RANDOM, rng))


def _run_all(engine: LocalEngine, purposes: list[tuple[str, RunRequest]]) -> Iterator[tuple[str, RunRequest, Outcome]]:
    waiting = list(purposes)
    under_way: dict[Ticket, tuple[str, RunRequest]] = {}
    while waiting or under_way:
        while waiting and engine.free:
            purpose, request = waiting.pop(0)
            under_way[engine.submit(request)] = (purpose, request)
        for ticket, outcome in engine.wait():
            yield (*under_way.pop(ticket), outcome)


# --- what the runs say ---


def findings_of(scenario: Scenario, done: list[Rehearsed]) -> list[Finding]:
    """What a user should know, "error" for what makes tuning pointless."""
    found = [
        *_default_works(done),
        *_too_short(scenario, done),
        *_claims(scenario, done),
        *_unverified(done),
        *_crashes(done),
    ]
    for run in done:
        if run.purpose == "same seed":
            first = next(other for other in done if other.request == run.request)
            found.append(_repeats(first, run, quality=scenario.objective.kind == "quality"))
        if run.purpose == "half its time":
            found.append(_is_cut(run))
    return found


def _default_works(done: list[Rehearsed]) -> Iterator[Finding]:
    defaults = [run for run in done if run.purpose == "default"]
    bad = [run for run in defaults if run.outcome.status not in (Status.SUCCESS, Status.TIMEOUT)]
    if bad:
        yield Finding("error", "default", _what_went_wrong(bad[0]))
    elif all(run.outcome.status is Status.TIMEOUT for run in defaults):
        text = "every run of the default configuration timed out: use a larger cutoff or easier instances"
        yield Finding("warning", "default", text)
    else:
        times = sorted(run.outcome.time for run in defaults)
        yield Finding("ok", "default", f"solves {_count(defaults)} of {len(times)}, in {times[0]:.3g} to {times[-1]:.3g}")


def _too_short(scenario: Scenario, done: list[Rehearsed]) -> Iterator[Finding]:
    longest = max(run.outcome.time for run in done if run.purpose == "default")
    if scenario.unit in ("cpu", "wall") and longest < TOO_SHORT and _count(done):
        text = f"all within {TOO_SHORT:g} s, which is mostly the start of the program: take harder instances"
        yield Finding("warning", "default", text)


ADVICE = {
    "memory": "set a larger memory limit",
    "not among": "if that is a regular end, add it to codes in output",
    "killed by": "it must work with its default before it can be tuned",
    "output": "say in output how it is to be read, or choose another dialect",
    "no line matches": "say in output how it is to be read",
    "reports no": "say in output where it stands",
}
"""What to do, by words of the reason; the first that fits."""


def _what_went_wrong(run: Rehearsed) -> str:
    reason = run.outcome.reason or ""
    fitting = [advice for words, advice in ADVICE.items() if words in reason]
    return "; ".join([f"{run.outcome.status}: {reason}", *fitting[:1], f"to see it: {run.command}"])


def _count(runs: list[Rehearsed]) -> int:
    return sum(run.outcome.status is Status.SUCCESS for run in runs)


def _repeats(first: Rehearsed, again: Rehearsed, *, quality: bool) -> Finding:
    one, two = first.outcome, again.outcome
    if (one.status, one.answer) != (two.status, two.answer) or (quality and one.quality != two.quality):
        return Finding("warning", "seed", f"the same seed gave {one.status} and then {two.status}, or another answer: "
                       "is the seed passed on? {seed} must reach the target")  # fmt: skip
    longer, shorter = max(one.time, two.time), min(one.time, two.time)
    if longer > 2 * shorter and longer - shorter > 0.1:
        return Finding("warning", "seed", f"the same seed took {one.time:.3g} and then {two.time:.3g}")
    return Finding("ok", "seed", "the same seed repeats")


def _is_cut(run: Rehearsed) -> Finding:
    outcome = run.outcome
    if outcome.status is Status.SUCCESS:
        return Finding("ok", "cutoff", "not tested: the run was faster this time")
    if not outcome.censored:
        return Finding("error", "cutoff", f"with half of its time the target ends {outcome.status}: {outcome.reason}")
    if outcome.overshoot > LATE:
        return Finding("warning", "cutoff", f"kept {outcome.overshoot:.2f} s late: the machine is overloaded")
    return Finding("ok", "cutoff", f"kept: stopped at {outcome.cutoff:.3g}, {1000 * outcome.overshoot:.1f} ms late")


def _claims(scenario: Scenario, done: list[Rehearsed]) -> Iterator[Finding]:
    """Our measurement counts; a target that claims something else is worth a word."""
    if scenario.unit not in ("cpu", "wall"):
        return
    claims = [run for run in done if run.outcome.status is Status.SUCCESS and run.outcome.reported is not None]
    off = [run for run in claims if _differ(run.outcome.time, run.outcome.reported or 0.0)]
    if off:
        run = off[0].outcome
        text = f"the target claims {run.reported:.3g} where we measured {run.time:.3g}; ours counts"
        yield Finding("warning", "time", text)
    elif claims:
        yield Finding("ok", "time", f"what the target claims agrees with what we measured ({len(claims)} runs)")


def _differ(measured: float, claimed: float) -> bool:
    return not math.isclose(measured, claimed, rel_tol=0.1, abs_tol=0.1)


def _unverified(done: list[Rehearsed]) -> Iterator[Finding]:
    """A verifier that cannot say anything protects nobody."""
    for run in done:
        if run.outcome.status is Status.SUCCESS and (run.outcome.reason or "").startswith("not verified"):
            yield Finding("warning", "verifier", f"{run.outcome.reason}; to see it: {run.command}")
            return


def _crashes(done: list[Rehearsed]) -> Iterator[Finding]:
    """Random configurations may crash; if all do for the same reason it is not the parameters."""
    others = [run for run in done if run.purpose == "random"]
    bad = [run for run in others if run.outcome.status in (Status.CRASHED, Status.MEMOUT, Status.WRONG, Status.LOST)]
    for run in bad:
        level = "error" if run.outcome.status in (Status.WRONG, Status.LOST) else "warning"
        yield Finding(level, "random", f"{run.outcome.status}: {run.outcome.reason}; to see it: {run.command}")
    if others and not bad:
        yield Finding("ok", "random", f"{len(others)} random configurations ran, {_count(others)} within the cutoff")
