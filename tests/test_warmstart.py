"""Warm starts: what an earlier tuning found is tried first and taught to the model, and is otherwise no part of the new one."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import capra
from capra.errors import InputError
from capra.formats.instances import Features
from capra.overview import status_of
from capra.runs import Configuration, Outcome, Run, RunRequest, Status
from capra.runs.exchange import export_store, run_to_json
from capra.runs.store import Store
from capra.search.earlier import Earlier
from capra.search.observations import Observations
from capra.space import Real, Space
from capra.strategies import Context
from capra.strategies.smac import _features
from capra.targets import Table
from capra.warmstart import _judged_anew, read_earlier
from tests.runs.checker import check
from tests.strategies.conformance import KAPPA, lognormal, scenario, sequence

ROOT = Path(__file__).resolve().parents[1]


class Target:
    """The conformance suite's target, on the virtual clock."""

    def run(self, request: RunRequest) -> Outcome:
        return lognormal(request)

    def __call__(self, *_: object) -> float:
        raise AssertionError("the simulated engine asks run()")


def small(**options: Any) -> capra.Scenario:
    return scenario(**({"target": Target(), "budget": {"cpu": 800}} | options))


def tune(given: capra.Scenario, **options: Any) -> capra.Result:
    usual = {"engine": "simulated", "overhead": "ignore", "strategy": "smac", "candidates": 200, "refit": 20, "seed": 5}
    if options.get("strategy", "smac") != "smac":
        del usual["candidates"], usual["refit"]
    return capra.tune(given, **(usual | options))


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An earlier tuning, with another budget and half of its instances among the new ones."""
    out = tmp_path_factory.mktemp("before") / "run"
    tune(small(instances=[f"i{k}" for k in range(6, 18)], budget={"cpu": 1500}), out=out, strategy="roar", seed=1)
    return out


def incumbents(run: Path) -> list[Configuration]:
    with Store.read(run / "history.sqlite") as store:
        return [Configuration(data["config"]) for _, _, _, data in store.decisions("incumbent")]


def challengers(result: capra.Result) -> list[Configuration]:
    return list(dict.fromkeys(run.request.config for run in result.history if run.asked_by.startswith("challenger")))


# --- the effect ---


@cache
def table() -> Table:
    """300 configurations of which one is thirty times as fast as the next."""
    rng = np.random.default_rng(0)
    speed = rng.uniform(1.0, 3.0, size=300)
    speed[123] = 0.03
    times = np.minimum(speed[:, None] * rng.lognormal(0.0, 0.7, size=(300, 40)), 100.0)
    return Table(times, times < 100.0, [{"row": str(i)} for i in range(300)], [f"i{j}" for j in range(40)], 100.0)


@pytest.mark.parametrize("strategy", ["smac", "roar"])
def test_the_good_configuration_of_other_instances_is_found_at_once(tmp_path: Path, strategy: str) -> None:
    names = table().instances
    old = tmp_path / "old"
    first = tune(table().scenario(train=names[:20], budget={"runs": 2000}), out=old, strategy="roar")
    assert first.incumbent == {"row": "123"}
    given = table().scenario(train=names[20:], budget={"runs": 12})
    cold = tune(given, strategy=strategy)
    warm = tune(given, strategy=strategy, warm_start=old)
    assert dict(challengers(warm)[0]) == {"row": "123"}
    assert warm.incumbent == {"row": "123"}
    assert warm.cost < 0.2 * cold.cost


def test_the_last_incumbents_come_first_and_those_of_several_tunings_by_turns(before: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    tune(small(), out=other, strategy="roar", seed=2)
    one, two = incumbents(before)[::-1][:3], incumbents(other)[::-1][:3]
    found = read_earlier([before, other], small()).incumbents
    assert list(found) == list(dict.fromkeys(config for pair in zip(one, two, strict=True) for config in pair))
    result = tune(small(), warm_start=[before, other])
    tried = [config for config in found if config != small().default]
    assert challengers(result)[: len(tried)] == tried


# --- no part of the new tuning ---


def test_earlier_runs_cost_nothing_and_are_in_no_result(before: Path, tmp_path: Path) -> None:
    result = tune(small(), warm_start=before, out=tmp_path / "new")
    assert result.spent == pytest.approx(sum(run.outcome.time for run in result.history))
    assert result.spent >= 800
    with Store.read(tmp_path / "new" / "history.sqlite") as store:
        assert sequence(list(store.runs())) == sequence(list(result.history))
    with Store.read(before / "history.sqlite") as store:
        earlier = list(store.runs())
    assert {run.request.instance for run in result.history} <= {f"i{k}" for k in range(12)}
    assert result.history.runs[0].request.config == small().default
    assert not {run.request.cell for run in earlier} & {run.request.cell for run in result.history}  # seeds are drawn anew
    assert check(tmp_path / "new" / "history.sqlite") == []


def test_an_interrupted_tuning_goes_on_the_same_without_the_old_store(before: Path, tmp_path: Path) -> None:
    whole = tune(small(), warm_start=before)
    old, new = tmp_path / "old", tmp_path / "new"
    shutil.copytree(before, old)

    def stop_at(count: int) -> Any:
        return lambda tuning: tuning.stop() if len(tuning.history) >= count else None

    tune(small(), warm_start=old, out=new, watch=stop_at(1))
    shutil.rmtree(old)
    for count in (5, 30, 31):
        tune(small(), warm_start=old, out=new, watch=stop_at(count))
    last = capra.resume(new, small())
    assert sequence([run for run in last.history if run.outcome.status is not Status.LOST]) == sequence(list(whole.history))
    assert sequence(list(whole.history)) != sequence(list(tune(small()).history))
    with pytest.raises(InputError, match="other settings"):
        tune(small(), out=new)


def killed_after(runs: int, old: Path, new: Path) -> None:
    """For a process of its own: kill −9 in the middle of a tuning."""

    def kill(tuning: Any) -> None:
        if len(tuning.history) >= runs:
            os.kill(os.getpid(), signal.SIGKILL)

    tune(small(), warm_start=old, out=new, watch=kill, durability="full")


def test_a_killed_tuning_goes_on_the_same_without_the_old_store(before: Path, tmp_path: Path) -> None:
    whole = tune(small(), warm_start=before)
    old, new = tmp_path / "old", tmp_path / "new"
    shutil.copytree(before, old)
    for runs in (0, 25, 60):
        code = f"from tests.test_warmstart import *; killed_after({runs}, Path({str(old)!r}), Path({str(new)!r}))"
        done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False, timeout=60)
        assert done.returncode == -signal.SIGKILL
        if runs:  # before the first run, who was killed may have kept nothing
            shutil.rmtree(old, ignore_errors=True)
    last = tune(small(), warm_start=old, out=new)
    assert sequence([run for run in last.history if run.outcome.status is not Status.LOST]) == sequence(list(whole.history))
    assert check(new / "history.sqlite") == []


def test_a_store_that_was_only_just_made_reads_again(before: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed between the making of the store and the copy of what was read."""

    def killed(*_: object) -> Earlier:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("capra.warmstart.WarmStart.kept", killed)
        with pytest.raises(KeyboardInterrupt):
            tune(small(), warm_start=before, out=tmp_path)
    result = tune(small(), warm_start=before, out=tmp_path)
    assert sequence(list(result.history)) == sequence(list(tune(small(), warm_start=before).history))


def test_status_says_so(folder: Path) -> None:
    (folder / "target.py").write_text("def run(config, instance, seed, cutoff):\n    return 0.001\n")
    given = {"target": "target:run", "space": "parameters.pcs", "instances": "train", "cutoff": 1, "budget": {"runs": 4}}
    capra.tune(capra.Scenario(base=folder, **given), out=folder / "one")
    capra.tune(capra.Scenario(base=folder, **given), out=folder / "two", warm_start=folder / "one")
    assert status_of(folder / "one")["warm_start"] is None
    said = status_of(folder / "two")["warm_start"]
    assert said == {
        "incumbents": len(read_earlier([folder / "one"], capra.Scenario(base=folder, **given)).incumbents),
        "cells": 4,
    }


# --- what is read ---


@pytest.mark.parametrize(("kind", "name"), [("jsonl", "runs.jsonl"), ("csv", "runs.csv"), ("smac", "runhistory.json")])
def test_files_of_runs(before: Path, tmp_path: Path, kind: str, name: str) -> None:
    with Store.read(before / "history.sqlite") as store:
        export_store(store, tmp_path / name, kind)
    found, stored = read_earlier([tmp_path / name], small()), read_earlier([before], small())
    assert sorted(found.cells, key=str) == sorted(stored.cells, key=str)
    assert found.incumbents == stored.incumbents[:1]


def test_a_trajectory(before: Path, tmp_path: Path) -> None:
    with Store.read(before / "history.sqlite") as store:
        export_store(store, tmp_path / "traj_aclib2.json", "trajectory")
    assert read_earlier([tmp_path / "traj_aclib2.json"], small()) == Earlier(read_earlier([before], small()).incumbents)


def test_a_store_by_its_file(before: Path) -> None:
    assert read_earlier([before / "history.sqlite"], small()) == read_earlier([before], small())


def test_test_instances_stay_unseen(before: Path) -> None:
    whole = {pair[0] for _, pair, _, _ in read_earlier([before], small()).cells}
    held_out = small(instances=["i6", "i7"], test_instances=["i8", "i9"])
    assert {pair[0] for _, pair, _, _ in read_earlier([before], held_out).cells} == whole - {"i8", "i9"}


def test_many_cells_are_a_random_choice(before: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = read_earlier([before], small())
    monkeypatch.setattr("capra.warmstart.MOST", 50)
    some = read_earlier([before], small())
    assert len(some.cells) == 50
    assert set(some.cells) < set(whole.cells)
    assert some == read_earlier([before], small())


def test_only_a_pools_own_configurations_are_raced(before: Path) -> None:
    found = read_earlier([before], small()).incumbents
    pool = [*(Configuration({"algorithm": "c", "x": x}) for x in (0.3, 0.6, 0.9)), found[1]]
    result = tune(small(configurations=pool), warm_start=before)
    assert found[0] not in pool
    assert challengers(result)[0] == found[1]
    assert set(result.history.configurations) <= set(pool)


def test_what_was_read_is_kept_as_it_is(before: Path) -> None:
    earlier = read_earlier([before], small())
    assert len(earlier.cells) > 100
    assert Earlier.from_json(json.loads(json.dumps(earlier.to_json()))) == earlier


@pytest.mark.parametrize(
    ("status", "time", "then"),
    [
        (Status.SUCCESS, 50.0, (Status.SUCCESS, 50.0)),
        (Status.SUCCESS, 150.0, (Status.TIMEOUT, KAPPA)),
        (Status.TIMEOUT, 40.0, (Status.CAPPED, 40.0)),
        (Status.TIMEOUT, 300.0, (Status.TIMEOUT, KAPPA)),
        (Status.CAPPED, 40.0, (Status.CAPPED, 40.0)),
        (Status.CAPPED, 120.0, (Status.TIMEOUT, KAPPA)),
        (Status.CRASHED, 1.0, (Status.CRASHED, 1.0)),
    ],
)
def test_runs_are_judged_by_the_new_cutoff(status: Status, time: float, then: tuple[Status, float]) -> None:
    anew = _judged_anew(Outcome(status, time, time if status.censored else 400.0), small())
    assert (anew.status, anew.time) == then


@pytest.mark.parametrize(("objective", "cells"), [("par10", [(1000.0, False)]), ("par1", [(100.0, True)])])
def test_a_timeout_is_a_cost_or_a_bound(tmp_path: Path, objective: str, cells: list[tuple[float, bool]]) -> None:
    """As in the table of runs/objective.py: under PAR1 the model is one of times."""
    config = Configuration({"algorithm": "c", "x": 0.5})
    runs = [Outcome(Status.CAPPED, 30.0, 30.0), Outcome(Status.TIMEOUT, 400.0, 400.0), Outcome(Status.CAPPED, 20.0, 20.0)]
    lines = [run_to_json(Run(RunRequest(config, "i1", 7, outcome.cutoff), outcome)) for outcome in runs]
    (tmp_path / "runs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = read_earlier([tmp_path / "runs.jsonl"], small(objective=objective))
    assert found == Earlier((config,), tuple((config, ("i1", 7), *cell) for cell in cells))


def test_a_model_sees_earlier_cells_as_rows_of_their_own_instances() -> None:
    space = Space([Real("x", 0.0, 1.0, 0.5)])
    one, two = Configuration({"x": 0.25}), Configuration({"x": 0.75})
    cells = [(one, ("a", 1), 10.0, False), (one, ("elsewhere", 1), 100.0, True)]
    seen = Observations(space, ["a", "b"], earlier=cells)
    history = capra.tune(small(budget={"runs": 1}), engine="simulated").history  # an empty one would do
    history.runs.clear()
    history.add(Run(RunRequest(two, "b", 1, 100.0), Outcome(Status.SUCCESS, 1.0, 100.0)))
    seen.update(history)
    config, instance, y, censored = seen.arrays()
    assert seen.instances == ["a", "b", "elsewhere"]
    assert seen.own == 2
    assert (config.tolist(), instance.tolist()) == ([0, 0, 1], [0, 2, 1])
    assert (y.tolist(), censored.tolist()) == ([1.0, 2.0, 0.0], [False, True, False])
    assert seen.tried.tolist() == [False, True]
    assert seen.codes.ravel().tolist() == [0.25, 0.75]


def test_features_of_earlier_instances(before: Path) -> None:
    """The feature file may list more instances than the scenario has; where it does not, means stand in."""
    rows = {f"i{k}": (float(k), 1.0 + k % 3) for k in range(15)}
    given = small(features=Features(("size", "kind"), rows), budget={"cpu": 300})
    names: list[str | None] = [f"i{k}" for k in range(18)]
    found = _features(Context(given), names)
    known = np.array([rows[f"i{k}"] for k in range(15)])
    assert found.shape == (18, 2)
    assert found[:15] == pytest.approx((known - known.min(axis=0)) / np.ptp(known, axis=0))
    assert found[15:] == pytest.approx(np.tile(found[:15].mean(axis=0), (3, 1)))
    assert len(tune(given, warm_start=before).history) > 10


# --- what is refused, before there is a folder ---


def refused(place: Path, message: str, tmp_path: Path, given: capra.Scenario | None = None) -> None:
    with pytest.raises(InputError, match=message):
        tune(given or small(), warm_start=place, out=tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_another_space(before: Path, tmp_path: Path) -> None:
    space = Space([Real("x", 0.0, 2.0, 0.9), Real("y", 0.0, 1.0, 0.5)])
    words = "another space: only it has algorithm, n; it lacks y; other values or conditions of x"
    refused(before, words, tmp_path, small(space=space))
    with Store.read(before / "history.sqlite") as store:
        for kind, name in (("jsonl", "runs.jsonl"), ("trajectory", "traj.json")):
            export_store(store, tmp_path / name, kind)
            refused(tmp_path / name, "another space: unknown parameter 'algorithm'", tmp_path, small(space=space))


def test_another_default_is_the_same_space(before: Path) -> None:
    parameters = dict(small().space.parameters)
    parameters["x"] = parameters["x"].with_default(0.1)
    space = Space(parameters.values(), small().space.conditions)
    assert read_earlier([before], small(space=space)).cells


def test_another_unit_or_objective(before: Path, tmp_path: Path) -> None:
    refused(before, "times in another unit: steps, not cpu", tmp_path, small(unit="cpu"))
    refused(before, "tuned for runtime, not for quality", tmp_path, small(objective="quality"))


def test_places_with_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    refused(tmp_path / "none", "there is no .*none", tmp_path)
    refused(tmp_path / "empty", "holds no tuning", tmp_path)
    for name in ("runs.jsonl", "traj.json"):
        (tmp_path / name).write_text("" if name == "runs.jsonl" else "{}\n")
    refused(tmp_path / "runs.jsonl", "holds nothing to start from", tmp_path)
    refused(tmp_path / "traj.json", "not a run history", tmp_path)
    (tmp_path / "runs.xyz").write_text("")
    refused(tmp_path / "runs.xyz", "may be anything", tmp_path)


def test_a_broken_trajectory(tmp_path: Path) -> None:
    good = json.dumps({"incumbent": ["algorithm='c'", "x='0.5'"]})
    (tmp_path / "traj.json").write_text(f'{good}\n\n{{"incumbent": 7}}\n')
    refused(tmp_path / "traj.json", "traj.json:3: is not an incumbent", tmp_path)
    (tmp_path / "traj.json").write_text(good)
    assert read_earlier([tmp_path / "traj.json"], small()).incumbents == (Configuration({"algorithm": "c", "x": 0.5}),)
