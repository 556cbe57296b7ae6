"""The SAPS of the benchmarks: right answers, counted steps, cutoffs kept, the same run for the same seed."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from benchmarks.saps import solver
from benchmarks.saps.instances import propagated, quasigroup
from benchmarks.saps.solver import Parameters, Saps

pytestmark = pytest.mark.skipif(solver.compiler() is None, reason="no C++ compiler (CXX or c++) to build SAPS with")


@pytest.fixture(autouse=True, scope="module")
def _built_once(tmp_path_factory: pytest.TempPathFactory) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        solver._library.cache_clear()
        solver._library()


def satisfied(clauses: list[list[int]], model: np.ndarray) -> bool:
    return all(any(model[abs(literal) - 1] == (literal > 0) for literal in clause) for clause in clauses)


def random_formula(rng: np.random.Generator, variables: int, clauses: int) -> list[list[int]]:
    rows = [rng.choice(variables, 3, replace=False) + 1 for _ in range(clauses)]
    return [(row * rng.choice([-1, 1], 3)).tolist() for row in rows]


@pytest.mark.parametrize("seed", range(20))
def test_solves_exactly_the_satisfiable_formulas(seed: int) -> None:
    clauses = random_formula(np.random.default_rng(seed), 8, 34)
    possible = any(satisfied(clauses, np.array(model)) for model in itertools.product((False, True), repeat=8))
    runs = Saps(clauses).run(Parameters(), range(5), 20_000)
    assert runs.solved.tolist() == [possible] * 5
    for model in runs.models[runs.solved]:
        assert satisfied(clauses, np.pad(model, (0, 8 - len(model))))


def test_both_kinds_of_formulas_were_met() -> None:
    found = set()
    for seed in range(20):
        clauses = random_formula(np.random.default_rng(seed), 8, 34)
        found.add(any(satisfied(clauses, np.array(model)) for model in itertools.product((False, True), repeat=8)))
    assert found == {False, True}


def test_a_step_is_one_flip_while_flips_help() -> None:
    """Unit clauses: every wrong variable takes exactly one step, so their number is that of the flips from the first values."""
    clauses = [[v] for v in range(1, 41)]
    saps = Saps(clauses)
    first = saps.run(Parameters(), range(30), 0)
    assert not first.steps.any()
    runs = saps.run(Parameters(), range(30), 100)
    assert runs.solved.all()
    assert runs.models.all()
    assert runs.steps.tolist() == (~first.models).sum(axis=1).tolist()


def test_null_flips_count_and_leave_everything_in_place() -> None:
    """(x)(−x) without random walk: flipping never helps but for the weights, which null flips change in every second step."""
    saps = Saps([[1], [-1]])
    models = [saps.run(Parameters(wp=0.0), [3], cutoff).models[0, 0] for cutoff in range(3)]
    assert models[1] == models[0]  # a null flip
    assert models[2] != models[1]  # the false clause now weighs 1.3, the true one 1
    assert saps.run(Parameters(), [3], 77).steps.tolist() == [77]
    assert not saps.run(Parameters(), [3], 77).solved.any()


def test_random_walk_in_local_minima() -> None:
    """With wp = 1 a local minimum is left by a random flip at once, and weights stay as they are."""
    saps = Saps([[1], [-1]])
    models = [bool(saps.run(Parameters(wp=1.0), [3], cutoff).models[0, 0]) for cutoff in range(6)]
    assert models == [models[0], not models[0]] * 3


def test_cutoffs_are_kept_and_change_nothing_before_them() -> None:
    saps = Saps(quasigroup(9, 50, 1))
    whole = saps.run(Parameters(), range(20), 100_000)
    assert whole.solved.all()
    bound = int(np.median(whole.steps))
    cut = saps.run(Parameters(), range(20), bound)
    assert cut.solved.tolist() == (whole.steps <= bound).tolist()
    assert cut.steps.tolist() == np.minimum(whole.steps, bound).tolist()
    assert 0 < cut.solved.sum() < 20


def test_the_same_seed_gives_the_same_run() -> None:
    saps, parameters = Saps(quasigroup(9, 50, 1)), Parameters(1.1, 0.3, 0.1, 0.02)
    one, other = saps.run(parameters, [7, 8, 7], 100_000), saps.run(parameters, [8], 100_000)
    assert one.steps[0] == one.steps[2]
    assert one.steps[1] == other.steps[0]
    assert one.steps[0] != one.steps[1]
    assert one.models[1].tolist() == other.models[0].tolist()


def test_propagation_keeps_the_solutions() -> None:
    """Every clause that unit propagation left has two literals at least, and is still satisfiable."""
    whole, rest = quasigroup(12, 72, 3), propagated(quasigroup(12, 72, 3))
    assert min(map(len, rest)) >= 2
    assert len(rest) < len(whole)
    runs = Saps(rest).run(Parameters(), [1], 1_000_000)
    assert satisfied(rest, runs.models[0])
    assert propagated([[1], [-1, 2], [-2, 3, 4]]) == [[1, 2]]


def test_the_library_is_built_outside_of_the_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    library = solver.built()
    assert library.is_relative_to(tmp_path)
    assert solver.built() == library
    assert [path.name for path in library.parent.iterdir()] == [library.name]


def test_a_formula_has_clauses_with_literals() -> None:
    with pytest.raises(ValueError, match="clause"):
        Saps([[1], []])
