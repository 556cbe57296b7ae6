"""SAPS, a local search for SAT, tuned by its number of steps (Eggensperger et al. 2021): ``python -m benchmarks.saps COMMAND``.

``match``: is our solver the one of the recorded runs? ``tune``: configurators on three instances; every finished repetition is
kept in benchmarks/results/saps_tune.jsonl, and the next call goes on from there. ``confirm``: ``smac`` as it is on other
repetitions, its own time counted. ``models``: models of the runs of such tunings, asked about configurations of others.
``plot``: their predictions as a picture in docs/images (needs matplotlib).
"""

from __future__ import annotations

import argparse

from benchmarks.saps.confirm import confirm
from benchmarks.saps.match import match
from benchmarks.saps.models import plot, study
from benchmarks.saps.problems import QUANTILES
from benchmarks.saps.tuning import METHODS, collect, report


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.saps", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("match", help="compare with recorded runs of UBCSAT (two minutes)")
    command.add_argument("--runs", type=int, default=4, help="runs of each configuration on each instance")
    command = commands.add_parser("tune", help="random search and models on three instances")
    command.add_argument("--repetitions", type=int, default=32)
    command.add_argument("--minutes", type=float, default=20.0, help="stop after so long; 0 only prints")
    command.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    command.add_argument("--problems", nargs="+", choices=QUANTILES, default=list(QUANTILES))
    command = commands.add_parser("confirm", help="smac as it is beside its forest and random search")
    command.add_argument("--repetitions", type=int, default=16)
    command.add_argument("--minutes", type=float, default=20.0, help="stop after so long; 0 only prints")
    command = commands.add_parser("models", help="models of the tunings' runs")
    command.add_argument("--histories", type=int, default=32)
    command.add_argument("--held-out", type=int, default=8)
    command.add_argument("--seeds", type=int, default=5)
    commands.add_parser("plot", help="draw what models found")
    return parser.parse_args()


def main() -> None:
    given = parsed()
    if given.command == "match":
        raise SystemExit(not match(given.runs))
    if given.command == "tune":
        collect(given.repetitions, given.minutes, given.methods, given.problems)
        report()
    elif given.command == "confirm":
        confirm(given.repetitions, given.minutes)
    elif given.command == "models":
        study(given.histories, given.held_out, given.seeds)
    else:
        plot()


if __name__ == "__main__":
    main()
