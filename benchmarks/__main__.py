"""The experiments behind every figure we publish.

``python -m benchmarks`` lists them; ``python -m benchmarks run NAME … [--full]`` makes them again, one after another;
``python -m benchmarks page`` writes docs/results.md from the published results. Only ``--full`` writes these; quick sizes have a folder
of their own. ``CAPRA_RESULTS`` names another one for either.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.figures import PAGE, page
from benchmarks.machine import PUBLISHED, ROOT
from benchmarks.registry import EXPERIMENTS

QUICK = ROOT / "runs" / "quick"


def show(*, as_json: bool) -> None:
    if as_json:
        print(json.dumps({name: asdict(experiment) for name, experiment in EXPERIMENTS.items()}))
        return
    width = max(map(len, EXPERIMENTS))
    for name, experiment in EXPERIMENTS.items():
        print(f"{name:{width}}  {experiment.what} (docs/{experiment.page})")
        if experiment.needs:
            print(f"{'':{width}}  needs {experiment.needs}")


def results(*, full: bool) -> Path:
    """Where a run writes. What is published can only be replaced by what is as large."""
    return Path(os.environ.get("CAPRA_RESULTS") or (PUBLISHED if full else QUICK)).resolve()


def run(names: Sequence[str], *, full: bool, as_json: bool = False) -> int:
    """The exit code of the first command that fails, or 0. With ``as_json`` what they print goes to standard error."""
    place, said, code = results(full=full), sys.stderr if as_json else sys.stdout, 0
    environment = os.environ | {"CAPRA_RESULTS": str(place)}
    print(f"results go to {place}", file=said, flush=True)
    commands = [
        (name, command) for name in names for command in (EXPERIMENTS[name].full if full else EXPERIMENTS[name].quick)
    ]
    for number, (name, command) in enumerate(commands, 1):
        print(f"[{number}/{len(commands)}] {name}: python -m benchmarks.{command}", file=said, flush=True)
        module, *arguments = command.split()
        words = [sys.executable, "-m", f"benchmarks.{module}", *arguments]
        code = subprocess.run(words, check=False, env=environment, stdout=sys.stderr if as_json else None).returncode
        if code:
            print(f"{name} ended with exit code {code}", file=sys.stderr)
            break
    if as_json:
        print(json.dumps({"experiments": list(names), "results": str(place), "exit_code": code}))
    return code


def main() -> int:
    common = argparse.ArgumentParser(add_help=False)
    # Only where it is given: a command's default would undo what stands before the command.
    common.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__, parents=[common])
    commands = parser.add_subparsers(dest="command")
    commands.add_parser("list", help="what there is", parents=[common])
    command = commands.add_parser("run", help="make some again", parents=[common])
    command.add_argument("names", nargs="+", choices=EXPERIMENTS, metavar="NAME")
    command.add_argument("--full", action="store_true", help="the sizes of the published figures, in hours")
    commands.add_parser("page", help=f"write {PAGE.name}", parents=[common])
    given = parser.parse_args()
    as_json = getattr(given, "json", False)
    if given.command == "run":
        return run(given.names, full=given.full, as_json=as_json)
    if given.command == "page":
        PAGE.write_text(page())
        print(json.dumps({"page": str(PAGE)}) if as_json else f"wrote {PAGE}")
    else:
        show(as_json=as_json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
