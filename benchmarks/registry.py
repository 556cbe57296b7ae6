"""All experiments, in one place: what each shows, how it is run at quick and at full size, where its results are explained.

Quick sizes take at most 20 minutes on two cores. Full sizes go on where they were stopped, so they can be made in pieces.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["EXPERIMENTS", "Experiment"]


@dataclass(frozen=True)
class Experiment:
    """``quick`` and ``full`` are what follows ``python -m benchmarks.``, one command after another."""

    what: str
    quick: tuple[str, ...]
    full: tuple[str, ...]
    page: str


EXPERIMENTS = {
    "table1": Experiment(
        "Censored regression on four functions (Eggensperger et al. 2021, Table 1)",
        ("table1",),
        ("table1 --full --minutes 120",),
        "models.md",
    ),
    "calibration": Experiment(
        "How right the models' probabilities are", ("calibration --seeds 2",), ("calibration",), "models.md"
    ),
    "capped-models": Experiment(
        "Models of a configurator's capped runs of SPEAR",
        ("capped_models --seeds 2",),
        ("capped_models --seeds 10",),
        "models.md",
    ),
    "imputation": Experiment("Error after each turn of imputing", ("imputation",), ("imputation",), "models.md"),
    "slack-of-runs": Experiment("Forests on runs with more or less slack", ("slack --seeds 2",), ("slack",), "models.md"),
    "forest": Experiment(
        "Forests beside scikit-learn, pyrfr and SMAC3", ("forest",), ("forest", "forest_censoring"), "models.md"
    ),
    "network": Experiment("Networks beside PyTorch", ("network",), ("network",), "models.md"),
    "gp": Experiment("The censored Gaussian process beside scikit-learn's", ("gp",), ("gp",), "models.md"),
    "space": Experiment("Sampling and neighbours beside ConfigSpace", ("space",), ("space",), "architecture.md"),
    "store": Experiment("The store beside bare SQLite", ("store",), ("store --full",), "architecture.md"),
    "scale": Experiment("A million runs; 1,000 simulated workers", ("scale",), ("scale --full",), "architecture.md"),
    "supervisor": Experiment(
        "What supervision costs, and how well cutoffs are kept",
        ("supervisor --repetitions 5", "engine"),
        ("supervisor --full", "engine"),
        "targets.md",
    ),
    "demo": Experiment("The demo over ten seeds", ("demo --seeds 3",), ("demo",), "racing.md"),
    "capping": Experiment("Racing with and without capping", ("capping --seeds 4",), ("capping --seeds 40",), "racing.md"),
    "overtuning": Experiment(
        "Basic(N) and racing on one heavy-tailed instance", ("overtuning",), ("overtuning",), "racing.md"
    ),
    "audit": Experiment("How often capping rejects the better one", ("audit --seeds 1",), ("audit",), "racing.md"),
    "models": Experiment(
        "Which model proposes the best challengers", ("models --seeds 2 --hours 1",), ("models",), "smac.md"
    ),
    "slack-factors": Experiment(
        "How much slack capping should leave (Hutter et al. 2013, Table 1)",
        ("slack_factors --seeds 2 --hours 1",),
        ("slack_factors", "slack_factors --real"),
        "studies/slack.md",
    ),
    "peers": Experiment(
        "Capra beside irace, SMAC3 2.4.1 and SMAC3 1.4.0 at equal budgets",
        ("peers run spear-3h --seeds 2 --tools irace capra-smac capra-roar --minutes 15", "peers table"),
        ("peers install", "peers run spear-3h --seeds 20", "peers run clasp --seeds 5", "peers judge", "peers table"),
        "studies/peers.md",
    ),
    "saps": Experiment(
        "SAPS tuned by its steps (Eggensperger et al. 2021, Table 2)",
        ("saps match", "saps tune --repetitions 2 --minutes 15"),
        ("saps match", "saps tune --repetitions 32 --minutes 120", "saps models"),
        "studies/saps.md",
    ),
    "accuracy": Experiment(
        "Time to accuracy of small networks (Table 2, lower half)",
        ("accuracy tune",),
        ("accuracy record", "accuracy tune"),
        "studies/accuracy.md",
    ),
    "overhead": Experiment(
        "From runs to the next challengers, beside SMAC3", ("overhead --runs 1000",), ("overhead",), "studies/overhead.md"
    ),
    "minimize": Experiment(
        "One function with and without capping", ("minimize --seeds 2 --functions branin",), ("minimize",), "minimize.md"
    ),
    "guarantees": Experiment(
        "Configurators with guarantees beside their authors' code, and their promises",
        ("guarantees table shares rates --seeds 1",),
        ("guarantees", "guarantees_real"),
        "guarantees.md",
    ),
    "strategies": Experiment(
        "All strategies on recorded, synthetic and real problems",
        ("strategies run --seeds 1 --minutes 15", "strategies table"),
        ("strategies run --seeds 20", "strategies clasp --seeds 5", "strategies table"),
        "classics.md",
    ),
    "aslib": Experiment(
        "Selectors on five ASlib scenarios", ("aslib --scenarios MIP-2016",), ("aslib --minutes 120",), "selection.md"
    ),
    "portfolios": Experiment(
        "Portfolios beside the best single configuration, on recorded SPEAR",
        ("portfolios run --seeds 3 --minutes 15", "portfolios table", "portfolio_factor --seeds 2"),
        ("portfolios run", "portfolios table", "portfolio_factor", "portfolio_clasp --features cnf"),
        "portfolios.md",
    ),
    "features": Experiment("Features of formulas beside other readers", ("cnf_features",), ("cnf_features",), "features.md"),
    "homogeneity": Experiment("What advice from a long history costs", ("homogeneity",), ("homogeneity",), "selection.md"),
    "report": Experiment("Reports of many runs: made, and scrolled in a browser", ("report",), ("report",), "report.md"),
    "importance": Experiment("What importance costs", ("importance --runs 1000",), ("importance",), "analysis.md"),
    "workers": Experiment(
        "Up to 100,000 workers: what grows with their number", ("workers --quick",), ("workers",), "scale.md"
    ),
    "dask": Experiment(
        "The Dask engine beside the local one and plain Dask",
        ("dask_engine same --seeds 1", "dask_engine load --batches 1"),
        ("dask_engine same", "dask_engine load"),
        "clusters.md",
    ),
}
