"""What every result file says about where it was measured, where results are written, and where recorded data is.

Two environment variables: ``CAPRA_RESULTS`` names another folder for results and pictures than the published ones, ``CAPRA_DATA``
another folder of recorded data than ../shared/data.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PUBLISHED = ROOT / "benchmarks" / "results"
"""What docs/results.md is made of."""
RESULTS = Path(os.environ.get("CAPRA_RESULTS") or PUBLISHED).resolve()
IMAGES = ROOT / "docs" / "images" if RESULTS == PUBLISHED else RESULTS
SHARED = Path(os.environ.get("CAPRA_DATA") or ROOT.parent / "shared" / "data").resolve()


def machine(*packages: str) -> dict[str, Any]:
    """CPU, cores, memory, Python, the versions of the named packages, today (UTC) and the commit."""
    cpu = next(
        (line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line),
        platform.machine(),
    )
    facts: dict[str, Any] = {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "python": sys.version.split()[0],
        **{name: metadata.version(name) for name in packages},
        "date": datetime.now(UTC).date().isoformat(),
    }
    return facts | ({"commit": found} if (found := commit()) else {})


@cache
def commit() -> str:
    """What the sources are, as long as git knows."""
    git = shutil.which("git")
    if git is None:
        return ""
    head = subprocess.run([git, "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    if head.returncode:
        return ""
    same = subprocess.run([git, "diff", "--quiet", "HEAD", "--", "src"], cwd=ROOT, check=False).returncode == 0
    return head.stdout.strip() + ("" if same else " with changes")


def write_results(name: str, document: dict[str, Any]) -> None:
    """Write NAME.json among the results."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(document, indent=1) + "\n")


def kept_input(name: str) -> Path:
    """A file that an experiment made for itself to start from: where results are now or, if it is not there, the published one."""
    return place if (place := RESULTS / name).exists() or not (PUBLISHED / name).exists() else PUBLISHED / name


def shared_or_exit(part: str = "") -> Path:
    """The folder of recorded data, or a part of it; where it is not there, the experiment ends and says what to do."""
    if not (SHARED / part).exists():
        raise SystemExit(
            f"no recorded data at {SHARED / part}: name the folder that has it in CAPRA_DATA (see docs/results.md)"
        )
    return SHARED / part
