"""The censored Gaussian process beside scikit-learn's: ``python -m benchmarks.gp``.

(a) Evidence and its slopes at the same hyperparameters: ours with 30 % of the values censored, theirs with none, because
    they know no censoring. Goal: 30 ms at n = 500, and less than theirs.
(b) A whole fit, each from two starts with its own optimiser's settings, and 10,000 predictions.
(c) Error against the true function when the highest 30 % are censored: ours, theirs ignoring it, theirs dropping them.

CPU time of one thread, the best of interleaved rounds. Results go to benchmarks/results/gp.json.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel
from threadpoolctl import threadpool_limits

from benchmarks.machine import machine, write_results
from capra.models import CensoredGP
from capra.models.covariance import Covariance
from capra.models.gp import _Problem
from capra.models.scores import rmse

COLUMNS = 4
ROUNDS = 7


def truth(X: np.ndarray) -> np.ndarray:
    return np.asarray(np.sin(5.0 * X).sum(axis=1))


def data(n: int, share: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.random((n, COLUMNS))
    y = truth(X) + 0.3 * rng.normal(size=n)
    bound = np.quantile(y, 1.0 - share)
    return X, np.minimum(y, bound), y > bound


def their_kernel() -> Any:
    """The same covariance; the level's variance is fixed, as ours is."""
    matern = Matern(np.full(COLUMNS, 1.0), nu=2.5, length_scale_bounds=(1e-2, 1e2))
    return ConstantKernel(1.0) * matern + ConstantKernel(1.0, "fixed") + WhiteKernel(0.09, (1e-5, 1e2))


def seconds(action: Callable[[], object]) -> float:
    started = time.process_time()
    action()
    return time.process_time() - started


def best(actions: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    measured = [{name: seconds(action) for name, action in actions.items()} for _ in range(rounds)]
    return {name: min(row[name] for row in measured) for name in actions}


def evidence(n: int) -> dict[str, float]:
    """Every call has new hyperparameters, as an optimiser's steps do."""
    X, y, censored = data(n, 0.3)
    problem = _Problem.of(Covariance(np.zeros(COLUMNS, dtype=np.int64)), X, y, censored)
    peer = GaussianProcessRegressor(their_kernel(), optimizer=None).fit(X, problem.tobit.y)
    rng = np.random.default_rng(1)

    def step(width: int) -> np.ndarray:
        return rng.normal(0.0, 0.1, size=width)

    centre, their_centre = problem.prior_centre(), peer.kernel_.theta
    actions: dict[str, Callable[[], object]] = {
        "capra": lambda: problem.evidence(centre + step(len(centre))),
        "scikit-learn": lambda: peer.log_marginal_likelihood(their_centre + step(len(their_centre)), eval_gradient=True),
    }
    return best(actions, ROUNDS)


def whole(n: int) -> dict[str, Any]:
    X, y, censored = data(n, 0.3)
    at = np.random.default_rng(2).random((10_000, COLUMNS))
    ours = CensoredGP()
    theirs = {
        name: GaussianProcessRegressor(their_kernel(), n_restarts_optimizer=1, normalize_y=True, random_state=0)
        for name in ("ignoring", "dropping")
    }
    fits = best({"capra": lambda: ours.fit(X, y, censored), "scikit-learn": lambda: theirs["ignoring"].fit(X, y)}, 1)
    theirs["dropping"].fit(X[~censored], y[~censored])
    predictions = best(
        {"capra": lambda: ours.predict(at), "scikit-learn": lambda: theirs["ignoring"].predict(at, return_std=True)}, 3
    )
    errors = {f"scikit-learn, {name}": rmse(truth(at), model.predict(at)) for name, model in theirs.items()}
    return {
        "fit_cpu_s": fits,
        "predict_10000_cpu_s": predictions,
        "rmse": {"capra": rmse(truth(at), ours.predict(at)[0]), **errors},
    }


def main() -> None:
    warnings.simplefilter("ignore")  # scikit-learn tells when its optimiser stops at a bound
    document: dict[str, Any] = {"machine": machine("numpy", "scipy", "scikit-learn"), "columns": COLUMNS, "rows": {}}
    with threadpool_limits(1):
        for n in (100, 250, 500, 1000):
            found = {"evidence_with_slopes_cpu_s": evidence(n), **(whole(n) if n <= 500 else {})}
            document["rows"][str(n)] = found
            ours, theirs = found["evidence_with_slopes_cpu_s"].values()
            print(
                f"n = {n:5}: evidence {1e3 * ours:7.1f} ms, scikit-learn {1e3 * theirs:7.1f} ms, ratio {theirs / ours:.1f}"
            )
            print(
                "".join(f"           {name}: {found[name]}\n" for name in found if name != "evidence_with_slopes_cpu_s"),
                end="",
            )
    write_results("gp", document)


if __name__ == "__main__":
    main()
