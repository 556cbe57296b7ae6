"""What SPC promises: the bands against a root finder and against samples, and runs that were put off."""

from __future__ import annotations

import math

import numpy as np
import pytest
from benchmarks.guarantees.drive import drive, ledger
from scipy.optimize import brentq
from scipy.special import rel_entr

from capra._guarantees import Confidence
from capra.strategies.confidence import RESOLUTION, band, confident


def driven(times: np.ndarray, steps: int, kappa0: float = 0.5) -> Confidence:
    core = Confidence(len(times), kappa0)
    drive(core, ledger(np.ascontiguousarray(times)), steps=steps)
    return core


@pytest.mark.parametrize("r", [5, 60, 3000])
def test_bands_are_the_levels_that_are_far_enough(r: int) -> None:
    shares = np.array([1, max(1, r // 7), r // 2, r - 1, r]) / r
    lower, upper = band(shares, r, 10, 0.1)
    far = math.log(2 * 10 * r**2 * (r + 1) / 0.1) / r

    def beyond(level: float, share: float) -> float:
        return float(rel_entr(share, level) + rel_entr(1.0 - share, 1.0 - level)) - far

    for share, low, high in zip(shares, lower, upper, strict=True):
        least = brentq(beyond, 1e-300, share, args=(share,)) if beyond(1e-300, share) > 0.0 else 0.0
        assert low == math.floor(r * least + 1e-6) / r
        end = 1.0 - 1e-12
        most = brentq(beyond, share, end, args=(share,)) if share < 1.0 and beyond(end, share) > 0.0 else 1.0
        assert high == pytest.approx(min(1.0, math.ceil(r * most - 1e-6) / r))
        assert low < share <= high


def test_bands_are_hardly_ever_left_and_not_too_wide() -> None:
    """At all shares and all numbers of instances at once, in fifty samples; ζ = 1/2 allows for half of them."""
    rng, left = np.random.default_rng(0), 0
    for _ in range(50):
        sample = rng.uniform(size=400)
        outside = False
        for r in (1, 2, 5, 20, 100, 400):
            seen = np.sort(sample[:r])
            lower, upper = band(np.arange(r, 0, -1) / r, r, 1, 0.5)
            # From one time up to the next the share is r − j of r; the true one falls from 1 − seen[j − 1] to 1 − seen[j].
            true = 1.0 - np.concatenate([[0.0], seen])
            outside |= bool((true[1:] < lower).any() or (true[:-1] > upper).any())
        left += outside
    assert left <= 25
    lower, upper = band(np.array([0.5, 0.05]), 10_000, 50, 0.1)
    assert (lower > [0.45, 0.03]).all()
    assert (upper < [0.55, 0.08]).all()


def test_what_was_put_off_is_left_out() -> None:
    """Two fifths of the times are never reached: whatever is promised leaves out at least as many."""
    rng = np.random.default_rng(1)
    times = np.where(rng.uniform(size=(2, 20_000)) < 0.6, 0.1, 1e6) * np.array([[1.0], [3.0]])
    promised = [confident(driven(times, steps), 2, 0.1) for steps in (500, 3000, 10_000)]
    assert promised[-1]
    assert all(parameters["delta"] >= 0.4 for parameters in promised if parameters)
    core = driven(times, 3000)
    values, _ = core.seen(core.answer)
    assert core.known_below(core.answer) in values
    assert core.known_below(core.answer) > 0.1


def test_the_bounds_are_true_ones_and_become_tight() -> None:
    """Exponential times, where both the mean below a cut and the share above it are known."""
    rng = np.random.default_rng(2)
    scales = np.array([1.0, 2.0, 4.0])
    times = np.maximum(rng.exponential(size=(3, 60_000)) * scales[:, None], RESOLUTION)
    epsilons = []
    for steps in (3000, 30_000, 120_000):
        core = driven(times, steps)
        parameters = confident(core, 3, 0.1)
        scale, epsilon, delta = scales[core.answer], parameters["epsilon"], parameters["delta"]
        assert scale * (1.0 - delta) <= (1.0 + epsilon) * 1.0  # E min(X, q_δ) = scale · (1 − δ)
        epsilons.append(epsilon)
    assert core.answer == 0
    assert epsilons == sorted(epsilons, reverse=True)
    assert epsilons[-1] < 0.5


def test_a_refuted_configuration_does_not_count() -> None:
    times = np.full((2, 5000), 1.0)
    core = driven(times, 400, kappa0=2.0)
    answer = core.answer
    assert confident(core, 2, 0.1) == {}  # the other one was run once: nothing is known of its mean
    core.exclude(1 - answer)
    assert core.is_out(1 - answer)
    assert confident(core, 2, 0.1)["delta"] < 0.1
    fresh = Confidence(2, 2.0)
    fresh.exclude(1)
    assert confident(fresh, 2, 0.1) == {}
