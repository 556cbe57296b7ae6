"""Ablation: known paths, interactions, conditions, forbidden steps, capping, kill and resume."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import capra
from capra.analysis.ablation import Ablation, ablate, load_ablation, predict_ablation
from capra.analysis.flips import flips
from capra.errors import InputError
from capra.runs import Configuration, RunRequest, Status
from capra.runs.store import Store
from capra.space import And, Space, equals
from tests.analysis.known import BEST, scenario, seconds, space, tuned

PATH = ["default", "restarts", "decay", "useless", "heuristic", "phase"]
"""By hand: restarts gain 1.0 (in log10) with their base, decay 0.1; then nothing helps alone. The useless one may come
anywhere, and of the two that help only together the heuristic comes first, since the phase alone does harm."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("tuned")
    tuned(out)
    return out


def labels(found: Ablation) -> list[str]:
    return [step.label for step in found.steps]


def mean_cost(config: Configuration, folder: Path) -> float:
    """What the ablation should have measured: the function itself on its pairs."""
    store = next(folder.glob("ablation-*.sqlite"))
    with Store.read(store) as opened:
        pairs = {(run.request.instance, run.request.seed) for run in opened.runs()}
    times = [seconds(config, instance, seed, 200.0) for instance, seed in pairs]
    return sum(times) / len(times)


def test_the_known_path(folder: Path) -> None:
    found = ablate(folder, scenario(), pairs=8)
    assert labels(found)[:3] == PATH[:3]
    assert labels(found).index("heuristic") < labels(found).index("phase")
    assert sorted(labels(found)) == sorted(PATH)
    assert found.finished
    assert dict(found.steps[-1].config) == BEST
    assert found.steps[1].changes == {"restarts": ("off", "on"), "base": (None, 5)}  # what it activates comes along
    for step in found.steps:
        assert step.cost == pytest.approx(mean_cost(step.config, folder))
        assert step.interval[0] <= step.cost <= step.interval[1]
    assert sum(step.share or 0.0 for step in found.steps) == pytest.approx(1.0)
    assert (found.steps[1].p_value or 1.0) < 0.02
    assert (found.steps[labels(found).index("useless")].p_value or 0.0) == 1.0


def test_a_second_call_makes_no_run(folder: Path) -> None:
    first = ablate(folder, scenario(), pairs=8)
    assert ablate(folder, scenario()) == first
    assert load_ablation(folder, scenario()) == first


def test_another_number_of_pairs_is_refused(folder: Path) -> None:
    ablate(folder, scenario(), pairs=8)
    with pytest.raises(InputError, match="with 8 pairs was begun"):
        ablate(folder, scenario(), pairs=5)


def test_runs_of_the_tuning_are_not_made_again(folder: Path) -> None:
    ablate(folder, scenario(), pairs=8)
    with Store.read(folder / "history.sqlite") as opened:
        before = {run.request.cell for run in opened.runs() if run.outcome.status is not Status.CAPPED}
    with Store.read(next(folder.glob("ablation-*.sqlite"))) as opened:
        made = [run.request.cell for run in opened.runs() if run.outcome.status is not Status.CAPPED]
    assert not before & set(made)
    assert len(set(made)) == len(made)


@pytest.mark.parametrize("workers", [1, 5])
def test_capping_saves_time_and_changes_nothing(tmp_path: Path, workers: int) -> None:
    """Against brute force by hand: every step of every round on all pairs, uncapped, but for what the tuning has run."""
    tuned(tmp_path)
    with Store.read(tmp_path / "history.sqlite") as opened:
        done = {run.request.cell for run in opened.runs() if run.outcome.status is not Status.CAPPED}
    found = ablate(tmp_path, scenario(), pairs=8, racing=False, workers=workers)
    with Store.read(next(tmp_path.glob("ablation-*.sqlite"))) as opened:
        pairs = {(run.request.instance, run.request.seed) for run in opened.runs()}
    here, path, brute = space.default, ["default"], 0.0
    while steps := flips(space, here, Configuration(BEST)):
        costs = [mean_cost(step.config, tmp_path) for step in steps]
        cells = {RunRequest(step.config, *pair, 200.0).cell: (step.config, *pair) for step in steps for pair in pairs}
        brute += sum(seconds(*what, 200.0) for cell, what in cells.items() if cell not in done)
        done |= cells.keys()
        best = steps[costs.index(min(costs))]
        path.append(best.label)
        here = best.config
    assert [step.cost for step in found.steps[1:]] == pytest.approx([mean_cost(s.config, tmp_path) for s in found.steps[1:]])
    assert [label for label in labels(found) if label != "useless"] == [label for label in path if label != "useless"]
    assert found.spent < brute


def test_a_budget_ends_it_and_the_next_call_goes_on(tmp_path: Path) -> None:
    tuned(tmp_path)
    part = ablate(tmp_path, scenario(), pairs=8, budget=300.0)
    assert not part.finished
    assert part.spent <= 300.0 + 200.0
    whole = ablate(tmp_path, scenario())
    assert whole.finished
    assert labels(whole)[: len(part.steps)] == labels(part)


KILLED = """
import os, signal, sys
from pathlib import Path
from capra.analysis.ablation import ablate
from tests.analysis.known import scenario

def watch(tuning):
    if len(tuning.history) >= int(sys.argv[2]):
        tuning.store.flush()
        os.kill(os.getpid(), signal.SIGKILL)

ablate(Path(sys.argv[1]), scenario(), pairs=8, watch=watch)
"""


def test_killed_and_resumed(tmp_path: Path) -> None:
    tuned(tmp_path / "a")
    tuned(tmp_path / "b")
    for runs in (7, 30):
        done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "a"), str(runs)], check=False, timeout=120)
        assert done.returncode == -9
    resumed, straight = (ablate(tmp_path / name, scenario(), pairs=8) for name in "ab")
    assert resumed == straight


def test_the_model_finds_what_matters_most(folder: Path) -> None:
    out = folder / "longer"
    capra.tune(scenario(budget={"runs": 600}), engine="simulated", overhead="ignore", capping=False, out=out)
    found = predict_ablation(out, scenario(budget={"runs": 600}))
    assert found.kind == "model"
    assert labels(found)[1] == "restarts"
    assert (found.steps[1].share or 0.0) > 0.5
    assert dict(found.steps[-1].config) == BEST
    assert not list(out.glob("ablation*"))


# --- steps ---


def test_steps_of_a_conditional_parameter() -> None:
    default = space.default
    assert [flip.label for flip in flips(space, default, Configuration(BEST))] == [
        "restarts", "phase", "heuristic", "decay", "useless"]  # fmt: skip
    (back,) = [flip for flip in flips(space, Configuration(BEST), default) if flip.label == "restarts"]
    assert "base" not in back.config  # what becomes inactive goes along
    other = Configuration({**BEST, "base": 2})
    assert [flip.label for flip in flips(space, other, Configuration(BEST))] == ["base"]


def test_forbidden_steps_are_left_out_or_taken_together() -> None:
    parameters = list(space.parameters.values())
    never = And((equals("phase", "saved"), equals("heuristic", "vsids")))
    some = Space(parameters, space.conditions, [never])
    assert "phase" not in [flip.label for flip in flips(some, some.default, Configuration(BEST))]
    also = And((equals("phase", "true"), equals("heuristic", "berkmin")))
    tied = Space(parameters, space.conditions, [never, also])
    source, target = tied.default, Configuration({**tied.default, "phase": "saved", "heuristic": "berkmin"})
    (only,) = flips(tied, source, target)
    assert only.names == ("phase", "heuristic")
    assert only.config == target


def test_the_path_goes_around_what_is_forbidden(tmp_path: Path) -> None:
    never = And((equals("phase", "saved"), equals("heuristic", "vsids")))
    fenced = Space(list(space.parameters.values()), space.conditions, [never])
    tuned(tmp_path, space=fenced)
    found = ablate(tmp_path, scenario(space=fenced), pairs=4)
    assert labels(found).index("heuristic") < labels(found).index("phase")


# --- what cannot be done ---


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no tuning"):
        ablate(tmp_path)
    only = {"initial": [], "budget": {"runs": 1}}
    capra.tune(scenario(**only), engine="simulated", out=tmp_path / "a")
    with pytest.raises(InputError, match="default is the incumbent"):
        ablate(tmp_path / "a", scenario(**only))


def test_wrong_answers_are_the_last_resort(tmp_path: Path) -> None:
    def cheats(config: Any, instance: str | None, seed: int, cutoff: float) -> float | dict[str, Any]:
        time = seconds(config, instance, seed, cutoff)
        return {"status": "CRASHED", "time": 0.01} if config["decay"] == 1.0 and config["restarts"] == "off" else time

    tuned(tmp_path, target=cheats)
    found = ablate(tmp_path, scenario(target=cheats), pairs=4)
    assert labels(found)[1] == "restarts"
    assert found.finished
