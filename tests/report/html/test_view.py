"""What a report knows of a store: held against the plain history, and read on while the store grows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from capra.errors import InputError
from capra.folder import open_store
from capra.overview import load_history, load_scenario
from capra.report.html.columns import STATUSES
from capra.report.html.estimate import sampled
from capra.report.html.page import document_of
from capra.report.html.view import View
from capra.runs import Configuration, Outcome, RunRequest, Status
from capra.runs.store import Store
from capra.scenario import Scenario
from tests.report.html.runs import HOSTILE, given, named, tuned

SETTINGS = {"strategy": "roar", "engine": "simulated", "options": {}}


@pytest.fixture(scope="module")
def tuning(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Scenario]:
    folder = tmp_path_factory.mktemp("tuning")
    return folder, tuned(folder, budget={"runs": 300})


def looked_at(run: Path) -> View:
    view = View(run)
    view.update()
    return view


def test_a_view_knows_what_the_history_knows(tuning: tuple[Path, Scenario]) -> None:
    run, scenario = tuning
    view = looked_at(run)
    with pytest.raises(InputError, match="Python objects"):
        load_scenario(run)
    history, milestones = load_history(run, scenario)
    assert [run.outcome for run in view.history] == [run.outcome for run in history]
    assert view.trajectory == milestones
    assert view.default == scenario.default  # told by its values
    assert view.incumbent == milestones[-1].config
    assert view.spent["cpu"] == pytest.approx(history.spent)
    assert view.budget == {"runs": 300}
    view.close()


def test_cells_are_those_of_the_history(tuning: tuple[Path, Scenario]) -> None:
    view = looked_at(tuning[0])
    cells = view.columns.cells()
    configs, names = view.columns.configs.things, view.columns.instances.things
    found: dict[object, list[tuple[float, bool]]] = {}
    for c, i, time, censored in zip(cells.config, cells.instance, cells.time, cells.censored, strict=True):
        found.setdefault((configs[c], names[i]), []).append((time, bool(censored)))
    expected: dict[object, list[tuple[float, bool]]] = {}
    known: dict[object, Outcome] = {}
    for run in view.history:  # by brute force: the first complete outcome of a cell, else its longest censored one
        outcome, cell = run.outcome, (run.request.config, run.request.instance, run.request.seed)
        if outcome.status in (Status.SUCCESS, Status.CAPPED, Status.TIMEOUT):
            before = known.get(cell)
            if before is None or (before.censored and (not outcome.censored or outcome.time > before.time)):
                known[cell] = outcome
    for (config, instance, _), outcome in known.items():
        expected.setdefault((config, instance), []).append((outcome.time, outcome.censored))
    assert {key: sorted(value) for key, value in found.items()} == {key: sorted(value) for key, value in expected.items()}
    view.close()


def test_reading_on_comes_to_the_same_as_reading_all(tmp_path: Path) -> None:
    scenario = given(instances=named(HOSTILE))
    configs = scenario.space.decode(scenario.space.sample(8, np.random.default_rng(0)))
    with open_store(scenario, SETTINGS, tmp_path, durability="full") as store:
        view = View(tmp_path)
        assert view.update()
        assert not view.update()
        assert len(view.history) == 0
        for k, config in enumerate([scenario.default, *configs]):
            write(store, config, HOSTILE[k % 3], k)
            assert view.update()
        assert not view.update()
        fresh = looked_at(tmp_path)
        assert document_of(view) == document_of(fresh)
        view.close()
        fresh.close()


def write(store: Store, config: Configuration, instance: str, seed: int, status: Status = Status.SUCCESS) -> None:
    lease = store.lease(RunRequest(config, instance, seed, 100.0), "challenger 1")
    store.finish(lease.assignment, 1, Outcome(status, 1.0 + seed, 100.0), float(seed))


def test_runs_that_were_taken_back_are_forgotten(tmp_path: Path) -> None:
    scenario = given(instances=named(HOSTILE))
    with open_store(scenario, SETTINGS, tmp_path, durability="full") as store:
        for seed in range(5):
            write(store, scenario.default, HOSTILE[0], seed)
        view = looked_at(tmp_path)
        store.take_back([pair for pair in store.latest(3)], "the machine was broken")
        write(store, scenario.default, HOSTILE[1], 7)
        write(store, scenario.default, HOSTILE[1], 8)
        assert view.update()  # as many runs as before, but not the same
        assert [run.request.seed for run in view.history] == [0, 1, 2, 7, 8]
        assert len(view.columns) == 5
        view.close()


def test_whoever_was_drawn_stays_drawn(tuning: tuple[Path, Scenario]) -> None:
    view = looked_at(tuning[0])
    keep = view.named
    small, large = (sampled(view.columns, keep, most) for most in (30, 60))
    assert set(small) <= set(large)
    assert set(keep) <= set(small)
    assert [view.columns.configs.get(config) for config in large] == sorted(view.columns.numbers(large))
    view.close()


def test_a_validation_is_found_when_it_comes(tmp_path: Path) -> None:
    tuned(tmp_path, validated=True, budget={"runs": 200})
    (tmp_path / "validation.sqlite").rename(tmp_path / "later")
    view = looked_at(tmp_path)
    assert view.test is None
    assert view.training is not None
    (tmp_path / "later").rename(tmp_path / "validation.sqlite")
    assert view.update()
    assert view.test is not None
    assert view.test.instances == len(HOSTILE)
    view.close()


def test_the_default_of_a_pool(tmp_path: Path) -> None:
    """The space's, if it is in the pool, whoever was run first; else the pool's first."""
    space = given().space
    other = {"algorithm": "b", "x": 0.5, "n": 4}
    for name, pool, wanted in (("with", [other, dict(space.default)], 1), ("without", [other, other | {"n": 5}], 0)):
        scenario = given(configurations=pool)
        with open_store(scenario, SETTINGS, tmp_path / name, durability="full") as store:
            for seed, config in enumerate(pool):
                write(store, Configuration(config), "i0", seed)
        view = looked_at(tmp_path / name)
        assert view.default == Configuration(pool[wanted]) == scenario.default
        view.close()


def test_statuses_are_numbered_as_they_are_declared() -> None:
    assert tuple(Status) == STATUSES


def test_a_store_without_a_scenario(tmp_path: Path) -> None:
    Store.create(tmp_path / "history.sqlite", {}).close()
    with pytest.raises(InputError, match="does not say what was tuned"):
        View(tmp_path)
    with pytest.raises(InputError, match="holds no tuning"):
        View(tmp_path / "nowhere")
