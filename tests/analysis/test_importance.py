"""Importance: exact against enumeration of the same forest, right on known functions, equal to Optuna's, not fooled by caps."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import capra
from capra.analysis.domain import domain_of
from capra.analysis.importance import Importance
from capra.errors import InputError
from capra.models import CensoredForest
from capra.runs import Configuration, History, Objective, Outcome, Run, RunRequest, Status
from capra.space import And, Categorical, Compare, Integer, Literal, Name, Or, Ordinal, Real, Space, equals, is_in
from tests.analysis.known import space as known_space

NO_INSTANCES = np.empty((1, 0))


def discrete_space() -> Space:
    """All kinds of conditions: nested, either-or, both, by order; 3·4·3·2·2 combinations."""
    return Space(
        [
            Categorical("a", ("u", "v", "w"), "u"),
            Integer("b", 1, 4, 2),
            Ordinal("c", ("s", "m", "l"), "m"),
            Categorical("d", ("no", "yes"), "no"),
            Categorical("e", ("x", "y"), "x"),
        ],
        {
            "b": is_in("a", ["v", "w"]),
            "c": Or((And((equals("a", "w"), Compare(">=", Name("b"), Literal(3)))), equals("d", "yes"))),
            "e": Compare("!=", Name("c"), Literal("m")),
        },
    )


def everything(space: Space) -> np.ndarray[Any, Any]:
    """Every combination of values, activity made right: each row is equally likely."""
    codes = [parameter.spread((np.arange(parameter.size) + 0.5) / parameter.size) for parameter in space.parameters.values()]
    return np.array(list(itertools.product(*codes)))


@pytest.mark.parametrize("instances", [NO_INSTANCES, np.random.default_rng(5).random((4, 2))])
def test_exactly_what_enumeration_gives(instances: np.ndarray[Any, Any]) -> None:
    space, rng = discrete_space(), np.random.default_rng(1)
    rows = space.sample(400, rng)
    which = rng.integers(len(instances), size=400)
    y = np.nan_to_num(rows @ np.diag([1.0, 2.0, 1.5, 0.5, 1.0])).sum(axis=1) + rng.normal(0, 0.3, 400)
    y += instances[which].sum(axis=1) * (1.0 + rows[:, 0])
    types = np.concatenate([space.types, np.zeros(instances.shape[1], dtype=np.int64)])
    forest = CensoredForest(n_trees=5, types=types).fit(np.hstack([rows, instances[which]]), y, rng.random(400) < 0.3)

    raw = everything(space)
    legal = space.repaired(raw)
    parts = [forest.predict_trees(np.hstack([legal, np.tile(one, (len(legal), 1))])) for one in instances]
    predicted = np.mean(parts, axis=0)  # (trees, combinations)

    def mean_given(*columns: int) -> np.ndarray[Any, Any]:
        _, group = np.unique(raw[:, columns], axis=0, return_inverse=True)
        sums = np.array([np.bincount(group.ravel(), tree) for tree in predicted]) / np.bincount(group.ravel())
        return sums[:, group.ravel()]

    domain, skipped = domain_of(space)
    assert skipped == []
    total, effects = forest.variances(domain, instances)
    np.testing.assert_allclose(total, predicted.var(axis=1), rtol=1e-9)
    for j in range(5):
        np.testing.assert_allclose(effects[:, j], mean_given(j).var(axis=1), rtol=1e-9, atol=1e-12)
    pairs = list(itertools.combinations(range(5), 2))
    joint = forest.interactions(domain, instances, pairs)
    for k, (i, j) in enumerate(pairs):
        beyond = mean_given(i, j) - mean_given(i) - mean_given(j) + predicted.mean(axis=1, keepdims=True)
        np.testing.assert_allclose(joint[:, k], (beyond**2).mean(axis=1), rtol=1e-9, atol=1e-12)
    for j in range(5):
        codes = np.unique(raw[:, j])
        curve = forest.curve(domain, instances, j, codes)
        for k, code in enumerate(codes):
            there = legal[:, j] == code
            np.testing.assert_allclose(curve[:, k], predicted[:, there].mean(axis=1), rtol=1e-9)


def test_continuous_parameters_against_samples() -> None:
    space = Space(
        [Real("x", 1.0, 100.0, 10.0, log=True), Real("y", 0.0, 1.0, 0.5), Integer("n", 1, 100_000, 10, log=True)],
        {"y": Compare("<", Name("x"), Literal(20.0)), "n": Compare(">", Name("x"), Literal(5.0))},
    )
    rng = np.random.default_rng(2)
    rows = space.sample(500, rng)
    y = rows[:, 0] * 2 + np.nan_to_num(rows[:, 1]) + np.nan_to_num(rows[:, 2]) ** 2
    forest = CensoredForest(n_trees=3, types=space.types).fit(rows, y)
    domain, _ = domain_of(space)
    total, effects = forest.variances(domain, NO_INSTANCES)
    sample = space.sample(40_000, rng)
    np.testing.assert_allclose(total, forest.predict_trees(sample).var(axis=1), rtol=0.03)
    grid = (np.arange(300) + 0.5) / 300
    values = np.column_stack([parameter.spread(rng.random(1000)) for parameter in space.parameters.values()])
    given = [forest.predict_trees(space.repaired(_with(values, 0, x))).mean(axis=1) for x in grid]
    np.testing.assert_allclose(effects[:, 0], np.var(given, axis=0), rtol=0.03)
    active = sample[~np.isnan(sample[:, 1])]
    curve = forest.curve(domain, NO_INSTANCES, 1, np.array([0.2, 0.9]))
    for k, x in enumerate((0.2, 0.9)):
        np.testing.assert_allclose(curve[:, k], forest.predict_trees(_with(active, 1, x)).mean(axis=1), rtol=0.01)


def _with(rows: np.ndarray[Any, Any], column: int, value: float) -> np.ndarray[Any, Any]:
    rows = rows.copy()
    rows[:, column] = value
    return rows


# --- known functions ---


def history_of(space: Space, costs: Any, n: int, caps: Any = None, seed: int = 0) -> tuple[capra.Scenario, History]:
    """``n`` random configurations without instances; log10 cost and the cap's log10 are functions of the rows."""
    scenario = capra.Scenario(target=print, space=space, cutoff=1e4, budget={"runs": n}, objective="par10")
    history = History(scenario.objective, scenario.cutoff)
    rows = space.sample(n, np.random.default_rng(seed))
    bounds = np.full(n, 4.0) if caps is None else caps(rows)
    for i, (config, y, cap) in enumerate(zip(space.decode(rows), costs(rows), bounds, strict=True)):
        capped = y >= cap
        outcome = Outcome(Status.CAPPED if capped else Status.SUCCESS, 10.0 ** min(y, cap), 10.0**cap)
        history.add(Run(RunRequest(config, None, i, 10.0**cap), outcome))
    return scenario, history


def reals(*names: str) -> Space:
    return Space([Real(name, 0.0, 1.0, 0.5) for name in names])


def shares(found: Importance) -> dict[str, float]:
    return {one.name: one.share for one in found.parameters()}


def test_an_additive_function() -> None:
    """Variances of 3x, 2y and z are as 9 : 4 : 1."""
    scenario, history = history_of(reals("x", "y", "z", "w"), lambda r: 3 * r[:, 0] + 2 * r[:, 1] + r[:, 2], 800)
    found = Importance(scenario, history)
    assert shares(found) == pytest.approx({"x": 9 / 14, "y": 4 / 14, "z": 1 / 14, "w": 0.0}, abs=0.05)
    assert [one.name for one in found.parameters()] == ["x", "y", "z", "w"]
    assert all(one.share < 0.05 for one in found.pairs())


def test_ishigami() -> None:
    """S1 = .314, S2 = .442, S3 = 0, S13 = .244 (Ishigami & Homma 1990, a = 7, b = 0.1). Single trees blur them a little."""

    def ishigami(rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        x = (2 * rows - 1) * math.pi
        return (np.sin(x[:, 0]) + 7 * np.sin(x[:, 1]) ** 2 + 0.1 * x[:, 2] ** 4 * np.sin(x[:, 0])) / 10 + 1.5

    scenario, history = history_of(reals("x1", "x2", "x3"), ishigami, 2000)
    found = Importance(scenario, history)
    assert shares(found) == pytest.approx({"x1": 0.314, "x2": 0.442, "x3": 0.0}, abs=0.06)
    together = found.pairs()
    assert set(together[0].names) == {"x1", "x3"}
    assert together[0].share == pytest.approx(0.244, abs=0.06)


def test_a_conditional_parameter_counts_where_it_is_active() -> None:
    """c matters in half of the space: Var = Var(a) + …, worked out by sampling the function itself."""
    space = Space([Categorical("a", ("off", "on"), "off"), Real("c", 0.0, 1.0, 0.5)], {"c": equals("a", "on")})
    scenario, history = history_of(space, lambda r: r[:, 0] + 2 * np.nan_to_num(r[:, 1]), 600)
    found = shares(Importance(scenario, history))
    # f = a(1 + 2c): E[f|a] varies by 1 (a = 0: 0, a = 1: 2), E[f|c] = (1 + 2c)/2, Var f = E[Var|a] + Var E = 1/6 + 1
    assert found == pytest.approx({"a": 1.0 / (1.0 + 1 / 6), "c": (1 / 12) / (1.0 + 1 / 6)}, abs=0.03)


def test_against_optuna_on_uncensored_data() -> None:
    optuna = pytest.importorskip("optuna", reason="Optuna is not installed: nothing to compare with")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    space = Space([*reals("x", "y", "z").parameters.values(), Categorical("k", ("p", "q", "r"), "p")])

    def costs(rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return 2 * rows[:, 0] + np.sin(6 * rows[:, 1]) * 0.7 + 0.5 * (rows[:, 3] == 1)

    scenario, history = history_of(space, costs, 300)
    kinds = optuna.distributions
    ranges = {name: kinds.FloatDistribution(0.0, 1.0) for name in "xyz"} | {
        "k": kinds.CategoricalDistribution(("p", "q", "r"))
    }
    study = optuna.create_study()
    for run in history:
        params = dict(run.request.config)
        value = math.log10(run.outcome.time)
        study.add_trial(optuna.trial.create_trial(params=params, distributions=ranges, value=value))
    theirs = optuna.importance.get_param_importances(
        study, evaluator=optuna.importance.FanovaImportanceEvaluator(n_trees=16, seed=1)
    )
    ours = shares(Importance(scenario, history))
    assert ours == pytest.approx(theirs, abs=0.05)
    assert list(ours)[:3] == list(theirs)[:3] == ["x", "y", "k"]


def test_caps_do_not_fool_us() -> None:
    """Only ``a`` matters; but runs with a large ``b`` were stopped early. Taken for times, the caps make ``b`` matter."""
    scenario, history = history_of(
        reals("a", "b"), lambda r: 3 * r[:, 0], 600, caps=lambda r: np.where(r[:, 1] > 0.5, 0.6, 3.5)
    )
    assert history.statuses[Status.CAPPED] > 200
    fooled = shares(Importance(scenario, history, censoring="ignore"))
    ours = shares(Importance(scenario, history))
    assert fooled["b"] > 0.2
    assert ours["b"] < 0.1
    assert ours["a"] > 0.75


# --- curves and what is around a configuration ---


def test_curves_are_costs() -> None:
    scenario, history = history_of(reals("x", "y"), lambda r: 2 * r[:, 0], 600)
    curve = Importance(scenario, history).curve("x")
    assert curve.values[0] == 0.0
    assert curve.values[-1] == 1.0
    assert np.log10(curve.cost) == pytest.approx(2 * np.array(curve.values, dtype=float), abs=0.15)
    assert all(low <= cost <= high for low, cost, high in zip(curve.low, curve.cost, curve.high, strict=True))


def test_local_importance_is_another_thing() -> None:
    """x·y around x = 0: moving y does nothing there, whatever it does elsewhere."""
    scenario, history = history_of(reals("x", "y"), lambda r: 3 * r[:, 0] * r[:, 1], 1500)
    found = Importance(scenario, history)
    assert shares(found)["y"] == pytest.approx(3 / 7, abs=0.06)  # x²y²: 3/7, 3/7 and 1/7 together
    around = {one.name: one.share for one, _ in found.local(Configuration({"x": 0.0, "y": 1.0}))}
    assert around["x"] > 0.95
    assert sum(around.values()) == pytest.approx(1.0)


def test_local_moves_only_active_parameters() -> None:
    def costs(rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return 1.0 + rows[:, 0]

    scenario, history = history_of(known_space, costs, 100)
    found = Importance(scenario, history).local(known_space.default)
    assert {one.name for one, _ in found} == set(known_space.default)
    assert {one.name: curve.values for one, curve in found}["restarts"] == ["off", "on"]


def test_a_constant_cost_has_no_important_parameter() -> None:
    scenario, history = history_of(reals("x", "y"), lambda r: np.ones(len(r)), 50)
    assert shares(Importance(scenario, history)) == {"x": 0.0, "y": 0.0}


# --- what cannot be done ---


def test_too_few_configurations() -> None:
    scenario, history = history_of(reals("x"), lambda r: r[:, 0], 3)
    with pytest.raises(InputError, match="at least 4 configurations"):
        Importance(scenario, history)


def test_unknown_parameters() -> None:
    scenario, history = history_of(reals("alpha", "beta"), lambda r: r[:, 0], 20)
    found = Importance(scenario, history)
    with pytest.raises(InputError, match="alpha"):
        found.curve("alfa")
    with pytest.raises(InputError, match="unknown parameter"):
        found.pairs(["alpha", "gamma"])


def test_arithmetic_conditions_are_said_to_be_left_out() -> None:
    from capra.space import Apply

    total = Apply("+", (Name("x"), Name("y")))
    space = Space(list(reals("x", "y", "z").parameters.values()), {"z": Compare(">", total, Literal(1.0))})
    assert domain_of(space)[1] == ["z"]


def test_quality_is_taken_as_it_is() -> None:
    space = reals("x", "y")
    scenario = capra.Scenario(target=print, space=space, cutoff=10.0, budget={"runs": 1}, objective="quality")
    history = History(Objective("quality", 1.0), 10.0)
    for i, row in enumerate(space.sample(200, np.random.default_rng(0))):
        config = space.decode(row[None, :])[0]
        quality = -1000.0 + 5.0 * float(row[0])
        history.add(Run(RunRequest(config, None, i, 10.0), Outcome(Status.SUCCESS, 1.0, 10.0, quality)))
    found = Importance(scenario, history)
    assert shares(found)["x"] > 0.9
    assert found.curve("x").cost[0] == pytest.approx(-1000.0, abs=1.0)
