"""What a tuning's folder says in words and as JSON; the commands around it are in test_cli.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import capra
from capra.overview import load_result, summary_of, verdict_of
from capra.scenario import Scenario
from capra.space import Real, Space


def row(cost: float | None, p_value: float | None = 0.01, of_speed: bool = True) -> dict[str, Any]:
    return {"cost": cost, "p_value": p_value, "of_speed": of_speed}


@pytest.mark.parametrize(
    ("default", "incumbent", "says"),
    [
        (row(4.0), row(2.0), "2 times as fast as the default on the test instances"),
        (row(4.0), row(2.0, p_value=0.3), "2 times as fast as the default on the test instances, but that may be chance"),
        (row(2.0), row(4.0), "worse (2 times the default's cost): keep the default"),
        (row(4.0, of_speed=False), row(2.0, of_speed=False), "better than the default on the test instances (2 against 4)"),
        (row(-3.0, of_speed=False), row(-10.0, of_speed=False), "better than the default"),
        (row(-10.0, of_speed=False), row(-3.0, of_speed=False), "worse (-3 against -10): keep the default"),
        (row(0.0), row(0.0), "keep the default"),
        (row(1.0), row(None), "the incumbent has runs without a result"),
        (row(None), row(1.0), "the default has runs without a result"),
    ],
)
def test_verdicts(default: dict[str, Any], incumbent: dict[str, Any], says: str) -> None:
    assert says in verdict_of([default, incumbent])


def target(config: dict[str, Any], instance: str | None, seed: int, cutoff: float) -> float:
    return float(config["x"]) * (1.0 + seed % 3)


def tuned(strategy: str, folder: Path, runs: int) -> capra.Result:
    scenario = Scenario(
        target=target, space=Space([Real("x", 0.5, 2.0, 1.0)]), cutoff=8.0, unit="steps", budget={"runs": runs}
    )
    return capra.tune(scenario, strategy, engine="simulated", out=folder)


def test_without_a_finished_run_there_is_no_incumbent(tmp_path: Path) -> None:
    """Runs that were stopped say "at least"; a cost that is none of them is no cost."""
    result = tuned("sp", tmp_path, 3)
    assert {str(run.outcome.status) for run in result.history} == {"CAPPED"}
    found = summary_of(result)
    assert (found["incumbent"], found["cost"], found["pairs"], found["default_cost"]) == (None, None, 0, None)


def test_all_views_of_a_folder_agree(tmp_path: Path) -> None:
    result = tuned("oup", tmp_path, 60)
    loaded, status = load_result(tmp_path, result.scenario), summary_of(result)
    assert (loaded.incumbent, loaded.cost, loaded.certificate) == (result.incumbent, result.cost, result.certificate)
    assert result.certificate is not None
    assert (status["cost"], status["pairs"]) == (result.cost, len(result.history.record(_incumbent(result)).costs))


def _incumbent(result: capra.Result) -> capra.Configuration:
    return capra.Configuration(result.incumbent)
