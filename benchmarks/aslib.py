"""Selection on ASlib: normalised PAR10 of every selector and of the automatic choice, by the scenarios' own ten folds.

``python -m benchmarks.aslib [--scenarios A,B] [--folds 1,2] [--minutes M] [--capped]``. Every finished fold is kept in
results/aslib/ and not computed again. With ``--capped`` training runs are capped as a race would have done (test runs are not), the
selectors are judged without the automatic choice, and results have ``_capped`` in their names. Beside our figures stand the medians over 26 scenarios that Run2Survive's authors published: of the same
kinds of selectors, but over more scenarios than the five here, so the two can be compared in order, not in digits.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.kept import add_line, read_lines
from benchmarks.machine import RESULTS, machine, shared_or_exit, write_results
from capra.portfolio.aslib import AslibScenario, read_aslib
from capra.portfolio.evaluation import AUTO, Evaluation, Fold, evaluate_fold, joined, scenario_folds
from capra.portfolio.records import Records
from capra.portfolio.selectors import SELECTORS

SLACK = 1.3
NAMES = (AUTO, *SELECTORS)
SCENARIOS = ("CPMP-2015", "MIP-2016", "SAT11-HAND", "MAXSAT12-PMS", "ASP-POTASSCO")
PUBLISHED = {"survival": 0.40, "pairwise": 0.47, "regression": 0.48, "sunny": 0.48, "cluster": 0.73, "single": 1.0}


def raced(records: Records, test: np.ndarray, rng: np.random.Generator) -> Records:
    """Training runs as a race leaves them: in random order, nobody gets more than 1.3 times the best before on an instance."""
    bounds = np.full(records.times.shape, records.cutoff)
    for i in np.flatnonzero(~test):
        best = np.inf
        for c in rng.permutation(records.configurations):
            bounds[i, c] = min(records.cutoff, SLACK * best)
            if records.solved[i, c] and records.times[i, c] <= bounds[i, c]:
                best = records.times[i, c]
    solved = records.solved & (records.times <= bounds)
    rest = {"feature_cost": records.feature_cost, "presolved": records.presolved}
    return Records.of(records.features, records.times, solved, records.cutoff, cutoffs=bounds, **rest)


def kept_folds(name: str, kept: Path) -> dict[int, dict[str, Any]]:
    """Finished folds of a scenario, by number."""
    return {row["fold"]: row for row in read_lines(kept / f"{name}.jsonl")}


def work(name: str, scenario: AslibScenario, wanted: set[int], end: float, kept: Path, capped: bool) -> None:
    """Compute the scenario's missing folds until the time is up."""
    folds = scenario_folds(scenario)
    for number in np.unique(folds).tolist():
        if number not in wanted or number in kept_folds(name, kept) or time.monotonic() > end:
            continue
        start = time.process_time()
        test = folds == number
        records = raced(scenario.records, test, np.random.default_rng(number)) if capped else scenario.records
        found = evaluate_fold(records, test, tuple(SELECTORS) if capped else NAMES)
        costs = {kind: values.round(4).tolist() for kind, values in found.costs.items()}
        row = {"fold": number, "chosen": found.chosen, "cpu": round(time.process_time() - start, 1)}
        add_line(kept / f"{name}.jsonl", row | {"single": found.single.round(4).tolist(), "costs": costs})
        print(name, number, found.chosen, row["cpu"], flush=True)


def evaluation(name: str, scenario: AslibScenario, kept: Path) -> Evaluation | None:
    """All folds together; None while some are missing."""
    folds, done = scenario_folds(scenario), kept_folds(name, kept)
    rows = [done.get(number) for number in np.unique(folds).tolist()]
    if not all(rows):
        return None
    parts = [
        Fold(np.array(row["single"]), {k: np.array(v) for k, v in row["costs"].items()}, row["chosen"])
        for row in rows
        if row
    ]
    return joined(scenario, folds, parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenarios", default=",".join(SCENARIOS))
    parser.add_argument("--folds", default="1,2,3,4,5,6,7,8,9,10")
    parser.add_argument("--minutes", type=float, default=8.0)
    parser.add_argument("--capped", action="store_true")
    options = parser.parse_args()
    result = "aslib_capped" if options.capped else "aslib"
    folder = shared_or_exit("aslib")
    end = time.monotonic() + 60.0 * options.minutes
    for name in options.scenarios.split(","):
        wanted = {int(fold) for fold in options.folds.split(",")}
        work(name, read_aslib(folder / name), wanted, end, RESULTS / result, options.capped)
    summarise(folder, result)


def summarise(folder: Path, result: str) -> None:
    found = {name: evaluation(name, read_aslib(folder / name), RESULTS / result) for name in SCENARIOS}
    documents = {name: part.to_dict() for name, part in found.items() if part}
    names = NAMES if result == "aslib" else tuple(SELECTORS)
    averages = {kind: float(np.mean([_npar10(d, kind) for d in documents.values()])) for kind in names if documents}
    write_results(result, {"machine": machine("numpy"), "average": averages, "published": PUBLISHED, "scenarios": documents})
    for kind in names if documents else ():
        cells = "  ".join(f"{_npar10(document, kind):12.3f}" for document in documents.values())
        print(f"{kind:12s}{cells}  average {averages[kind]:.3f}  published median {PUBLISHED.get(kind, '–')}")
    print(" " * 12 + "  ".join(f"{name:>12s}" for name in documents))
    if missing := [name for name, part in found.items() if part is None]:
        print("not finished:", ", ".join(missing))


def _npar10(document: dict[str, Any], kind: str) -> float:
    part = document[AUTO] if kind == AUTO else document["selectors"][kind]
    return float(part["npar10"])


if __name__ == "__main__":
    main()
