"""docs/results.md: every figure that we set out to reach beside ours, from the results that are in benchmarks/results/."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from inspect import getdoc
from typing import Any

from benchmarks.figures import models, system, tuning
from benchmarks.figures.values import Row, counted, results
from benchmarks.machine import PUBLISHED, ROOT
from benchmarks.registry import EXPERIMENTS

__all__ = ["PAGE", "SECTIONS", "page"]

PAGE = ROOT / "docs" / "results.md"

HEAD = """# Results

Every figure that we set out to reach, beside what was measured here: wins and losses. Made by `python -m benchmarks page` from
the files in `benchmarks/results/`. The pages named below say how things were measured and what we think of them.

`capra bench run NAME` (or `python -m benchmarks run NAME`, in a clone) makes an experiment again at quick size, with results in
`runs/quick`; `--full` at the size of these figures, going on from what is in `benchmarks/results/`; with `CAPRA_RESULTS=FOLDER` before
it, from nothing and in that folder. `capra bench list` says what each experiment needs.

Some need recorded data, which is not part of the project. They look for it in `../shared/data` or in the folder that `CAPRA_DATA` names:

| path | what | from |
|---|---|---|
| `configs/SPEAR-SWV.npz` | runtimes of 1,000 configurations of SPEAR on 604 instances, with parameters and features | mlindauer/EPM_DNN |
| `aslib/` | five scenarios, untouched | coseal/aslib_data |
| `aclib/`, `irace/` | parameter and scenario files | AClib2; irace's examples |
| `solvers/` | parameters of clasp, a generator of quasigroups, runs of UBCSAT's SAPS | measured for this project |
"""


@dataclass(frozen=True)
class Section:
    """One experiment's part of the page."""

    rows: Callable[[], Iterator[Row]]
    files: tuple[str, ...]
    """The results that it is made of; the first says on which machine."""
    pictures: Mapping[str, str] = field(default_factory=dict)
    """File and caption."""


SECTIONS = {
    "table1": Section(models.table1, ("table1",)),
    "calibration": Section(models.calibration, ("calibration",)),
    "capped-models": Section(
        models.capped_models,
        ("capped_models",),
        {"../benchmarks/results/capped_models.png": "Scores over the number of runs that a model has seen"},
    ),
    "imputation": Section(
        models.imputation, ("imputation",), {"../benchmarks/results/imputation.png": "Error after each turn of imputing"}
    ),
    "slack-of-runs": Section(models.slack_of_runs, ("slack",)),
    "forest": Section(models.forest, ("forest",)),
    "forest-censoring": Section(models.forest_censoring, ("forest_censoring",)),
    "network": Section(models.network, ("network",)),
    "gp": Section(models.gp, ("gp",)),
    "numerics": Section(models.numerics, ("numerics",)),
    "demo": Section(tuning.demo, ("demo",)),
    "capping": Section(tuning.capping, ("capping",)),
    "audit": Section(tuning.audit, ("audit",)),
    "overtuning": Section(
        tuning.overtuning, ("overtuning",), {"../benchmarks/results/overtuning.png": "What was believed, and what was true"}
    ),
    "slack-factors": Section(tuning.slack_factors, ("slack_factors",)),
    "peers": Section(
        tuning.peers,
        ("peers", "peers_proposals"),
        {
            "images/peers-clasp.png": "clasp: test PAR10 over what was spent",
            "images/peers-spear-1h.png": "SPEAR-SWV, 1 h: test PAR10 over what was spent",
            "images/peers-spear-3h.png": "SPEAR-SWV, 3 h: test PAR10 over what was spent",
        },
    ),
    "saps": Section(
        tuning.saps,
        ("saps_tune", "saps_confirm", "saps_match"),
        {"images/saps_models.png": "Models of SAPS: predicted against true steps"},
    ),
    "accuracy": Section(tuning.accuracy, ("accuracy",)),
    "overhead": Section(tuning.overhead, ("overhead",)),
    "minimize": Section(tuning.minimize, ("minimize",)),
    "strategies": Section(
        tuning.strategies,
        ("strategies",),
        {
            f"images/strategies-{name}.png": f"{name}: medians over what was spent"
            for name in ("spear", "smooth", "rugged", "clasp")
        },
    ),
    "guarantees": Section(
        system.guarantees, ("guarantees", "guarantees_rates", "guarantees_shares", "guarantees_synthetic")
    ),
    "aslib": Section(system.aslib, ("aslib", "aslib_capped")),
    "portfolios": Section(
        system.portfolios,
        ("portfolios", "portfolio_factor", "portfolio_clasp"),
        {"images/portfolios-spear.png": "SPEAR-SWV: lines are perfect choices among the members, dots what is left of them"},
    ),
    "supervisor": Section(system.supervisor, ("supervisor", "engine")),
    "store": Section(system.store, ("store",)),
    "scale": Section(system.scale, ("scale",)),
    "workers": Section(system.workers, ("workers",)),
    "dask": Section(system.dask, ("dask_engine",)),
    "space": Section(system.space, ("space",)),
    "features": Section(system.features, ("cnf_features",)),
    "homogeneity": Section(system.homogeneity, ("homogeneity",)),
    "report": Section(system.report, ("report",)),
    "importance": Section(system.importance, ("importance",)),
    "install": Section(system.install, ("install",)),
}


def page() -> str:
    """The whole text."""
    measured = {name: section for name, section in SECTIONS.items() if _is_measured(section)}
    parts = [HEAD, *(_section(name, section) for name, section in measured.items())]
    others = [f"- `{name}`: {one.what} ([page]({one.page}))\n" for name, one in EXPERIMENTS.items() if name not in measured]
    return "\n".join([*parts, *([f"## Not measured yet\n\n{''.join(others)}"] if others else [])])


def _is_measured(section: Section) -> bool:
    return all((PUBLISHED / f"{name}.json").exists() for name in section.files)


def _section(name: str, section: Section) -> str:
    experiment = EXPERIMENTS[name]
    about = " ".join((getdoc(section.rows) or "").split())
    lines = [
        f"## {experiment.what}",
        "",
        f"{about} Experiment `{name}`, [explained here]({experiment.page}).",
        *_facts(results(section.files[0])),
        "",
        "| | to reach | measured |",
        "|---|---|---|",
        *(f"| {what} | {theirs} | {ours} |" for what, theirs, ours in section.rows()),
        "",
        *(line for file, caption in section.pictures.items() for line in (f"![{caption}]({file})", "")),
    ]
    return "\n".join(lines)


def _facts(document: dict[str, Any]) -> list[str]:
    """One line about the machine and the seeds, of what the file says."""
    given = dict(document.get("machine", {}))
    cpu, cores, memory, date, commit = (given.pop(key, None) for key in ("cpu", "cores", "memory_gb", "date", "commit"))
    parts = [str(cpu)] if cpu else []
    parts += [counted(cores, "core")] if cores else []
    parts += [f"{memory:g} GB"] if memory else []
    parts += [f"{'Python' if name == 'python' else name} {version}" for name, version in given.items()]
    parts += [seeds] if (seeds := _seeds(document)) else []
    parts += [str(date)] if date else []
    parts += [f"commit {commit}"] if commit else []
    return ["", f"*{', '.join(parts)}.*"] if parts else []


def _seeds(document: dict[str, Any]) -> str:
    """How many, if the file says so in one of the usual ways."""
    if "seeds" in document:
        return counted(len(document["seeds"]) if isinstance(document["seeds"], list) else document["seeds"], "seed")
    rows = document.get("rows", [])
    counts = {len(row["found"]) for row in rows if row.get("found")} if isinstance(rows, list) else set()
    if len(counts) > 1:
        return f"{min(counts)} to {max(counts)} repetitions"
    return counted(counts.pop(), "repetition") if counts else ""
