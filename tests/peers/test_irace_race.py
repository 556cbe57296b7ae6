"""irace 3 itself eliminates, counts and samples as our strategy of that name does."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from capra.search.elites import Model
from capra.space import Categorical, Real, Space
from capra.strategies.elimination import agreement, friedman, paired_t, quality_variance
from capra.strategies.irace import Irace
from tests.peers.test_irace import reason
from tests.strategies.conformance import make, scenario

TESTED = """
suppressPackageStartupMessages(library(irace))
for (file in commandArgs(trailingOnly = TRUE)) {
  costs <- as.matrix(read.table(file))
  k <- ncol(costs); alive <- rep(TRUE, k)
  t <- irace:::aux.ttest(costs, alive, 1:k, 0.95)$alive
  friedman <- suppressWarnings(irace:::aux_friedman(costs, alive, 1:k, 0.95)$alive)
  agreement <- irace:::concordance(costs)
  cat(as.integer(!t), as.integer(!friedman), agreement$spearman.rho, agreement$kendall.w, irace:::dataVariance(costs), "\\n")
}
"""
COUNTED = """
suppressPackageStartupMessages(library(irace))
scenario <- list(eachTest = 1, elitistNewInstances = 1, mu = 5, firstTest = 5, elitist = TRUE)
for (n in 1:8) cat(irace:::computeMinimumBudget(scenario, 3, n, NA), "")
for (j in 1:8) cat(irace:::computeNbConfigurations(900, j, 5, 1, nElites = 3, nOldInstances = 4 * j, newInstances = 1), "")
"""
SAMPLED = """
suppressPackageStartupMessages(library(irace))
parameters <- readParameters(text = 'c "" c (w, x, y, z)\\na "" r (0, 1)\\nb "" r (0, 1)\\n')
elite <- data.frame(.ID. = 1, c = "x", a = 0.5, b = 0.5, .PARENT. = NA, stringsAsFactors = FALSE)
model <- irace:::initialiseModel(parameters, elite, 4)
for (j in 2:4) {
  model <- irace:::updateModel(parameters, elite, model, j, 4, 8, list(elitist = TRUE))
  cat(model$c[["1"]], model$a[["1"]][1], "\\n")
}
model <- irace:::restartConfigurations(elite, 1, model, parameters, 8, 4)
cat(model$c[["1"]], model$a[["1"]][1], "\\n")
"""


@pytest.fixture(autouse=True)
def _irace() -> None:
    if (why := reason()) is not None:
        pytest.skip(why)


def asked(tmp_path: Path, script: str, *given: Path) -> list[list[float]]:
    place = tmp_path / "ask.R"
    place.write_text(script)
    told = subprocess.run(["Rscript", place, *given], check=True, capture_output=True, text=True, timeout=120).stdout
    return [[float(word) for word in line.split()] for line in told.splitlines()]


def matrix(seed: int) -> np.ndarray:
    """Log-normal costs, some tied, some columns dominated, of 2 to 6 configurations on 5 to 12 pairs."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(5, 13)), 2 if seed % 2 else int(rng.integers(3, 7))
    found = np.exp(rng.normal(size=(n, 1)) + 0.5 * rng.normal(size=(n, k)) + 0.15 * seed * (np.arange(k) == k - 1))
    if seed % 3 == 0:
        found[0] = found[0, 0]
    if seed % 5 == 0:
        found[:, -1] = found[:, 0] + rng.integers(0, 2, n)
    return np.round(found, 6)


def test_tests_and_figures_are_iraces(tmp_path: Path) -> None:
    files, matrices = [], [matrix(seed) for seed in range(24)]
    for seed, costs in enumerate(matrices):
        files.append(tmp_path / f"{seed}.txt")
        np.savetxt(files[-1], costs, fmt="%.6f")
    for costs, line in zip(matrices, asked(tmp_path, TESTED, *files), strict=True):
        k = costs.shape[1]
        assert paired_t(costs, 0.05).tolist() == [bool(out) for out in line[:k]]
        assert friedman(costs, 0.05).tolist() == [bool(out) for out in line[k : 2 * k]]
        assert [*agreement(costs), quality_variance(costs)] == pytest.approx(line[2 * k :], rel=1e-5)


def test_budgets_are_counted_as_irace_counts_them(tmp_path: Path) -> None:
    strategy = make("irace", scenario(budget={"runs": 10_000}))
    assert isinstance(strategy, Irace)
    ((*told,),) = asked(tmp_path, COUNTED)
    assert [strategy._least(n) for n in range(1, 9)] == told[:8]
    strategy.elites = [*strategy.elites, *([None] * 3)][:3]  # type: ignore[list-item]  # only their number matters
    for iteration in range(1, 9):
        strategy.iteration, strategy._used = iteration, [(f"i{k}", 0) for k in range(4 * iteration)]
        assert strategy._size(900.0) == told[7 + iteration]


def test_models_are_sharpened_and_softened_as_iraces(tmp_path: Path) -> None:
    space = Space([Categorical("c", ("w", "x", "y", "z"), "x"), Real("a", 0.0, 1.0, 0.5), Real("b", 0.0, 1.0, 0.5)])
    *sharpened, softened = asked(tmp_path, SAMPLED)
    model, row = Model.uniform(space), space.encode([space.default])[0]
    for iteration, line in zip((2, 3, 4), sharpened, strict=True):
        model = model.sharpened(row, 8, iteration, 4)
        assert [*model.chances[0], model.deviation] == pytest.approx(line, rel=1e-5)
    soft = model.softened(8)
    assert [*soft.chances[0], soft.deviation] == pytest.approx(softened, rel=1e-5)
