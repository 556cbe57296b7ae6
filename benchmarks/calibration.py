"""How good the Gaussian process's predictions are under censoring: ``python -m benchmarks.calibration``.

The setting of Eggensperger et al. 2020, Table 1: 100 points per dimension of four test functions, noise of a tenth of the
range, five folds; above a percentile γ of the true values, runs are censored with a probability that rises from 0 to 1 by rank,
and show γ. The paper leaves open how it rises and what a censored run shows; so its figures (ensembles of networks with the
Tobit loss, T) stand beside ours as an orientation.

Per function, percentile and way with censored runs: error of the mean against the true function; log-likelihood, CRPS
and greatest distance of the calibration curve from the diagonal on held-out noisy values, all of them uncensored. Means over
folds and copies. Functions are modelled as they are, without logarithms, as in the paper. Results go to
benchmarks/results/calibration.json.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.machine import machine, write_results
from capra.models import CensoredGP
from capra.models.scores import calibration_curve, crps, log_likelihood, rmse

COPIES = 2
FOLDS = 5
PERCENTILES = (10, 20, 40, 80)
PAPER = {
    "branin": (28.6, 22.8, 19.2, 8.2),
    "camel": (23.6, 22.6, 20.4, 8.7),
    "hart3": (0.3, 0.2, 0.2, 0.2),
    "hart6": (0.3, 0.2, 0.2, 0.2),
}
WEIGHTS = np.array([1.0, 1.2, 3.0, 3.2])
HART3 = np.array([[3.0, 10, 30], [0.1, 10, 35], [3.0, 10, 30], [0.1, 10, 35]])
CENTRES3 = 1e-4 * np.array([[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]])
HART6 = np.array(
    [[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]]
)
CENTRES6 = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)


def branin(X: np.ndarray) -> np.ndarray:
    a, b = 15.0 * X[:, 0] - 5.0, 15.0 * X[:, 1]
    valley = b - 5.1 / (4 * np.pi**2) * a**2 + 5.0 / np.pi * a - 6.0
    return np.asarray(valley**2 + 10.0 * (1 - 1 / (8 * np.pi)) * np.cos(a) + 10.0)


def camel(X: np.ndarray) -> np.ndarray:
    a, b = 6.0 * X[:, 0] - 3.0, 4.0 * X[:, 1] - 2.0
    return np.asarray((4 - 2.1 * a**2 + a**4 / 3) * a**2 + a * b + (4 * b**2 - 4) * b**2)


def hartmann(A: np.ndarray, P: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    return lambda X: -np.exp(-np.einsum("ij,nij->ni", A, (X[:, None] - P) ** 2)) @ WEIGHTS


FUNCTIONS = {
    "branin": (2, branin),
    "camel": (2, camel),
    "hart3": (3, hartmann(HART3, CENTRES3)),
    "hart6": (6, hartmann(HART6, CENTRES6)),
}


def censor(f: np.ndarray, y: np.ndarray, percentile: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Values as they show, and which of them are censored."""
    bound = np.percentile(f, percentile)
    above = f >= bound
    ramp = np.zeros(len(f))
    ramp[above] = f[above].argsort().argsort() / above.sum()
    censored = rng.random(len(f)) < ramp
    return np.where(censored, bound, y), censored


def scored(model: CensoredGP, X: np.ndarray, f: np.ndarray, y: np.ndarray) -> dict[str, float]:
    mean, std = model.predict(X)
    runs, none = np.hypot(std, model.noise), np.zeros(len(y), dtype=np.bool_)
    levels, shares = calibration_curve(y, none, mean, runs)
    return {
        "rmse": rmse(f, mean),
        "log_likelihood": log_likelihood(y, none, mean, runs),
        "crps": crps(y, none, mean, runs),
        "off_diagonal": float(np.max(np.abs(levels - shares))),
    }


def study(name: str, percentile: float) -> dict[str, dict[str, float]]:
    width, function = FUNCTIONS[name]
    found: dict[str, list[dict[str, float]]] = {"ignore": [], "drop": [], "tobit": []}
    for copy in range(COPIES):
        rng = np.random.default_rng(copy)
        X = rng.random((100 * width, width))
        f = function(X)
        y = f + 0.1 * np.ptp(f) * rng.normal(size=len(f))
        shown, censored = censor(f, y, percentile, rng)
        for fold in range(FOLDS):
            test = np.arange(len(X)) % FOLDS == fold
            train, seen = ~test, ~test & ~censored
            models = {
                "ignore": CensoredGP(restarts=0).fit(X[train], shown[train]),
                "drop": CensoredGP(restarts=0).fit(X[seen], shown[seen]),
                "tobit": CensoredGP(restarts=0).fit(X[train], shown[train], censored[train]),
            }
            for way, model in models.items():
                found[way].append(scored(model, X[test], f[test], y[test]))
    return {way: {key: float(np.mean([row[key] for row in rows])) for key in rows[0]} for way, rows in found.items()}


def main() -> None:
    results: dict[str, dict[str, dict[str, dict[str, float]]]] = {}
    print("RMSE ignore / drop / tobit (paper's T); log-likelihood; greatest distance from calibration")
    with threadpool_limits(1):
        for name in FUNCTIONS:
            for percentile, paper in zip(PERCENTILES, PAPER[name], strict=True):
                found = study(name, percentile)
                results.setdefault(name, {})[str(percentile)] = found
                show = {key: " ".join(f"{found[way][key]:7.2f}" for way in found) for key in found["tobit"]}
                print(
                    f"{name:7}{percentile:3}th {show['rmse']} ({paper})  {show['log_likelihood']}  {show['off_diagonal']}",
                    flush=True,
                )
    paper_t = {name: dict(zip(map(str, PERCENTILES), figures, strict=True)) for name, figures in PAPER.items()}
    write_results(
        "calibration", {"machine": machine("numpy", "scipy"), "copies": COPIES, "ours": results, "paper_rmse_tobit": paper_t}
    )


if __name__ == "__main__":
    main()
