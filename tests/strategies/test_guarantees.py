"""Strategies with guarantees through the loop: pools, columns, certificates, accounts; and whether promises are kept."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.guarantees.promises import LAWS, METHODS, Pick, Truth, bad_share, p_value, repetition

import capra
from capra.errors import InputError
from capra.report.rows import status_rows
from capra.runs import Outcome, RunRequest, Status
from capra.scenario import Scenario
from capra.strategies import GUARANTEED, Context, make_strategy
from capra.strategies.pool import Columns, Pool
from capra.targets import Table
from tests.strategies.conformance import Decisions, drive, make, median_time, scenario

TAIL = 60.0


def table(configs: int = 6, instances: int = 40, seed: int = 0, cutoff: float = 50.0) -> Table:
    rng = np.random.default_rng(seed)
    times = rng.lognormal(0.0, 1.0, (configs, instances)) * np.linspace(1.0, 6.0, configs)[rng.permutation(configs), None]
    solved = times < cutoff
    names = [f"i{j}" for j in range(instances)]
    return Table(np.minimum(times, cutoff), solved, [{"row": str(i)} for i in range(configs)], names, cutoff)


def tuned(name: str, given: Table, out: Path | None = None, runs: int = 400, **options: Any) -> capra.tune.Result:  # type: ignore[name-defined]
    made = given.scenario(budget={"runs": runs}, objective="par1")
    return capra.tune(made, name, engine="simulated", overhead="ignore", out=out, **options)


# --- the shared ground ---


def test_a_pool_is_the_scenarios_own_or_samples() -> None:
    given = table().scenario(budget={"runs": 1})
    pool = Pool(Context(given))
    assert pool.most == 6
    assert {pool[i] for i in range(6)} == set(given.configurations)
    assert pool[0] == given.default
    assert pool.given == 1
    with pytest.raises(InputError, match="only 6"):
        pool[6]
    sample = Pool(Context(scenario(), 3))
    assert sample.most == math.inf
    assert sample[0] == scenario().default
    again = Pool(Context(scenario(), 3))
    assert again[150] == sample[150]
    assert [again[i] for i in range(151)] == [sample[i] for i in range(151)]
    assert sample.numbers(sample[77]) == [77]


def test_columns_are_drawn_with_replacement_beyond_the_set() -> None:
    columns = Columns(Context(table().scenario(budget={"runs": 1}), 5))
    assert columns.different == 40
    assert len({columns[j] for j in range(40)}) == 40
    later = [columns[j] for j in range(40, 240)]
    assert set(later) <= {columns[j] for j in range(40)}
    assert 30 < len(set(later)) <= 40
    assert later != [columns[j % 40] for j in range(40, 240)]
    assert Columns(Context(table().scenario(budget={"runs": 1}), 5))[200] == columns[200]
    random = Columns(Context(scenario(), 5))
    assert len({random[j] for j in range(100)}) == 100  # fresh seeds


def test_a_guide_proposes_every_other_configuration() -> None:
    """The samples are those of an unguided pool; proposals are stored, and better than samples once something is known."""
    decisions = Decisions()
    strategy = make("coup", decisions=decisions, model="forest")
    drive(strategy, 4000)
    plain, guided = Pool(Context(scenario())), strategy.pool  # type: ignore[attr-defined]
    assert [guided[k] for k in range(1, 60, 2)] == [plain[1 + k // 2] for k in range(0, 59, 2)]
    assert ("proposals", "0") in decisions.kept
    late = [guided[k] for k in range(2 * 2 * 8, 2 * 4 * 8, 2)]
    sampled = [guided[k] for k in range(1, 2 * 4 * 8, 2)]
    assert np.median([median_time(config) for config in late]) < np.median([median_time(config) for config in sampled])
    assert strategy.certificate is not None
    assert strategy.certificate.holds


# --- runs ---


@pytest.mark.parametrize("name", sorted(GUARANTEED))
def test_no_run_is_made_that_is_known_already(name: str) -> None:
    """A cell is run again only with a longer cap, and both accounts say what that costs."""
    runs, _ = drive(make(name), 2000, 3)
    known: dict[object, float] = {}
    restart = resumed = 0.0
    for run in runs:
        before = known.get(run.request.cell, 0.0)
        assert run.request.cutoff > before
        known[run.request.cell] = math.inf if run.outcome.status is not Status.CAPPED else run.outcome.time
        restart += run.outcome.time
        resumed += run.outcome.time - before
    strategy = make(name)
    for run in runs:
        strategy.tell(run)
    assert strategy.certificate is not None
    assert strategy.certificate.restart == pytest.approx(restart)
    assert strategy.certificate.resumed == pytest.approx(resumed)
    assert resumed <= restart


@pytest.mark.parametrize("name", sorted(GUARANTEED))
def test_nothing_is_asked_for_where_there_is_no_worker(name: str) -> None:
    strategy = make(name)
    assert strategy.ask(0) == []
    assert len(strategy.ask(1)) == 1


def test_a_run_that_is_made_again_takes_the_only_worker() -> None:
    made = table().scenario(budget={"runs": 300}, objective="par1")
    result = capra.tune(made, "caps++", engine="simulated", overhead="ignore", repeat=0.1)
    assert [run.asked_by for run in result.history].count("repeat") >= 10


@pytest.mark.parametrize("name", sorted(GUARANTEED))
def test_the_answer_does_not_depend_on_the_workers(name: str) -> None:
    """The algorithm is sequential; further workers only run ahead of it."""
    one, many = make(name), make(name)
    alone, _ = drive(one, 1500)
    drive(many, 6000, 5)
    wanted = {(run.request.cell, run.request.cutoff) for run in alone}
    ahead = {run.request.cell: run for run in many.history}
    missing = [cell for cell, _ in wanted if cell not in ahead]
    assert len(missing) <= len(wanted) // 10  # only where the others were not yet as far


def test_means_want_times_and_utilities_want_runtimes() -> None:
    with pytest.raises(InputError, match="use up, oup or coup"):
        make_strategy("sp", Context(scenario(objective="utility:step(5)")))
    with pytest.raises(InputError, match="minimise time"):
        make_strategy("oup", Context(scenario(objective="quality")))
    with pytest.raises(InputError, match="has no option"):
        make_strategy("caps++", Context(scenario(), options={"slack": 2}))
    with pytest.raises(InputError, match="'paper' or 'lecture'"):
        make_strategy("sp", Context(scenario(), options={"form": "seminar"}))


def test_the_lectures_form_finds_the_best_of_a_table() -> None:
    given = table()
    result = tuned("sp", given, runs=3000, form="lecture", queue=5)
    assert result.incumbent == {"row": str(int(np.argmin(given.times.mean(axis=1))))}
    assert result.certificate is not None
    assert not result.certificate.holds


# --- certificates ---


def test_a_certificate_is_stored_and_shown(tmp_path: Path) -> None:
    result = tuned("oup", table(), tmp_path, runs=300)
    assert result.certificate is not None
    assert result.certificate.holds
    assert 0.0 < result.certificate.parameters["epsilon"] < 1.0
    assert "90 %" in result.certificate.says
    document = _status(tmp_path)
    assert document["says"] == result.certificate.says
    assert document["answer"] == result.certificate.answer


def _status(out: Path) -> dict[str, Any]:
    """What is stored; a table is no file, so ``capra status`` cannot load its scenario."""
    from capra.folder import CERTIFICATE
    from capra.runs.store import Store

    with Store.read(out / "history.sqlite") as store:
        return [data for _, _, _, data in store.decisions(CERTIFICATE)][-1]


def test_status_has_a_line_for_the_certificate() -> None:
    promise = {
        "says": "It is so.",
        "more": "More is more.",
        "restart": 10.0,
        "resumed": 8.0,
        "used": 9.0,
        "warnings": ["Beware."],
    }
    document: dict[str, Any] = {
        "name": "x", "runs": 1, "statuses": {}, "under_way": 0, "interrupted": 0, "target_time": 1.0, "own_time": 0.0, "wall": 0.0,
        "unit": "cpu", "budget": {"cpu": None, "wall": None, "runs": None}, "incumbent": None, "certificate": promise,
        "audited_rejections": None, "repeats": {"runs": 0}, "warnings": [],
    }  # fmt: skip
    rows = dict(status_rows(document))
    assert rows["certificate"] == "It is so. More is more."
    assert "continued" in rows["its time"]
    assert rows["warning"] == "Beware."


@pytest.mark.parametrize("name", ["sp", "caps++", "oup"])
def test_killed_and_resumed_it_makes_the_same_runs(name: str, tmp_path: Path) -> None:
    given = table()
    whole = tuned(name, given, tmp_path / "whole", runs=240)
    made = given.scenario(budget={"runs": 240}, objective="par1")

    def stop(tuning: Any) -> None:
        if len(tuning.history) >= 100:
            tuning.stop()

    capra.tune(made, name, engine="simulated", overhead="ignore", out=tmp_path / "cut", watch=stop)
    resumed = capra.tune(made, name, engine="simulated", overhead="ignore", out=tmp_path / "cut")
    assert [run.request for run in resumed.history] == [run.request for run in whole.history]
    assert resumed.certificate == whole.certificate


def test_a_finished_race_promises_what_was_asked_for() -> None:
    given = table(instances=60)
    result = tuned("caps++", given, runs=100_000, epsilon=0.3, delta=0.3)
    assert result.certificate is not None
    assert result.certificate.parameters == {"epsilon": 0.3, "delta": 0.3, "zeta": 0.1}
    row = given.times[int(str(result.incumbent["row"]))]
    trimmed = np.minimum(row, np.quantile(row, 0.7, method="higher")).mean()
    assert trimmed <= 1.3 * given.times.mean(axis=1).min()


def test_a_bad_tail_is_warned_of() -> None:
    """The first is fast on nine in ten instances and hopeless on the rest; the second has the better mean by far."""
    times = np.vstack([np.where(np.arange(100) % 12 == 0, TAIL, 0.5), np.full(100, 0.9)])
    given = Table(times, times < TAIL, [{"row": "0"}, {"row": "1"}], [f"i{j}" for j in range(100)], TAIL)
    result = tuned("caps++", given, runs=100_000, delta=0.2, epsilon=0.2, kappa0=1.0)
    assert result.certificate is not None
    if result.incumbent == {"row": "0"}:
        (warning,) = result.certificate.warnings
        assert "smaller delta" in warning
    safe = tuned("caps++", given, runs=100_000, delta=0.05, epsilon=0.2, kappa0=1.0)
    assert safe.incumbent == {"row": "1"}
    assert safe.certificate is not None
    assert not safe.certificate.warnings
    assert result.incumbent == {"row": "0"}


# --- promises ---


@pytest.mark.parametrize("name", METHODS)
def test_promises_are_kept(name: str) -> None:
    """The short form of ``python -m benchmarks.guarantees promises``."""
    verdicts = [repetition(METHODS[name], LAWS["exponential"], (99, repeat)) for repeat in range(12)]
    made = [verdict for verdict in verdicts if verdict is not None]
    assert len(made) >= 6
    assert p_value(made.count(False), len(made)) > 0.01


def test_the_test_of_promises_can_fail() -> None:
    worst = METHODS["caps"].verdict(Pick(3), np.array([1.0, 1.5, 3.0, 6.0]), Truth(LAWS["exponential"]))
    assert worst is False
    assert 0.4 <= bad_share(METHODS["caps"], LAWS["exponential"]) < 1.0
    assert p_value(5, 12) < 0.01


def test_laws_are_what_they_say() -> None:
    """Closed forms against samples."""
    rng = np.random.default_rng(0)
    for law in LAWS.values():
        sample = law.draw(rng, (1, 400_000))[0]
        cap = float(law.quantile(np.array(0.8)))
        assert law.capped(cap) == pytest.approx(np.minimum(sample, cap).mean(), rel=0.02)
        assert np.mean(sample <= cap) == pytest.approx(0.8, abs=0.005)


# --- utilities as objectives ---


def fast_or_never(request: RunRequest) -> Outcome:
    """x < 0.5: 1 s on nine in ten instances, never on the rest; else 20 s."""
    slow = request.seed % 10 == 0 if float(request.config["x"]) < 0.5 else None
    time = 20.0 if slow is None else (100.0 if slow else 1.0)
    if time <= request.cutoff and time < 100.0:
        return Outcome(Status.SUCCESS, time, request.cutoff)
    return Outcome(Status.CAPPED if request.cutoff < 100.0 else Status.TIMEOUT, request.cutoff, request.cutoff)


@pytest.mark.parametrize("name", ["roar", "oup"])
def test_a_utility_decides_what_is_best(name: str) -> None:
    """With a deadline of 5 s a run of 20 s is worth nothing; with one of 50 s a run that never ends is the worse."""
    for objective, is_low in (("utility:step(5)", True), ("utility:step(50)", False)):
        strategy = make(name, scenario(objective=objective))
        drive(strategy, 8000, target=fast_or_never)
        assert strategy.incumbent is not None
        assert (float(strategy.incumbent["x"]) < 0.5) == is_low


def test_scenarios_may_say_so_in_toml_only() -> None:
    from capra.formats import aclib, irace_scenario

    given: Scenario = scenario(objective="utility:loglaplace(60, 1)")
    assert str(given.objective) == "utility:loglaplace(60, 1)"
    options = {"target": ["solver"], "dialect": "paramils", "objective": "utility:step(5)"}
    with pytest.raises(InputError, match="cannot say a utility"):
        aclib.write(options)
    with pytest.raises(InputError, match="cannot say a utility"):
        irace_scenario.write(options | {"dialect": "irace", "target": ["runner"]})
