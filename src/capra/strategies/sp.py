"""Structured procrastination: sp (Kleinberg, Leyton-Brown & Lucier 2017) and spc, with confidence (Kleinberg et al. 2019).

Bottom-up capping: every run starts with a small cap; what does not end is put off, with twice the cap, to the end of its
configuration's queue. Who looks best so far is run next, so that bad ones cost little however long their worst runs.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from capra._guarantees import Confidence, Procrastination
from capra.errors import InputError
from capra.strategies.base import Context, checked
from capra.strategies.certificate import Promise
from capra.strategies.confidence import confident
from capra.strategies.guaranteed import Guaranteed, Step
from capra.strategies.pool import Pool
from capra.strategies.promises import first_cap, means_only, optimal, pool_size

__all__ = ["Lecture", "sp", "spc"]

MORE_SP = (
    "That holds whenever it is stopped. Delta shrinks with the number of instances that the answer has run on: half of it "
    "takes about twice the time."
)
MORE_SPC = (
    "That holds whenever it is stopped. Both shrink with more time: half of epsilon takes about four times the runs, half "
    "of delta about twice."
)


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


def spc(context: Context, *, n: int = 50, zeta: float = 0.1, kappa0: float | None = None) -> Guaranteed:
    """Structured procrastination with confidence: the longer it runs, the more it promises, at any time.

    Only the promise depends on ``zeta``, not the runs.
    """
    means_only(context)
    pool = Pool(context)
    n, zeta = pool_size(pool, n), checked("zeta", zeta, 1e-9, 0.5)
    core = Confidence(n, first_cap(context, kappa0))

    def promise() -> Promise:
        parameters = confident(core, n, zeta)
        if not parameters:
            return Promise({}, "Nothing is promised yet.", MORE_SPC)
        return Promise(parameters, optimal(parameters, f"any of the {n} configurations"), MORE_SPC)

    return Guaranteed(context, "spc", core, pool, promise, trims=True, is_endless=True)


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
