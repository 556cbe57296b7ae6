"""The cores of the strategies with guarantees, step by step against their pseudo-code in plain Python."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from benchmarks.guarantees import reference

from capra import _guarantees as native
from capra.runs.utility import Utility
from capra.strategies.caps import BASIC, PLUS_PLUS, settings
from capra.strategies.impatient import sample_sizes
from capra.strategies.sp import Lecture
from tests.strategies import plain

UTILITY = Utility("loglaplace", 4.0, 1.5)
WORTH = UTILITY(2.0 ** np.arange(64)).tolist()


def matrix(seed: int, configs: int = 30, columns: int = 3000) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.maximum(rng.lognormal(0.0, 1.5, (configs, columns)) * rng.uniform(1.0, 5.0, configs)[:, None], 0.001)


def steps_of(core: Any, times: np.ndarray, most: int = 10**9, value: Callable[[float], float] = float) -> list[Any]:
    """What the core wants, one after another; ``ahead`` always begins with it."""
    found = []
    while len(found) < most and (step := core.wanted()) is not None:
        if len(found) % 97 == 0 and hasattr(core, "ahead"):
            assert core.ahead(1) == [step]
            ahead = core.ahead(20)
            assert ahead[0] == step
            assert len(set(ahead)) == len(ahead)
        time = times[step[0], step[1] % times.shape[1]]
        found.append(tuple(step))
        core.take(value(time), bool(time <= step[2]))
    return found


def steps_of_plain(plain: Any, times: np.ndarray, most: int, value: Callable[[float], float] = float) -> list[Any]:
    found = [next(plain)]
    while len(found) < most:
        i, column, cap = found[-1]
        time = times[i, column % times.shape[1]]
        found.append(plain.send((value(time), bool(time <= cap))))
    return found


def test_the_lectures_algorithm() -> None:
    """Three configurations, four instances, κ0 = 1, queues of two; the queues after every step."""
    times = [[3.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 9.0], [9.0, 9.0, 9.0, 9.0]]
    core = Lecture(n=3, kappa0=1.0, small=2, length=4)
    seen = []
    while (step := core.wanted()) is not None:
        i, k, cap = step
        core.take(times[i][k], times[i][k] <= cap)
        seen.append((step, list(core.queues[i])))
    assert seen[:9] == [
        ((0, 0, 1.0), [(1, 1.0), (0, 2.0)]),  # 3 s is cut at 1: procrastinated
        ((1, 0, 1.0), [(1, 1.0), (2, 1.0)]),  # solved: replenished
        ((2, 0, 1.0), [(1, 1.0), (0, 2.0)]),
        ((0, 1, 1.0), [(0, 2.0), (2, 1.0)]),  # sums 1, 1, 1: the first; solved
        ((1, 1, 1.0), [(2, 1.0), (3, 1.0)]),
        ((2, 1, 1.0), [(0, 2.0), (1, 2.0)]),
        ((0, 0, 2.0), [(2, 1.0), (0, 4.0)]),  # sums 2, 2, 2: again cut
        ((1, 2, 1.0), [(3, 1.0)]),  # nothing left to replenish with
        ((2, 0, 2.0), [(1, 2.0), (0, 4.0)]),
    ]
    assert core.answer == 0
    assert sum(core.R[0].values()) == 6.0  # all of it, so it is the best
    assert not core.queues[0]
    assert all(sum(core.R[i].values()) >= 6.0 for i in (1, 2))


@pytest.mark.parametrize("seed", range(3))
def test_procrastination_is_its_pseudo_code(seed: int) -> None:
    times = matrix(seed)
    core = native.Procrastination(30, 0.7, 0.1, 0.25, 1e4)
    ours = steps_of(core, times, 20_000)
    assert ours == steps_of_plain(reference.sp(30, 0.7, 0.1, 0.25, 1e4), times, 20_000)
    used = np.zeros(30)
    begun = np.zeros(30)
    longest: dict[tuple[int, int], float] = {}
    for i, column, cap in ours:
        begun[i] += (i, column) not in longest
        longest[i, column] = min(times[i, column % times.shape[1]], cap)
    for (i, _), time in longest.items():
        used[i] += time
    assert core.answer == int(np.argmax(used))
    k = begun[core.answer]
    q = math.ceil(12 / 0.49 * math.log(3 * math.log2(4e4) * 30 * k * k / 0.1))
    assert core.gap == pytest.approx(math.sqrt(1.7) * q / k)


@pytest.mark.parametrize("seed", range(3))
def test_the_bounds_of_confidence(seed: int) -> None:
    """Against the formula on the sorted times; and they are below the capped means."""
    times = matrix(seed, 4)
    core = native.Confidence(4, 0.25)
    taken = 0
    for more in (3, 50, 400, 3000, 9000):
        taken += len(steps_of(core, times, more))
        assert core.steps == taken
        for i in range(4):
            values, counts = core.seen(i)
            ordered = [value for value, count in zip(values, counts, strict=True) for _ in range(count)]
            assert len(ordered) == core.begun(i)
            assert core.bound(i) == pytest.approx(reference.lower_bound(ordered, core.begun(i), taken))
            assert core.bound(i) <= sum(ordered) / max(len(ordered), 1)
    assert core.bound(core.answer) > 0


def test_confidence_prefers_the_least_bound() -> None:
    """While bounds are fresh (few runs each) its steps are those of the pseudo-code."""
    times = matrix(3, 5)
    ours = steps_of(native.Confidence(5, 0.25), times, 300)
    assert ours == steps_of_plain(reference.spc(5, 0.25), times, 300)


@pytest.mark.parametrize("seed", range(3))
def test_optimistic_utilitarians_are_their_pseudo_code(seed: int) -> None:
    times = matrix(seed, 20)
    ours = steps_of(native.Oup(20, 0.1, 1.0, WORTH), times, 4000, UTILITY.of)
    assert ours == steps_of_plain(reference.oup(20, 0.1, 1.0, UTILITY.of), times, 4000, UTILITY.of)
    assert {cap for _, _, cap in ours} >= {1.0, 2.0, 4.0}


@pytest.mark.parametrize("kind", [native.Up, native.Oup])
def test_the_bounds_of_utilities(kind: Any) -> None:
    """From all runs that were made, by the formula; bounds only ever close."""
    times = matrix(5, 6)
    core = kind(6, 0.1, 1.0, WORTH)
    best = {i: (0.0, 1.0) for i in range(6)}
    for _ in range(40):
        steps_of(core, times, 60, UTILITY.of)
        for i in range(6):
            m, cap, share = core.sample(i)
            lower, upper = core.bounds(i)
            assert lower >= best[i][0]
            assert upper <= best[i][1]
            best[i] = (lower, upper)
            if m and core.wanted()[0] != i and upper >= core.bounds(core.answer)[0]:
                runs = np.minimum(times[i, :m], cap)
                assert share == np.mean(times[i, :m] <= cap)
                alpha = min(1.0, math.sqrt(math.log(4 * 2.705808 * 6 * m**2 * (math.log2(cap) + 1) ** 2 / 0.1) / (2 * m)))
                u, mean = UTILITY.of(cap), UTILITY(runs).mean()
                assert upper <= mean + (1 - u) * alpha + 1e-12
                assert lower >= mean - alpha - u * (1 - share) - 1e-12
    lowers, uppers = zip(*(core.bounds(i) for i in range(6)), strict=True)
    assert core.gap <= max(uppers) - max(lowers) + 1e-12
    assert core.answer == int(np.argmax(lowers))


def test_the_phases_of_the_growing_sample() -> None:
    times = matrix(1, 60)
    core = native.Coup(1000, 0.1, 1.0, WORTH, 5.0, 6)
    steps_of(core, times, value=UTILITY.of)
    assert core.phase == 6
    assert core.configs == math.ceil(math.log(math.pi**2 * 36 / 0.3) / math.exp(-6 / 5))
    assert core.gap < core.promise == math.exp(-6 / 5)


@pytest.mark.parametrize("seed", range(2))
def test_leaps_and_bounds_is_its_pseudo_code(seed: int) -> None:
    times = matrix(seed)
    ours, oracle = native.LeapsAndBounds(4, 0.3, 0.4, 0.1, 0.5), plain.LeapsAndBounds(4, 0.3, 0.4, 0.1, 0.5)
    assert steps_of(ours, times) == steps_of(oracle, times)
    assert ours.answer == oracle.answer >= 0


@pytest.mark.parametrize(("seed", "constants"), [(0, BASIC), (1, PLUS_PLUS), (2, PLUS_PLUS)])
def test_caps_and_runs_is_its_pseudo_code(seed: int, constants: Any) -> None:
    times = matrix(seed)
    ours = native.CapsAndRuns(settings(5, 0.3, 0.4, 0.02, 0.5, constants))
    shape = plain.Constants(constants.runs, constants.events, constants.patience)
    oracle = plain.CapsAndRuns(plain.Settings(5, 0.3, 0.4, 0.02, 0.5, shape))
    assert steps_of(ours, times) == steps_of(oracle, times)
    assert ours.is_sure
    assert ours.answer == oracle.answer >= 0


@pytest.mark.parametrize("seed", range(2))
def test_impatience_is_its_pseudo_code(seed: int) -> None:
    times, sizes = matrix(seed), sample_sizes(0.2, 0.01)
    ours = native.Impatient(sizes, settings(sizes[-1], 0.3, 0.4, 0.01, 0.5))
    oracle = plain.Impatient(sizes, 0.3, 0.4, 0.01, 0.5)
    assert steps_of(ours, times) == steps_of(oracle, times)
    assert ours.answer == oracle.answer >= 0
    assert ours.kept == len(oracle.trials)


def test_the_first_cap_is_the_quantile() -> None:
    """Phase I of CapsAndRuns: exactly the order statistic, whatever the rounds were."""
    times = matrix(0)[0]
    search = plain.find_cap(500, 460, 0.25, lambda time: True)
    wish: Any = next(search)
    found = None
    while found is None:
        column, cap = wish
        try:
            wish = search.send((min(times[column], cap), bool(times[column] <= cap)))
        except StopIteration as end:
            found = end.value
    assert found == np.sort(times[:500])[459]


def test_bernstein_bounds_hold_and_are_the_formula() -> None:
    """1,000 means of times within [0, 1]: far fewer than one in ten is ever outside its bounds."""
    rng = np.random.default_rng(0)
    outside = 0
    for _ in range(300):
        sample = np.minimum(rng.exponential(0.2, 400), 1.0)
        truth = 0.2 * -math.expm1(-5.0)
        estimate = plain.Estimate(1.0, 10.0)
        ever = False
        for m, time in enumerate(sample, start=1):
            estimate.add(time)
            ever |= m > 1 and not estimate.lower <= truth <= estimate.upper
        part = estimate._x / 400
        assert estimate.error == pytest.approx(math.sqrt(2 * sample.var() * part) + 3 * part)
        outside += ever
    assert outside <= 30


MADE: dict[str, Callable[[], Any]] = {
    "sp": lambda: native.Procrastination(4, 0.7, 0.1, 0.25, 1e4),
    "spc": lambda: native.Confidence(4, 0.25),
    "leaps": lambda: native.LeapsAndBounds(4, 0.3, 0.4, 0.1, 0.5),
    "caps": lambda: native.CapsAndRuns(settings(4, 0.3, 0.4, 0.02, 0.5)),
    "impatient": lambda: native.Impatient([2, 4], settings(4, 0.3, 0.4, 0.01, 0.5)),
    "up": lambda: native.Up(4, 0.1, 1.0, WORTH),
    "oup": lambda: native.Oup(4, 0.1, 1.0, WORTH),
    "coup": lambda: native.Coup(4, 0.1, 1.0, WORTH),
    "lecture": lambda: Lecture(4, 0.25, 10, 500),
}


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("when", [0, 7, 300, 2000])
def test_who_is_excluded_is_never_wanted_again(name: str, when: int) -> None:
    """Not even when it is the one that is running, or the answer; when all are out nothing is left to do."""
    times = matrix(4, 4)
    core = MADE[name]()
    steps_of(core, times, when, UTILITY.of if name in ("up", "oup", "coup") else float)
    out = core.wanted()[0] if core.wanted() else max(core.answer, 0)
    core.exclude(out)
    later = steps_of(core, times, 3000, UTILITY.of if name in ("up", "oup", "coup") else float)
    assert all(step[0] != out for step in later)
    assert core.answer != out
    core.exclude(1000)  # nobody has that number
    gone = {out}
    while (step := core.wanted()) is not None:
        assert step[0] not in gone
        gone.add(step[0])
        core.exclude(step[0])
    assert core.answer not in gone


def test_the_ledger_keeps_both_accounts() -> None:
    times = np.array([[3.0, 1.0]])
    book = native.Ledger(times, times, np.array([0, 1, 0]))
    assert [book.look(0, 0, 1.0), book.look(0, 0, 2.0), book.look(0, 0, 4.0)] == [(3.0, False), (3.0, False), (3.0, True)]
    assert (book.restart, book.resumed, book.runs) == (1.0 + 2.0 + 3.0, 3.0, 3)
    book.look(0, 2, 4.0)  # the same instance in another column: known, or a fresh run for who counts columns
    assert (book.restart, book.resumed, book.runs) == (6.0, 3.0, 3)
    assert (book.fresh_restart, book.fresh_resumed) == (9.0, 6.0)
    assert book.look(0, 4, 0.5) == (1.0, False)  # columns go round
    with pytest.raises(ValueError, match="column"):
        native.Ledger(times, times, np.array([2]))
