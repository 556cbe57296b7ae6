"""The built-in CNF features beside other readers: ``python -m benchmarks.cnf_features [--megabytes M] [--rounds N]``.

Random 3-SAT of the given size. MB/s of the text for: all features; the same statistics in plain Python (no probes); the
verifier's reader, which is arrays; and, where they are installed, the readers of PySAT (to Python lists) and of clasp (a process
that stops before it solves). The best of a few interleaved rounds of CPU time; results/cnf_features.json.
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.machine import machine, write_results
from capra import _cnf
from capra.demo.quasigroup import quasigroup_cnf, with_holes
from capra.formats import cnf
from capra.targets.verify import read_cnf


def random_3sat(megabytes: float) -> str:
    rng = random.Random(1)  # noqa: S311
    variables = round(megabytes * 11_000)
    clauses = round(4.2 * variables)
    lines = [f"p cnf {variables} {clauses}"]
    for _ in range(clauses):
        lines.append(" ".join(str(rng.choice((-1, 1)) * rng.randint(1, variables)) for _ in range(3)) + " 0")
    return "\n".join(lines) + "\n"


def plain_python(text: str) -> dict[str, float]:
    """Reading, and what can be counted in one pass, as one would write it in Python."""
    clauses: list[list[int]] = []
    clause: list[int] = []
    degree: dict[int, int] = {}
    positive: dict[int, int] = {}
    for line in text.splitlines():
        if line[:1] in ("c", "p", ""):
            continue
        for word in line.split():
            literal = int(word)
            if literal == 0:
                clauses.append(clause)
                clause = []
                continue
            clause.append(literal)
            degree[abs(literal)] = degree.get(abs(literal), 0) + 1
            positive[abs(literal)] = positive.get(abs(literal), 0) + (literal > 0)
    neighbours: dict[int, set[int]] = {}
    for clause in clauses:
        for literal in clause:
            neighbours.setdefault(abs(literal), set()).update(map(abs, clause))
    horn = sum(sum(x > 0 for x in c) <= 1 for c in clauses)
    lengths = [len(c) for c in clauses]
    return {
        "clauses": len(clauses),
        "length": sum(lengths) / len(lengths),
        "degree": sum(degree.values()) / len(degree),
        "balance": sum(abs(0.5 - positive[v] / degree[v]) for v in degree) / len(degree),
        "graph": sum(len(near) for near in neighbours.values()) / len(neighbours),
        "horn": horn / len(clauses),
    }


def cpu(action: Callable[[], object]) -> float:
    start = time.process_time()
    action()
    return time.process_time() - start


def child_cpu(argv: list[str]) -> float:
    import resource

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def contenders(path: Path, text: str) -> dict[str, Callable[[], float]]:
    found: dict[str, Callable[[], float]] = {
        "all features": lambda: cpu(lambda: cnf.features(path)),
        "plain Python, counts only": lambda: cpu(lambda: plain_python(path.read_text())),
        "the verifier's reader": lambda: cpu(lambda: read_cnf(path)),
    }
    try:
        from pysat.formula import CNF

        found["PySAT, reading only"] = lambda: cpu(lambda: CNF(from_file=str(path)))
    except ImportError:
        print("PySAT is not installed here: not measured")
    if (clasp := shutil.which("clasp")) is not None:
        argv = [clasp, "--sat-prepro=0", "--solve-limit=0,0", "--quiet=2", str(path)]
        found["clasp, reading only"] = lambda: child_cpu(argv)
    return found


def measure(name: str, text: str, rounds: int) -> dict[str, Any]:
    megabytes = len(text) / 1e6
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "formula.cnf"
        path.write_text(text)
        runs = contenders(path, text)
        seconds = dict.fromkeys(runs, float("inf"))
        for _ in range(rounds):
            for kind, run in runs.items():
                seconds[kind] = min(seconds[kind], run())
    ours = seconds["all features"]
    values = dict(zip(*_cnf.features(text.encode()), strict=True))
    print(f"{name}: {megabytes:.1f} MB, {values['variables']:,.0f} variables, {values['clauses']:,.0f} clauses")
    for kind, value in seconds.items():
        print(f"  {kind:28s}{value:9.3f} s {megabytes / value:9.1f} MB/s   {value / ours:7.2f} times our time")
    return {
        "megabytes": megabytes,
        "seconds": seconds,
        "ratio": {kind: value / ours for kind, value in seconds.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=float, default=20.0)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    formulas = {
        "quasigroup of order 30": quasigroup_cnf(with_holes(30, 320, 1)),
        f"random 3-SAT of {options.megabytes:g} MB": random_3sat(options.megabytes),
    }
    found = {name: measure(name, text, options.rounds) for name, text in formulas.items()}
    write_results("cnf_features", {"machine": machine("numpy"), "formulas": found})


if __name__ == "__main__":
    main()
