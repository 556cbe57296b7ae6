"""The surrogates that a search can be asked for by name, each with the acquisition function that it is used with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from capra.errors import InputError, did_you_mean, shown
from capra.models import CensoredForest, CensoredGP, Surrogate, TobitEnsemble, TobitNetwork
from capra.search.acquisition import ACQUISITIONS

__all__ = ["FINE", "MODELS", "Maker", "chosen_model", "known_name"]

Maker = Callable[[NDArray[np.int64], int, float | None], Surrogate]
"""(types of the columns, seed, upper bound of imputed values) to a surrogate."""


_SmoothForest = partial(CensoredForest, n_trees=30, min_leaf=5, feature_fraction=1 / 3, refits=2)
"""Smoother than with the forest's own defaults, which are SMAC's: most configurations have a single run, full of luck. Two
refits, half the time of four or five: what the third changes is less than what another seed does (docs/architecture.md)."""


def _forest(censoring: Literal["sample", "mean"], make: Callable[..., CensoredForest] = _SmoothForest) -> Maker:
    return lambda types, seed, upper: make(censoring=censoring, types=types, upper=upper, seed=seed)


MODELS: Mapping[str, tuple[Maker, str]] = {
    "forest": (_forest("sample"), "log-ei"),
    "forest-mean": (_forest("mean"), "log-ei"),
    "network": (lambda types, seed, upper: TobitNetwork(types=types, seed=seed, upper=upper), "thompson"),
    "ensemble": (lambda types, seed, upper: TobitEnsemble(types=types, seed=seed, upper=upper), "ei"),
    "gp": (lambda types, seed, _: CensoredGP(types=types, seed=seed), "log-ei"),
}

EXACT: Mapping[str, Maker] = {
    "forest": _forest("sample", CensoredForest),
    "forest-mean": _forest("mean", CensoredForest),
    "network": lambda types, seed, upper: TobitNetwork(types=types, seed=seed, upper=upper, known_noise=0.0),
    "ensemble": lambda types, seed, upper: TobitEnsemble(types=types, seed=seed, upper=upper, known_noise=0.0),
    "gp": lambda types, seed, _: CensoredGP(types=types, seed=seed, known_noise=0.0),
}
"""Made for functions without noise. Networks and processes are told so; a forest need not be smooth."""
FINE = frozenset({"gp"})
"""Their best candidates are worth many digits. Networks differ from each other by more than that."""


def chosen_model(model: str, acquisition: str | None, *, exact: bool = False) -> tuple[Maker, str]:
    """The maker of a model and the acquisition function to use: the one asked for, or the model's usual one.

    ``exact``: the same configuration costs the same each time.
    """
    make, usual = MODELS[known_name("model", model, MODELS)]
    return EXACT.get(model, make) if exact else make, known_name(
        "acquisition function", acquisition or usual, [*ACQUISITIONS, "thompson"]
    )


def known_name(what: str, name: object, names: Mapping[str, object] | list[str]) -> str:
    """The name itself; InputError if it is not one of ``names``."""
    if not isinstance(name, str) or name not in names:
        raise InputError(
            f"unknown {what} {shown(name)}", hint=did_you_mean(str(name), names) or "one of " + ", ".join(names)
        )
    return name
