"""Does the promise hold? Synthetic runtimes with a known optimum, every method against its own theorem.

A repetition fails if the answer is not as good as its certificate says. A one-sided binomial test at 1 % asks whether failures
are more frequent than ζ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import stats

from benchmarks.guarantees.drive import Loglaplace, drive, ledger
from benchmarks.kept import Kept
from capra._guarantees import CapsAndRuns, Confidence, Coup, Impatient, LeapsAndBounds, Oup, Procrastination, Up
from capra.strategies.caps import BASIC, PLUS_PLUS, settings
from capra.strategies.confidence import confident
from capra.strategies.impatient import SHARES, sample_sizes

UTILITY = Loglaplace(10.0)
ZETA, EPSILON, DELTA, GAMMA = 0.1, 0.2, 0.1, 0.2
SCALES = np.array([1.0, 1.5, 3.0, 6.0])
"""Of the times of the pool of four; a space is a scale ~ U(1, WORST)."""
WORST = 9.0


@dataclass(frozen=True)
class Law:
    """A distribution of times: how to draw it, its mean, its quantiles, and the mean of times capped at c."""

    draw: Callable[[np.random.Generator, tuple[int, int]], np.ndarray]
    mean: float
    quantile: Callable[[np.ndarray], np.ndarray]
    capped: Callable[[float], float]

    @cached_property
    def utilities(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean utility at scales from 1 to WORST, by the midpoint rule over a million quantiles (u is bounded: the tail adds nothing)."""
        times, scales = self.quantile((np.arange(1_000_000) + 0.5) / 1_000_000), np.linspace(1.0, WORST, 161)
        return scales, np.array([UTILITY.utility(scale * times).mean() for scale in scales])


def _exponential(scale: float) -> Law:
    return Law(
        lambda random, size: random.exponential(scale, size),
        scale,
        stats.expon(scale=scale).ppf,
        lambda cap: scale * -math.expm1(-cap / scale),
    )


def _lognormal(sigma: float, scale: float) -> Law:
    law = stats.lognorm(s=sigma, scale=scale)

    def capped(cap: float) -> float:
        below = law.mean() * stats.norm.cdf(math.log(cap / scale) / sigma - sigma)
        return float(below + cap * law.sf(cap))

    return Law(lambda random, size: random.lognormal(math.log(scale), sigma, size), law.mean(), law.ppf, capped)


def _pareto(tail: float, least: float) -> Law:
    law = stats.pareto(b=tail, scale=least)
    return Law(
        lambda random, size: least * (1.0 + random.pareto(tail, size)),
        law.mean(),
        law.ppf,
        lambda cap: least + least * (1.0 - (least / cap) ** (tail - 1.0)) / (tail - 1.0),
    )


def _discrete() -> Law:
    """1, 2, 4 or 100 seconds: a heavy tail that is all in one value."""
    values, weights = np.array([1.0, 2.0, 4.0, 100.0]), np.array([0.5, 0.3, 0.19, 0.01])
    ends = np.cumsum(weights)
    return Law(
        lambda random, size: random.choice(values, size=size, p=weights),
        float(values @ weights),
        lambda q: values[np.minimum(np.searchsorted(ends, np.asarray(q) - 1e-12), 3)],
        lambda cap: float(np.minimum(values, cap) @ weights),
    )


LAWS: dict[str, Law] = {
    "exponential": _exponential(5.0),
    "lognormal": _lognormal(1.5, 2.0),
    "pareto": _pareto(2.2, 2.0),
    "discrete": _discrete(),
}


@dataclass(frozen=True)
class Truth:
    """What is known of a law, scaled by s: mean s·mean, mean capped at its δ-quantile s·trimmed(δ), mean utility."""

    law: Law

    def trimmed(self, delta: float) -> float:
        return self.law.capped(float(self.law.quantile(np.array(1.0 - delta))))

    def utility(self, scale: float) -> float:
        return float(np.interp(scale, *self.law.utilities))


Verdict = Callable[[Any, np.ndarray, Truth], bool | None]


def is_good(core: Any, scales: np.ndarray, truth: Truth, promised: dict[str, float], optimum: float) -> bool:
    """Is the answer (ε, δ)-optimal against the mean ``optimum`` (in units of the law's mean)?"""
    trimmed = scales[core.answer] * truth.trimmed(promised["delta"])
    return bool(trimmed <= (1.0 + promised["epsilon"]) * optimum * truth.law.mean * (1.0 + 1e-9))


def of_pool(core: Any, scales: np.ndarray, truth: Truth) -> bool:
    return is_good(core, scales, truth, {"epsilon": EPSILON, "delta": DELTA}, scales.min())


def of_sp(core: Any, scales: np.ndarray, truth: Truth) -> bool:
    return is_good(core, scales, truth, {"epsilon": EPSILON, "delta": core.gap}, scales.min())


def of_spc(core: Any, scales: np.ndarray, truth: Truth) -> bool | None:
    promised = confident(core, len(scales), ZETA)
    return is_good(core, scales, truth, promised, scales.min()) if promised else None


def of_space(core: Any, scales: np.ndarray, truth: Truth) -> bool:
    return is_good(core, scales, truth, {"epsilon": EPSILON, "delta": DELTA}, 1.0 + (WORST - 1.0) * GAMMA)


def of_utility(core: Any, scales: np.ndarray, truth: Truth) -> bool:
    best = scales.min()
    return truth.utility(best) - truth.utility(scales[core.answer]) <= core.gap + 1e-9


def of_utilities(core: Any, scales: np.ndarray, truth: Truth) -> bool:
    return truth.utility(1.0 + (WORST - 1.0) * core.promise) - truth.utility(scales[core.answer]) <= core.gap + 1e-9


@dataclass(frozen=True)
class Method:
    """How a core is made, how far it is driven, its columns, and what its promise is."""

    make: Callable[[], Any]
    verdict: Verdict
    columns: int = 20_000
    stop: tuple[tuple[str, float], ...] = ()
    configs: int = len(SCALES)
    """More than the pool: samples of the space."""


N = len(SCALES)
SIZES = sample_sizes(GAMMA, ZETA / SHARES)
METHODS: dict[str, Method] = {
    "sp": Method(lambda: Procrastination(N, EPSILON, ZETA, 0.5, 1e4), of_sp, 20_000, (("gap", 0.3),)),
    "spc": Method(lambda: Confidence(N, 0.5), of_spc, 20_000, (("steps", 20_000),)),
    "leaps": Method(lambda: LeapsAndBounds(N, EPSILON, DELTA, ZETA, 0.5), of_pool, 120_000),
    "caps": Method(lambda: CapsAndRuns(settings(N, EPSILON, DELTA, ZETA / 6, 0.5, BASIC)), of_pool),
    "caps++": Method(lambda: CapsAndRuns(settings(N, EPSILON, DELTA, ZETA / 6, 0.5, PLUS_PLUS)), of_pool),
    "impatient": Method(
        lambda: Impatient(SIZES, settings(SIZES[-1], EPSILON, DELTA, ZETA / SHARES, 0.5)), of_space, configs=SIZES[-1]
    ),
    "up": Method(lambda: Up(N, ZETA, 1.0, UTILITY.worth), of_utility, 3000, (("gap", 0.1),)),
    "oup": Method(lambda: Oup(N, ZETA, 1.0, UTILITY.worth), of_utility, 3000, (("gap", 0.1),)),
    "coup": Method(lambda: Coup(60, ZETA, 1.0, UTILITY.worth, 5.0, 8), of_utilities, 3000, configs=60),
}


def repetition(method: Method, law: Law, seed: tuple[int, ...]) -> bool | None:
    """Was the promise kept? None: nothing was promised."""
    random = np.random.default_rng(seed)
    scales = random.permutation(SCALES) if method.configs == N else random.uniform(1.0, WORST, size=method.configs)
    times = np.maximum(law.draw(random, (method.configs, method.columns)) * scales[:, None], 0.001)
    core = method.make()
    is_utility = isinstance(core, Up | Oup | Coup)
    stop: dict[str, Any] = {key: int(value) if key == "steps" else value for key, value in method.stop}
    drive(core, ledger(np.ascontiguousarray(times), None, UTILITY.utility if is_utility else None), **stop)
    return method.verdict(core, scales, Truth(law))


@dataclass
class Pick:
    """An answer that somebody made up."""

    answer: int
    gap: float = 0.1
    promise: float = GAMMA


def bad_share(method: Method, law: Law) -> float:
    """How many of the configurations would be failures, to see that the test can fail."""
    random = np.random.default_rng(0)
    scales = SCALES if method.configs == N else random.uniform(1.0, WORST, size=2000)
    verdict = of_pool if method.verdict in (of_sp, of_spc) else method.verdict
    return float(np.mean([not verdict(Pick(i), scales, Truth(law)) for i in range(len(scales))]))


def p_value(failures: int, tried: int) -> float:
    """Of the hypothesis that the failure probability is at most ζ."""
    return float(stats.binomtest(failures, tried, ZETA, alternative="greater").pvalue) if tried else 1.0


def promises(repetitions: int, names: Sequence[str] = ()) -> None:
    """All methods (or those named) on all laws; in pieces of fifty, so that it can be stopped."""
    kept = Kept("guarantees_promises", {"zeta": ZETA, "epsilon": EPSILON, "delta": DELTA, "gamma": GAMMA}, "capra", "numpy")
    for name in names or METHODS:
        number, method = list(METHODS).index(name), METHODS[name]
        for place, (law_name, law) in enumerate(LAWS.items()):
            row = kept.row(method=name, law=law_name)
            row.setdefault("tried", 0)
            row["bad_share"] = round(bad_share(method, law), 3)
            while row["tried"] < repetitions:
                verdicts = [repetition(method, law, (number, place, row["tried"] + r)) for r in range(50)]
                row["tried"] += 50
                row["promised"] = row.get("promised", 0) + sum(verdict is not None for verdict in verdicts)
                row["failures"] = row.get("failures", 0) + sum(verdict is False for verdict in verdicts)
                row["p"] = round(p_value(row["failures"], row["promised"]), 4)
                kept.write()
            print(
                f"{name:10s} {law_name:12s} {row['failures']} of {row['promised']} failed ({row['bad_share']} bad), p = {row['p']}",
                flush=True,
            )
