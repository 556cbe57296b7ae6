"""``python -m benchmarks.guarantees [PART …]``: table, shares, synthetic, rates, promises (all of them by default).

Results are kept seed by seed; what is there is not measured again.
"""

from __future__ import annotations

import argparse

from benchmarks.guarantees.promises import METHODS, promises
from benchmarks.guarantees.rates import rates
from benchmarks.guarantees.spear import shares, table
from benchmarks.guarantees.synthetic import synthetic
from benchmarks.machine import machine, write_results

PARTS = ("table", "shares", "synthetic", "rates", "promises")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=PARTS, help=", ".join(PARTS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--methods", nargs="*", default=(), choices=METHODS, help="whose promises to test; all by default")
    given = parser.parse_args()
    if "table" in given.parts:
        table(given.seeds)
    if "shares" in given.parts:
        found = shares()
        write_results(
            "guarantees_shares", {"machine": machine("capra", "numpy"), "epsilon": [0.1, 0.5, 1, 5, 10], "delta": found}
        )
        print(found)
    if "synthetic" in given.parts:
        synthetic(given.seeds)
    if "rates" in given.parts:
        rates()
    if "promises" in given.parts:
        promises(given.repetitions, given.methods)


if __name__ == "__main__":
    main()
