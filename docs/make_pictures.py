"""Draws the pictures of docs/models.md into docs/images: `python docs/make_pictures.py`, after `pip install matplotlib`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize
from scipy.special import ndtr
from scipy.stats import norm

from capra.models import CensoredForest, TobitEnsemble, TobitNetwork

IMAGES = Path(__file__).with_name("images")
LINE = np.linspace(0.0, 1.0, 400)
TRUTH, SEEN, BOUND, BELIEF = "black", "tab:blue", "tab:orange", "tab:green"


def save(figure: Any, name: str) -> None:
    figure.savefig(IMAGES / name, dpi=90)
    plt.close(figure)


# --- what censoring does: Eggensperger et al. 2021, Figure 1 ---

MEAN, DEVIATION, RUNS = 0.5, 0.4, 2000
"""Of log10 seconds: a run typically takes 3.2 s, two in three of them 1.3 to 8 s."""


def censoring() -> None:
    """The distribution that three treatments of the stopped runs conclude: one cutoff for all, then one for each."""
    rng = np.random.default_rng(1)
    log_time = rng.normal(MEAN, DEVIATION, RUNS)
    panels = {
        "every run is stopped after 4 s": np.full(RUNS, np.log10(4.0)),
        "capping: every run has a cutoff of its own": rng.uniform(-0.3, 1.1, RUNS),
    }
    figure, axes = plt.subplots(1, 2, figsize=(11, 3.6), sharey=True)
    for axis, (title, cutoff) in zip(axes, panels.items(), strict=True):
        seen, censored = np.minimum(log_time, cutoff), log_time > cutoff
        runs_panel(axis, f"{title} ({censored.mean():.0%} were stopped)", seen, censored)
        conclusions(axis, seen, censored)
        axis.legend(loc="upper left", frameon=False, fontsize=8)
    figure.tight_layout()
    save(figure, "censoring.png")


def runs_panel(axis: Any, title: str, seen: np.ndarray, censored: np.ndarray) -> None:
    edges = np.linspace(-1.0, 2.0, 46)
    weights = [np.full(part.sum(), 1 / (len(seen) * (edges[1] - edges[0]))) for part in (~censored, censored)]
    axis.hist(
        [seen[~censored], seen[censored]],
        edges,
        weights=weights,
        stacked=True,
        color=[SEEN, BOUND],
        alpha=0.35,
        label=["finished", "stopped: takes at least this long"],
    )
    ticks = [0.1, 0.3, 1, 3, 10, 30]
    axis.set(title=title, xlabel="seconds", xlim=(-1, 2), ylim=(0, 3.2), yticks=[])
    axis.set_xticks(np.log10(ticks), [f"{tick:g}" for tick in ticks])


def conclusions(axis: Any, seen: np.ndarray, censored: np.ndarray) -> None:
    """The normal distributions of log time that fit best, by what is done with the stopped runs."""
    finished = seen[~censored]
    fits = {
        "truth": (MEAN, DEVIATION, TRUTH, "-"),
        "ignore": (seen.mean(), seen.std(), "tab:red", "-."),
        "drop": (finished.mean(), finished.std(), "tab:purple", ":"),
        "tobit": (*most_likely(seen, censored), BELIEF, "--"),
    }
    places = np.linspace(-1.0, 2.0, 300)
    for name, (mean, std, color, line) in fits.items():
        label = f"{name}: typically {10**mean:.1f} s, {norm.sf(1.0, mean, std):.1%} over 10 s"
        axis.plot(places, norm.pdf(places, mean, std), line, color=color, label=label)


def most_likely(seen: np.ndarray, censored: np.ndarray) -> tuple[float, float]:
    """Mean and deviation under which what was seen is most likely; of a stopped run, that it lies beyond (Tobin 1958)."""

    def loss(at: np.ndarray) -> float:
        mean, std = at[0], np.exp(at[1])
        return -float(np.where(censored, norm.logsf(seen, mean, std), norm.logpdf(seen, mean, std)).sum())

    mean, log_std = minimize(loss, [seen.mean(), np.log(seen.std())]).x
    return float(mean), float(np.exp(log_std))


# --- networks: Eggensperger et al. 2021, Figure 3 ---


def curve(x: np.ndarray) -> np.ndarray:
    return np.asarray(1.6 * np.exp(-3.5 * x) * np.cos(9.0 * x) + 0.8 * x + 0.6)


def capped(fixed: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Noisy runs at random places, none in a gap; bounds are the same for all, or drawn for each."""
    rng = np.random.default_rng(4)
    x = np.sort(np.concatenate([rng.uniform(0.0, 0.68, 50), rng.uniform(0.8, 1.0, 14)]))
    y = curve(x) + rng.normal(0.0, 0.12, len(x))
    bound = np.full(len(x), 0.95) if fixed else rng.uniform(0.2, 2.4, len(x))
    return x, np.minimum(y, bound), y > bound


def data_panel(axis: Any, title: str, x: np.ndarray, y: np.ndarray, censored: np.ndarray) -> None:
    axis.plot(LINE, curve(LINE), color=TRUTH, linewidth=1.2, label="true function")
    axis.plot(x[~censored], y[~censored], "o", color=SEEN, markersize=3.2, label="observed")
    axis.plot(x[censored], y[censored], "x", color=BOUND, markersize=4.5, label="censored: at least")
    axis.set(title=title, xlim=(0, 1), ylim=(-0.3, 2.4), xticks=[], yticks=[])


def belief(axis: Any, mean: np.ndarray, std: np.ndarray, label: str) -> None:
    axis.plot(LINE, mean, color=BELIEF, linewidth=1.6, label="model")
    axis.fill_between(LINE, mean - 2 * std, mean + 2 * std, color=BELIEF, alpha=0.2, linewidth=0, label=label)


def networks() -> None:
    panels: list[tuple[str, TobitNetwork | TobitEnsemble, bool]] = [
        ("(a) one network, ignoring", TobitNetwork("ignore"), False),
        ("(b) one network, S&H", TobitNetwork("mean"), False),
        ("(c) one network, Tobit", TobitNetwork("tobit"), False),
        ("(d) ensemble, Tobit", TobitEnsemble(5, "tobit"), False),
        ("(e) ensemble, one bound", TobitEnsemble(5, "tobit"), True),
    ]
    figure, axes = plt.subplots(1, 5, figsize=(13, 3), sharey=True)
    for axis, (title, model, fixed) in zip(axes, panels, strict=True):
        x, y, censored = capped(fixed)
        model.fit(x[:, None], y, censored)
        data_panel(axis, title, x, y, censored)
        belief(axis, *model.predict(LINE[:, None]), "± 2 deviations")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="lower center", ncol=5, frameon=False)
    figure.tight_layout(rect=(0, 0.1, 1, 1))
    save(figure, "networks.png")


# --- forests: Hutter et al. 2013, Figure 1 ---


def cost(x: np.ndarray) -> np.ndarray:
    return np.asarray(2.2 + np.sin(9.0 * x - 0.4) + 1.6 * (x - 0.35) ** 2)


@dataclass
class Runs:
    """Evaluations so far, each capped at 1.3 times the best cost before it."""

    x: list[float] = field(default_factory=list)
    y: list[float] = field(default_factory=list)
    censored: list[bool] = field(default_factory=list)
    best: float = np.inf

    def add(self, x: float) -> None:
        value, bound = float(cost(np.array(x))), 1.3 * self.best
        self.x.append(x)
        self.y.append(min(value, bound))
        self.censored.append(value > bound)
        self.best = min(self.best, self.y[-1])


def expected_improvement(best: float, mean: np.ndarray, std: np.ndarray) -> np.ndarray:
    """Hutter et al. 2013, eq. 1."""
    u = (best - mean) / std
    return np.asarray(std * (u * ndtr(u) + np.exp(-0.5 * u * u) / np.sqrt(2.0 * np.pi)))


def forests() -> None:
    """The model after the design, and after two steps of minimising."""
    rng = np.random.default_rng(5)
    design = (rng.permutation(9) + rng.random(9)) / 9  # a Latin hypercube of one dimension
    runs = Runs()
    for place in design:
        runs.add(float(place))
    figure, axes = plt.subplots(1, 3, figsize=(13, 3.6), sharey=True)
    for axis, title in zip(axes, ("after a Latin hypercube design", "one step later", "two steps later"), strict=True):
        model = CensoredForest(1_000, "sample", min_leaf=1, min_split=2).fit(
            np.array(runs.x)[:, None], runs.y, runs.censored
        )
        mean, std = model.predict(LINE[:, None])
        improvement = expected_improvement(runs.best, mean, std)
        forest_panel(axis, title, runs, mean, std, improvement)
        runs.add(float(LINE[improvement.argmax()]))
    figure.legend(*axes[0].get_legend_handles_labels(), loc="lower center", ncol=6, frameon=False)
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    save(figure, "forests.png")


def forest_panel(axis: Any, title: str, runs: Runs, mean: np.ndarray, std: np.ndarray, improvement: np.ndarray) -> None:
    x, y, censored = np.array(runs.x), np.array(runs.y), np.array(runs.censored)
    axis.fill_between(LINE, mean - std, mean + std, color="0.85", linewidth=0, label="forest ± 1 deviation")
    axis.plot(LINE, cost(LINE), color=TRUTH, linewidth=1.2, label="true cost")
    axis.plot(LINE, mean, ":", color=TRUTH, label="forest")
    axis.plot(LINE, improvement / improvement.max(), "--", color=BELIEF, label="expected improvement (scaled)")
    axis.plot(x[~censored], y[~censored], "o", color=SEEN, markersize=5, label="observed")
    axis.plot(x[censored], y[censored], "x", color=BOUND, markersize=6, label="capped")
    axis.set(title=title, xlim=(0, 1), ylim=(0, 4.2), xlabel="parameter")


if __name__ == "__main__":
    plt.rcParams.update({"font.size": 9, "axes.titlesize": 10, "axes.spines.top": False, "axes.spines.right": False})
    IMAGES.mkdir(exist_ok=True)
    censoring()
    networks()
    forests()
