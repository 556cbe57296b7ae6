"""SP, SPC and OUP as their pseudo-code stands, in plain Python: what the compiled cores are held to, and measured against.

Generators: they yield (configuration, column, cap) and are sent (value, whether the run ended).
"""

from __future__ import annotations

import bisect
import math
from collections import deque
from collections.abc import Callable, Generator

Steps = Generator[tuple[int, int, float], tuple[float, bool], None]


def sp(n: int, epsilon: float, zeta: float, kappa0: float, kappa_bar: float) -> Steps:
    """Kleinberg et al. 2017, Alg. 1."""
    beta = math.log2(kappa_bar / kappa0)

    def length(begun: int) -> int:
        return math.ceil(12.0 / (epsilon * epsilon) * math.log(3 * beta * n * begun * begun / zeta))

    queues = [deque((column, kappa0) for column in range(length(1))) for _ in range(n)]
    times = [[0.0] * length(1) for _ in range(n)]
    begun, sums = [0] * n, [0.0] * n
    averages = [0.0] * n
    while True:
        i = min(range(n), key=averages.__getitem__)
        column, cap = queues[i].popleft()
        is_new = times[i][column] == 0.0
        value, done = yield i, column, cap
        begun[i] += is_new
        time = value if done else cap
        sums[i] += time - times[i][column]
        times[i][column] = time
        if not done:
            queues[i].append((column, 2.0 * cap))
        while len(queues[i]) < length(begun[i]):
            queues[i].appendleft((len(times[i]), cap))
            times[i].append(0.0)
        averages[i] = sums[i] / begun[i]


def lower_bound(values: list[float], begun: int, t: int) -> float:
    """Kleinberg et al. 2019, §3: the confidence bound of the mean of sorted capped times."""
    bound, last = 0.0, 0.0
    for place, value in enumerate(values):
        p = 1.0 - place / begun
        k = math.floor(math.log2(1.0 / p) + 1e-12)
        error = math.sqrt(9.0 * 2.0**k * math.log(max(k, 1) * max(t, 1)) / begun)
        if value > last:
            bound += (value - last) * (p / (1.0 + error) if error <= 0.5 else 0.0)
            last = value
    return bound


def spc(n: int, kappa0: float) -> Steps:
    """Kleinberg et al. 2019, Alg. 1; ties go to the lower mean. As in the authors' code, all bounds are renewed every 1,000 steps."""
    queues: list[deque[tuple[int, float]]] = [deque() for _ in range(n)]
    times: list[list[float]] = [[] for _ in range(n)]
    ordered: list[list[float]] = [[] for _ in range(n)]
    sums, caps, least = [0.0] * n, [kappa0] * n, [1.0] * n
    keys = [(-1.0, 0.0)] * n
    t = 0
    while True:
        i = min(range(n), key=keys.__getitem__)
        if len(queues[i]) < least[i]:
            column = len(times[i])
            times[i].append(0.0)
        else:
            column, caps[i] = queues[i].popleft()
        value, done = yield i, column, caps[i]
        if not done:
            queues[i].append((column, 2.0 * caps[i]))
        time = max(0.001, math.floor((value if done else caps[i]) / 0.001 + 1e-6) * 0.001)
        if times[i][column] > 0.0:
            ordered[i].remove(times[i][column])
        bisect.insort(ordered[i], time)
        sums[i] += time - times[i][column]
        times[i][column] = time
        t += 1
        begun = len(times[i])
        least[i] = math.ceil(25.0 * math.log2(t * math.log2(begun))) if begun > 1 and t > 2 else 25.0
        for k in range(n) if t % 1000 == 0 else [i]:
            if times[k]:
                keys[k] = lower_bound(ordered[k], len(times[k]), t), sums[k] / len(times[k])


def oup(n: int, delta: float, kappa0: float, utility: Callable[[float], float]) -> Steps:
    """Graham & Leyton-Brown 2025: optimistic utilitarian procrastination with the new doubling condition."""
    upper, lower, alpha = [1.0] * n, [0.0] * n, [1.0] * n
    caps, runs, ended, sums = [kappa0] * n, [0] * n, [0] * n, [0.0] * n
    cut: list[list[int]] = [[] for _ in range(n)]
    while True:
        i = max(range(n), key=upper.__getitem__)
        u, todo = utility(caps[i]), [runs[i]]
        if runs[i] and 2.0 * (1.0 - u) * alpha[i] <= u * (1.0 - ended[i] / runs[i] + alpha[i]):
            caps[i] *= 2.0
            todo, cut[i] = cut[i] + todo, []
        for column in todo:
            value, done = yield i, column, caps[i]
            if done:
                ended[i] += 1
                sums[i] += value
            else:
                cut[i].append(column)
        runs[i] += 1
        u, m = utility(caps[i]), runs[i]
        mean = (sums[i] + len(cut[i]) * u) / m
        reach = math.log2(caps[i] / kappa0) + 1.0
        alpha[i] = min(1.0, math.sqrt(math.log(4.0 * 2.705808 * n * m * m * reach * reach / delta) / (2.0 * m)))
        upper[i] = min(upper[i], mean + (1.0 - u) * alpha[i])
        lower[i] = max(lower[i], mean - alpha[i] - u * (1.0 - ended[i] / m))
