"""What every result file says about where it was measured, and how results are written."""

from __future__ import annotations

import json
import platform
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).with_name("results")
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def machine(*packages: str) -> dict[str, str]:
    """CPU, Python and the versions of the named packages."""
    cpu = next(
        (line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line),
        platform.machine(),
    )
    return {"cpu": cpu, "python": sys.version.split()[0], **{name: metadata.version(name) for name in packages}}


def write_results(name: str, document: dict[str, Any]) -> None:
    """Write benchmarks/results/NAME.json."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(document, indent=1) + "\n")


def shared_or_exit() -> Path:
    """The folder of recorded data; says so and ends well where it is not there."""
    if not SHARED.is_dir():
        print("no ../shared/data beside the project: this benchmark has nothing to work on")
        raise SystemExit(0)
    return SHARED
