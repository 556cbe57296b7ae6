"""Does capping pay for a plain function, and which model? ``python -m benchmarks.minimize``.

Branin, Camelback and Hartmann 3 and 6 as cost-monotonic problems: the cost is the function shifted so that its minimum is 1, and
an evaluation may be stopped at its cutoff. Measured is the cumulative cost (each evaluation up to its cutoff) until some complete
evaluation is within 1 % of the optimum, that is, costs at most 1.01; with capping (slack 1.3) and without. The random search
draws configurations uniformly and is capped in the same way. A search that has not arrived after ``--evaluations`` (random: 100
times as many, which cost us no time) counts as infinite in medians and quartiles (null in the results). Results go to
benchmarks/results/minimize.json, search by search; those that stand there already are not made again.
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
Cost = Callable[[dict[str, Any]], float]


def problem(name: str) -> tuple[Cost, Space]:
    function, dimensions = FUNCTIONS[name]
    space = Space([Real(f"x{j}", 0.0, 1.0, 0.5) for j in range(dimensions)])
    return lambda config: float(function(np.array([list(config.values())]))[0]) - MINIMA[name] + 1.0, space


def by_model(name: str, model: str, slack: float, seed: int, evaluations: int) -> tuple[float, float]:
    """What it cost to come near the optimum (infinite: did not), and the best cost at the end."""
    cost, space = problem(name)
    search = Minimizer(space, slack=slack, model=model, seed=seed, evaluations=evaluations)
    while (question := search.ask()) is not None:
        config, _ = question
        search.tell(config, cost(config))
        if search.best is not None and search.best.cost <= NEAR:
            return search.spent, search.best.cost
    return math.inf, search.best.cost if search.best else math.inf


def by_chance(name: str, slack: float, seed: int, evaluations: int) -> tuple[float, float]:
    cost, space = problem(name)
    configs = [space.default, *space.decode(space.sample(evaluations - 1, np.random.default_rng(seed)))]
    best, spent = math.inf, 0.0
    for config in configs:
        value = cost(dict(config))
        spent += min(value, slack * best)
        best = min(best, value)
        if best <= NEAR:
            return spent, best
    return math.inf, best


def one_search(name: str, model: str, how: str, seed: int, evaluations: int) -> dict[str, float | None]:
    began = time.process_time()
    if model == "random":  # cheap: it may go on a hundred times as long
        spent, final = by_chance(name, SLACKS[how], seed, 100 * evaluations)
    else:
        spent, final = by_model(name, model, SLACKS[how], seed, evaluations)
    own = round(time.process_time() - began, 3)
    return {"spent": round(spent, 1) if math.isfinite(spent) else None, "final": round(final, 4), "own_cpu_s": own}


def summary(found: list[dict[str, float | None]]) -> dict[str, Any]:
    spent = np.array([math.inf if one["spent"] is None else one["spent"] for one in found])
    quartiles = np.quantile(spent, [0.25, 0.5, 0.75], method="higher")  # no arithmetic with infinity
    return {
        "arrived": int(np.sum(np.isfinite(spent))),
        "cost_quartiles": [value if math.isfinite(value) else None for value in quartiles.tolist()],
        "final_median": float(np.median([one["final"] for one in found])),
        "own_cpu_s": round(float(np.mean([one["own_cpu_s"] for one in found])), 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--evaluations", type=int, default=60)
    parser.add_argument("--functions", nargs="+", default=list(FUNCTIONS))
    parser.add_argument("--models", nargs="+", default=["random", "forest", "network", "gp"])
    given = parser.parse_args()
    kept = Kept("minimize", {"evaluations": given.evaluations, "within": NEAR}, "capra", "numpy", "scipy")
    with threadpool_limits(1):
        for model, name, how in itertools.product(given.models, given.functions, SLACKS):
            row = kept.row(function=name, model=model, capping=how)
            for seed in range(len(row["found"]), given.seeds):
                row["found"].append(one_search(name, model, how, seed, given.evaluations))
                row.update(summary(row["found"]))
                kept.write()
            print("  ".join(f"{key} {value}" for key, value in row.items() if key != "found"), flush=True)


if __name__ == "__main__":
    main()
