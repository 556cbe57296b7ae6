"""Writes the demo's folder: scenario, parameter file, generated instances."""

from __future__ import annotations

import json
import sys
from importlib import resources
from pathlib import Path

from capra.demo.quasigroup import quasigroup_cnf, with_holes

__all__ = ["prepare"]

ORDER, HOLES = 30, 378
"""Where clasp's default needs about a second, with a heavy tail, and good configurations a twentieth of it."""
SEEDS = {"train": range(100, 140), "test": range(200, 220)}


def prepare(folder: Path) -> Path:
    """Fill ``folder`` (files already there are kept) and return the path of its scenario."""
    folder.mkdir(parents=True, exist_ok=True)
    data = resources.files("capra.demo")
    scenario = data.joinpath("scenario.toml").read_text()
    for word, value in (("{python}", sys.executable), ("{clasp}", str(Path(__file__).with_name("clasp.py")))):
        scenario = scenario.replace(f'"{word}"', json.dumps(value))
    for name, text in (("clasp.pcs", data.joinpath("clasp.pcs").read_text()), ("scenario.toml", scenario)):
        if not (folder / name).exists():
            (folder / name).write_text(text)
    for role, seeds in SEEDS.items():
        (folder / role).mkdir(exist_ok=True)
        for seed in seeds:
            place = folder / role / f"quasigroup-{ORDER}-{seed}.cnf"
            if not place.exists():
                place.write_text(quasigroup_cnf(with_holes(ORDER, HOLES, seed)))
    return folder / "scenario.toml"
