"""irace: its tests against scipy's, its sampling against the formulas, and the rules of a race."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import capra
from capra.errors import InputError
from capra.runs import Configuration, Outcome, Run, RunRequest, Status
from capra.search.domain import Domain
from capra.search.elites import Model, children_of, chosen_elites, similar, truncated_normal
from capra.space import Categorical, Real, Space
from capra.strategies.elimination import agreement, friedman, friedman_statistic, paired_t
from capra.strategies.irace import Irace
from capra.strategies.race_table import HEAD, MARKS
from capra.targets import Table
from tests.strategies.conformance import KAPPA, Decisions, drive, lognormal, make, median_time, scenario


def costs(n: int, k: int, seed: int, gap: float = 0.0) -> np.ndarray:
    """Log-normal costs (n pairs, k configurations) with some ties; the last one is worse by ``gap``."""
    rng = np.random.default_rng(seed)
    found = np.exp(rng.normal(size=(n, 1)) + 0.5 * rng.normal(size=(n, k)))
    found[0] = found[0, 0]
    found[:, -1] *= math.exp(gap)
    return found


@pytest.mark.parametrize("seed", range(8))
def test_friedman_is_scipys(seed: int) -> None:
    matrix = costs(9, 5, seed, 0.3 * seed)
    statistic, p, _ = friedman_statistic(matrix)
    theirs = stats.friedmanchisquare(*matrix.T)
    assert statistic == pytest.approx(theirs.statistic)
    assert p == pytest.approx(theirs.pvalue)
    assert friedman(matrix, 0.05).any() <= (theirs.pvalue < 0.05)


def test_conovers_comparison_by_hand() -> None:
    """Three configurations always in the order 1, 2, 3 but once: R = 7, 9, 14 of 6 · 5, all by Conover's formula."""
    matrix = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [2.0, 1.0, 3.0], [2.0, 1.0, 3.0]])
    n, k, sums = 5, 3, np.array([7.0, 8.0, 15.0])
    a = n * (1 + 4 + 9)
    t1 = (k - 1) * ((sums - n * (k + 1) / 2) ** 2).sum() / (a - n * k * (k + 1) ** 2 / 4)
    assert friedman_statistic(matrix)[0] == pytest.approx(t1)
    difference = stats.t.ppf(0.975, (n - 1) * (k - 1)) * math.sqrt(2 * (n * a - (sums**2).sum()) / ((n - 1) * (k - 1)))
    assert friedman(matrix, 0.05).tolist() == (sums - 7.0 > difference).tolist() == [False, False, True]


@pytest.mark.parametrize("seed", range(8))
def test_the_t_test_is_scipys(seed: int) -> None:
    matrix = costs(8, 6, seed, 0.4 * seed)
    best = int(matrix.mean(axis=0).argmin())
    gaps = [matrix[:, j] - matrix[:, best] for j in range(6)]
    significant = [stats.ttest_rel(matrix[:, j], matrix[:, best]).pvalue < 0.05 for j in range(6)]
    expected = [j != best and (significant[j] or (gaps[j] >= 0.0).all()) for j in range(6)]
    assert paired_t(matrix, 0.05).tolist() == expected


def test_a_difference_that_is_always_the_same_is_significant() -> None:
    matrix = np.array([[1.0, 1.0, 2.0], [3.0, 3.0, 4.0], [2.0, 2.0, 3.0]])
    assert paired_t(matrix, 0.05).tolist() == [False, False, True]


@pytest.mark.parametrize("seed", range(4))
def test_two_configurations_are_compared_by_wilcoxon(seed: int) -> None:
    matrix = costs(12, 2, seed, 0.5 * seed)
    gaps = (matrix[:, 0] - matrix[:, 1])[1:]  # the first pair is a tie: R takes the normal approximation then
    significant = stats.wilcoxon(gaps, correction=True, method="asymptotic").pvalue < 0.05
    assert friedman(matrix, 0.05).any() == (significant or (gaps <= 0.0).all() or (gaps >= 0.0).all())


def test_of_two_who_is_nowhere_better_is_out() -> None:
    """irace's rule: no test is needed; of two that never differ the first one stays."""
    assert friedman(np.array([[1.0, 1.0], [2.0, 2.5], [3.0, 3.0]]), 0.05).tolist() == [False, True]
    assert friedman(np.array([[1.5, 1.0], [2.0, 2.0], [3.0, 3.0]]), 0.05).tolist() == [True, False]
    assert friedman(np.ones((5, 2)), 0.05).tolist() == [False, True]


def test_agreement_is_kendalls_w_and_the_mean_of_spearmans_rho() -> None:
    matrix = np.exp(np.random.default_rng(5).normal(size=(6, 4)))
    rho, w = agreement(matrix)
    pairs = [stats.spearmanr(matrix[i], matrix[j]).statistic for i in range(6) for j in range(i)]
    assert rho == pytest.approx(np.mean(pairs))
    assert w == pytest.approx((1 + rho * 5) / 6)


# --- sampling ---


@pytest.mark.parametrize(("centre", "deviation"), [(0.5, 0.5), (0.0, 0.1), (1.0, 0.02), (0.3, 0.2)])
def test_the_truncated_normal_is_scipys(centre: float, deviation: float) -> None:
    theirs = stats.truncnorm(-centre / deviation, (1 - centre) / deviation, loc=centre, scale=deviation)
    u = np.array([0.001, 0.1, 0.5, 0.9, 0.999])
    assert truncated_normal(np.full(5, centre), deviation, u) == pytest.approx(theirs.ppf(u), abs=1e-9)


def test_the_model_of_an_elite_follows_the_papers_formulas() -> None:
    """Three parameters, 8 children: σ shrinks by (1/8)^(1/3) = 1/2; in iteration 3 of 4 half of the chance moves.

    No category is more likely than 0.2^(1/3) = 0.585 before all are scaled to 1. A soft restart makes σ 8^(2/3) = 4 times
    as wide, but no wider than 0.5·(1/8)^(1/3) = 0.25.
    """
    space = Space([Categorical("c", ("x", "y", "z", "w"), "x"), Real("a", 0.0, 1.0, 0.5), Real("b", 0.0, 1.0, 0.5)])
    row = np.array([1.0, 0.5, 0.5])
    model = Model.uniform(space)
    assert model.deviation == 0.5
    sharper = model.sharpened(row, children=8, iteration=3, iterations=4)
    assert sharper.deviation == pytest.approx(0.25)
    most = 0.2 ** (1 / 3)
    assert sharper.chances[0] == pytest.approx(np.array([0.125, most, 0.125, 0.125]) / (0.375 + most))
    assert model.sharpened(row, 8, iteration=1, iterations=4).chances[0] == pytest.approx([0.25] * 4)
    softer, largest = sharper.softened(8), sharper.chances[0].max()
    assert softer.deviation == pytest.approx(0.25)
    assert Model(0.01, {}, 3).softened(8).deviation == pytest.approx(0.04)
    mixed = 0.9 * sharper.chances[0] + 0.1 * largest
    assert softer.chances[0] == pytest.approx(mixed / mixed.sum())


def test_alike_are_those_with_the_same_categories_and_nearly_the_same_numbers() -> None:
    space = Space([Categorical("c", ("x", "y"), "x"), Real("a", 0.0, 1.0, 0.5), Real("b", 0.0, 1.0, 0.5)])
    rows = np.array([[0, 0.5, 0.5], [1, 0.5, 0.5], [0, 0.50005, 0.5], [0, 0.5, 0.6], [1, 0.5, np.nan], [1, 0.5, np.nan]])
    assert similar(space, rows) == [0, 2, 4, 5]


def test_children_are_drawn_from_the_model() -> None:
    space = Space([Categorical("c", ("x", "y", "z"), "x"), Real("a", 0.0, 1.0, 0.5)])
    model = Model(0.1, {0: np.array([0.2, 0.7, 0.1])}, 2)
    rng = np.random.default_rng(4)
    children = children_of(space, np.array([1.0, 0.05]), model, 3000, rng)
    assert stats.chisquare(np.bincount(children[:, 0].astype(int)), 3000 * model.chances[0]).pvalue > 0.001
    reference = stats.truncnorm(-0.5, 9.5, loc=0.05, scale=0.1)
    assert stats.kstest(children[:, 1], reference.cdf).pvalue > 0.001


def test_better_elites_have_more_children() -> None:
    rng = np.random.default_rng(6)
    counts = chosen_elites(3, 6000, rng)
    assert stats.chisquare(counts, 6000 * np.array([3, 2, 1]) / 6).pvalue > 0.001


# --- races ---


def test_the_plan_has_iraces_numbers() -> None:
    """Three parameters: N_iter = N_min = floor(2 + log2 3) = 3; the t-test where runs are capped."""
    strategy = make("irace")
    assert isinstance(strategy, Irace)
    assert (strategy.iterations, strategy.survivors, strategy.plan.test) == (3, 3, "t-test")
    other = make("irace", capping=False, test=None)
    assert isinstance(other, Irace)
    assert other.plan.test == "friedman"


def test_the_budget_is_divided_over_the_iterations() -> None:
    """B = 300 runs: the default has made 5, B_1 = (300 − 5)/3, |Θ_1| = floor(B_1/(5 + 1)) = 16."""
    strategy = make("irace", scenario(budget={"runs": 300}), capping=False)
    runs = []
    for _ in range(21):
        (request,) = strategy.ask(1)
        runs.append(request)
        strategy.tell(Run(request, lognormal(request), strategy.why(request)))
    assert len({request.config for request in runs[:5]}) == 1
    assert len({request.config for request in runs[5:20]} | {runs[0].config}) == 16  # the default's runs are known
    assert {request.instance for request in runs[5:20]} == {runs[0].instance}
    assert runs[20].instance == runs[1].instance


def test_elites_are_protected_until_they_have_met_their_pairs() -> None:
    strategy = make("irace", scenario(budget={"runs": 400}))
    drive(strategy, 400)
    assert isinstance(strategy, Irace)
    assert 1 <= len(strategy.elites) <= strategy.survivors
    totals = [strategy.history.total(elite.config, strategy._used) for elite in strategy.elites]
    assert totals[0] == min(totals) < math.inf


def test_capping_saves_time_and_a_capped_candidate_is_out() -> None:
    capped, _ = drive(make("irace", scenario(budget={"cpu": 1000})), 600)
    assert any(run.outcome.status is Status.CAPPED for run in capped)
    later = {run.request.config for run in capped if run.outcome.status is Status.CAPPED}
    for config in later:
        mine = [run for run in capped if run.request.config == config]
        cut = next(k for k, run in enumerate(mine) if run.outcome.status is Status.CAPPED)
        in_that_race = [run for run in mine[cut + 1 :] if run.asked_by == mine[cut].asked_by]
        assert in_that_race == []


def test_it_converges_on_a_smooth_target() -> None:
    strategy = make("irace", scenario(budget={"cpu": 1500}))
    drive(strategy, 1500)
    assert strategy.incumbent is not None
    assert median_time(strategy.incumbent) < 1.0  # of 0.7 at best, 7.1 for the default


def test_the_race_table_is_shown() -> None:
    strategy = make("irace", scenario(budget={"runs": 300}))
    drive(strategy, 300)
    assert isinstance(strategy, Irace)
    (word, text), _, (_, head), _, *lines = strategy.describe()
    assert word == "iteration"
    assert text == f"{strategy.iteration} of {max(3, strategy.iteration)}, {len(strategy.elites)} elites"
    assert head == HEAD
    assert 1 <= len(lines) <= 8
    assert all(len(line) == len(head) for _, line in lines)
    assert {line[1] for _, line in lines} <= set("xc-=!.")
    assert tuple(strategy.lines[:2]) == MARKS
    assert sum(line == head for line in strategy.lines) == strategy.iteration


def test_replay_after_the_estimation_needs_no_decision() -> None:
    decisions = Decisions()
    drive(make("irace", decisions=decisions), 500)
    assert decisions.kept == {}


def test_all_wrong_leaves_no_incumbent_and_does_not_stop() -> None:
    def liar(request: RunRequest) -> Outcome:
        return Outcome(Status.WRONG, 1.0, KAPPA)

    strategy = make("irace", scenario(budget={"runs": 100}))
    runs, _ = drive(strategy, 60, target=liar)
    assert len(runs) >= 60
    assert strategy.incumbent is None


def test_bad_options() -> None:
    for wrong in ({"test": "guess"}, {"first_test": 1}, {"confidence": 2.0}, {"capping": "aggressive"}):
        with pytest.raises(InputError):
            make("irace", **wrong)


def test_a_pool_is_not_searched_for_what_it_does_not_have(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once everything is known, every further race would ask 20 times for 1,000 new members of a pool of 20."""
    drawn = []

    def counted(self: Domain, rows: np.ndarray) -> list[Configuration]:
        drawn.append(len(rows))
        return legal(self, rows)

    legal = Domain.legal
    monkeypatch.setattr(Domain, "legal", counted)
    times = np.exp(np.random.default_rng(3).normal(size=(20, 20)))
    names = [f"i{j}" for j in range(20)]
    table = Table(times, np.ones_like(times, dtype=bool), [{"row": i} for i in range(20)], names, cutoff=60.0)
    result = capra.tune(table.scenario(budget={"cpu": "1h"}), "irace", engine="simulated", overhead="ignore")
    assert {run.request.config for run in result.history} == set(table.configs)
    assert sum(drawn) < 1000
