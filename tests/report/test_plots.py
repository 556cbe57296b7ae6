"""Figures and frames: each shows what the history holds."""

from __future__ import annotations

import builtins
import math
from pathlib import Path
from typing import Any

import pytest

import capra
from capra.analysis.ablation import ablate
from capra.errors import InputError
from capra.overview import load_result
from capra.runs import Configuration
from tests.analysis.known import BEST, scenario, stored


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> capra.Result:
    out = tmp_path_factory.mktemp("result")
    options: dict[str, Any] = {"budget": {"runs": 80}}
    found = capra.tune(scenario(**options), engine="simulated", overhead="ignore", out=out)
    ablate(out, scenario(**options), pairs=3)
    return found


def axes_of(figure: Any, tmp_path: Path) -> Any:
    """The first axes; the figure can be drawn."""
    figure.savefig(tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 5000
    return figure.axes[0]


def test_trajectory(result: capra.Result, tmp_path: Path) -> None:
    axes = axes_of(result.plot_trajectory(), tmp_path)
    assert list(axes.lines[0].get_ydata())[:-1] == [one.cost for one in result.trajectory]
    assert axes.get_yscale() == "log"


def test_trajectory_with_tests(tmp_path: Path) -> None:
    found = load_result(stored(tmp_path, "run", runs=40, validated=True))
    axes = axes_of(found.plot_trajectory(), tmp_path)
    assert len(axes.lines) == 2
    assert len(axes.lines[1].get_xdata()) == len(found.trajectory) + 1


def test_scatter(result: capra.Result, tmp_path: Path) -> None:
    axes = axes_of(result.plot_scatter(), tmp_path)
    default, best = (result.history.record(Configuration(c)).costs for c in (scenario().default, BEST))
    shared = {(default[pair], best[pair]) for pair in default if pair in best}
    assert {tuple(point) for point in axes.collections[0].get_offsets().tolist()} == shared
    assert shared


def test_cactus_and_ecdf(result: capra.Result, tmp_path: Path) -> None:
    for figure in (result.plot_cactus(), result.plot_ecdf()):
        axes = axes_of(figure, tmp_path)
        default, incumbent = axes.lines[:2]
        assert len(default.get_xdata()) == len(incumbent.get_xdata()) > 0


def test_matrix_and_statuses(result: capra.Result, tmp_path: Path) -> None:
    axes = axes_of(result.plot_matrix(most=10), tmp_path)
    cells = axes.images[0].get_array()
    assert cells.shape == (10, len({run.request.instance for run in result.history}))
    axes = axes_of(result.plot_statuses(), tmp_path)
    assert sum(len(points.get_offsets()) for points in axes.collections) == len(result.history)


def test_importance_and_curve(result: capra.Result, tmp_path: Path) -> None:
    axes = axes_of(result.plot_importance(), tmp_path)
    assert {label.get_text() for label in axes.get_yticklabels()} == set(BEST)
    axes_of(result.plot_importance(local=True), tmp_path)
    for name in ("decay", "phase", "base"):
        assert axes_of(result.plot_curve(name), tmp_path).get_xlabel() == name


def test_ablation(result: capra.Result, tmp_path: Path) -> None:
    axes = axes_of(result.plot_ablation(), tmp_path)
    assert axes.get_yticklabels()[1].get_text() == "restarts"
    axes_of(result.plot_ablation(model=True), tmp_path)


def test_without_an_ablation(tmp_path: Path) -> None:
    found = capra.tune(scenario(), engine="simulated", overhead="ignore", out=tmp_path)
    with pytest.raises(InputError, match="no ablation was made"):
        found.plot_ablation()
    without = capra.tune(scenario(), engine="simulated", overhead="ignore")
    with pytest.raises(InputError, match="needs the tuning's folder"):
        without.plot_ablation()


def test_frames(result: capra.Result) -> None:
    runs = result.to_frame()
    assert len(runs) == len(result.history)
    assert runs["time"].sum() == pytest.approx(result.history.spent)
    assert set(runs["status"]) <= {"SUCCESS", "CAPPED", "TIMEOUT"}
    configs = result.to_frame("configurations").set_index("config")
    best = Configuration(BEST)
    assert configs.loc[best.id, "cost"] == pytest.approx(result.history.record(best).mean)
    assert list(result.to_frame("trajectory")["cost"]) == [one.cost for one in result.trajectory]
    matrix = result.to_frame("matrix")
    cell = matrix.loc[best.id, "i3"]
    costs = [cost for pair, cost in result.history.record(best).costs.items() if pair[0] == "i3"]
    assert cell == pytest.approx(sum(costs) / len(costs)) if costs else math.isnan(cell)
    with pytest.raises(InputError, match="did you mean 'matrix'"):
        result.to_frame("matrx")


@pytest.mark.parametrize(("module", "call"), [("matplotlib", "plot_trajectory"), ("pandas", "to_frame")])
def test_what_is_missing_is_named(result: capra.Result, monkeypatch: pytest.MonkeyPatch, module: str, call: str) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.split(".")[0] == module:
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InputError, match=r"capra\[plots\]"):
        getattr(result, call)()
