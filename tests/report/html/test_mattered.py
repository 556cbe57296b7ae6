"""What mattered: importance, an ablation that was run, and advice, in the report of runs of a real scenario."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import capra
from capra.analysis.ablation import ablate
from capra.analysis.importance import Share
from capra.intake import import_folder
from capra.report.html import write_report
from capra.report.html.mattered import _cautions, mattered
from capra.report.html.view import View
from tests.report.html.runs import real
from tests.report.html.test_page import blocks, document

SOLVER = "import sys\nprint('steps', 1 + 100 * abs(float(sys.argv[1].partition('=')[2]) - 0.2))\n"
PARAMETERS = "alpha real [0, 1] [0.9]\nbeta real [0, 1] [0.5]\nmode categorical {a, b} [a]\n"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Runs of forty configurations on twelve instances; only alpha matters."""
    names = [f"i{k}" for k in range(12)]
    scenario = capra.Scenario.load(real(tmp_path, SOLVER, PARAMETERS, names, 60))
    rng = np.random.default_rng(0)
    configs = [dict(scenario.default)] + [
        {"alpha": float(rng.random()), "beta": float(rng.random()), "mode": str(rng.choice(["a", "b"]))} for _ in range(40)
    ]
    lines = [
        {
            "config": config, "instance": name, "seed": 0, "cutoff": 200.0, "asked_by": "", "finished": 0.0,
            "outcome": {"status": "SUCCESS", "time": 1 + 100 * abs(config["alpha"] - 0.2), "cutoff": 200.0},
        }
        for config in configs
        for name in names
    ]  # fmt: skip
    (tmp_path / "runs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return imported(lines, scenario, tmp_path / "run")


def test_the_parameter_that_matters_is_first(run: Path) -> None:
    page = Path(write_report(run)["report"])
    first, *others = blocks(page)["importance"]["rows"]
    assert first[0] == "alpha"
    assert first[1] > 90
    assert all(share < 5 for _, share, _ in others)
    assert "curve-alpha" in blocks(page)
    advice = next(section for section in document(page)["sections"] if section["key"] == "worst")["blocks"][0]["text"]
    assert advice.startswith("One configuration is enough")


def cautions(run: Path, shares: list[Share]) -> list[str]:
    view = View(run)
    view.update()
    found = list(_cautions(view, shares))
    view.close()
    return found


def test_readers_are_warned_where_importance_says_little(run: Path, tmp_path: Path) -> None:
    """Where trees disagree by more than the largest share, and where almost all runs were stopped."""
    sure, unsure = Share(("alpha",), 0.9, 0.05), Share(("alpha",), 0.13, 0.28)
    assert cautions(run, [sure]) == []
    assert [text[:12] for text in cautions(run, [unsure])] == ["Too few runs"]
    lines = [json.loads(line) for line in (tmp_path / "runs.jsonl").read_text().splitlines()]
    for line in lines[12:]:
        line |= {"cutoff": 2.0, "outcome": {"status": "CAPPED", "time": 2.0, "cutoff": 2.0}}
    tight = imported(lines, capra.Scenario.load(tmp_path / "scenario.toml"), tmp_path / "tight")
    (told,) = cautions(tight, [sure])
    assert told.startswith("98 % of the runs were stopped early")


def imported(lines: list[dict[str, Any]], scenario: capra.Scenario, out: Path) -> Path:
    file = out.with_suffix(".jsonl")
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    import_folder(file, "jsonl", scenario, out)
    return out


def test_a_page_that_follows_a_tuning_does_without(run: Path) -> None:
    view = View(run, live=True)
    view.update()
    assert mattered(view) is None
    view.close()


def test_an_ablation_is_shown(run: Path) -> None:
    found = ablate(run, workers=2)
    page = Path(write_report(run)["report"])
    rows = blocks(page)["ablation"]["rows"]
    assert len(rows) == len(found.steps)
    assert "alpha" in rows[1][0]
