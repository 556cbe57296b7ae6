"""A real run with a certificate: 50 clasp configurations with oup and caps++ on quasigroup instances, killed and resumed.

``python -m benchmarks.guarantees_real [--seconds 60]``: each strategy is started by the command line, killed (kill −9) in the
middle of its runs, resumed until its budget of CPU seconds is used up, and its certificate printed.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.kept import Kept
from capra.demo import prepare
from capra.errors import InputError
from capra.overview import status_of

CAPRA = [sys.executable, "-m", "capra"]
FEW = 8
"""Runs before it is killed."""
SETTINGS = {"oup": ["--set", "n=49"], "caps++": ["--set", "n=49", "--set", "epsilon=0.3", "--set", "delta=0.3"]}


def killed(command: list[str], run: Path) -> int:
    """Start it, kill it in the middle of a run after the first few; its exit code."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and runs_in(run) < FEW:
        time.sleep(0.5)
    process.kill()
    return process.wait()


def runs_in(run: Path) -> int:
    try:
        return int(status_of(run)["runs"])
    except InputError:  # not begun
        return 0


def status(run: Path) -> dict[str, Any]:
    return json.loads(subprocess.run([*CAPRA, "status", str(run), "--json"], capture_output=True, check=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=60, help="CPU seconds of the target for each strategy")
    given = parser.parse_args()
    kept = Kept("guarantees_real", {"seconds": given.seconds}, "capra", "clingo")
    with tempfile.TemporaryDirectory() as folder:
        scenario = prepare(Path(folder))
        budget = f'[budget]\ncpu = "{given.seconds}s"\nwall = "{8 * given.seconds}s"'
        scenario.write_text(re.sub(r"\[budget\]\ncpu = .*\nwall = .*", budget, scenario.read_text()))
        for strategy, settings in SETTINGS.items():
            row = kept.row(strategy=strategy)
            if row["found"]:
                continue
            run = Path(folder) / strategy
            started = [*CAPRA, "tune", str(scenario), "--strategy", strategy, "--out", str(run), *settings, "--json"]
            code = killed(started, run)
            before = status(run)
            subprocess.run([*CAPRA, "resume", str(run), "--json"], capture_output=True, check=True)
            after = status(run)
            row["found"].append({"killed_with": code, "runs_when_killed": before["runs"], "runs": after["runs"],
                                 "statuses": after["statuses"], "target_time": round(after["target_time"], 2),
                                 "certificate": after["certificate"]})  # fmt: skip
            kept.write()
            print(json.dumps(row, indent=1), flush=True)


if __name__ == "__main__":
    main()
