"""The truncated normal's tail against 50-digit arithmetic, and its mean beside scipy's: ``python -m benchmarks.numerics``.

Largest errors over z from −8 to 40, relative, for quantiles in units of max(1, |x|). Results: benchmarks/results/numerics.json.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import mpmath
import numpy as np
from mpmath import mpf
from scipy.stats import truncnorm

from benchmarks.machine import machine, write_results
from capra.models import numerics

Z = np.linspace(-8.0, 40.0, 481)
SHARES = (1e-10, 1e-3, 0.1, 0.37, 0.5, 0.9, 0.999, 1 - 1e-9)
ROUNDS = 5


def survival(z: float) -> mpf:
    return mpmath.erfc(mpf(z) / mpmath.sqrt(2)) / 2


def hazard(z: float) -> mpf:
    return mpmath.npdf(mpf(z)) / survival(z)


def largest_error(ours: Callable[[np.ndarray], np.ndarray], exact: Callable[[float], mpf]) -> float:
    return max(float(abs(mpf(float(found)) / exact(float(z)) - 1)) for z, found in zip(Z, ours(Z), strict=True))


def quantile_error(q: float) -> float:
    """From z = 0 on; one exact Newton step from our answer tells how far it is from the root."""
    worst, tail = 0.0, Z[Z >= 0.0]
    for z, x in zip(tail.tolist(), numerics.truncated_quantile(0.0, 1.0, tail, q).tolist(), strict=True):
        residual = mpmath.log(survival(x)) - mpmath.log(survival(z)) - mpmath.log1p(-mpf(q))
        worst = max(worst, float(abs(residual / hazard(x))) / max(1.0, abs(x)))
    return worst


def seconds(call: Callable[[], object]) -> float:
    began = time.process_time()
    call()
    return time.process_time() - began


def times_as_slow() -> float:
    """scipy's truncated mean over ours, best of interleaved rounds."""
    lower = np.tile(Z, 20)

    def ours() -> object:
        return [numerics.truncated_mean(0.0, 1.0, lower) for _ in range(100)]

    pairs = [(seconds(ours) / 100, seconds(lambda: truncnorm.mean(lower, np.inf))) for _ in range(ROUNDS)]
    return min(theirs for _, theirs in pairs) / min(mine for mine, _ in pairs)


def main() -> None:
    mpmath.mp.dps = 50
    found = {
        "log_survival": largest_error(numerics.log_survival, lambda z: mpmath.log(survival(z))),
        "hazard": largest_error(numerics.hazard, hazard),
        "quantile": max(map(quantile_error, SHARES)),
        "truncnorm_mean_times_as_slow": times_as_slow(),
    }
    print(found)
    write_results("numerics", {"machine": machine("capra", "numpy", "scipy", "mpmath"), **found})


if __name__ == "__main__":
    main()
