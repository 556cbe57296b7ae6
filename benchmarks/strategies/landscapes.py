"""Two synthetic targets whose truth is known: a smooth one over numbers, and a rugged one over categories with conditions.

Both answer in CPU seconds under a cutoff of 100 s, with heavy tails over instances and seeds as solvers have them.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from capra.runs import Value
from capra.scenario import Scenario
from capra.space import Categorical, Integer, Real, Space, equals

CUTOFF = 100.0
PENALTY = 10.0
STARTUP = 0.3
"""Seconds that every run takes."""
TRAIN, TEST = range(100), range(1000, 1200)
GROUPS, CHOICES, EPISTASIS = 5, 4, 2


def _normal(*key: object) -> float:
    """A standard normal number that belongs to the key."""
    digest = hashlib.blake2b(repr(key).encode(), digest_size=16).digest()
    one, two = (int.from_bytes(part, "big") / 2**64 for part in (digest[:8], digest[8:]))
    return math.sqrt(-2.0 * math.log(max(one, 1e-18))) * math.cos(2.0 * math.pi * two)


class Landscape:
    """A target: the logarithm of its time is a configuration's merit plus the instance's hardness plus chance."""

    space: Space
    name: str

    def merit(self, config: Mapping[str, Value], instance: str | None) -> float:
        """Natural logarithm of the median time on an instance of usual hardness."""
        raise NotImplementedError

    def __call__(self, config: Mapping[str, Value], instance: str | None, seed: int, cutoff: float) -> float:
        noise = 0.5 * _normal(self.name, tuple(sorted(config.items())), instance, seed)
        return STARTUP + math.exp(self.merit(config, instance) + _normal(self.name, instance) + noise)

    def scenario(self, budget: float) -> Scenario:
        return Scenario(
            target=self,
            space=self.space,
            instances=[f"i{k}" for k in TRAIN],
            cutoff=CUTOFF,
            budget={"cpu": budget},
            name=self.name,
        )

    def test_cost(self, config: Mapping[str, Value]) -> float:
        """Mean PAR10 over the test instances, one seed each."""
        times = np.array([self(config, f"i{k}", 0, CUTOFF) for k in TEST])
        return float(np.where(times < CUTOFF, times, PENALTY * CUTOFF).mean())


class Smooth(Landscape):
    """Eight numbers, a tilted bowl whose bottom lies elsewhere for each instance, but not far."""

    name = "smooth"

    def __init__(self) -> None:
        reals = [Real(f"x{k}", 0.0, 1.0, 0.9) for k in range(5)]
        self.space = Space(
            [
                *reals,
                Real("rate", 1e-4, 1.0, 0.5, log=True),
                Integer("size", 1, 1000, 900, log=True),
                Integer("depth", 1, 20, 19),
            ]
        )
        rng = np.random.default_rng(1)
        self._bottom = rng.uniform(0.2, 0.5, 8)
        tilt = rng.normal(size=(8, 8))
        self._shape = tilt @ tilt.T / 8.0 + np.eye(8)

    def merit(self, config: Mapping[str, Value], instance: str | None) -> float:
        shift = np.array([0.05 * _normal("shift", instance, k) for k in range(8)])
        gap = self.space.encode([config])[0] - self._bottom - shift
        return float(-1.0 + 4.0 * math.sqrt(gap @ self._shape @ gap))


class Rugged(Landscape):
    """An NK landscape: three algorithms, each with five options of its own (four values) that act in threes."""

    name = "rugged"

    def __init__(self) -> None:
        letters = "abc"
        options = [Categorical(f"{a}{k}", tuple("wxyz"), "w") for a in letters for k in range(GROUPS)]
        shared = [Categorical(f"s{k}", tuple("wxyz"), "w") for k in range(GROUPS)]
        conditions = {parameter.name: equals("algorithm", parameter.name[0]) for parameter in options}
        self.space = Space([Categorical("algorithm", tuple(letters), "a"), *shared, *options], conditions)

    def merit(self, config: Mapping[str, Value], instance: str | None) -> float:
        algorithm = str(config["algorithm"])
        values = [str(config[f"s{k}"]) for k in range(GROUPS)] + [str(config[f"{algorithm}{k}"]) for k in range(GROUPS)]
        parts = [self._part(algorithm, k, values, instance) for k in range(2 * GROUPS)]
        return {"a": 4.5, "b": 4.0, "c": 3.5}[algorithm] + sum(parts) * 0.4

    def _part(self, algorithm: str, k: int, values: list[str], instance: str | None) -> float:
        """Each option acts together with the two after it; a quarter of that differs from instance to instance."""
        near = tuple(values[(k + step) % len(values)] for step in range(EPISTASIS + 1))
        return _normal("nk", algorithm, k, near) + 0.25 * _normal("nk", algorithm, k, near, instance)


def landscape(name: str) -> Any:
    return {"smooth": Smooth, "rugged": Rugged}[name]()
