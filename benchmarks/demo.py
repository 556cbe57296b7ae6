"""The demo over several seeds: how much faster than its default is the tuned clasp on fresh instances?

``python -m benchmarks.demo`` (10 seeds, about 3 minutes each): clasp on generated quasigroup instances, two workers, the demo's own
budget; test cost of default and incumbent on 20 held-out instances with 3 fresh seeds each. Goal: median ≥ 10.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.machine import machine, write_results
from capra.demo import prepare
from capra.overview import validate_run
from capra.scenario import Scenario
from capra.tune import tune


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    seeds = range(parser.parse_args().seeds)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        scenario = Scenario.load(prepare(Path(folder)))
        for seed in seeds:
            run = Path(folder) / f"seed-{seed}"
            result = tune(scenario, seed=seed, workers=2, out=run)
            default, incumbent = (row["cost"] for row in validate_run(run, seeds=3, workers=2))
            configurations = len(list(result.history.configurations))
            rows.append({"seed": seed, "default": default, "incumbent": incumbent, "speed_up": default / incumbent,
                         "runs": len(result.history), "configurations": configurations, "spent": result.spent})  # fmt: skip
            print({key: round(value, 4) for key, value in rows[-1].items()}, flush=True)
    quartiles = np.quantile([row["speed_up"] for row in rows], [0.25, 0.5, 0.75])
    print("speed-up over clasp's default, quartiles:", np.round(quartiles, 2))
    document = {"machine": machine("capra", "clingo", "numpy"), "rows": rows, "quartiles": quartiles.tolist()}
    write_results("demo", document)


if __name__ == "__main__":
    main()
