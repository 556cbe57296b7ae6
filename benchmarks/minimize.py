"""Does capping pay for a plain function, and which model? ``python -m benchmarks.minimize``.

Branin, Camelback and Hartmann 3 and 6 as cost-monotonic problems: the cost is the function shifted so that its minimum is 1, and
an evaluation may be stopped at its cutoff. Measured is the cumulative cost (each evaluation up to its cutoff) until some complete
evaluation is within 1 % of the optimum, that is, costs at most 1.01; with capping (slack 1.3) and without. The random search
draws configurations uniformly and is capped in the same way.

What is limited is the cumulative cost, the same for all: 5,000 times the minimum. A capped evaluation costs little, so that there
may be many. To spare our own time the forest gets at most 1,000 of them, the Gaussian process 200 and the network 100; random search
gets as many as it can pay. A search that has not arrived by then counts as infinite in medians and quartiles (null in the results), and
``ended`` says which of the limits it was. Results go to benchmarks/results/minimize.json, search by search; those that stand there
already are not made again.
"""

from __future__ import annotations

import argparse
import itertools
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.censored import FUNCTIONS
from benchmarks.kept import Kept
from capra import Minimizer, Space
from capra.space import Real

MINIMA = {"branin": 0.397887357729738, "camel": -1.031628453489877, "hart3": -3.862782147820755, "hart6": -3.322368011415511}
NEAR = 1.01
SLACKS = {"capped": 1.3, "uncapped": math.inf}
EVALUATIONS = {"forest": 1_000, "gp": 200, "network": 100}
BLOCK = 1_000
"""Random configurations that are drawn at a time."""
Cost = Callable[[dict[str, Any]], float]
Search = tuple[float, float, int]
"""What had been spent, the best cost, and the number of evaluations, when it arrived or a limit was reached."""


def problem(name: str) -> tuple[Cost, Space]:
    function, dimensions = FUNCTIONS[name]
    space = Space([Real(f"x{j}", 0.0, 1.0, 0.5) for j in range(dimensions)])
    return lambda config: float(function(np.array([list(config.values())]))[0]) - MINIMA[name] + 1.0, space


def by_model(name: str, model: str, slack: float, seed: int, budget: float) -> Search:
    cost, space = problem(name)
    search = Minimizer(space, budget=budget, slack=slack, model=model, seed=seed, evaluations=EVALUATIONS[model])
    best = math.inf
    while best > NEAR and (question := search.ask()) is not None:
        config, _ = question
        search.tell(config, cost(config))
        best = search.best.cost if search.best else math.inf
    return search.spent, best, len(search.observations)


def by_chance(name: str, slack: float, seed: int, budget: float) -> Search:
    cost, space = problem(name)
    rng = np.random.default_rng(seed)
    drawn = (config for _ in itertools.count() for config in space.decode(space.sample(BLOCK, rng)))
    best, spent, count = math.inf, 0.0, 0
    while best > NEAR and spent < budget:
        config = next(drawn) if count else space.default
        value, cutoff = cost(dict(config)), min(slack * best, budget - spent)
        best = min(best, value) if value <= cutoff else best
        spent, count = spent + min(value, cutoff), count + 1
    return spent, best, count


def one_search(name: str, model: str, how: str, seed: int, budget: float) -> dict[str, Any]:
    began = time.process_time()
    if model == "random":
        spent, best, count = by_chance(name, SLACKS[how], seed, budget)
    else:
        spent, best, count = by_model(name, model, SLACKS[how], seed, budget)
    arrived = best <= NEAR
    return {
        "spent": round(spent, 1) if arrived else None,
        "final": round(best, 4),
        "evaluations": count,
        "ended": "arrived" if arrived else "budget" if spent >= budget else "evaluations",
        "own_cpu_s": round(time.process_time() - began, 3),
    }


def summary(found: list[dict[str, Any]]) -> dict[str, Any]:
    spent = np.array([math.inf if one["spent"] is None else one["spent"] for one in found])
    quartiles = np.quantile(spent, [0.25, 0.5, 0.75], method="higher")  # no arithmetic with infinity
    return {
        "arrived": int(np.sum(np.isfinite(spent))),
        "cost_quartiles": [value if math.isfinite(value) else None for value in quartiles.tolist()],
        "evaluations_median": float(np.median([one["evaluations"] for one in found])),
        "final_median": float(np.median([one["final"] for one in found])),
        "own_cpu_s": round(float(np.mean([one["own_cpu_s"] for one in found])), 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--budget", type=float, default=5_000.0)
    parser.add_argument("--functions", nargs="+", default=list(FUNCTIONS))
    parser.add_argument("--models", nargs="+", default=["random", "forest", "gp", "network"])
    given = parser.parse_args()
    limits = {"budget": given.budget, "evaluations": EVALUATIONS, "within": NEAR}
    kept = Kept("minimize", limits, "capra", "numpy", "scipy")
    with threadpool_limits(1):
        for model, name, how in itertools.product(given.models, given.functions, SLACKS):
            row = kept.row(function=name, model=model, capping=how)
            for seed in range(len(row["found"]), given.seeds):
                row["found"].append(one_search(name, model, how, seed, given.budget))
                row.update(summary(row["found"]))
                kept.write()
            print("  ".join(f"{key} {value}" for key, value in row.items() if key != "found"), flush=True)


if __name__ == "__main__":
    main()
