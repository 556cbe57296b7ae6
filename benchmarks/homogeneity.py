"""What advice from a long history costs: ``python -m benchmarks.homogeneity``. Goal: below one second for 100,000 runs.

Three histories of 100,000 runs: a full table, a race (few configurations know many instances, most know a handful, half of the
runs capped), and many instances. CPU seconds, the best of three; results/homogeneity.json.
"""

from __future__ import annotations

import time

import numpy as np

from benchmarks.machine import machine, write_results
from capra.analysis.homogeneity import homogeneity
from capra.runs import Configuration, History, Objective, Outcome, Run, RunRequest, Status

RUNS = 100_000
CUTOFF = 100.0


def history_of(cells: list[tuple[int, int, int]], capped: float) -> History:
    rng = np.random.default_rng(1)
    history = History(Objective(), CUTOFF)
    configs = {c: Configuration({"row": c}) for c, _, _ in cells}
    for c, i, s in cells:
        time_, stopped = float(rng.lognormal(0.0, 1.0)) + 1e-3, c > 20 and rng.random() < capped
        cap = time_ if stopped else CUTOFF
        outcome = Outcome(Status.CAPPED if stopped else Status.SUCCESS, time_, cap)
        history.add(Run(RunRequest(configs[c], f"i{i}", s, cap), outcome))
    return history


def cells_of() -> dict[str, tuple[list[tuple[int, int, int]], float]]:
    table = [(c, i, s) for c in range(100) for i in range(200) for s in range(5)]
    race = [(c, i, 0) for c in range(20) for i in range(500)]
    race += [(20 + n // 4, n % 4, 0) for n in range(RUNS - len(race))]
    wide = [(c, i, 0) for c in range(20) for i in range(RUNS // 20)]
    return {"table": (table, 0.0), "race": (race, 0.5), "many instances": (wide, 0.0)}


def main() -> None:
    found = {}
    for name, (cells, capped) in cells_of().items():
        history = history_of(cells, capped)
        seconds = []
        for _ in range(3):
            start = time.process_time()
            alike = homogeneity(history)
            seconds.append(time.process_time() - start)
        found[name] = {"runs": len(cells), "seconds": min(seconds), "advice": alike.advice if alike else None}
        print(f"{name:16s}{len(cells):9,d} runs {min(seconds):7.3f} s  {found[name]['advice']}", flush=True)
    write_results("homogeneity", {"machine": machine("numpy"), "histories": found})


if __name__ == "__main__":
    main()
