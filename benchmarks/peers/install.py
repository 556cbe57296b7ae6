"""Gives SMAC3 2.4.1 and SMAC3 1.4.0 a Python environment each; irace and clasp come from the system's packages."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from benchmarks.peers.tools import ENVIRONMENTS

STEPS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "smac2": (("smac==2.4.1",),),
    # Its forest, pyrfr, is built here and needs an old swig; its sources know only older libraries.
    "smac1": (("swig<4.3", "wheel", "numpy<2"), ("smac==1.4.0", "ConfigSpace<0.7", "numpy<2", "scikit-learn<1.6")),
}
"""What pip installs, one call after another."""
PACKAGES = {"r-cran-irace": ["Rscript", "-e", "library(irace)"], "clasp": ["clasp", "--version"]}
"""Debian packages, and commands that work where they are installed."""


def commands(name: str, folder: Path) -> list[list[str]]:
    """How one environment is made."""
    pip = [str(folder / name / "bin" / "python"), "-m", "pip", "install", "--disable-pip-version-check"]
    return [[sys.executable, "-m", "venv", str(folder / name)], *([*pip, *packages] for packages in STEPS[name])]


def missing_packages() -> list[str]:
    return [package for package, command in PACKAGES.items() if not _works(command)]


def _works(command: list[str]) -> bool:
    return shutil.which(command[0]) is not None and subprocess.run(command, capture_output=True).returncode == 0


def install(folder: Path = ENVIRONMENTS) -> None:
    """Environments that are finished are left alone; one that was not is made again from the beginning."""
    for name in STEPS:
        finished = folder / name / "finished"
        if finished.exists():
            print(f"{name}: is there", flush=True)
            continue
        shutil.rmtree(folder / name, ignore_errors=True)
        path = f"{folder / name / 'bin'}{os.pathsep}{os.environ['PATH']}"
        for words in commands(name, folder):
            print(" ".join(words), flush=True)
            subprocess.run(words, check=True, env=os.environ | {"PATH": path})
        finished.touch()
    if packages := missing_packages():
        print(f"still to install, as root: apt-get install -y {' '.join(packages)}")
