"""How many times as fast, with an interval: held against scipy's bootstrap."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from capra.analysis.speedup import RESAMPLES, speed_up


def costs(values: list[float], seeds: int = 1) -> dict[tuple[str | None, int], float]:
    return {(f"i{k // seeds}", k % seeds): value for k, value in enumerate(values)}


def test_the_interval_is_scipys() -> None:
    rng = np.random.default_rng(3)
    before, after = rng.lognormal(1.0, 1.0, 40), rng.lognormal(0.0, 1.0, 40)
    found = speed_up(costs(before.tolist()), costs(after.tolist()))
    assert found is not None
    theirs = stats.bootstrap(
        (before, after), lambda a, b, axis: a.sum(axis=axis) / b.sum(axis=axis), paired=True, method="percentile",
        n_resamples=20_000, rng=np.random.default_rng(0),
    ).confidence_interval  # fmt: skip
    assert found.ratio == pytest.approx(before.sum() / after.sum())
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), rel=0.04)
    assert found.sure
    assert RESAMPLES == 2000


def test_runs_on_one_instance_are_drawn_together() -> None:
    """Twenty seeds of each of five instances are no hundred instances: the interval is as wide as for five."""
    many = speed_up(costs([v for v in (1.0, 2.0, 4.0, 8.0, 16.0) for _ in range(20)], 20), costs([1.0] * 100, 20))
    five = speed_up(costs([1.0, 2.0, 4.0, 8.0, 16.0]), costs([1.0] * 5))
    assert many is not None
    assert five is not None
    assert many.pairs == 100
    assert many[:3] == pytest.approx(five[:3])


def test_only_pairs_that_both_have_count() -> None:
    found = speed_up({("a", 1): 6.0, ("b", 1): 100.0}, {("a", 1): 2.0, ("c", 1): 5.0})
    assert found is not None
    assert (found.ratio, found.pairs) == (3.0, 1)
    assert not found.enough
    assert not found.sure


@pytest.mark.parametrize(
    ("before", "after"), [({}, {}), ({("a", 1): 1.0}, {("b", 1): 1.0}), ({("a", 1): 1.0}, {("a", 1): 0.0})]
)
def test_nothing_to_compare(before: dict[tuple[str | None, int], float], after: dict[tuple[str | None, int], float]) -> None:
    assert speed_up(before, after) is None


def test_without_instances_pairs_are_drawn() -> None:
    before = {(None, seed): float(seed) for seed in range(1, 11)}
    found = speed_up(before, dict.fromkeys(before, 1.0))
    assert found is not None
    assert found.low < 5.5 < found.high
    assert found.sure
