"""Models: accuracy under censoring, and speed."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import mean
from typing import Any

from benchmarks.figures.published import TABLE_1
from benchmarks.figures.values import Row, number, results

METHODS = ("I", "D", "S&H", "T")
MENDED = ("SMAC3, leaves mended",)
FITS = {
    "100 × 4": "14, 14, 4.1, 1670 / 15.6",
    "1,000 × 4": "9.1, 6.0, 11.5, 378",
    "5,000 × 4": "7.3, 2.7, 13.7, 81",
    "1,000 × 50": "7.3, 2.4, 18.6, 62",
    "5,000 × 50": "6.3, 1.5, 16.5, 14.5",
    "20,000 × 50": "4.6, 1.0, 11.8, 6.2",
}
IMPUTATIONS = {"100 × 4": "2.8", "1,000 × 4": "20.6", "5,000 × 4": "112"}
RECIPES = {
    "paper, 200 epochs": "19.6 / 12.4, 0.20 s",
    "Adam, batch 256, 100 epochs": "18.5 / 6.8, 0.085 s",
    "L-BFGS, 100 iterations": "12.4 / 3.7, 0.5–0.8 s",
}


def table1() -> Iterator[Row]:
    """Error of ensembles of five networks, five folds: censored values ignored (I), dropped (D), imputed (S&H), Tobit's likelihood (T)."""
    cells = results("table1")["quick"]
    for function, published in TABLE_1.items():
        for level, theirs in published.items():
            ours = [
                mean(cells[f"network {function} {level} {method} {fold}"]["rmse"] for fold in range(5)) for method in METHODS
            ]
            what = f"{function}, censored from the {level}th percentile: I D S&H T"
            yield what, " ".join(map(str, theirs)), " ".join(map(number, ours))


def forest() -> Iterator[Row]:
    """How often Capra's CPU time the peers take; theirs: a prototype's ratios. SMAC3: as it is / without its limit of
    leaves, which makes it grow trees in a slower way. Prediction of 10,000; of 1,000 × 100 instances.
    """
    peers = ("scikit-learn RF", "scikit-learn ExtraTrees", "pyrfr", "SMAC3 as it is")
    sizes = results("forest")["cpu_seconds"]
    for size, theirs in FITS.items():
        fits = sizes[size]["fit"]
        ours = f"{ratios(fits, peers)} / {ratios(fits, MENDED)}"
        yield f"fit {size}: scikit-learn, ExtraTrees, pyrfr, SMAC3 2.4.1 over Capra", theirs, ours
    for size in FITS:
        ours = ratios(sizes[size]["predict"], ("scikit-learn RF", "pyrfr"))
        yield f"predict {size}: scikit-learn, pyrfr over Capra", "1–3, 21–35", ours
        marginals = sizes[size]["marginal"]
        ours = f"{ratios(marginals, ('SMAC3 as it is',))} / {ratios(marginals, MENDED)}, {ratios(marginals, ('pyrfr',))}"
        yield f"marginal prediction {size}: SMAC3, pyrfr over Capra", "22–99, 23–55", ours
    imputed = results("forest")["imputation_cpu_seconds"]
    for size, theirs in IMPUTATIONS.items():
        ours = f"{1000 * imputed[size]['sample']:.1f} ms; SMAC3 1.4: {1000 * imputed[size]['SMAC3 1.4 RFRImputator']:.0f} ms"
        yield f"imputing 30 % censored values {size}, 10 turns", f"{theirs} ms", ours


def ratios(seconds: dict[str, float], peers: tuple[str, ...]) -> str:
    return ", ".join(number(seconds[peer] / seconds["Capra"]) for peer in peers)


def forest_censoring() -> Iterator[Row]:
    """RMSE and log-likelihood of forests on a function with noise (Hutter et al. 2013, Figure 2), means over the seeds."""
    found = results("forest_censoring")["results"]["function, noise 0.05, leaf 3"]
    goal = {"mean": "beats both above", "sample": "beats ignoring and dropping; highest likelihood"}
    for name, title in {
        "ignore": "ignored",
        "drop": "dropped",
        "mean": "imputed, S&H",
        "sample": "imputed, sampled",
    }.items():
        yield title, goal.get(name, "–"), f"{found[name]['rmse']:.3f}, {found[name]['log_likelihood']:.2f}"


def network() -> Iterator[Row]:
    """A training step of 4-50-50-50-2, batches of 16; then errors on Branin (censored from the 20th / 80th percentile) by recipe."""
    steps = results("network")["steps"]
    for width, theirs in {"avx2": ("–", "12.5"), "portable": ("–", "29 (SSE2)")}.items():
        yield f"{width}: times as fast as PyTorch eager", theirs[0], f"{steps['times_as_fast'][width]:.0f}"
        yield f"{width}: microseconds a step", theirs[1], f"{steps['capra_microseconds'][width]:.1f}"
    if "avx512" not in steps["times_as_fast"]:
        yield "AVX-512", "72–113 times as fast, 10 µs a step", "this CPU has none"
    worst = max(steps["gradient_error_against_autograd"]["avx2"].values())
    yield "gradients against autograd", "1.5e-7", f"{worst:.1g}"
    settings: dict[str, Any] = results("network")["recipes"]["settings"]
    for recipe, theirs in RECIPES.items():
        low, high = (settings[f"branin, 2,000 rows, {level}th percentile"][recipe] for level in (20, 80))
        yield (
            f"{recipe}: RMSE, CPU s per network",
            theirs,
            f"{low['network']:.1f} / {high['network']:.1f}, {low['cpu_seconds']:.2f} s",
        )


def gp() -> Iterator[Row]:
    """CPU time of one evaluation of the evidence; scikit-learn's process knows no censoring."""
    seconds = results("gp")["rows"]["500"]["evidence_with_slopes_cpu_s"]
    ours = f"{1000 * seconds['capra']:.0f} ms with slopes (scikit-learn's: {1000 * seconds['scikit-learn']:.0f} ms)"
    yield "500 runs", "32 ms", ours


def numerics() -> Iterator[Row]:
    """Largest relative error of the tail's functions against 50 digits, z from −8 to 40 (quantiles from 0)."""
    found = results("numerics")
    for name, theirs in {"log_survival": "7e-15", "hazard": "7e-15", "quantile": "2e-15"}.items():
        yield name, theirs, f"{found[name]:.1g}"
    yield "scipy's truncnorm.mean: times as slow", "3,600", number(found["truncnorm_mean_times_as_slow"])


def calibration() -> Iterator[Row]:
    """Median error, log-likelihood and CRPS on new noisy values of four functions whose runs had bounds of their own; in deviations
    of the noise.
    """
    for name, row in results("calibration")["censored"]["runs with bounds of their own"].items():
        yield name, "–", ", ".join(f"{row[key][1]:.2f}" for key in ("rmse", "log_likelihood", "crps"))


def capped_models() -> Iterator[Row]:
    """Learnt from a race's first 1,000 runs of SPEAR, asked about others: median rank correlation of the configurations' means,
    log-likelihood and CRPS of single runs.
    """
    for name, row in results("capped_models")["quartiles"]["1000"].items():
        yield name, "–", ", ".join(f"{row[key][1]:.2f}" for key in ("rank_correlation", "log_likelihood", "crps"))


def imputation() -> Iterator[Row]:
    """Error on Hartmann 6 before and after five turns of imputing; Tobit's likelihood (T) needs none."""
    for setting, found in results("imputation")["hart6"].items():
        for model, row in found["models"].items():
            turns = [row["mean"][0], row["mean"][-1]] if len(row["mean"]) > 1 else row["mean"]
            yield f"{setting} ({found['censored']:.0%}): {model}", "–", " → ".join(f"{error:.3f}" for error in turns)


def slack_of_runs() -> Iterator[Row]:
    """Median error and log-likelihood of forests on 1,000 runs of races with such slack: ignored, dropped, imputed (S&H), sampled."""
    for slack, methods in results("slack")["quartiles"].items():
        cells = [f"{row['rmse'][1]:.2f} {row['log_likelihood'][1]:.2f}" for row in methods.values()]
        yield f"slack {slack}, {methods['I']['censored'][1]:.0%} censored", "–", "; ".join(cells)
