"""The pages of a portfolio: what members add, who is chosen where, the schedule; from runs whose answers are known."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given as where
from hypothesis import strategies as st

from capra.build import build
from capra.evaluate import Evaluated, evaluate
from capra.formats.instances import Features
from capra.portfolio.greedy import portfolio_cost
from capra.portfolio.product import read_portfolio
from capra.portfolio.records import PENALTY, Records
from capra.report.html import write_report
from capra.report.html.page import document_of
from capra.report.html.team import Measured
from capra.report.html.view import View
from capra.runs import Outcome, RunRequest, Status
from capra.scenario import Scenario
from capra.space import Categorical, Real, Space
from tests.report.html.runs import HOSTILE, named, tuned

KINDS = ("north", "south")
CUTOFF = 100.0
TRAINING = [f"{name}{end}" for name in HOSTILE for end in ("", " again")]
TEST = [f"{name} test" for name in HOSTILE]
PLOTS = ["member-times", "selector", "growth"]


def kind(instance: str) -> int:
    return [*TRAINING, *TEST].index(instance) % 2


class Target:
    """Instances of two kinds; a configuration is for one of them, and 30 times slower on the other."""

    def run(self, request: RunRequest) -> Outcome:
        right = request.config["kind"] == KINDS[kind(request.instance or "")]
        time = math.exp(abs(float(request.config["x"]) - 0.5)) * (1.0 if right else 30.0)
        if time <= request.cutoff:
            return Outcome(Status.SUCCESS, time, request.cutoff)
        return Outcome(Status.CAPPED if request.cutoff < CUTOFF else Status.TIMEOUT, request.cutoff, request.cutoff)

    def __call__(self, *_: object) -> float:
        raise AssertionError("the simulated engine asks run()")


def scenario() -> Scenario:
    rng = np.random.default_rng(0)
    rows = {name: (10.0 * kind(name) + rng.normal(), rng.normal()) for name in (*TRAINING, *TEST)}
    return Scenario(
        target=Target(),
        space=Space([Categorical("kind", KINDS, "north"), Real("x", 0.0, 1.0, 0.9)]),
        instances=named(TRAINING),
        test_instances=named(TEST),
        features=Features(("=kind", "<b>noise</b>"), rows),
        cutoff=CUTOFF,
        unit="steps",
        deterministic=True,
        name=HOSTILE[0],
        budget={"cpu": 2000.0},
    )


def built(out: Path, builder: str = "hydra", **options: Any) -> Any:
    return build(scenario(), builder, engine="simulated", overhead="ignore", inner="roar", out=out, **options)


@pytest.fixture(scope="module")
def hydra(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hydra")
    built(folder, rounds=2)
    return folder


@pytest.fixture
def copied(hydra: Path, tmp_path: Path) -> Path:
    shutil.copytree(hydra, tmp_path / "run")
    return tmp_path / "run"


def section(view: View, key: str) -> list[dict[str, Any]]:
    found = next(section for section in document_of(view)["sections"] if section["key"] == key)
    return list(found["blocks"])


def shown(run: Path) -> dict[str, Any]:
    """The blocks of the section, by key."""
    view = View(run)
    view.update()
    found = {block.get("key", block["kind"]): block for block in section(view, "portfolio")}
    view.close()
    return found


# --- marginal contributions ---


def measured(times: Any, cutoffs: Any = None, *, cutoff: float = CUTOFF) -> Measured:
    times = np.asarray(times, dtype=np.float64)
    bounds = np.full(times.shape, cutoff) if cutoffs is None else np.minimum(np.asarray(cutoffs, dtype=np.float64), cutoff)
    records = Records.of(np.zeros((len(times), 0)), times, times <= bounds, cutoff, cutoffs=bounds)
    return Measured("training", [(str(k), 0) for k in range(len(times))], records, False, None)


@where(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 5))
def test_contributions_are_differences_of_portfolio_costs(seed: int, n: int, k: int) -> None:
    """Against the costs of portfolios by their definition; about a third of the runs time out."""
    times = np.random.default_rng(seed).lognormal(4.0, 2.0, (n, k))
    found, costs = measured(times), np.where(times <= CUTOFF, times, PENALTY * CUTOFF)
    for member in range(k):
        others = [j for j in range(k) if j != member]
        whole = portfolio_cost(costs.T, range(k), PENALTY * CUTOFF)
        expected = portfolio_cost(costs.T, others, PENALTY * CUTOFF) - whole
        assert found.contribution(member) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@where(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 4))
def test_stopped_runs_never_promise_too_much(seed: int, n: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    times = rng.lognormal(2.0, 2.0, (n, k))
    caps = np.where(rng.random((n, k)) < 0.5, rng.lognormal(2.0, 2.0, (n, k)), CUTOFF)
    truth, known = measured(times), measured(times, caps)
    for member in range(k):
        assert 0.0 <= known.contribution(member) <= truth.contribution(member) + 1e-9


def test_who_is_fastest() -> None:
    found = measured([[1.0, 5.0], [7.0, 2.0], [500.0, 500.0]])
    assert found.winner.tolist() == [0, 1, -1]
    assert found.best.tolist() == [1.0, 2.0, CUTOFF]


# --- the section ---


def test_the_members_and_who_is_chosen_where(hydra: Path) -> None:
    found = shown(hydra)
    members = found["members"]["rows"]
    assert len(members) == 2
    assert [row[5] for row in members] == [12, 12]  # each is fastest on its kind, and chosen there
    assert [row[6] for row in members] == [12, 12]
    told = {text: one["name"] for one in found["selector"]["series"] for text in one["text"]}
    assert set(told) == set(TRAINING)
    assert len({told[name] for name in TRAINING if kind(name) == 0}) == 1
    assert len(set(told.values())) == 2
    assert found["differences"]["rows"][0][1:] in (["north", "south"], ["south", "north"])
    assert "pairwise" in {row[0] for row in found["selectors"]["rows"]}


def test_times_are_those_of_the_store(hydra: Path) -> None:
    """The line of the best member, against the store's runs one by one."""
    members = read_portfolio(hydra / "portfolio.json").members
    view = View(hydra)
    view.update()
    best: dict[str, float] = {}
    for run in view.history:
        if run.request.config in members and run.outcome.status is Status.SUCCESS:
            name = str(run.request.instance)
            best[name] = min(best.get(name, math.inf), run.outcome.time)
    view.close()
    line = shown(hydra)["member-times"]["series"][0]
    assert dict(zip(line["text"], line["y"], strict=True)) == pytest.approx(best, rel=1e-4)
    assert line["y"] == sorted(line["y"])


def test_the_single_best_is_marked(hydra: Path) -> None:
    """The kinds are as many: who is better alone is whose x is better, as the recorded costs say."""
    selection = read_portfolio(hydra / "portfolio.json").selection
    assert selection is not None
    best = int(selection.selector.records.costs.mean(axis=0).argmin())
    drawn = shown(hydra)["member-times"]["series"][1:]
    marked = {one["name"].split(",")[0] for one in drawn if one["name"].endswith(": best alone")}
    assert marked == {f"member {best + 1}"}
    assert {one.get("size") for one in drawn if one["name"].startswith(f"member {best + 1},")} == {6}
    assert len(drawn) > 1


def test_growing_ends_at_what_all_members_cost(hydra: Path) -> None:
    found = shown(hydra)
    steps = found["growth"]["series"][0]
    assert steps["y"][0] > 2.0 * steps["y"][1]
    assert steps["y"][-1] == pytest.approx(np.mean(found["member-times"]["series"][0]["y"]), rel=1e-3)


def test_test_instances_come_first_once_they_were_run(copied: Path) -> None:
    """With the figures of ``capra portfolio evaluate``."""
    portfolio = read_portfolio(copied / "portfolio.json")
    expected: Evaluated = evaluate(portfolio, scenario(), engine="simulated", out=copied)
    view = View(copied)
    view.__dict__["loaded"] = scenario()  # a scenario with Python objects cannot be read again
    view.update()
    found = view.measured
    assert found is not None
    assert found.where == "test"
    assert found.judged == expected
    summary, pages = section(view, "summary"), section(view, "portfolio")
    view.close()
    assert f"{expected.portfolio.par10:.3g}" in summary[0]["text"]
    tiles = next(block for block in pages if block["kind"] == "tiles")["tiles"]
    assert [float(tile["value"].split()[0]) for tile in tiles[:3]] == pytest.approx(
        [expected.single.par10, expected.portfolio.par10, expected.virtual.par10], rel=1e-2
    )


def test_without_features_of_test_instances_nothing_is_made_up(copied: Path) -> None:
    evaluate(read_portfolio(copied / "portfolio.json"), scenario(), engine="simulated", out=copied)
    found = shown(copied)
    assert "tiles" not in found
    assert "selector" not in found
    assert {row[6] for row in found["members"]["rows"]} == {None}


# --- while it is being built, and what may be wrong ---


def test_a_building_under_way(copied: Path) -> None:
    """The members stand in the store; who chooses between them is not decided yet."""
    (copied / "portfolio.json").unlink()
    found = shown(copied)
    assert len(found["members"]["rows"]) == 2
    assert "so far" in found["prose"]["text"]
    assert "selector" not in found


def test_a_live_page_sees_the_file_when_it_comes(copied: Path) -> None:
    file = copied / "portfolio.json"
    kept = file.read_bytes()
    file.unlink()
    view = View(copied)
    assert view.update()
    assert not view.update()
    assert view.team is not None
    assert view.team.product is None
    file.write_bytes(kept)
    assert view.update()
    assert view.team.product is not None
    view.close()


def test_a_file_from_before_the_last_member_is_out_of_date(copied: Path) -> None:
    text = json.loads((copied / "portfolio.json").read_text())
    text["facts"]["runs"] = 1
    (copied / "portfolio.json").write_text(json.dumps(text))
    assert "so far" in shown(copied)["prose"]["text"]


def test_a_damaged_file_is_told_of(copied: Path) -> None:
    (copied / "portfolio.json").write_text("{}")
    assert "is not a portfolio" in shown(copied)["prose"]["text"]


def test_names_that_do_not_fit_are_not_used(copied: Path) -> None:
    text = json.loads((copied / "portfolio.json").read_text())
    text["facts"]["instances"] = ["one"]
    (copied / "portfolio.json").write_text(json.dumps(text))
    found = shown(copied)
    assert "selector" not in found
    assert len(found["members"]["rows"]) == 2


def test_a_schedule_is_drawn_slot_by_slot(tmp_path: Path) -> None:
    made = built(tmp_path, "cedalion", slots=2)
    lane = made.portfolio.schedule[0]
    drawn = shown(tmp_path)["schedule"]["series"]
    ends = np.minimum(np.cumsum([slot for _, slot in lane]), CUTOFF)
    assert [one["x"][1] for one in drawn] == pytest.approx(ends.tolist(), rel=1e-4)
    assert drawn[-1]["x"][1] == CUTOFF
    assert [one["name"] for one in drawn] == [f"member {k + 1}, {made.portfolio.members[k].id[:6]}" for k, _ in lane]


def test_a_tuning_has_no_such_pages(tmp_path: Path) -> None:
    tuned(tmp_path, budget={"runs": 30})
    assert "portfolio" not in write_report(tmp_path)["sections"]
