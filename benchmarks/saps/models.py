"""Figure 5 of Eggensperger et al. 2021: models of the runs that tuning SAPS left, asked about configurations of other tunings."""

from __future__ import annotations

import json
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import spearmanr
from threadpoolctl import threadpool_limits

from benchmarks.contenders import fitted, quartiles, scores_of_runs, tobit_moments
from benchmarks.machine import IMAGES, RESULTS, machine, write_results
from benchmarks.saps.problems import CUTOFF, FRESH, Problem, problems
from benchmarks.saps.solver import Parameters, saps_space
from benchmarks.saps.tuning import tuned
from capra.models.scores import rmse
from capra.runs import Configuration

BOUND = float(np.log10(CUTOFF))
SIZES = (200, 1_000, 4_000)
LARGEST_PROCESS = 1_000
ASKED, RUNS = 100, 20
CONTENDERS = [("constant", "T"), ("forest", "I"), ("forest", "D"), ("forest", "S&H"), ("forest", "sample")]
CONTENDERS += [("network", "I"), ("network", "D"), ("network", "S&H"), ("network", "T"), ("process", "T")]
DRAWN = {"network T": "network, Tobit", "forest S&H": "forest, S&H", "forest sample": "forest, sampling"}


class Runs(NamedTuple):
    """What models see: codes of configurations (n, 4), log10 steps, whether the run was stopped."""

    X: np.ndarray
    y: np.ndarray
    censored: np.ndarray


class Truth(NamedTuple):
    """Runs of configurations with the full cutoff, (configurations, runs), and the configurations' codes and means."""

    X: np.ndarray
    y: np.ndarray
    censored: np.ndarray
    means: np.ndarray


def history(problem: Problem, repetition: int) -> tuple[Runs, list[Configuration]]:
    """The runs of one random search with racing, in order, and its configurations."""
    runs = tuned(problem, "random", repetition).history
    X = saps_space().encode([run.request.config for run in runs.runs])
    y = np.log10([run.outcome.time for run in runs.runs])
    return Runs(X, y, np.array([run.outcome.censored for run in runs.runs])), list(runs.configurations)


def truth(problem: Problem, configs: list[Configuration]) -> Truth:
    """A normal distribution is fitted to each configuration's log steps (Tobit); means above the cutoff count as the cutoff."""
    steps, solved = [], []
    for number, config in enumerate(configs):
        first = FRESH + RUNS * (1_000_000 + number)
        runs = problem.saps.run(Parameters(**dict(config)), np.arange(first, first + RUNS), CUTOFF)
        steps.append(np.maximum(runs.steps, 1))
        solved.append(runs.solved)
    y, censored = np.log10(steps), ~np.array(solved)
    means = [BOUND if c.sum() >= RUNS - 1 else min(BOUND, tobit_moments(v, c)[0]) for v, c in zip(y, censored, strict=True)]
    return Truth(saps_space().encode(configs), y, censored, np.array(means))


def first_of(histories: list[Runs], size: int) -> Runs:
    """The first runs of every history, ``size`` together: what was known at that time."""
    each = size // len(histories)
    return Runs(*(np.concatenate([part[:each] for part in parts]) for parts in zip(*histories, strict=True)))


def scored(seen: Runs, asked: Truth, contender: tuple[str, str], seed: int) -> tuple[dict[str, float], np.ndarray]:
    model, cpu = fitted(contender, *seen, upper=BOUND, seed=seed)
    mean, std = model.predict_runs(asked.X)
    cut = np.minimum(mean, BOUND)
    every = [np.repeat(values, RUNS) for values in (mean, std)]
    runs = scores_of_runs(asked.y.ravel(), asked.censored.ravel(), *every, np.full(asked.y.size, BOUND))
    found = {
        "rmse": rmse(asked.means, cut),
        "rank_correlation": float(spearmanr(asked.means, cut).statistic) if np.ptp(cut) else 0.0,
        "log_likelihood": runs["log_likelihood"],
        "crps": runs["crps"],
        "fit_cpu_s": cpu,
    }
    return found, cut


def asked_and_known(histories: int, held_out: int) -> tuple[Truth, list[Runs]]:
    """Configurations of the first histories, of which the truth is found out, and the runs of the others."""
    problem = problems()[-1]
    made = [history(problem, repetition) for repetition in range(histories)]
    others = list(dict.fromkeys(config for _, configs in made[:held_out] for config in configs))
    chosen = np.random.default_rng(0).permutation(len(others))[:ASKED]
    return truth(problem, [others[i] for i in chosen]), [runs for runs, _ in made[held_out:]]


def study(histories: int, held_out: int, seeds: int) -> None:
    """Fit every model to the first runs of most histories, ask about configurations of the others; print and store."""
    asked, known = asked_and_known(histories, held_out)
    about = {"histories": histories, "held_out": held_out, "seeds": seeds, "configurations": len(asked.means)}
    rows: list[dict[str, Any]] = []
    points = {"truth": asked.means.round(4).tolist()}
    with threadpool_limits(1):
        for size, contender in product(SIZES, CONTENDERS):
            if contender[0] == "process" and size > LARGEST_PROCESS:
                continue
            seen = first_of(known, size)
            found = [scored(seen, asked, contender, seed) for seed in range(seeds)]
            name, censored = " ".join(contender), float(seen.censored.mean())
            points[name] = found[0][1].round(4).tolist()  # the largest size comes last
            rows.append({"model": name, "runs": len(seen.y), "censored": censored} | quartiles([one for one, _ in found]))
            scores = " | ".join(f"{rows[-1][key][1]:.2f}" for key in found[0][0])
            print(f"| {len(seen.y)} ({censored:.0%} censored) | {name} | {scores} |", flush=True)
            write_results("saps_models", {"machine": machine("numpy", "scipy"), **about, "rows": rows, "points": points})


def plot() -> None:
    """Predicted against true steps, from benchmarks/results/saps_models.json into docs/images/saps_models.png."""
    import matplotlib.pyplot as plt

    found = json.loads((RESULTS / "saps_models.json").read_text())
    points = {name: 10.0 ** np.array(values) for name, values in found["points"].items()}
    low = 0.9 * min(float(points[name].min()) for name in ("truth", *DRAWN))
    figure, axes = plt.subplots(1, len(DRAWN), figsize=(10, 3.6), sharey=True)
    for axis, (name, title) in zip(axes, DRAWN.items(), strict=True):
        last = next(row for row in reversed(found["rows"]) if row["model"] == name)
        axis.plot(points["truth"], points[name], "o", markersize=3, alpha=0.6)
        axis.plot([low, CUTOFF], [low, CUTOFF], color="0.6", linewidth=1)
        axis.set(xscale="log", yscale="log", title=f"{title}: RMSE {last['rmse'][1]:.2f}", xlabel="true steps")
    axes[0].set_ylabel("predicted steps")
    figure.tight_layout()
    figure.savefig(IMAGES / "saps_models.png", dpi=90)
    plt.close(figure)
