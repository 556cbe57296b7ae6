"""How each tool is started, and one tuning by any of them as a row of results."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.machine import machine
from benchmarks.peers.ours import MODELS, SETTINGS, STRATEGIES
from benchmarks.peers.problems import WORK, Clasp, Spear, make
from benchmarks.peers.referee import Account, Referee
from capra.runs import Configuration

HERE = Path(__file__).parent
ENVIRONMENTS = Path(os.environ.get("CAPRA_PEERS", WORK / "environments"))
"""Where the peers' Python environments are: smac1 and smac2."""
SOURCES = str(HERE.parents[1] / "src")
TOOLS = ("irace", *STRATEGIES, "smac-2.4.1", "smac-1.4.0")
"""Whom a user would choose among."""
KNOWN = (*TOOLS, *MODELS)
LATE = 1.2
"""irace keeps its budget by an estimate, and most of it goes into the last race: that one may end so much later."""
LIBRARIES = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def command(tool: str, seed: int, folder: Path) -> list[str]:
    """What to start; the port of the referee is added."""
    if tool in SETTINGS:
        return [sys.executable, "-m", "benchmarks.peers.ours", tool, str(seed), str(folder)]
    if tool == "irace":
        return ["Rscript", str(HERE / "irace.R"), str(folder), str(seed)]
    major = tool.removeprefix("smac-")[0]
    return [str(ENVIRONMENTS / f"smac{major}" / "bin" / "python"), str(HERE / f"smac{major}.py"), str(folder), str(seed)]


def tuning(name: str, tool: str, seed: int) -> dict[str, Any]:
    """One tuning, with the test cost of every incumbent where the surrogate can tell it at once."""
    problem, folder = make(name, seed), WORK / name / f"{tool}-{seed}"
    shutil.rmtree(folder, ignore_errors=True)
    problem.problem.describe(folder)
    row = {"problem": name, "tool": tool, "seed": seed, **version(tool), "machine": machine("capra", "numpy")}
    if tool in SETTINGS and isinstance(problem, Clasp):
        row |= own_runs(command(tool, seed, folder), folder)
    else:
        row |= refereed(problem, command(tool, seed, folder), folder).row()
    if isinstance(problem, Spear):
        for moment in row["incumbents"]:
            moment |= problem.judged(Configuration(moment["config"]))
    return row


def own_runs(words: list[str], folder: Path) -> dict[str, Any]:
    with (folder / "log.txt").open("w") as log:
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=log, check=True, env=os.environ | LIBRARIES)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def refereed(problem: Spear | Clasp, words: list[str], folder: Path) -> Account:
    told = problem.problem
    lines = (told.cutoff, told.rules.target, int(told.deterministic))
    (folder / "irace.txt").write_text("\n".join(map(str, lines)) + "\n")
    with (folder / "log.txt").open("w") as log:
        rules = told.rules.later(LATE) if words[0] == "Rscript" else told.rules
        referee = Referee(told.space, problem.run, rules)
        return referee.judge(words, stdout=log, stderr=log, env=os.environ | LIBRARIES)


@cache
def version(tool: str) -> dict[str, str]:
    """Which Capra: the last commit that changed it, and a mark where its files were changed since."""
    if tool not in SETTINGS:
        return {}
    changed = "+" if _git("status", "--porcelain", "--", SOURCES) else ""
    return {"commit": _git("log", "-1", "--format=%h", "--", SOURCES) + changed}


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], capture_output=True, text=True, check=True, cwd=HERE).stdout.strip()
