"""The demo over several seeds: how much faster than its default is the tuned clasp on fresh instances?

``python -m benchmarks.demo`` (10 seeds, about 3 minutes each): clasp on generated quasigroup instances, two workers, the demo's own
budget; test cost of default and incumbent on 20 held-out instances with 3 fresh seeds each. Goal: median ≥ 10. ``--strategy`` takes
another one than the demo's. Seeds that stand in benchmarks/results/demo.json are not run again.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.kept import Kept
from capra.demo import prepare
from capra.overview import validate_run
from capra.scenario import Scenario
from capra.tune import tune

WORKERS = 2


def once(scenario: Scenario, strategy: str, seed: int, run: Path) -> dict[str, Any]:
    result = tune(scenario, strategy, seed=seed, workers=WORKERS, out=run)
    default, incumbent = (row["cost"] for row in validate_run(run, seeds=3, workers=WORKERS))
    return {
        "seed": seed,
        "default": default,
        "incumbent": incumbent,
        "speed_up": default / incumbent,
        "runs": len(result.history),
        "configurations": len(list(result.history.configurations)),
        "spent": result.spent,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--strategy", default="smac")
    given = parser.parse_args()
    kept = Kept("demo", {}, "capra", "clingo", "numpy")
    row = kept.row(workers=WORKERS, strategy=given.strategy)
    with tempfile.TemporaryDirectory() as folder:
        scenario = Scenario.load(prepare(Path(folder)))
        for seed in range(len(row["found"]), given.seeds):
            found = once(scenario, given.strategy, seed, Path(folder) / f"seed-{seed}")
            row["found"].append(found)
            row["quartiles"] = np.quantile([one["speed_up"] for one in row["found"]], [0.25, 0.5, 0.75]).tolist()
            kept.write()
            print({key: round(value, 4) for key, value in found.items()}, flush=True)
    print("speed-up over clasp's default, quartiles:", np.round(row["quartiles"], 2))


if __name__ == "__main__":
    main()
