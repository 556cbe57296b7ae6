"""Certificates over the budget: what the store keeps of them is what is drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import capra
from capra.folder import CERTIFICATE
from capra.report.html.promises import promises
from capra.report.html.view import View
from capra.runs.store import Store
from capra.targets import Table
from tests.report.html.runs import tuned


def guaranteed(out: Path, strategy: str, objective: str, budget: str) -> capra.Result:
    rng = np.random.default_rng(0)
    times = rng.lognormal(0.0, 0.7, size=12)[:, None] * rng.lognormal(0.0, 1.0, size=(12, 60))
    names = [f"<i>{j}</i>" for j in range(60)]
    table = Table(np.minimum(times, 100.0), times < 100.0, [{"row": str(i)} for i in range(12)], names, cutoff=100.0)
    scenario = table.scenario(budget={"cpu": budget}, objective=objective)
    return capra.tune(scenario, strategy=strategy, engine="simulated", seed=1, out=out)


def shown(run: Path) -> dict[str, Any] | None:
    view = View(run)
    view.update()
    section = promises(view)
    view.close()
    return None if section is None else {block["key"]: block for block in section.blocks}


def test_an_anytime_promise_gets_tighter_step_by_step(tmp_path: Path) -> None:
    result = guaranteed(tmp_path, "oup", "utility:loglaplace(5, 1)", "30m")
    found = shown(tmp_path)
    assert found is not None
    with Store.read(tmp_path / "history.sqlite") as store:
        kept = [data for *_, data in store.decisions(CERTIFICATE)]
    points = next(one for one in found["promises"]["series"] if one["name"] == "ε" and one["mark"] == "point")
    holding = [data for data in kept if data["parameters"]]
    assert len(holding) >= 3
    assert points["y"] == pytest.approx([data["parameters"]["epsilon"] for data in holding], rel=1e-4)
    assert points["x"] == pytest.approx([data["spent"] for data in holding], rel=1e-4)
    assert points["y"] == sorted(points["y"], reverse=True)
    assert result.certificate is not None
    assert points["note"][-1] == result.certificate.says
    assert found["certificates"]["rows"][0][-1] == result.certificate.says
    assert [row[1] for row in found["certificates"]["rows"]] == [data["evaluations"] for data in reversed(kept)]


def test_who_has_promised_nothing_yet_shows_no_curve(tmp_path: Path) -> None:
    """caps++ promises at its end, which a small budget does not reach."""
    result = guaranteed(tmp_path, "caps++", "par10", "2m")
    found = shown(tmp_path)
    assert result.certificate is not None
    assert not result.certificate.holds
    assert found is not None
    assert set(found) == {"certificates"}
    assert found["certificates"]["rows"][0][-1] == result.certificate.says


def test_racing_promises_nothing(tmp_path: Path) -> None:
    tuned(tmp_path, budget={"runs": 30})
    assert shown(tmp_path) is None
