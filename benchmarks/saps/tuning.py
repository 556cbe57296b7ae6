"""Table 2 of Eggensperger et al. 2021, upper half: SAPS tuned on one instance at a time by racing, with and without models."""

from __future__ import annotations

import time
from itertools import product
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.kept import add_line, read_lines
from benchmarks.machine import RESULTS, machine, write_results
from benchmarks.saps.problems import CUTOFF, FRESH, QUANTILES, Problem, problems
from benchmarks.saps.solver import Parameters, saps_space
from capra.analysis.statistics import paired_permutation_test
from capra.runs import History
from capra.scenario import Scenario
from capra.tune import Result, tune

STEPS, RUNS = 2_000_000, 500
"""The budget of one tuning: whichever is used up first."""
JUDGED = 1_000
PERMUTATIONS = 100_000
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "random": ("roar", {}),
    "forest S&H": ("smac", {"model": "forest-mean", "acquisition": "ei"}),
    "network Thompson": ("smac", {"model": "network", "refit": 1}),  # one network from scratch per proposal
    "forest sampling": ("smac", {"model": "forest"}),
    "ensemble EI": ("smac", {"model": "ensemble"}),
    "process": ("smac", {"model": "gp"}),
}
DEFAULT = "default"
KEPT = RESULTS / "saps_tune.jsonl"
Row = dict[str, Any]


def answer(problem: Problem, config: dict[str, Any], seed: int, most: int) -> dict[str, Any]:
    """A run of at most so many steps, as a target tells of it."""
    run = problem.saps.run(Parameters(**config), [seed], most)
    # An assignment that is right by chance takes no step; logarithms need one.
    return {"status": "SUCCESS" if run.solved[0] else "TIMEOUT", "time": max(1.0, float(run.steps[0]))}


def scenario(problem: Problem) -> Scenario:
    def target(config: dict[str, Any], instance: str | None, seed: int, cutoff: float) -> dict[str, Any]:
        return answer(problem, config, seed, int(cutoff))

    return Scenario(
        target=target,
        space=saps_space(),
        cutoff=CUTOFF,
        unit="steps",
        objective="mean",
        budget={"cpu": STEPS, "runs": RUNS},
    )


def tuned(problem: Problem, method: str, repetition: int) -> Result:
    strategy, options = METHODS[method]
    with threadpool_limits(1):
        return tune(scenario(problem), strategy, engine="simulated", seed=repetition, **options)


def one(problem: Problem, method: str, repetition: int) -> Row:
    """One tuning, and what its final configuration takes on average with fresh seeds."""
    if method == DEFAULT:
        return {
            "problem": problem.name,
            "method": method,
            "repetition": 0,
            "steps": problem.mean_steps(Parameters(), JUDGED),
        }
    began = time.process_time()
    result = tuned(problem, method, repetition)
    seconds = time.process_time() - began
    history: History = result.history
    return {
        "problem": problem.name,
        "method": method,
        "repetition": repetition,
        "steps": problem.mean_steps(Parameters(**result.incumbent), JUDGED, FRESH + JUDGED * (repetition + 1)),
        "believed": result.cost,
        "config": {name: float(value) for name, value in result.incumbent.items()},
        "runs": len(history),
        "configurations": len(list(history.configurations)),
        "censored": round(float(np.mean([run.outcome.censored for run in history.runs])), 3),
        "spent": result.spent,
        "cpu_s": round(seconds, 2),
    }


def kept() -> list[Row]:
    return read_lines(KEPT)


def collect(repetitions: int, minutes: float, methods: list[str], names: list[str]) -> None:
    """Repetition after repetition, until the time is over; what is in the file already is not made again."""
    known = {(row["problem"], row["method"], row["repetition"]) for row in kept()}
    chosen = [problem for problem in problems() if problem.name in names]
    end = time.monotonic() + 60.0 * minutes
    defaults = [(0, problem, DEFAULT) for problem in chosen]
    for repetition, problem, method in (*defaults, *product(range(repetitions), chosen, methods)):
        if (problem.name, method, repetition) in known:
            continue
        if time.monotonic() > end:
            return
        row = one(problem, method, repetition)
        add_line(KEPT, row)
        print(f"{repetition:3d} {problem.name:5} {method:18} {row['steps']:8.1f} steps", flush=True)


# --- the table ---


def table(rows: list[Row]) -> dict[str, Any]:
    """Problem → method → quartiles, score, and the probability of such a difference from the best by chance."""
    found: dict[str, Any] = {}
    for problem in QUANTILES:
        costs = {method: _costs(rows, problem, method) for method in METHODS}
        costs = {method: values for method, values in costs.items() if values}
        if costs:
            found[problem] = {"default": _costs(rows, problem, DEFAULT)[0], "methods": _compared(costs)}
    return found


def _costs(rows: list[Row], problem: str, method: str) -> dict[int, float]:
    return {row["repetition"]: row["steps"] for row in rows if (row["problem"], row["method"]) == (problem, method)}


def _compared(costs: dict[str, dict[int, float]]) -> dict[str, Row]:
    every = [value for values in costs.values() for value in values.values()]
    medians = {method: float(np.median(list(values.values()))) for method, values in costs.items()}
    best = min(medians, key=lambda method: medians[method])
    compared = {}
    for method, values in costs.items():
        final = np.array(list(values.values()))
        scores = 100.0 * (max(every) - final) / (max(every) - min(every))
        compared[method] = {
            "repetitions": len(final),
            "quartiles": np.quantile(final, [0.25, 0.5, 0.75]).round(2).tolist(),
            "score": round(float(np.median(scores)), 2),
            "p_against_best": 1.0 if method == best else _p(values, costs[best]),
            "p_against_random": 1.0 if method == "random" else _p(values, costs["random"]),
        }
    return compared


def _p(one: dict[int, float], other: dict[int, float]) -> float:
    """Paired by repetition, of the logarithms."""
    both = sorted(one.keys() & other.keys())
    pair = np.log([[values[repetition] for repetition in both] for values in (one, other)])
    return paired_permutation_test(*pair, np.random.default_rng(0), permutations=PERMUTATIONS)


def overall(found: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Average rank of the medians and average score of every method that has seen all problems."""
    methods = [method for method in METHODS if all(method in problem["methods"] for problem in found.values())]
    medians = np.array([[problem["methods"][method]["quartiles"][1] for method in methods] for problem in found.values()])
    ranks = medians.argsort(axis=1).argsort(axis=1).mean(axis=0) + 1.0
    scores = [np.mean([problem["methods"][method]["score"] for problem in found.values()]) for method in methods]
    return {m: {"rank": float(r), "score": round(float(s), 1)} for m, r, s in zip(methods, ranks, scores, strict=True)}


def report() -> None:
    """Print the tables of what was kept, as Markdown for docs/studies/saps.md, and store them."""
    rows = kept()
    if not rows:
        return
    found = table(rows)
    print("\n| instance | method | repetitions | median [quartiles] | score | p (best) | p (random) |")
    print("|---|---|---|---|---|---|---|")
    for name, problem in found.items():
        print(f"| {name} | default | | {problem['default']:.0f} | | | |")
        for method, row in problem["methods"].items():
            low, middle, high = row["quartiles"]
            numbers = f"{row['score']:.0f} | {row['p_against_best']:.3g} | {row['p_against_random']:.3g}"
            print(f"| {name} | {method} | {row['repetitions']} | {middle:.0f} [{low:.0f}; {high:.0f}] | {numbers} |")
    average = overall(found)
    print("\n| method | average rank | average score |\n|---|---|---|")
    for method, row in average.items():
        print(f"| {method} | {row['rank']:.2f} | {row['score']:.1f} |")
    budget = {"steps": STEPS, "runs": RUNS}
    write_results(
        "saps_tune", {"machine": machine("numpy", "scipy"), "budget": budget, "problems": found, "average": average}
    )
