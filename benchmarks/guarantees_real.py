"""A real run with a certificate: 50 clasp configurations with oup and caps++ on quasigroup instances, killed and resumed.

``python -m benchmarks.guarantees_real [--strategies oup caps++]``: each strategy is started by the command line, killed
(kill −9) in the middle of its runs, resumed until it has finished or its budget is used up, and its certificate printed. Runs
that were stopped at their cap are held in memory and continued.
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
FEW = 300
"""Runs before it is killed."""
INSTANCES, CUTOFF, KAPPA0, HOLD = 20, 3.0, 0.1, "3GB"
"""The first instances of the demo, one seed; clasp needs 0.04 s to start, so that smaller caps than KAPPA0 show nothing."""
SETTINGS = {
    "oup": ("utility:loglaplace(0.6, 1)", {"epsilon": 0.05}),
    "caps++": ("mean", {"epsilon": 0.2, "delta": 0.1, "zeta": 0.1}),
}
"""Objective and options."""


def killed(command: list[str], run: Path) -> int:
    """Start it, kill it in the middle of a run after the first few; its exit code."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
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


def prepared(folder: Path, objective: str, seconds: int) -> Path:
    """The demo's scenario with fewer instances, one seed and another budget."""
    path = prepare(folder)
    names = sorted(f"train/{place.name}" for place in (folder / "train").iterdir())[:INSTANCES]
    text = path.read_text().replace('instances = "train"', f"instances = {json.dumps(names)}\nseeds = [1]", 1)
    text = text.replace("cutoff = 5.0", f"cutoff = {CUTOFF}").replace('"par10"', json.dumps(objective))
    budget = f'[budget]\ncpu = "{seconds}s"\nwall = "{seconds * 7 // 5}s"'
    (folder / "real.toml").write_text(re.sub(r"\[budget\]\ncpu = .*\nwall = .*", budget, text))
    return folder / "real.toml"


def measured(folder: Path, strategy: str, seconds: int) -> dict[str, Any]:
    """One strategy, killed and resumed."""
    objective, options = SETTINGS[strategy]
    run, scenario = folder / strategy, prepared(folder, objective, seconds)
    settings = [
        word for key, value in ({"n": 49, "kappa0": KAPPA0} | options).items() for word in ("--set", f"{key}={value}")
    ]
    started = [*CAPRA, "tune", str(scenario), "--strategy", strategy, "--out", str(run), "--hold", HOLD, *settings, "--json"]
    code = killed(started, run)
    before = status(run)
    done = subprocess.run([*CAPRA, "resume", str(run), "--json"], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"resume ended with {done.returncode}: {done.stdout}{done.stderr}")
    after = status(run)
    keys = ("runs", "statuses", "target_time", "continued_time", "own_time", "wall", "certificate", "warnings")
    return {"killed_with": code, "runs_when_killed": before["runs"], "objective": objective, "options": options} | {
        key: round(after[key], 2) if isinstance(after[key], float) else after[key] for key in keys
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=480, help="CPU seconds for each strategy")
    parser.add_argument("--strategies", nargs="*", default=tuple(SETTINGS), choices=SETTINGS)
    given = parser.parse_args()
    setting = {"seconds": given.seconds, "instances": INSTANCES, "cutoff": CUTOFF, "kappa0": KAPPA0, "hold": HOLD}
    kept = Kept("guarantees_real", setting, "capra", "clingo")
    for strategy in given.strategies:
        row = kept.row(strategy=strategy)
        if not row["found"]:
            with tempfile.TemporaryDirectory() as folder:
                row["found"].append(measured(Path(folder), strategy, given.seconds))
            kept.write()
        print(json.dumps(row, indent=1), flush=True)


if __name__ == "__main__":
    main()
