"""Capra beside SMAC3 1.4.0, SMAC3 2.4.1 and irace 3.5, at equal budgets.

``python -m benchmarks.peers install`` gives the peers environments of their own;
``python -m benchmarks.peers run clasp --seeds 5`` makes the tunings that are not in the results yet, tools interleaved;
``python -m benchmarks.peers judge`` measures the incumbents of the real runs on the test instances, all in one batch;
``python -m benchmarks.peers table`` prints the tables and draws the curves;
``python -m benchmarks.peers proposals`` looks into Capra's own tunings of SPEAR: how good are the model's challengers?
"""

from __future__ import annotations

import argparse
import time

from benchmarks.peers import table
from benchmarks.peers.install import install
from benchmarks.peers.judge import judge, judge_simulated
from benchmarks.peers.proposals import study
from benchmarks.peers.rows import forget, rows, write_row
from benchmarks.peers.tools import KNOWN, TOOLS, tuning


def run(given: argparse.Namespace) -> None:
    forget(given.problem, given.again)
    until = time.monotonic() + 60.0 * given.minutes
    for seed in range(given.first, given.seeds):
        for tool in given.tools:
            if time.monotonic() > until:
                return
            if not any((row["tool"], row["seed"]) == (tool, seed) for row in rows(given.problem)):
                row = tuning(given.problem, tool, seed)
                if not row["end"].startswith("exit code"):
                    write_row(row)
                kept = {key: value for key, value in row.items() if key != "incumbents"}
                print(kept, len(row["incumbents"]), flush=True)


def judging_of(given: argparse.Namespace) -> None:
    if given.problem == "clasp":
        judge(given.seeds, finals=not given.curves)
    else:
        judge_simulated(given.problem)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    commands.add_parser("install").set_defaults(call=lambda _: install())
    making = commands.add_parser("run")
    making.add_argument("problem", help="clasp, spear-1h, spear-3h …")
    making.add_argument("--tools", nargs="+", default=list(TOOLS), choices=list(KNOWN))
    making.add_argument("--seeds", type=int, default=5)
    making.add_argument("--first", type=int, default=0, help="seeds from here, for a second process beside the first")
    making.add_argument("--minutes", type=float, default=1e9, help="start no tuning after so many")
    making.add_argument("--again", nargs="+", default=[], choices=list(KNOWN), help="forget the rows of these tools first")
    making.set_defaults(call=run)
    judging = commands.add_parser("judge")
    judging.add_argument("problem", nargs="?", default="clasp")
    judging.add_argument("--seeds", type=int, default=5, help="on each of the 20 test instances")
    judging.add_argument("--curves", action="store_true", help="every incumbent, not only the last ones")
    judging.set_defaults(call=judging_of)
    commands.add_parser("table").set_defaults(call=lambda _: table.main())
    looking = commands.add_parser("proposals")
    looking.add_argument("problem", nargs="?", default="spear-1h")
    looking.add_argument("--seeds", type=int, default=20)
    looking.set_defaults(call=lambda given: study(given.problem, given.seeds))
    given = parser.parse_args()
    given.call(given)


if __name__ == "__main__":
    main()
