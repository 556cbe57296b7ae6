"""SMAC's own choices: how the time is shared between what a model suggests and what chance does."""

from __future__ import annotations

import json

import pytest

from capra.runs import Configuration
from tests.strategies.conformance import Decisions, drive, make


@pytest.mark.parametrize("share", [0.3, 0.7])
def test_random_challengers_have_their_share_of_the_time(share: float) -> None:
    decisions = Decisions()
    runs, _ = drive(make("smac", decisions=decisions, random=share, initial=5), 2000.0)
    lists = [json.loads(data)["configs"] for (kind, _), (_, data) in decisions.kept.items() if kind == "fit"]
    suggested = {Configuration(config) for configs in lists for config in configs}
    times = {True: 0.0, False: 0.0}
    for run in runs:
        if run.asked_by != "incumbent":
            times[run.request.config in suggested] += run.outcome.time
    assert times[False] / sum(times.values()) == pytest.approx(share, abs=0.1)
