"""The experiments behind every figure we publish.

``python -m benchmarks`` lists them; ``python -m benchmarks run NAME … [--full]`` makes them again, one after another;
``python -m benchmarks page`` writes docs/results.md from the results that are there.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import asdict

from benchmarks.figures import PAGE, page
from benchmarks.registry import EXPERIMENTS


def show(*, as_json: bool) -> None:
    if as_json:
        print(json.dumps({name: asdict(experiment) for name, experiment in EXPERIMENTS.items()}))
        return
    width = max(map(len, EXPERIMENTS))
    for name, experiment in EXPERIMENTS.items():
        print(f"{name:{width}}  {experiment.what} (docs/{experiment.page})")


def run(names: list[str], *, full: bool) -> int:
    """The exit code of the first command that fails, or 0."""
    for number, name in enumerate(names, 1):
        experiment = EXPERIMENTS[name]
        for command in experiment.full if full else experiment.quick:
            print(f"[{number}/{len(names)}] {name}: python -m benchmarks.{command}", flush=True)
            module, *arguments = command.split()
            code = subprocess.run([sys.executable, "-m", f"benchmarks.{module}", *arguments], check=False).returncode
            if code:
                return code
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(dest="command")
    commands.add_parser("list", help="what there is").add_argument("--json", action="store_true")
    command = commands.add_parser("run", help="make some again")
    command.add_argument("names", nargs="+", choices=EXPERIMENTS, metavar="NAME")
    command.add_argument("--full", action="store_true", help="the sizes of the published figures, in hours")
    commands.add_parser("page", help=f"write {PAGE.name}")
    given = parser.parse_args()
    if given.command == "run":
        return run(given.names, full=given.full)
    if given.command == "page":
        PAGE.write_text(page())
    else:
        show(as_json=getattr(given, "json", False))
    return 0


if __name__ == "__main__":
    sys.exit(main())
