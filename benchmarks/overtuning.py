"""The lecture's overtuning figures: Basic(1), Basic(10), Basic(100) and aggressive racing on one instance.

``python -m benchmarks.overtuning``: a heavy-tailed randomised target on a single instance; every incumbent's training estimate against
its cost on 1,000 fresh seeds, over the budget. N = 1 overtunes, N = 100 is slow, racing does neither. Writes
benchmarks/results/overtuning.json and, with matplotlib, overtuning.png.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from benchmarks.machine import RESULTS, machine, write_results
from capra.runs import Outcome, RunRequest, Status
from capra.scenario import Scenario
from capra.space import Real, Space
from capra.tune import Result, tune

KAPPA = 1000.0
SIGMA = 1.5
"""Of the log-normal times: the 95 % quantile is 12 times the median."""
BUDGET = 20_000.0
RUNS = 3000
"""Basic(1) soon has an incumbent that was lucky once, and caps everything else within a blink: bound the number of runs as well."""
SEEDS = 11
FRESH = 1000
SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "Basic(1)": ("basic", {"n": 1}),
    "Basic(10)": ("basic", {"n": 10}),
    "Basic(100)": ("basic", {"n": 100}),
    "racing": ("roar", {}),
}


class Target:
    """log time ~ N(bowl of four parameters, SIGMA²), cut at κ_max."""

    def run(self, request: RunRequest) -> Outcome:
        noise = np.random.default_rng([int(request.config.id[:12], 16), request.seed]).normal()
        time = math.exp(centre_of(request.config) + SIGMA * noise)
        if time <= request.cutoff:
            return Outcome(Status.SUCCESS, time, request.cutoff)
        status = Status.CAPPED if request.cutoff < KAPPA else Status.TIMEOUT
        return Outcome(status, request.cutoff, request.cutoff)

    def __call__(self, *_: object) -> float:
        raise NotImplementedError("simulated only")


def centre_of(config: Any) -> float:
    """Median log time."""
    return 1.0 + 1.5 * sum((float(config[name]) - 0.3) ** 2 for name in "abcd")


def test_cost(config: Any) -> float:
    """PAR10 on fresh seeds."""
    fresh = np.exp(centre_of(config) + SIGMA * np.random.default_rng([int(config.id[:12], 16), 2**31]).normal(size=FRESH))
    return float(np.where(fresh <= KAPPA, fresh, 10 * KAPPA).mean())


def one(name: str, seed: int) -> Result:
    strategy, options = SETTINGS[name]
    space = Space([Real(letter, 0.0, 1.0, 1.0) for letter in "abcd"])
    scenario = Scenario(
        target=Target(), space=space, instances=["only"], cutoff=KAPPA, unit="steps", budget={"cpu": BUDGET, "runs": RUNS}
    )
    return tune(scenario, strategy, engine="simulated", seed=seed, overhead="ignore", **options)


def curves(name: str, grid: np.ndarray) -> dict[str, Any]:
    """Medians over seeds of training estimate and test cost of the incumbent, at each budget of the grid."""
    known: dict[str, float] = {}
    train, test = [], []
    for seed in range(SEEDS):
        trajectory = one(name, seed).trajectory
        spent = [milestone.spent for milestone in trajectory]
        for milestone in trajectory:
            if milestone.config.id not in known:
                known[milestone.config.id] = test_cost(milestone.config)
        index = np.searchsorted(spent, grid, side="right") - 1
        train.append([trajectory[i].cost if i >= 0 else math.nan for i in index])
        test.append([known[trajectory[i].config.id] if i >= 0 else math.nan for i in index])
    return {"train": np.nanmedian(train, axis=0).tolist(), "test": np.nanmedian(test, axis=0).tolist(),
            "test_quartiles": np.nanquantile(test, [0.25, 0.75], axis=0).tolist()}  # fmt: skip


def main() -> None:
    grid = np.geomspace(300.0, BUDGET, 40)
    rows = {name: curves(name, grid) for name in SETTINGS}
    print(f"{'':11s} training estimate   cost on {FRESH} fresh seeds (medians of {SEEDS} seeds at budget {BUDGET:g})")
    for name, row in rows.items():
        print(f"{name:11s} {row['train'][-1]:17.1f}   {row['test'][-1]:.1f}")
    write_results("overtuning", {"machine": machine("capra", "numpy"), "seeds": SEEDS, "grid": grid.tolist(), "rows": rows})
    plot(grid, rows)


def plot(grid: np.ndarray, rows: dict[str, Any]) -> None:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        print("no matplotlib: the plot is left out")
        return
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True)
    for name, row in rows.items():
        axes[0].plot(grid, row["train"], label=name)
        axes[1].plot(grid, row["test"], label=name)
    for axis, title in zip(axes, ("training estimate", f"{FRESH} fresh seeds"), strict=True):
        axis.set(xscale="log", yscale="log", title=title, xlabel="target time spent")
    axes[0].set_ylabel("cost of the incumbent (PAR10)")
    axes[1].legend()
    figure.tight_layout()
    figure.savefig(RESULTS / "overtuning.png", dpi=80)


if __name__ == "__main__":
    main()
