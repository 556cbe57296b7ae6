"""Builders on the virtual clock: what every one of them promises, and what each is for."""

from __future__ import annotations

import math
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import capra
from capra.build import build
from capra.errors import InputError, StoreError
from capra.portfolio.builder import Builder
from capra.portfolio.cedalion import Cedalion
from capra.portfolio.grouping import regrouped
from capra.portfolio.hydra import is_sure
from capra.runs import Configuration, Outcome, RunRequest, Status
from capra.runs.store import Store
from capra.scenario import Scenario
from capra.space import Categorical, Real, Space
from capra.strategies import BUILDERS
from capra.strategies.base import Context
from capra.targets import Table
from tests.runs.checker import check

ROOT = Path(__file__).resolve().parents[2]
KINDS = ("north", "south", "east")
CUTOFF = 100.0
BUDGET = 3000.0
FACTOR = 30.0
"""How many times as long a configuration takes on instances that are not of its kind."""
OPTIONS: dict[str, dict[str, Any]] = {
    "experts": {},
    "isac": {"min_size": 5},
    "hydra": {"rounds": 3},
    "cedalion": {"slots": 3},
    "grouping": {"k": 3, "phases": 2},
}
FEW = {"candidates": 200, "refit": 20, "initial": 3}
"""Options that keep smac's own work small."""


def kind(instance: str) -> int:
    return int(instance[1:]) % len(KINDS)


class Target:
    """Instances of three kinds; a configuration is for one of them, and 30 times slower on the others. x = 0.5 is best."""

    def run(self, request: RunRequest) -> Outcome:
        config, name = request.config, request.instance or ""
        luck = np.random.default_rng([int(request.config.id, 16) % 2**32, int(name[1:]), request.seed]).normal()
        right = config["kind"] == KINDS[kind(name)]
        time = 1.0 * math.exp(abs(float(config["x"]) - 0.5) + 0.2 * luck) * (1.0 if right else FACTOR)
        if time <= request.cutoff:
            return Outcome(Status.SUCCESS, time, request.cutoff)
        return Outcome(Status.CAPPED if request.cutoff < CUTOFF else Status.TIMEOUT, request.cutoff, request.cutoff)

    def __call__(self, *_: object) -> float:
        raise AssertionError("the simulated engine asks run()")


def scenario(budget: float = BUDGET, instances: int = 24, **options: Any) -> Scenario:
    names = [f"i{k}" for k in range(instances)]
    rng = np.random.default_rng(0)
    rows = {name: (*(10.0 * np.eye(3)[kind(name)] + rng.normal(0, 0.3, 3)).tolist(), float(rng.normal())) for name in names}
    given: dict[str, Any] = {
        "target": Target(),
        "space": Space([Categorical("kind", KINDS, "north"), Real("x", 0.0, 1.0, 0.9)]),
        "instances": names,
        "features": capra.formats.instances.Features(("a", "b", "c", "noise"), rows),
        "groups": {group: [name for name in names if kind(name) == k] for k, group in enumerate(KINDS)},
        "cutoff": CUTOFF,
        "unit": "steps",
        "budget": {"cpu": budget},
    }
    return Scenario(**(given | options))


def built(name: str, given: Scenario | None = None, inner: str = "roar", *, slowly: bool = False, **options: Any) -> Any:
    more = FEW if inner == "smac" else {}
    if slowly:  # so that somebody can kill it
        more = {"watch": lambda _: time.sleep(0.01), "durability": "full"}
    usual = {"engine": "simulated", "overhead": "ignore", "inner": inner, **OPTIONS[name], **more}
    return build(given or scenario(), name, **(usual | options))


def kinds_of(members: tuple[Configuration, ...]) -> set[object]:
    return {member["kind"] for member in members}


def runs_of(history: Any) -> list[tuple[object, ...]]:
    return [(run.request.cell, run.request.cutoff, run.outcome.status, run.outcome.time, run.asked_by) for run in history]


# --- what every builder promises ---


@pytest.mark.parametrize("name", BUILDERS)
def test_the_members_complement_each_other(name: str) -> None:
    """One configuration costs at least a third of (1 + 2 · 30) times what the best for each kind does."""
    portfolio = built(name, scenario(12000.0)).portfolio
    assert kinds_of(portfolio.members) == set(KINDS)


@pytest.mark.parametrize("name", BUILDERS)
@pytest.mark.parametrize("inner", ["roar", "smac"])
def test_a_resumed_building_is_the_uninterrupted_one(name: str, inner: str, tmp_path: Path) -> None:
    """Killed after any number of runs: here the store is cut off, as a kill −9 would have left it."""
    whole = built(name, inner=inner, out=tmp_path / "whole")
    for kept in (len(whole.history) // 2, len(whole.history) - 2):
        folder = tmp_path / str(kept)
        cut_off(tmp_path / "whole", folder, kept)
        again = built(name, inner=inner, out=folder)
        assert runs_of(again.history) == runs_of(whole.history), kept
        assert again.portfolio.to_dict() == whole.portfolio.to_dict()
        assert check(folder / "history.sqlite", budget=BUDGET) == []


def cut_off(source: Path, folder: Path, kept: int) -> None:
    """A copy of a store as it was when so many runs had been told."""
    folder.mkdir()
    with Store.read(source / "history.sqlite") as store:
        store.backup(folder / "history.sqlite")
    connection = sqlite3.connect(folder / "history.sqlite")
    with connection:
        for sql in (
            "DELETE FROM outcomes WHERE position > ?",
            "DELETE FROM decisions WHERE known >= ?",
            "DELETE FROM leases WHERE assignment NOT IN (SELECT assignment FROM outcomes) AND ?",
        ):
            connection.execute(sql, (kept,))
    connection.close()


@pytest.mark.parametrize("name", ["hydra", "grouping"])
def test_a_killed_building_goes_on(name: str, tmp_path: Path) -> None:
    """kill −9 of the real process, somewhere; the rest of it is as if nothing had happened."""
    code = f"from tests.portfolio.test_builders import built; built({name!r}, out={str(tmp_path / 'killed')!r}, slowly=True)"
    process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT)
    store = tmp_path / "killed" / "history.sqlite"
    while process.poll() is None and runs_in(store) < 30:
        time.sleep(0.02)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    known = runs_in(store)
    again, whole = built(name, out=tmp_path / "killed"), built(name)
    assert 30 <= known < len(whole.history)
    assert runs_of(again.history) == runs_of(whole.history)
    assert again.portfolio.to_dict() == whole.portfolio.to_dict()
    assert check(store, budget=BUDGET) == []


def runs_in(path: Path) -> int:
    """How many runs are safe in a store that somebody may be writing."""
    if not path.exists():
        return 0
    try:
        with Store.read(path) as store:
            return store.accepted
    except StoreError:  # it is just being made
        return 0


@pytest.mark.parametrize("name", BUILDERS)
@pytest.mark.parametrize("workers", [1, 4])
def test_no_cell_is_run_twice_to_the_same_cutoff(name: str, workers: int, tmp_path: Path) -> None:
    found = built(name, workers=workers, out=tmp_path)
    longest: dict[object, float] = {}
    for run in found.history:
        cell = run.request.cell
        assert run.request.cutoff > longest.get(cell, 0.0), "the history could have answered this"
        ended = run.outcome.status is not Status.CAPPED
        longest[cell] = math.inf if ended else max(longest.get(cell, 0.0), run.outcome.time)
    assert check(tmp_path / "history.sqlite", budget=BUDGET, workers=workers) == []


@pytest.mark.parametrize("name", BUILDERS)
def test_the_budget_is_kept_and_nearly_used(name: str) -> None:
    found = built(name, workers=3)
    assert found.spent <= BUDGET + 3 * CUTOFF


@pytest.mark.parametrize("name", BUILDERS)
@pytest.mark.parametrize("inner", ["ils", "gga", "irace"])
def test_any_strategy_can_tune_inside(name: str, inner: str) -> None:
    assert len(built(name, scenario(500.0), inner).portfolio.members) >= 1


def test_options_reach_the_builder_or_its_strategy() -> None:
    with pytest.raises(InputError, match="strategy roar has no option 'wings'"):
        built("hydra", wings=2)
    with pytest.raises(InputError, match="rounds is a whole number"):
        built("hydra", rounds=0)
    with pytest.raises(InputError, match="unknown strategy 'hydra9'"):
        built("hydra", inner="hydra9")
    with pytest.raises(InputError, match="unknown builder 'hidra'"):
        build(scenario(), "hidra", engine="simulated")
    with pytest.raises(InputError, match="objectives parK"):
        built("hydra", scenario(objective="quality"))


# --- each of them ---


def test_experts_need_every_instance_in_one_group() -> None:
    with pytest.raises(InputError, match="i1 is in no group"):
        built("experts", scenario(groups={"some": ["i0", "i2*"]}))
    with pytest.raises(InputError, match="is in a and b"):
        built("experts", scenario(groups={"a": ["*"], "b": ["i3"]}))
    with pytest.raises(InputError, match=r"no training instance is in the group b: j\*, k\*"):
        built("experts", scenario(groups={"a": ["*"], "b": ["j*", "k*"]}))


def test_groups_in_the_instance_file(tmp_path: Path) -> None:
    lines = [f"i{k} {KINDS[k % 3]} hard" for k in range(24)]
    (tmp_path / "instances.txt").write_text("\n".join(lines))
    given = {name: value for name, value in scenario().given.items() if name not in ("groups", "instances")}
    given["budget"] = {"cpu": 6000.0}
    found = built("experts", Scenario(base=tmp_path, instances="instances.txt", **given))
    assert kinds_of(found.portfolio.members) == set(KINDS)
    found = built("experts", Scenario(base=tmp_path, instances="instances.txt", **given), column=2)
    assert len(found.portfolio.members) == 1


def test_hydra_caps_at_the_time_of_the_portfolio() -> None:
    """After the first round nobody runs longer on a pair than the members do that were there before."""
    steps: dict[str, list[Any]] = {}
    last: list[Any] = []
    found = built("hydra", watch=lambda tuning: last.__setitem__(slice(None), [tuning]))
    for run in found.history:
        steps.setdefault(run.asked_by.split()[0], []).append(run)
    builder: Builder = last[0].strategy
    first = builder.members[0]
    times = {(run.request.instance, run.request.seed): run.outcome for run in found.history if run.request.config == first}
    for run in steps["2"]:
        before = times[run.request.instance, run.request.seed]
        assert run.request.cutoff <= (before.time if before.status is Status.SUCCESS else CUTOFF)


def test_reaching_the_ceiling_is_an_evaluation_and_not_a_rejection() -> None:
    from capra.portfolio.views import Ceilings

    view = Ceilings({("a", 1): 2.0, ("b", 1): math.inf}.__getitem__)
    config = Configuration({"x": 1})
    asked = RunRequest(config, "a", 1, 50.0)
    assert view.real(asked).cutoff == 2.0
    reached = view.shown(asked, Outcome(Status.CAPPED, 2.0, 2.0))
    assert (reached.status, reached.time) == (Status.SUCCESS, 2.0)
    assert view.shown(asked, Outcome(Status.CRASHED, 0.1, 2.0)).time == 2.0
    assert view.shown(asked, Outcome(Status.CAPPED, 1.0, 1.0)).status is Status.CAPPED
    assert view.shown(asked, Outcome(Status.WRONG, 1.0, 2.0)).status is Status.WRONG
    assert view.real(RunRequest(config, "b", 1, 50.0)).cutoff == 50.0
    known = [(config, ("a", 1), 5.0, False), (config, ("a", 1), 3.0, True), (config, ("a", 1), 1.0, True)]
    assert [cell[2:] for cell in view.cells(known)] == [(2.0, False), (2.0, False), (1.0, True)]


def test_hydra_stops_where_nothing_is_gained() -> None:
    """One configuration is best everywhere: a second member adds nothing."""
    times = np.outer([3.0, 1.0, 2.0, 4.0], np.linspace(1.0, 5.0, 20))
    table = Table(times, times > 0.0, [{"c": str(c)} for c in range(4)], [f"i{j}" for j in range(20)], CUTOFF)
    found = built("hydra", table.scenario(budget={"cpu": BUDGET}))
    assert [member["c"] for member in found.portfolio.members] == ["1"]
    assert found.spent < 0.5 * BUDGET


def test_a_gain_on_few_instances_is_not_sure() -> None:
    rng = np.random.default_rng(0)
    assert not is_sure(np.array([100.0] + [0.0] * 49), rng)
    assert is_sure(np.array([100.0] * 10 + [0.0] * 40), rng)


def test_isac_needs_features() -> None:
    given = {name: value for name, value in scenario().given.items() if name != "features"}
    with pytest.raises(InputError, match="clusters instances by their features"):
        built("isac", Scenario(**given))


def test_isac_beats_every_single_configuration_by_the_known_factor() -> None:
    """Three kinds, one third each: the best single configuration costs (1 + 2 · 30)/3 times what one per kind does."""
    found = built("isac", scenario(6000.0, instances=45), radius=10.0)  # nobody is a stranger here
    portfolio, target = found.portfolio, Target()
    fresh = scenario(instances=90)
    ours, singles = [], {member: [] for member in portfolio.members}
    for instance in fresh.instances[45:]:
        row = np.array([fresh.features.rows[instance.name]])
        ((chosen, _),) = portfolio.plan(row)
        ours.append(time_of(target, portfolio.members[chosen], instance.name))
        for member, times in singles.items():
            times.append(time_of(target, member, instance.name))
    assert portfolio.selection is not None
    assert portfolio.selection.selector.name == "cluster"
    factor = min(float(np.mean(times)) for times in singles.values()) / float(np.mean(ours))
    assert 0.8 * (1 + 2 * FACTOR) / 3 < factor < 1.25 * (1 + 2 * FACTOR) / 3


def time_of(target: Target, config: Configuration, instance: str) -> float:
    return target.run(RunRequest(config, instance, 7, CUTOFF)).time


def test_badly_served_instances_move_within_the_limits() -> None:
    costs = np.array([[1.0] * 8 + [9.0] * 4, [9.0] * 8 + [1.0] * 4])
    label = np.array([0, 1] * 6)
    moved = regrouped(costs, label, 2)
    assert np.bincount(moved).tolist() == [8, 4]
    assert moved.tolist() == [0] * 8 + [1] * 4
    nearly = np.array([[1.0] * 12, [1.5] * 12])
    assert regrouped(nearly, label, 2).tolist() == label.tolist()  # not badly served
    all_one = np.array([[1.0] * 12, [9.0] * 12])
    assert np.bincount(regrouped(all_one, label, 2)).tolist() == [9, 3]  # within 1.5 and 0.5 of an even group


def test_a_finite_pool_with_slots() -> None:
    rng = np.random.default_rng(3)
    times = np.where(np.arange(20)[:, None] % 2 == np.arange(30)[None, :] % 2, 1.0, 500.0) * rng.lognormal(0, 0.3, (20, 30))
    solved = times < CUTOFF
    table = Table(
        np.where(solved, times, CUTOFF), solved, [{"c": str(c)} for c in range(20)], [f"i{j}" for j in range(30)], CUTOFF
    )
    found = built("cedalion", table.scenario(budget={"cpu": BUDGET}))
    portfolio = found.portfolio
    lane = (*portfolio.before(), *portfolio.plan(np.empty((1, 0))))
    assert len(lane) >= 2
    assert {int(str(found.portfolio.members[c]["c"])) % 2 for c, _ in lane} == {0, 1}


def test_slots_grow_until_they_fill_the_cutoff() -> None:
    builder = Cedalion(Context(scenario()), inner="roar", slots=4)
    lengths = [builder._lengths(number, 0.0) for number in range(4)]
    assert lengths[0][0] == pytest.approx(CUTOFF / 1000.0)
    assert [most for _, most in lengths[:-1]] == pytest.approx([least for least, _ in lengths[1:-1]] + [CUTOFF * 1e-3**0.25])
    assert lengths[-1] == (pytest.approx(CUTOFF * 1e-3**0.25), CUTOFF)
    assert builder._lengths(3, 90.0) == (5.0, 10.0)  # no more than there is room for
    only = Cedalion(Context(scenario()), inner="roar", slots=1)._lengths(0, 0.0)
    assert only == (pytest.approx(CUTOFF / 1000.0), CUTOFF)


def test_steps_know_what_earlier_ones_measured() -> None:
    """The second tuning begins with the first one's answer, and with cells for its model."""
    from capra.portfolio.experts import Experts

    given = scenario()
    builder = Experts(Context(given), inner="roar")
    assert builder.step is not None
    assert builder.step.what == "tuning for north"
    assert {instance.name for instance in builder.step.strategy.context.scenario.instances} == set(builder.groups["north"])
