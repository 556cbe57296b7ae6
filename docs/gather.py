"""Gathers the pages of the site in build/docs, each where it stands in the project, so that links are the same in both."""

from __future__ import annotations

import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "docs/**/*.md",
    "docs/**/*.png",
    "docs/**/*.svg",
    "examples/**/README.md",
    "benchmarks/results/*.png",
]


def gather(place: Path) -> None:
    """``place`` holds the pages and nothing else."""
    shutil.rmtree(place, ignore_errors=True)
    for pattern in PAGES:
        for page in ROOT.glob(pattern):
            copy = place / page.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(page, copy)


if __name__ == "__main__":
    gather(ROOT / "build" / "docs")
