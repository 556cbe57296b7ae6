"""All experiments, in one place: what each shows, how it is run at quick and at full size, where its results are explained.

Quick sizes take at most 20 minutes on two cores and are kept apart from the published results. Full sizes of hours go on where they
were stopped, so they can be made in pieces. Those of minutes begin anew: calibration, capped-models, imputation, slack-of-runs, forest,
forest-censoring, network, gp, numerics, install, space, store, scale, supervisor, overtuning, features, homogeneity.
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
    needs: str = ""
    """Beside a clone and its environment."""


SPEAR = "recorded runs of SPEAR-SWV"
CLASP = "clasp"
ALONE = "a machine with nothing else to do"

EXPERIMENTS = {
    "table1": Experiment(
        "Censored regression on four functions (Eggensperger et al. 2021, Table 1)",
        ("table1",),
        ("table1", "table1 --full --minutes 120"),
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
        needs=SPEAR,
    ),
    "imputation": Experiment("Error after each turn of imputing", ("imputation",), ("imputation",), "models.md"),
    "slack-of-runs": Experiment(
        "Forests on runs with more or less slack", ("slack --seeds 2",), ("slack",), "models.md", needs=SPEAR
    ),
    "forest": Experiment(
        "Forests beside scikit-learn, pyrfr and SMAC3",
        ("forest",),
        ("forest",),
        "speed.md",
        needs="scikit-learn, smac==2.4.1, pyrfr and, in SMAC14_PYTHON, smac==1.4.0: those that are missing are left out",
    ),
    "forest-censoring": Experiment(
        "Forests of censored values (Hutter et al. 2013, Figure 2)",
        ("forest_censoring",),
        ("forest_censoring",),
        "models.md",
        needs=f"{SPEAR} (left out without)",
    ),
    "network": Experiment(
        "Networks beside PyTorch", ("network",), ("network",), "speed.md", needs="torch==2.13.0 in .venv-torch"
    ),
    "gp": Experiment("The censored Gaussian process beside scikit-learn's", ("gp",), ("gp",), "speed.md"),
    "numerics": Experiment("The tail of the normal distribution in 50 digits", ("numerics",), ("numerics",), "speed.md"),
    "install": Experiment(
        "What Capra needs on the disk, and its import", ("install",), ("install",), "speed.md", needs=ALONE
    ),
    "space": Experiment(
        "Sampling and neighbours beside ConfigSpace",
        ("space",),
        ("space",),
        "speed.md",
        needs="parameter files of AClib2; ConfigSpace",
    ),
    "store": Experiment("The store beside bare SQLite", ("store",), ("store --full",), "speed.md", needs=ALONE),
    "scale": Experiment("A million runs; 1,000 simulated workers", ("scale",), ("scale --full",), "scale.md", needs=ALONE),
    "supervisor": Experiment(
        "What supervision costs, and how well cutoffs are kept",
        ("supervisor --repetitions 5", "engine"),
        ("supervisor --full", "engine"),
        "speed.md",
        needs=ALONE,
    ),
    "demo": Experiment("The demo over ten seeds", ("demo --seeds 3",), ("demo",), "racing.md", needs="two cores of its own"),
    "capping": Experiment(
        "Racing with and without capping", ("capping --seeds 4",), ("capping --seeds 40",), "racing.md", needs=SPEAR
    ),
    "overtuning": Experiment(
        "Basic(N) and racing on one heavy-tailed instance", ("overtuning",), ("overtuning",), "racing.md"
    ),
    "audit": Experiment(
        "How often capping rejects the better one", ("audit --seeds 1",), ("audit",), "racing.md", needs=SPEAR
    ),
    "slack-factors": Experiment(
        "How much slack capping should leave (Hutter et al. 2013, Table 1)",
        ("slack_factors --seeds 2 --hours 1",),
        ("slack_factors", "slack_factors --real"),
        "studies/slack.md",
        needs=f"{SPEAR}; --real: {CLASP}, parameter files, a core of its own",
    ),
    "peers": Experiment(
        "Capra beside irace, SMAC3 2.4.1 and SMAC3 1.4.0 at equal budgets",
        ("peers run spear-3h --seeds 2 --tools irace capra-smac capra-roar --minutes 15", "peers table"),
        (
            "peers install",
            "peers run spear-1h --seeds 20",
            "peers run spear-1h --seeds 100 --tools capra-smac capra-roar",
            "peers run spear-1h --seeds 20 --tools capra-forest-mean capra-network capra-ensemble capra-gp",
            "peers run spear-3h --seeds 60 --tools capra-smac capra-roar",
            "peers run spear-3h --seeds 20 --tools irace",
            "peers run clasp --seeds 5",
            "peers judge",
            "peers table",
            "peers proposals",
        ),
        "studies/peers.md",
        needs=f"{SPEAR}; irace, {CLASP}; a core of its own for clasp",
    ),
    "saps": Experiment(
        "SAPS tuned by its steps (Eggensperger et al. 2021, Table 2)",
        ("saps match", "saps tune --repetitions 2 --minutes 15"),
        ("saps match", "saps tune --repetitions 32 --minutes 120", "saps confirm --minutes 60", "saps models"),
        "studies/saps.md",
        needs="recorded runs of UBCSAT; a C++ compiler",
    ),
    "accuracy": Experiment(
        "Time to accuracy of small networks (Table 2, lower half)",
        ("accuracy tune --on pool --seeds 2 --minutes 10",),
        ("accuracy record", "accuracy tune"),
        "studies/accuracy.md",
    ),
    "overhead": Experiment(
        "From runs to the next challengers, beside SMAC3",
        ("overhead --runs 1000",),
        ("overhead",),
        "studies/overhead.md",
        needs=f"{SPEAR}; smac==2.4.1 beside Capra (its page says how; without it, Capra is measured alone)",
    ),
    "minimize": Experiment(
        "One function with and without capping", ("minimize --seeds 2 --functions branin",), ("minimize",), "minimize.md"
    ),
    "guarantees": Experiment(
        "Configurators with guarantees beside their authors' code, and their promises",
        ("guarantees table shares rates --seeds 1",),
        ("guarantees", "guarantees_real"),
        "guarantees.md",
        needs=SPEAR,
    ),
    "strategies": Experiment(
        "All strategies on recorded, synthetic and real problems",
        ("strategies run --seeds 1 --minutes 15", "strategies table"),
        ("strategies run --seeds 20", "strategies clasp --seeds 5", "strategies table"),
        "classics.md",
        needs=f"{SPEAR}; {CLASP} and a core of its own",
    ),
    "aslib": Experiment(
        "Selectors on five ASlib scenarios",
        ("aslib --scenarios MIP-2016",),
        ("aslib --minutes 120", "aslib --capped --scenarios MAXSAT12-PMS"),
        "selection.md",
        needs="ASlib scenarios",
    ),
    "portfolios": Experiment(
        "Portfolios beside the best single configuration, on recorded SPEAR",
        ("portfolios run --seeds 3 --minutes 15", "portfolios table", "portfolio_factor --seeds 2"),
        ("portfolios run", "portfolios table", "portfolio_factor", "portfolio_clasp --features cnf"),
        "portfolios.md",
        needs=f"{SPEAR}; {CLASP} for the real one",
    ),
    "features": Experiment(
        "Features of formulas beside other readers",
        ("cnf_features",),
        ("cnf_features",),
        "features.md",
        needs=f"{CLASP}, python-sat: those that are missing are left out",
    ),
    "homogeneity": Experiment("What advice from a long history costs", ("homogeneity",), ("homogeneity",), "speed.md"),
    "report": Experiment(
        "Reports of many runs: made, and scrolled in a browser",
        ("report",),
        ("report",),
        "report.md",
        needs="chromium and its driver for scrolling",
    ),
    "importance": Experiment(
        "What importance costs", ("importance --runs 1000",), ("importance",), "analysis.md", needs="scikit-learn"
    ),
    "workers": Experiment(
        "Up to 100,000 workers: what grows with their number", ("workers --quick",), ("workers",), "scale.md", needs="dask"
    ),
    "dask": Experiment(
        "The Dask engine beside the local one and plain Dask",
        ("dask_engine same --seeds 1", "dask_engine load --batches 1"),
        ("dask_engine same", "dask_engine load"),
        "clusters.md",
        needs=ALONE,
    ),
}
