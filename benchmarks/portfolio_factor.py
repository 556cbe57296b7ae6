"""ISAC where a single configuration provably loses by a known factor: ``python -m benchmarks.portfolio_factor [--seeds N]``.

Four kinds of instances, as many of each, with the same sizes; a configuration is for one kind and 40 times slower on the others.
Whatever the other parameter is, the best single configuration takes (1 + 3 · 40)/4 = 30.25 times as long as one per kind: nobody
can do better than that factor, and nobody needs to do worse. Features tell the kinds apart, beside two that say nothing. isac and
smac get the same budget; the 80 test instances are fresh. results/portfolio_factor.json.
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np

from benchmarks.machine import machine, write_results
from capra.build import build
from capra.evaluate import evaluate
from capra.formats.instances import Features
from capra.runs import Configuration, Outcome, RunRequest, Status
from capra.scenario import Scenario
from capra.space import Categorical, Real, Space
from capra.tune import tune

KINDS = ("north", "east", "south", "west")
SLOWER = 40.0
FACTOR = (1.0 + (len(KINDS) - 1) * SLOWER) / len(KINDS)
"""What every single configuration loses, at least, to one per kind: 30.25."""
TRAIN, TEST = 80, 80
CUTOFF = 200.0
BUDGET = 6_000.0
SIZES = (0.5, 0.8, 1.0, 1.3, 2.0)


def kind(instance: str) -> int:
    return int(instance[1:]) % len(KINDS)


def size(instance: str) -> float:
    """Each kind has the same sizes, equally often."""
    return SIZES[int(instance[1:]) // len(KINDS) % len(SIZES)]


def seconds(config: Configuration, instance: str) -> float:
    """x = 0.5 is best for everybody; nothing ever reaches the cutoff."""
    slower = 1.0 if config["kind"] == KINDS[kind(instance)] else SLOWER
    return size(instance) * slower * (1.0 + abs(float(config["x"]) - 0.5))


class Target:
    """On the virtual clock."""

    def run(self, request: RunRequest) -> Outcome:
        taken = seconds(request.config, str(request.instance))
        if taken <= request.cutoff:
            return Outcome(Status.SUCCESS, taken, request.cutoff)
        return Outcome(Status.CAPPED, request.cutoff, request.cutoff)

    def __call__(self, *_: object) -> float:
        raise NotImplementedError("the simulated engine asks run()")


def scenario(seed: int) -> Scenario:
    names = [f"i{k}" for k in range(TRAIN + TEST)]
    rng = np.random.default_rng(seed)
    corners = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0], [10.0, 10.0]])
    points = np.hstack(
        [corners[[kind(name) for name in names]] + rng.normal(size=(len(names), 2)), rng.random((len(names), 2))]
    )
    return Scenario(
        target=Target(),
        space=Space([Categorical("kind", KINDS, KINDS[0]), Real("x", 0.0, 1.0, 0.9)]),
        instances=names[:TRAIN],
        test_instances=names[TRAIN:],
        features=Features(("a", "b", "c", "d"), dict(zip(names, map(tuple, points.tolist()), strict=True))),
        cutoff=CUTOFF,
        deterministic=True,
        unit="steps",
        budget={"cpu": BUDGET},
    )


def row(seed: int) -> dict[str, Any]:
    """What one of each comes to on the test instances, and how many times as long the single configuration takes."""
    given: dict[str, Any] = {"seed": seed, "engine": "simulated", "overhead": "ignore", "refit": 20, "candidates": 200}
    single = Configuration(tune(scenario(seed), "smac", **given).incumbent)
    built = build(scenario(seed), "isac", inner="smac", **given).portfolio
    found = evaluate(built, scenario(seed), engine="simulated")
    tests = [instance.name for instance in scenario(seed).test_instances]
    alone = float(np.mean([seconds(single, name) for name in tests]))
    return {
        "seed": seed,
        "single": alone,
        "isac": found.portfolio.par10,
        "virtual_best": found.virtual.par10,
        "factor": alone / found.portfolio.par10,
        "members": len(built.members),
        "selector": built.selection.selector.name if built.selection else "schedule",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    rows = [row(seed) for seed in range(parser.parse_args().seeds)]
    for one in rows:
        print(one)
    factors = [one["factor"] for one in rows]
    print(f"provable {FACTOR}, measured {math.exp(np.mean(np.log(factors))):.2f}")
    quartiles = np.quantile(factors, [0.25, 0.5, 0.75]).round(3).tolist()
    write_results(
        "portfolio_factor", {"machine": machine("numpy"), "provable": FACTOR, "quartiles": quartiles, "rows": rows}
    )


if __name__ == "__main__":
    main()
