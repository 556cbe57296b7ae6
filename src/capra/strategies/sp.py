"""Structured procrastination: sp (Kleinberg, Leyton-Brown & Lucier 2017) and spc, with confidence (Kleinberg et al. 2019).

Bottom-up capping: every run starts with a small cap; what does not end is put off, with twice the cap, to the end of its
configuration's queue. Who looks best so far is run next, so that bad ones cost little however long their worst runs.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from capra._guarantees import Confidence, Procrastination
from capra.errors import InputError
from capra.strategies.base import Context, checked
from capra.strategies.certificate import Promise
from capra.strategies.guaranteed import Guaranteed, Step
from capra.strategies.pool import Pool
from capra.strategies.promises import first_cap, means_only, optimal, pool_size

__all__ = ["Lecture", "confident", "sp", "spc"]

MORE_SP = "Delta shrinks with the number of instances that the answer has run on: half of it takes about twice the time."
MORE_SPC = "Both shrink with more time: half of epsilon takes about four times the runs, half of delta about twice."


def sp(
    context: Context,
    *,
    n: int = 50,
    epsilon: float = 0.5,
    zeta: float = 0.1,
    delta: float = 0.05,
    kappa0: float | None = None,
    form: str = "paper",
    queue: int = 10,
) -> Guaranteed:
    """Structured procrastination until the promise holds with ``delta``.

    ``form="lecture"`` is the lecture's pseudo-code: ``queue`` runs wait at least, and no promise is made.
    """
    means_only(context)
    pool = Pool(context)
    n, cap = pool_size(pool, n), first_cap(context, kappa0)
    if form == "lecture":
        core = Lecture(n, cap, checked("queue", queue, 1, whole=True), _length(context))
        return Guaranteed(context, "sp", core, pool, lambda: Promise({}, "The lecture's form promises nothing.", ""))
    if form != "paper":
        raise InputError(f"form is 'paper' or 'lecture', not {form!r}")
    epsilon, zeta = checked("epsilon", epsilon, 0.01, 10.0), checked("zeta", zeta, 1e-9, 0.5)
    return _paper(context, pool, n, epsilon, zeta, checked("delta", delta, 1e-6, 1.0), cap)


def _paper(context: Context, pool: Pool, n: int, epsilon: float, zeta: float, delta: float, kappa0: float) -> Guaranteed:
    longest = context.scenario.objective.worst(context.scenario.cutoff)
    core = Until(Procrastination(n, epsilon, zeta, kappa0, max(longest, 2.0 * kappa0)), delta)

    def promise() -> Promise:
        if (share := core.inner.gap) >= 1.0:
            return Promise({}, "Nothing is promised yet.", MORE_SP)
        parameters = {"epsilon": epsilon, "delta": share, "zeta": zeta}
        return Promise(parameters, optimal(parameters, f"any of the {n} configurations"), MORE_SP)

    return Guaranteed(context, "sp", core, pool, promise, trims=True)


@dataclass
class Until:
    """A core that has finished when the share that its promise leaves out is small enough."""

    inner: Procrastination
    delta: float

    @property
    def answer(self) -> int:
        return int(self.inner.answer)

    def wanted(self) -> Step | None:
        return self.inner.wanted() if self.inner.gap > self.delta else None

    def take(self, value: float, done: bool) -> None:
        self.inner.take(value, done)

    def ahead(self, count: int) -> list[Step]:
        return self.inner.ahead(count)

    def exclude(self, config: int) -> None:
        self.inner.exclude(config)


def spc(context: Context, *, n: int = 50, kappa0: float | None = None) -> Guaranteed:
    """Structured procrastination with confidence: no parameters; the longer it runs, the more it promises."""
    means_only(context)
    pool = Pool(context)
    n = pool_size(pool, n)
    core = Confidence(n, first_cap(context, kappa0))

    def promise() -> Promise:
        parameters = confident(core, n)
        if not parameters:
            return Promise({}, "Nothing is promised yet.", MORE_SPC)
        return Promise(parameters, optimal(parameters, f"any of the {n} configurations"), MORE_SPC)

    return Guaranteed(context, "spc", core, pool, promise, trims=True, is_endless=True)


def confident(core: Confidence, n: int) -> dict[str, float]:
    """(ε, δ, ζ) that hold for SPC's answer now; empty while they do not.

    The error e = sqrt(9 · 2^k · ln(k t) / r) of its bounds is two-sided: a share p of times above v, measured as p̂, lies
    within p̂/(1 + e) and p̂/(1 − e). So the mean of the answer, cut where at most δ of its instances are left, is at most
    Σ (v_j − v_{j−1}) · p̂_{j−1}/(1 − e); the least lower bound of all is below every mean. δ is the least share with
    e ≤ 1/2. ζ is a union bound (Chernoff) over configurations, levels and the answer's distinct times.
    """
    answer, t = core.answer, max(core.steps, 2)
    least = min((core.bound(i) for i in range(n) if core.begun(i)), default=0.0)
    if answer < 0 or least <= 0.0 or any(core.begun(i) == 0 for i in range(n)):
        return {}
    values, counts = (np.asarray(part, dtype=float) for part in core.seen(answer))
    begun = counts.sum()
    above = 1.0 - np.concatenate([[0.0], np.cumsum(counts)[:-1]]) / begun  # p̂ at and above each value
    level = np.floor(np.log2(1.0 / above) + 1e-9)
    error = np.sqrt(9.0 * 2.0**level * np.log(np.maximum(level, 1.0) * t) / begun)
    sure = int(np.sum(error <= 0.5))
    if sure < 2:
        return {}
    steps = np.diff(np.concatenate([[0.0], values[:sure]]))
    mean = float(np.sum(steps * above[:sure] / (1.0 - error[:sure])))
    left = above[sure] / (1.0 - error[sure - 1]) if sure < len(values) else 0.0
    delta = max(float(left), 2.0 ** -float(level[sure - 1]) * 0.5 if sure == len(values) else 0.0)
    zeta = 2.0 * n * len(values) * 2.612 * t**-1.5
    if delta >= 1.0 or zeta >= 0.5:
        return {}
    return {"epsilon": max(0.0, mean / least - 1.0), "delta": delta, "zeta": zeta}


def _length(context: Context) -> int:
    """The lecture's N: every instance once."""
    return max(1, len(context.scenario.instances))


@dataclass
class Lecture:
    """Algorithm 8 of the lecture, word by word, on the first ``length`` instances.

    With optimistic estimates (0 for what was not run) the configuration with the least sum is run next. When that one has
    nothing left to run, its sum is the true one and the others' are lower bounds: the answer is the best.
    """

    n: int
    kappa0: float
    small: int
    length: int
    queues: list[deque[tuple[int, float]]] = field(init=False)
    R: list[dict[int, float]] = field(init=False)
    begun: list[int] = field(init=False)
    out: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        first = min(self.small, self.length)
        self.queues = [
            deque((k, self.kappa0) for k in range(first)) for _ in range(self.n)
        ]  # a small queue in the beginning
        self.R = [{} for _ in range(self.n)]  # R(λ, i) = 0: optimistic
        self.begun = [first] * self.n

    def best(self) -> int:
        """λ̂ according to R(λ, ·)."""
        left = (i for i in range(self.n) if i not in self.out)
        return min(left, key=lambda i: (sum(self.R[i].values()), i), default=-1)

    @property
    def answer(self) -> int:
        """The least sum of those that were run at all: argmin Σ R prefers who never was."""
        run = (i for i in range(self.n) if self.R[i] and i not in self.out)
        return min(run, key=lambda i: (-len(self.R[i]), sum(self.R[i].values()), i), default=-1)

    def wanted(self) -> Step | None:
        best = self.best()
        return (best, *self.queues[best][0]) if best >= 0 and self.queues[best] else None

    def take(self, value: float, done: bool) -> None:
        best = self.best()
        k, kappa = self.queues[best].popleft()  # the first element
        if done:
            self.R[best][k] = value
        else:
            self.R[best][k] = kappa
            self.queues[best].append((k, 2.0 * kappa))  # procrastinate
        while len(self.queues[best]) < self.small and self.begun[best] < self.length:  # replenish
            self.queues[best].append((self.begun[best], self.kappa0))
            self.begun[best] += 1

    def ahead(self, count: int) -> list[Step]:
        order = sorted((i for i in range(self.n) if i not in self.out), key=lambda i: (sum(self.R[i].values()), i))
        return [(i, *entry) for i in order for entry in self.queues[i]][:count]

    def exclude(self, config: int) -> None:
        self.out.add(config)
