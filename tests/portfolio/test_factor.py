"""The benchmark where a single configuration loses by a known factor: the proof by trying, and what isac makes of it."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.portfolio_factor import FACTOR, KINDS, row, scenario, seconds

from capra.runs import Configuration


def test_no_single_configuration_loses_less() -> None:
    names = [instance.name for instance in scenario(0).test_instances]
    configs = [Configuration({"kind": kind, "x": float(x)}) for kind in KINDS for x in np.linspace(0.0, 1.0, 21)]
    times = np.array([[seconds(config, name) for name in names] for config in configs])
    each = times.min(axis=0).mean()
    assert times.mean(axis=1).min() / each == pytest.approx(FACTOR)
    assert times.max() < scenario(0).cutoff


def test_isac_gains_the_factor() -> None:
    found = row(0)
    assert found["virtual_best"] <= found["isac"]
    assert 0.85 * FACTOR < found["factor"] < 1.5 * FACTOR
