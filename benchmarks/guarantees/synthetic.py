"""The synthetic experiment of the paper on ImpatientCapsAndRuns: exponential times with means ~ U(10, 10 M)."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.guarantees.drive import DAY, drive, ledger
from benchmarks.kept import Kept
from capra._guarantees import CapsAndRuns, Impatient
from capra.strategies.caps import BASIC, PLUS_PLUS, settings
from capra.strategies.impatient import sample_sizes

EPSILON, DELTA, ZETA, GAMMA = 0.05, 0.1, 0.05, 0.02
INSTANCES = 50_000
KAPPA0 = 10.0


def cores() -> dict[str, Any]:
    n = int(np.ceil(np.log(ZETA / 7) / np.log1p(-GAMMA)))
    sizes = sample_sizes(GAMMA, ZETA / 12)
    return {
        "impatient": Impatient(sizes, settings(sizes[-1], EPSILON, DELTA, ZETA / 12, KAPPA0)),
        "caps++": CapsAndRuns(settings(n, EPSILON, DELTA, ZETA / 7, KAPPA0, PLUS_PLUS)),
        "caps": CapsAndRuns(settings(n, EPSILON, DELTA, ZETA / 7, KAPPA0, BASIC)),
    }


def synthetic(seeds: int) -> None:
    """CPU days for M = 2, 5, 10, 25."""
    given = {"epsilon": EPSILON, "delta": DELTA, "zeta": ZETA, "gamma": GAMMA, "kappa0": KAPPA0}
    kept = Kept("guarantees_synthetic", given, "capra", "numpy")
    for number in range(seeds):
        for multiplier in (2, 5, 10, 25):
            row = kept.row(multiplier=multiplier)
            if len(row["found"]) > number:
                continue
            random = np.random.default_rng([520, number, multiplier])
            means = random.uniform(10.0, 10.0 * multiplier, size=351)
            times = random.exponential(means[:, None], size=(len(means), INSTANCES))
            found = {}
            for name, core in cores().items():
                book = ledger(times)
                drive(core, book)
                found[name] = {
                    "restart_days": round(book.restart / DAY, 2),
                    "resumed_days": round(book.resumed / DAY, 2),
                    "mean": round(float(means[core.answer]), 3),
                }
                if isinstance(core, Impatient):
                    found[name]["kept"] = core.kept
            row["found"].append(found)
            kept.write()
            print(number, multiplier, found, f"least mean {means.min():.3f}", flush=True)
