"""The compiled network against float64 numpy, high-precision arithmetic and its own other variants."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import mpmath
import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.optimize import minimize

from capra import _kernels
from capra.errors import ModelError
from capra.models.training import HEADS, PAPER, Recipe, initial_weights, trained, variant
from tests.models import reference

VARIANTS = _kernels.network_kernels()
SIZES = [[1, 1, 2], [3, 2], [4, 50, 50, 50, 2], [7, 13, 33, 2], [20, 17, 16, 15, 64, 2]]


def problem(sizes: list[int], n: int, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Weights, rows, targets and a mask with both kinds of values, in single precision."""
    rng = np.random.default_rng(seed)
    weights = initial_weights(sizes, rng)
    x = rng.random((n, sizes[0])).astype(np.float32)
    y = (3.0 * np.sin(4.0 * x[:, 0]) + rng.normal(size=n)).astype(np.float32)
    return weights, x, y, rng.random(n) < 0.4


def kernel_gradient(sizes: list[int], data: tuple[np.ndarray, ...], head: str, simd: str = "") -> tuple[float, np.ndarray]:
    weights, x, y, censored = data
    return _kernels.network_gradient(sizes, weights, x, y, censored.view(np.uint8), _kernels.Head[head], simd)


def relative(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))


# --- gradients ---


@pytest.mark.parametrize("head", HEADS)
def test_the_reference_gradient_is_the_slope_of_the_loss(head: str) -> None:
    sizes = [2, 5, 4, 2]
    weights, x, y, censored = (a.astype(np.float64) if a.dtype == np.float32 else a for a in problem(sizes, 23))
    exact = reference.gradient(sizes, weights, x, y, censored, head)
    h = 1e-6
    for i in range(len(weights)):
        up, down = weights.copy(), weights.copy()
        up[i] += h
        down[i] -= h
        rise = reference.loss(sizes, up, x, y, censored, head) - reference.loss(sizes, down, x, y, censored, head)
        assert rise / (2.0 * h) == pytest.approx(exact[i], rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("simd", VARIANTS)
@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("n", [1, 16, 37])
def test_the_kernel_agrees_with_double_precision(n: int, sizes: list[int], head: str, simd: str) -> None:
    data = problem(sizes, n)
    loss, gradient = kernel_gradient(sizes, data, head, simd)
    doubles = [a.astype(np.float64) if a.dtype == np.float32 else a for a in data]
    assert loss == pytest.approx(reference.loss(sizes, *doubles, head), rel=1e-6)
    assert relative(gradient, reference.gradient(sizes, *doubles, head)) < 1e-6


@pytest.mark.parametrize("head", HEADS)
def test_slopes_far_from_the_data_stay_exact(head: str) -> None:
    """Targets up to 25 deviations away, in both directions: no overflow, no lost digits."""
    sizes = [3, 8, 2]
    weights, x, _, censored = problem(sizes, 40)
    y = np.linspace(-25.0, 25.0, 40).astype(np.float32)
    _, gradient = kernel_gradient(sizes, (weights, x, y, censored), head)
    assert np.all(np.isfinite(gradient))
    doubles = (weights.astype(np.float64), x.astype(np.float64), y.astype(np.float64), censored)
    assert relative(gradient, reference.gradient(sizes, *doubles, head)) < 2e-6


def test_tanh_keeps_the_precision_of_a_float() -> None:
    """A network of one hidden unit with weight 1 shows tanh itself, minus nothing: relative error at every size."""
    x = np.concatenate([np.geomspace(1e-6, 30.0, 4001), -np.geomspace(1e-6, 30.0, 4001)]).astype(np.float32)
    weights = np.array([[1, 0, 1, 0, 0, 0]], dtype=np.float32)
    for simd in VARIANTS:
        found = _kernels.network_predict([1, 1, 2], weights, x[:, None], 1, simd)[0, :, 0]
        exact = np.tanh(x.astype(np.float64))
        assert np.max(np.abs(found / exact - 1.0)) < 4e-7


# --- the terms of the loss ---


@pytest.mark.parametrize("z", [-38.0, -8.0, -1.5, -1e-9, 0.0, 0.3, 5.0, 7.0, 7.1, 12.0, 40.0, 1000.0])
def test_the_normal_tail_against_high_precision(z: float) -> None:
    with mpmath.workdps(60):
        exact = mpmath.log(mpmath.erfc(mpmath.mpf(z) / mpmath.sqrt(2)) / 2)
        slope = mpmath.npdf(z) / (mpmath.erfc(mpmath.mpf(z) / mpmath.sqrt(2)) / 2)
    loss, hazard = _kernels.network_terms(_kernels.Head.normal, np.array([z]), True)
    assert loss[0] == pytest.approx(-float(exact), rel=1e-13, abs=1e-300)
    assert hazard[0] == pytest.approx(float(slope), rel=1e-13, abs=1e-300)


@pytest.mark.parametrize("censored", [False, True])
@pytest.mark.parametrize("head", HEADS)
def test_terms_and_their_slopes(head: str, censored: bool) -> None:
    z = np.linspace(-30.0, 29.0, 500)
    loss, slope = _kernels.network_terms(_kernels.Head[head], z, censored)
    mask = np.full(len(z), censored)
    np.testing.assert_allclose(loss, reference.losses(head, z, mask), rtol=1e-12)
    np.testing.assert_allclose(slope, reference.slopes(head, z, mask), rtol=1e-11, atol=1e-13)


def test_a_weibull_outlier_costs_a_straight_line() -> None:
    loss, slope = _kernels.network_terms(_kernels.Head.weibull, np.array([30.0, 31.0, 1e4]), True)
    assert loss[1] - loss[0] == pytest.approx(np.exp(30.0))
    assert np.all(slope == np.exp(30.0))


@pytest.mark.parametrize("head", HEADS)
def test_heads_have_the_moments_they_claim(head: str) -> None:
    """Mean and deviation by integrating the density that the loss stands for."""
    z = np.linspace(-60.0, 29.0, 400_001)
    density = np.exp(-_kernels.network_terms(_kernels.Head[head], z, False)[0])
    mean = trapezoid(z * density, z)
    deviation = np.sqrt(trapezoid((z - mean) ** 2 * density, z))
    assert trapezoid(density, z) == pytest.approx(1.0, abs=1e-6)
    assert (mean, deviation) == pytest.approx(HEADS[head], abs=1e-5)


# --- training ---


def train(recipe: Recipe, *, threads: int = 1, members: int = 3, head: str = "normal", n: int = 70) -> np.ndarray:
    sizes = [4, 11, 9, 2]
    _, x, y, censored = problem(sizes, n)
    start = np.stack([initial_weights(sizes, np.random.default_rng(seed)) for seed in range(members)])
    return trained(sizes, start, x, y, censored, np.arange(members, dtype=np.uint64), head, recipe, threads=threads)


RECIPES = [Recipe("sgd", 20), Recipe("adam", 20, 32), Recipe("lbfgs", 20)]


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.optimizer)
def test_threads_change_nothing(recipe: Recipe) -> None:
    alone = train(recipe, threads=1, members=5)
    np.testing.assert_array_equal(alone, train(recipe, threads=4, members=5))
    np.testing.assert_array_equal(alone[:3], train(recipe, members=3))


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.optimizer)
@pytest.mark.parametrize("head", HEADS)
def test_training_lowers_the_loss(head: str, recipe: Recipe) -> None:
    sizes = [4, 11, 9, 2]
    first, x, y, censored = problem(sizes, 70)
    weights = trained(sizes, first[None], x, y, censored, np.zeros(1, np.uint64), head, recipe, threads=1)[0]
    before, _ = kernel_gradient(sizes, (first, x, y, censored), head)
    after, _ = kernel_gradient(sizes, (weights, x, y, censored), head)
    assert after < before - 0.1


@pytest.mark.skipif(len(VARIANTS) == 1, reason="this machine runs the portable kernel only")
@pytest.mark.parametrize("recipe", RECIPES[:2], ids=lambda recipe: recipe.optimizer)
def test_variants_train_the_same_network(recipe: Recipe, monkeypatch: pytest.MonkeyPatch) -> None:
    found = {}
    for simd in VARIANTS:
        monkeypatch.setenv("CAPRA_SIMD", simd)
        found[simd] = train(recipe)
    for weights in found.values():
        np.testing.assert_allclose(weights, found["portable"], atol=2e-4)


def test_sgd_follows_the_paper() -> None:
    """Three steps of momentum, weight decay and clipping on one batch, beside the same in numpy."""
    sizes, recipe = [2, 3, 2], Recipe("sgd", epochs=3, batch=16, rate=0.05, decay=0.01, clip=0.05)
    start, x, y, censored = problem(sizes, 10)
    found = trained(sizes, start[None], x, y, censored, np.zeros(1, np.uint64), "normal", recipe, threads=1)[0]
    weights, velocity = start.astype(np.float64), np.zeros(len(start))
    doubles = (x.astype(np.float64), y.astype(np.float64), censored)
    for step in range(3):
        t = (step + 0.5) / 3
        share = 0.04 + 0.96 * t / 0.3 if t < 0.3 else 0.5 * (1.0 + np.cos(np.pi * (t - 0.3) / 0.7))
        slope = np.clip(reference.gradient(sizes, weights, *doubles, "normal"), -0.05, 0.05) + 0.01 * weights
        velocity = 0.9 * velocity + slope
        weights -= 0.05 * share * velocity
    assert np.any(np.abs(found - start) > 1e-3)
    np.testing.assert_allclose(found, weights, atol=1e-6)


def test_lbfgs_reaches_the_minimum_scipy_finds() -> None:
    """Without a hidden layer and with equal noise the Tobit loss is nearly convex: both end at the same value."""
    sizes, recipe = [3, 2], Recipe("lbfgs", epochs=200, decay=0.01)
    start, x, y, censored = problem(sizes, 200)
    found = trained(sizes, start[None], x, y, censored, np.zeros(1, np.uint64), "normal", recipe, threads=1)[0]
    doubles = (x.astype(np.float64), y.astype(np.float64), censored)

    def penalised(w: np.ndarray) -> float:
        return reference.loss(sizes, w, *doubles, "normal") + 0.005 * float(w @ w)

    best = minimize(penalised, start.astype(np.float64), method="BFGS", options={"gtol": 1e-7})
    assert penalised(found.astype(np.float64)) == pytest.approx(best.fun, abs=1e-6)


# --- choosing a variant ---


def test_every_machine_has_the_portable_kernel() -> None:
    assert VARIANTS[-1] == "portable"
    assert set(VARIANTS) <= {"avx512", "avx2", "portable"}


def test_the_processor_decides() -> None:
    info = Path("/proc/cpuinfo").read_text().splitlines()
    flags = next((set(line.split()) for line in info if line.startswith("flags")), set())
    if not flags:
        pytest.skip("this kind of processor lists no instruction sets")
    assert ("avx2" in VARIANTS) == ({"avx2", "fma"} <= flags)
    assert ("avx512" in VARIANTS) == ({"avx512f", "avx512dq", "avx512vl"} <= flags)


def test_the_environment_can_force_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAPRA_SIMD", "portable")
    assert variant() == "portable"
    monkeypatch.setenv("CAPRA_SIMD", "mmx")
    with pytest.raises(ModelError, match=r"one of .*portable"):
        variant()


def test_wrong_shapes_are_refused() -> None:
    weights, x, y, censored = problem([4, 3, 2], 5)
    mask, head = censored.view(np.uint8), _kernels.Head.normal
    for wrong in (([4, 2, 2], weights, x, y, mask), ([4, 3, 2], weights, x, y[:4], mask), ([4, 3, 1], weights, x, y, mask)):
        with pytest.raises(ValueError, match=r"must|as many|sizes"):
            _kernels.network_gradient(*wrong, head)
    with pytest.raises(ValueError, match="no kernel"):
        _kernels.network_gradient([4, 3, 2], weights, x, y, mask, head, "mmx")


def test_import_capra_loads_no_models() -> None:
    code = "import sys, capra; sys.exit(any(name.startswith('capra.models') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_paper_recipe() -> None:
    assert (PAPER.optimizer, PAPER.epochs, PAPER.batch, PAPER.rate, PAPER.decay, PAPER.clip) == (
        "sgd",
        10_000,
        16,
        1e-2,
        1e-4,
        0.1,
    )
