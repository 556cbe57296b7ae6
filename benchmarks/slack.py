"""Forests on runs with more or less slack, Figure 2 of Hutter et al. 2013: ``python -m benchmarks.slack``.

Racing on SPEAR-SWV as in ``benchmarks.capped_models``, 1,000 runs, each with at most slack times the time that the best configuration
took; forests that ignore censoring, drop what is censored, impute its mean (Schmee & Hahn) or samples. Error, likelihood and CRPS on
single runs of other configurations with the full cutoff; medians and quartiles over ``--seeds`` races (10: about two minutes). Results:
benchmarks/results/slack.json.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from benchmarks.capped_models import BOUND, UPPER, Study
from benchmarks.contenders import METHODS, fitted, quartiles, scores_of_runs
from benchmarks.machine import machine, write_results
from capra.models.scores import rmse

RUNS = 1_000
SLACKS: dict[str, dict[str, Any]] = {
    **{str(slack): {"slack": slack} for slack in (1.0, 1.1, 1.3, 1.5, 2.0)},
    "no capping": {"capping": False},
}


def one_race(study: Study, options: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Method → scores."""
    seen, asked = study.known(study.race(study.raced, RUNS, **options)), study.complete()
    found = {}
    for method in METHODS["forest"]:
        model, _ = fitted(("forest", method), seen.X, seen.y, seen.censored, study.types, UPPER, study.seed)
        mean, std = model.predict_runs(asked.X)
        found[method] = {
            "censored": float(seen.censored.mean()),
            "rmse": rmse(asked.y, np.minimum(mean, BOUND)),
            **scores_of_runs(asked.y, asked.censored, mean, std, asked.cutoff),
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="forests on runs with more or less slack")
    parser.add_argument("--seeds", type=int, default=10)
    seeds = parser.parse_args().seeds
    studies = [Study(seed) for seed in range(seeds)]
    results: dict[str, Any] = {}
    for name, options in SLACKS.items():
        found = [one_race(study, options) for study in studies]
        rows = results[name] = {method: quartiles([one[method] for one in found]) for method in found[0]}
        print(f"\nslack {name}: {rows['I']['censored'][1]:.0%} censored")
        for method, row in rows.items():
            print(
                f"  {method:8}" + "".join(f"{key:>16} {row[key][1]:6.2f}" for key in ("rmse", "log_likelihood", "crps")),
                flush=True,
            )
    write_results("slack", {"machine": machine("numpy", "scipy"), "seeds": seeds, "runs": RUNS, "quartiles": results})


if __name__ == "__main__":
    main()
