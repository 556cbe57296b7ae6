"""A real portfolio: clasp on a mix of quasigroups, random 3-SAT and graph colouring, built by hydra in a small budget.

``python -m benchmarks.portfolio_clasp`` generates the instances, builds (or resumes), evaluates the members on the test instances, and runs ``capra portfolio run`` on each of them, with the time of features counted. ``--features cnf`` takes the
package's own extractor in place of the example's small command.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import machine, write_results
from capra.build import build
from capra.evaluate import evaluate_folder
from capra.folder import PRODUCT
from capra.scenario import Scenario
from capra.validate import measured

FAMILIES = Path(__file__).resolve().parents[1] / "examples" / "portfolio" / "families.py"


def prepared(folder: Path, budget: str, features: str | None) -> Scenario:
    if not (folder / "scenario.toml").exists():
        subprocess.run([sys.executable, str(FAMILIES), str(folder), budget], check=True)
    if features is not None:
        lines = (folder / "scenario.toml").read_text().splitlines()
        lines[0] = f"features = {json.dumps(features)}"
        (folder / "scenario.toml").write_text("\n".join(lines) + "\n")
    return Scenario.load(folder / "scenario.toml")


def as_run(file: Path, instance: str) -> dict[str, Any]:
    """What the command says of one instance."""
    command = [sys.executable, "-m", "capra", "portfolio", "run", str(file), instance, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout) | {"instance": Path(instance).name}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("runs/portfolio-clasp"))
    parser.add_argument("--budget", default="300s")
    parser.add_argument("--builder", default="hydra")
    parser.add_argument("--features", default=None)
    given = parser.parse_args()
    scenario = prepared(given.folder, given.budget, given.features)
    out = given.folder / given.builder
    built = build(scenario, given.builder, out=out, repeat=0.0, rounds=3)
    evaluated = evaluate_folder(out).to_dict()
    names = [instance.name for instance in scenario.test_instances]
    default = measured(scenario, [scenario.default], names, 1, out=given.folder / "default")
    costs = default.record(scenario.default).costs
    runs = [as_run(out / PRODUCT, scenario.path_of(name)) for name in names]
    paid = [run["used"] if run["answered"] else 10 * scenario.cutoff for run in runs]
    families = sorted({name.split("/")[-1].split("-")[0] for name in names})
    of = {family: [i for i, name in enumerate(names) if family in name] for family in families}
    in_order = [costs[pair] for name in names for pair in costs if pair[0] == name]
    document = {
        "machine": machine("numpy"),
        "builder": given.builder,
        "features": list(scenario.features.command),
        "budget_cpu_s": scenario.budget.cpu,
        "spent": built.spent,
        "tuning_runs": len(built.history),
        "members": len(built.portfolio.members),
        "selector": built.portfolio.selection.selector.name if built.portfolio.selection else "schedule",
        "default_par10": float(np.mean(in_order)),
        "run_par10": float(np.mean(paid)),
        "by_family": {
            family: {"default": float(np.mean([in_order[i] for i in rows])), "run": float(np.mean([paid[i] for i in rows]))}
            for family, rows in of.items()
        },
        "chosen": {family: [runs[i]["member"] for i in rows] for family, rows in of.items()},
        "mean_feature_time": float(np.mean([run["feature_time"] for run in runs])),
        "evaluated": evaluated,
    }
    print(json.dumps(document, indent=1))
    write_results("portfolio_clasp", document)


if __name__ == "__main__":
    main()
