"""``capra select`` and the cross-validation behind it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from capra.cli import app
from capra.errors import InputError
from capra.portfolio.aslib import AslibScenario, write_aslib
from capra.portfolio.evaluation import evaluate
from capra.portfolio.records import Records
from capra.portfolio.schedule import choice, plan_costs
from tests.portfolio.test_selectors import three_kinds


def scenario(records: Records, folds: int = 5) -> AslibScenario:
    n, k = records.times.shape
    names = tuple(f"i{i}" for i in range(n))
    features = tuple(f"f{j}" for j in range(records.features.shape[1]))
    numbers = np.arange(n) % folds + 1 if folds else np.zeros(n, dtype=np.int64)
    return AslibScenario("KINDS", names, tuple(f"a{c}" for c in range(k)), features, records, numbers)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_aslib(scenario(three_kinds(90)), tmp_path / "KINDS")
    return tmp_path / "KINDS"


def test_the_document(folder: Path) -> None:
    answer = CliRunner().invoke(app, ["select", str(folder), "--json"])
    assert answer.exit_code == 0, answer.output
    document = json.loads(answer.stdout)
    assert list(document)[:5] == ["scenario", "instances", "scored", "sbs", "vbs"]
    assert document["scenario"] == "KINDS"
    assert document["vbs"] < 2.0 < 500.0 < document["sbs"]
    assert set(document["selectors"]) == {"single", "cluster", "knn", "sunny", "pairwise", "regression", "survival"}
    assert document["selectors"]["single"]["npar10"] == pytest.approx(1.0)
    assert document["auto"]["npar10"] < 0.05
    assert len(document["auto"]["chosen"]) == 5
    low, high = document["auto"]["npar10_interval"]
    assert low <= document["auto"]["npar10"] <= high


def test_in_words(folder: Path) -> None:
    answer = CliRunner().invoke(app, ["select", str(folder), "--selectors", "knn, single"])
    assert answer.exit_code == 0, answer.output
    assert "KINDS: 90 instances" in answer.stdout
    assert "% of the gap closed" in answer.stdout
    assert "auto" not in answer.stdout


def test_what_cannot_be_done_is_said(folder: Path, tmp_path: Path) -> None:
    for words, message in (
        (["--selectors", "knm"], "did you mean 'knn'?"),
        (["--repetition", "2"], "in no fold of repetition 2"),
    ):
        answer = CliRunner().invoke(app, ["select", str(folder), *words])
        assert isinstance(answer.exception, InputError)
        assert message in str(answer.exception)
    answer = CliRunner().invoke(app, ["select", str(tmp_path)])
    assert "not an ASlib scenario" in str(answer.exception)


def test_the_single_best_is_that_of_the_training_rows() -> None:
    """Configuration 0 is best on all instances together and on fold 1, but not on fold 2, which decides about fold 1."""
    times = np.array([[1.0, 60.0]] * 12 + [[50.0, 40.0]] * 10)
    records = Records.of(np.zeros((22, 1)), times, times <= 100.0, 100.0)
    data = AslibScenario("X", tuple(map(str, range(22))), ("a", "b"), ("f",), records, np.array([1] * 12 + [2] * 10))
    found = evaluate(data, ["single"])
    assert found.single.tolist() == [60.0] * 12 + [50.0] * 10
    assert found.score("single").npar10 == pytest.approx(1.0)


def test_features_cost_and_unsolvable_instances_do_not_count() -> None:
    records = three_kinds(60)
    unsolved = records.solved.copy()
    unsolved[::10] = False
    harder = Records.of(records.features, records.times, unsolved, records.cutoff, feature_cost=np.full(60, 7.0))
    found = evaluate(scenario(harder), ["knn"])
    assert len(found.single) == 54
    assert found.costs["knn"].min() > 7.0
    assert found.virtual.min() < 2.0


def test_folds_are_made_where_there_are_none_and_one_is_not_enough() -> None:
    told: list[tuple[str, int, int]] = []
    found = evaluate(scenario(three_kinds(40), folds=0), ["single"], told=lambda *facts: told.append(facts))
    assert told == [("single", fold, 10) for fold in range(1, 11)]
    assert len(found.single) == 40
    with pytest.raises(InputError, match="a single fold"):
        evaluate(scenario(three_kinds(40), folds=1), ["single"])
    nobody = Records.of([[1.0]] * 4, [[1.0]] * 4, [[False]] * 4, 9.0)
    with pytest.raises(InputError, match="nobody solves"):
        evaluate(scenario(nobody, folds=2), ["single"])


def test_every_instance_is_judged_by_folds_that_did_not_have_it() -> None:
    """A selector that has learnt by heart: neighbours at distance 0 know everything, but they are in the same fold."""
    rng = np.random.default_rng(0)
    best = rng.integers(2, size=50)
    times = np.where(best[:, None] == np.arange(2), 1.0, 90.0)
    records = Records.of(rng.permutation(50)[:, None].astype(float), times, times <= 100.0, 100.0)
    from capra.portfolio.nearest import Nearest

    heart = plan_costs(records, Nearest(k=1).fit(records).plans(records.features))[0]
    assert heart.max() == 1.0
    assert evaluate(scenario(records, folds=10), ["knn"]).costs["knn"].mean() > 20.0
    assert plan_costs(records, [choice(int(c)) for c in best])[0].max() == 1.0
