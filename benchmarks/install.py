"""What Capra needs on the disk, and how long it takes to import: ``python -m benchmarks.install``.

Sizes are those of the installed files, without what Python compiles; times are wall time of fresh processes, best of interleaved
rounds, without Python's own start. Results: benchmarks/results/install.json.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

import capra
from benchmarks.machine import machine, write_results

IMPORTS = ("pass", "numpy", "capra", "capra.cli", "scipy.special", "capra.models")
ROUNDS = 10


def installed(name: str) -> Iterator[Path]:
    for file in distribution(name).files or ():
        path = Path(str(file.locate()))
        if path.is_file() and path.suffix != ".pyc":
            yield path


def megabytes(name: str) -> float:
    return sum(path.stat().st_size for path in installed(name)) / 1e6


def own_megabytes() -> float:
    """The package and its kernels: in a development environment they lie in two places."""
    sources = {path for path in Path(capra.__file__).parent.rglob("*") if path.is_file() and path.suffix != ".pyc"}
    return sum(path.stat().st_size for path in sources | set(installed("capra"))) / 1e6


def import_seconds() -> dict[str, float]:
    best = dict.fromkeys(IMPORTS, float("inf"))
    for _ in range(ROUNDS):
        for module in IMPORTS:
            code = module if module == "pass" else f"import {module}"
            began = time.monotonic()
            subprocess.run([sys.executable, "-c", code], check=True)
            best[module] = min(best[module], time.monotonic() - began)
    start = best.pop("pass")
    return {module: round(taken - start, 3) for module, taken in best.items()}


def main() -> None:
    sizes = {"capra": own_megabytes(), "numpy": megabytes("numpy"), "scipy": megabytes("scipy")}
    found = {"megabytes": {name: round(size, 1) for name, size in sizes.items()}, "import_seconds": import_seconds()}
    print(found)
    write_results("install", {"machine": machine("capra", "numpy", "scipy"), **found})


if __name__ == "__main__":
    main()
