"""LeapsAndBounds, CapsAndRuns and ImpatientCapsAndRuns as their pseudo-code stands, in plain Python: an oracle.

The algorithms are generators: they yield the run that they want, and are sent how it went.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field

Step = tuple[int, int, float]
Answer = tuple[float, bool] | None
Wish = tuple[int, float]

GROWTH = 1.1
"""Bounds hold at all times because their checkpoints grow geometrically by this."""
SERIES = 10.5844
"""Σ l^−1.1: the checkpoints share the failure probability."""


@dataclass
class Estimate:
    """The mean of times within [0, ``cap``]; with probability 1 − 1/``events`` it is never further off than ``error``."""

    cap: float
    events: float
    count: int = 0
    total: float = 0.0
    squares: float = 0.0
    error: float = math.inf
    _next: int = 1
    _level: int = 0
    _x: float = 0.0

    @property
    def mean(self) -> float:
        return self.total / self.count

    @property
    def lower(self) -> float:
        return self.mean - self.error

    @property
    def upper(self) -> float:
        return self.mean + self.error

    def add(self, time: float) -> None:
        """One more run."""
        self.count += 1
        self.total += time
        self.squares += time * time
        if self.count >= self._next:
            self._pass_checkpoint()
        if self.count > 1:
            mean = self.total / self.count
            variance = max(self.squares / self.count - mean * mean, 0.0)
            part = self._x / self.count
            self.error = math.sqrt(2.0 * variance * part) + 3.0 * self.cap * part

    def _pass_checkpoint(self) -> None:
        """x = α · ln(3 / d_l), with α the ratio of this checkpoint to the last."""
        while self.count >= self._next:
            before = self._next
            self._level += 1
            self._next = max(before + 1, math.floor(GROWTH**self._level))
        ratio = self._next / before
        self._x = ratio * math.log(3.0 * self.events * SERIES * self._level**1.1)


class Sequential:
    """A ``Core`` whose ``run`` is the algorithm itself, a generator of steps."""

    answer = -1

    def __init__(self) -> None:
        self.out: set[int] = set()
        self._steps = self.run()
        self._step: Step | None = next(self._steps, None)

    def run(self) -> Generator[Step, Answer, None]:
        """The algorithm. Sets ``answer``."""
        raise NotImplementedError

    def wanted(self) -> Step | None:
        return self._step

    def take(self, value: float, done: bool) -> None:
        if self._step is not None:
            self._send((value if done else self._step[2], done))

    def exclude(self, config: int) -> None:
        self.out.add(config)
        if self.answer == config:
            self.answer = -1
        while self._step is not None and self._step[0] in self.out:
            self._send(None)

    def _send(self, answer: Answer) -> None:
        try:
            self._step = self._steps.send(answer)
        except StopIteration:
            self._step = None


class LeapsAndBounds(Sequential):
    """The algorithm (Alg. 1) with the empirical Bernstein estimates of its appendix D."""

    def __init__(self, n: int, epsilon: float, delta: float, zeta: float, kappa0: float, multiplier: float = 1.25) -> None:
        self.n, self.epsilon, self.delta, self.zeta, self.multiplier = n, epsilon, delta, zeta, multiplier
        self.theta = 16.0 / 7.0 * kappa0
        self.phase = 0
        super().__init__()

    def run(self) -> Generator[Step, Answer, None]:
        while True:
            self.phase += 1
            means = []
            for i in range(self.n):
                means.append((yield from self.estimate(i)))
            if min(means) < self.theta:
                self.answer = means.index(min(means))
                return
            if len(self.out) == self.n:
                return
            self.theta *= self.multiplier

    def estimate(self, i: int) -> Generator[Step, Answer, float]:
        """RuntimeEst: the capped mean of configuration i, or θ where it is not below θ."""
        theta, delta, epsilon, k = self.theta, self.delta, self.epsilon, self.phase
        events = 120.0 * self.n * k * (k + 1) / self.zeta
        b = math.ceil(44.0 * math.log(events) / (delta * epsilon * epsilon))
        cap, left = 4.0 * theta / (3.0 * delta), b * theta
        found = Estimate(cap, 2.1 * 2.61238 * k**1.5 * self.n / self.zeta)
        for j in range(b):
            if i in self.out or (answer := (yield i, j, min(left, cap))) is None:
                return math.inf
            left -= answer[0]
            if left <= 0.0:  # b runs took more than b·θ: the mean is above θ
                return theta
            found.add(answer[0])
            if (1.0 + 3.0 * epsilon / 7.0) * found.lower > theta and found.mean > theta:
                return theta
            # Two conditions; the second is the one of the paper on CapsAndRuns, which corrects the first code.
            is_close = found.error <= epsilon * found.mean / (2.0 + 2.0 * epsilon)
            if j > 0 and is_close and j + 1 >= 32.0 * math.log(events * j * (j + 1)) / delta:
                return found.mean
        return found.mean


@dataclass(frozen=True)
class Constants:
    """b = ⌈runs · ln(events · n/ζ)/δ⌉ instances in phase I, given up at ``patience`` · b · T."""

    runs: float
    events: float
    patience: float


BASIC, PLUS_PLUS = Constants(48.0, 3.0, 2.0), Constants(26.0, 2.0, 1.5)
"""As published, and with the better constants of the paper on ImpatientCapsAndRuns."""


@dataclass(frozen=True)
class Settings:
    """What all trials of a race share. ``zeta`` is what the proof has for each of its parts."""

    n: int
    epsilon: float
    delta: float
    zeta: float
    kappa0: float
    constants: Constants = PLUS_PLUS

    @property
    def b(self) -> int:
        return math.ceil(self.constants.runs * math.log(self.constants.events * self.n / self.zeta) / self.delta)


@dataclass
class Least:
    """T, the least upper bound of a mean so far, and whose it is."""

    value: float = math.inf
    by: int = -1

    def offer(self, value: float, by: int) -> None:
        if value < self.value:
            self.value, self.by = value, by


def find_cap(
    runs: int, enough: int, kappa0: float, may_spend: Callable[[float], bool]
) -> Generator[Wish, Answer, float | None]:
    """The time that ``enough`` of the first ``runs`` columns do not exceed, exactly.

    Rounds with doubling caps: short runs first, and runs made again from their beginning take at most twice as long.
    (The authors' code adds a constant to the cap, and stops within a round.)
    """
    waiting: Iterable[int] = range(runs)
    cap, before = kappa0, 0.0
    times: list[float] = []
    while len(times) < enough:
        put_off = []
        for column in waiting:
            answer = yield column, cap
            if answer is None or not may_spend(answer[0] - before):
                return None
            if answer[1]:
                times.append(answer[0])
            else:
                put_off.append(column)
        waiting, cap, before = put_off, 2.0 * cap, cap
    return sorted(times)[enough - 1]


@dataclass(eq=False)
class Trial:
    """One configuration. ``pause``: stop phase II for now after b runs."""

    config: int
    settings: Settings
    least: Least
    pause: bool = False
    work: float = 0.0
    """Its time so far."""
    estimate: Estimate | None = None
    result: float = math.inf
    """Its capped mean, once that is known well enough."""
    wish: Wish | None = None
    is_over: bool = False
    is_paused: bool = False
    _plan: Generator[Wish, Answer, None] = field(init=False)

    def __post_init__(self) -> None:
        self._plan = self._run()
        self.wish = next(self._plan)

    @property
    def lower(self) -> float:
        return 0.0 if self.estimate is None or self.estimate.count < 2 else self.estimate.lower

    def tell(self, answer: Answer) -> None:
        """How its wish went."""
        try:
            self.wish = self._plan.send(answer)
        except StopIteration:
            self.wish, self.is_over = None, True

    def _run(self) -> Generator[Wish, Answer, None]:
        cap = yield from self._find_cap()
        if cap is not None:
            yield from self._find_mean(cap)

    def _find_cap(self) -> Generator[Wish, Answer, float | None]:
        """Phase I: τ, above which at most δ of the times lie; None if it takes too long."""
        settings, b = self.settings, self.settings.b
        return find_cap(b, math.ceil(b * (1.0 - 0.75 * settings.delta)), settings.kappa0, self._may_spend)

    def _may_spend(self, time: float) -> bool:
        self.work += time
        return self.work < self.settings.constants.patience * self.settings.b * self.least.value

    def _find_mean(self, cap: float) -> Generator[Wish, Answer, None]:
        """Phase II: the mean of times capped at τ, until it is known to a factor or too large."""
        settings, b = self.settings, self.settings.b
        found = self.estimate = Estimate(cap, settings.n / settings.zeta)
        column = b
        while True:
            answer = yield column, cap
            if answer is None:
                return
            self.work += answer[0]
            column += 1
            found.add(answer[0])
            if found.count < 2:
                continue
            self.least.offer(found.upper, self.config)
            if found.count == b + 1:
                self.least.offer(2.0 * found.mean, self.config)
            if found.lower > self.least.value:
                return
            if found.error <= settings.epsilon / 3.0 * (found.mean + found.lower):
                self.result = found.mean
                return
            if self.pause and found.count > b:
                self.pause, self.is_paused = False, True


def race(trials: list[Trial], *, to_the_last: bool) -> Generator[Step, Answer, None]:
    """Advance all trials that are neither over nor paused, the one with the least work first.

    Not ``to_the_last``: stop when one is left and everybody else is known to be worse than T.
    """
    order = [(trial.work, trial.config, trial) for trial in trials if not trial.is_over and not trial.is_paused]
    heapq.heapify(order)
    while order:
        trial = order[0][2]
        if len(order) == 1 and not to_the_last and _is_alone(trial, trials):
            return
        if trial.wish is not None:
            trial.tell((yield trial.config, *trial.wish))
        if trial.is_over or trial.is_paused:
            heapq.heappop(order)
        else:
            heapq.heapreplace(order, (trial.work, trial.config, trial))


def _is_alone(last: Trial, trials: list[Trial]) -> bool:
    return all(trial.lower > last.least.value for trial in trials if trial is not last)


class CapsAndRuns(Sequential):
    """The algorithm over configurations 0, …, n − 1."""

    def __init__(self, settings: Settings) -> None:
        self.least = Least()
        self.trials = [Trial(i, settings, self.least) for i in range(settings.n)]
        self.is_sure = False
        super().__init__()

    def run(self) -> Generator[Step, Answer, None]:
        yield from race(self.trials, to_the_last=False)
        self.answer = best_of(self.trials, self.out)
        self.is_sure = True

    def take(self, value: float, done: bool) -> None:
        super().take(value, done)
        if not self.is_sure and self.least.by not in self.out:
            self.answer = self.least.by


def best_of(trials: list[Trial], out: set[int]) -> int:
    """Who has the least mean; the one that is left, where all others are worse."""
    left = [trial for trial in trials if not trial.is_over and trial.config not in out]
    ended = [trial for trial in trials if trial.result < math.inf and trial.config not in out]
    if len(left) == 1:
        return left[0].config
    return min(ended, key=lambda trial: trial.result).config if ended else -1


QUANTILE, PATIENCE_CAP, PATIENCE_MEAN = 0.8, 1.9, 2.99
"""The check measures the cap that so many runs end below; it gives up at so many times T per run, and then so many."""


@dataclass(frozen=True)
class PreCheck:
    """A few runs that tell whether a configuration may be as good as T."""

    levels: int
    zeta: float
    kappa0: float

    @property
    def runs(self) -> int:
        return math.ceil(32.1 * math.log(2.0 * self.levels / self.zeta))

    def check(self, config: int, least: Least) -> Generator[Step, Answer, bool]:
        """Has it passed?"""
        cap = yield from self._find_cap(config, PATIENCE_CAP * self.runs * least.value)
        return cap is not None and (yield from self._compare(config, cap, least.value))

    def _find_cap(self, config: int, patience: float) -> Generator[Step, Answer, float | None]:
        spent = 0.0

        def may_spend(time: float) -> bool:
            nonlocal spent
            spent += time
            return spent < patience

        search = find_cap(self.runs, math.ceil(QUANTILE * self.runs), self.kappa0, may_spend)
        wish = next(search)
        while True:
            try:
                wish = search.send((yield config, *wish))
            except StopIteration as end:
                return None if end.value is None else float(end.value)

    def _compare(self, config: int, cap: float, least: float) -> Generator[Step, Answer, bool]:
        """Is its mean, capped, not above T for sure? On fresh instances."""
        times: list[float] = []
        for column in range(self.runs, 2 * self.runs):
            answer = yield config, column, cap
            if answer is None:
                return False
            times.append(answer[0])
            if sum(times) > PATIENCE_MEAN * self.runs * least:
                break
        count, mean = len(times), sum(times) / len(times)
        variance = sum((time - mean) ** 2 for time in times) / count
        x = math.log(3.0 * self.levels / self.zeta)
        return mean - math.sqrt(2.0 * variance * x / count) - 3.0 * cap * x / count <= least  # empirical Bernstein


class Impatient(Sequential):
    """The algorithm; ``sizes`` of its samples from ``sample_sizes``."""

    def __init__(
        self,
        sizes: list[int],
        epsilon: float,
        delta: float,
        zeta: float,
        kappa0: float,
        constants: Constants = PLUS_PLUS,
    ) -> None:
        self.sizes = sizes
        self.settings = Settings(sizes[-1], epsilon, delta, zeta, kappa0, constants)
        self.precheck = PreCheck(len(sizes), zeta, kappa0)
        self.least = Least()
        self.trials: list[Trial] = []
        self.kept: list[int] = []
        """Who passed the last check."""
        self.is_sure = False
        super().__init__()

    def run(self) -> Generator[Step, Answer, None]:
        begun = 0
        for size in self.sizes:
            fresh = [i for i in range(begun, size) if i not in self.out]
            if begun > 0 and self.least.value < math.inf:
                fresh = yield from self._checked(fresh)
            begun = max(begun, size)
            level = [Trial(i, self.settings, self.least, pause=True) for i in fresh]
            self.trials += level
            yield from race(level, to_the_last=True)
        everybody = {trial.config: trial for trial in self.trials}
        self.kept = yield from self._checked([i for i in range(begun) if i not in self.out])
        self.trials = [everybody[i] for i in self.kept if i in everybody]
        for trial in self.trials:
            trial.is_paused = False
        yield from race(self.trials, to_the_last=False)
        self.answer = best_of(self.trials, self.out)
        self.is_sure = True

    def _checked(self, configs: list[int]) -> Generator[Step, Answer, list[int]]:
        passed = []
        for i in configs:
            if i == self.least.by or (yield from self.precheck.check(i, self.least)):
                passed.append(i)
        return passed

    def take(self, value: float, done: bool) -> None:
        super().take(value, done)
        if not self.is_sure and self.least.by not in self.out:
            self.answer = self.least.by
