"""A small trainer of neural networks: how long until it is right about 95 % of the points that it has not seen?"""

from itertools import count, pairwise
from typing import Any

import numpy as np

ACCURACY = 0.95
POINTS = 600
"""For training, and as many for validation."""


def spirals(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Two arms that wind around each other; each data set has its own turn, winding and noise."""
    rng = np.random.default_rng(int(name.removeprefix("spirals-")))
    turn, windings, noise = rng.uniform(0, 2 * np.pi), rng.uniform(1.6, 1.9), rng.uniform(0.01, 0.02)
    y = rng.integers(0, 2, 2 * POINTS)
    radius = np.sqrt(rng.uniform(0.02, 1, 2 * POINTS))
    angle = turn + np.pi * (2 * windings * radius + y)
    X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]) + rng.normal(0, noise, (2 * POINTS, 2))
    return X / X.std(axis=0), y


class Network:
    """Layers of weights and biases, trained by stochastic gradient descent with momentum and weight decay."""

    def __init__(self, config: dict[str, Any], rng: np.random.Generator) -> None:
        sizes = [2, *[config["units"]] * config["layers"], 2]
        self.config, self.relu = config, config["activation"] == "relu"
        self.layers = [rng.normal(0, np.sqrt(2 / n), (n + 1, m)) for n, m in pairwise(sizes)]  # the last row is the bias
        self.speeds = [np.zeros_like(layer) for layer in self.layers]

    def outputs(self, X: np.ndarray) -> list[np.ndarray]:
        """Of every layer, the input first, each with a column of ones; the logits last."""
        found = [with_ones(X)]
        for layer in self.layers[:-1]:
            out = found[-1] @ layer
            found.append(with_ones(np.maximum(out, 0) if self.relu else np.tanh(out)))
        return [*found, found[-1] @ self.layers[-1]]

    def step(self, X: np.ndarray, y: np.ndarray) -> None:
        *outputs, logits = self.outputs(X)
        delta = np.exp(logits - logits.max(axis=1, keepdims=True))
        delta /= delta.sum(axis=1, keepdims=True)
        delta[np.arange(len(y)), y] -= 1  # the gradient of the cross-entropy
        for i in reversed(range(len(self.layers))):
            gradient = outputs[i].T @ delta / len(y) + self.config["decay"] * self.layers[i]
            if i:
                slope = outputs[i] > 0 if self.relu else 1 - outputs[i] ** 2
                delta = ((delta @ self.layers[i].T) * slope)[:, :-1]
            self.speeds[i] = self.config["momentum"] * self.speeds[i] - self.config["learning-rate"] * gradient
            self.layers[i] += self.speeds[i]

    def accuracy(self, X: np.ndarray, y: np.ndarray) -> float:
        return float(np.mean(self.outputs(X)[-1].argmax(axis=1) == y))


def with_ones(X: np.ndarray) -> np.ndarray:
    return np.column_stack([X, np.ones(len(X))])


def train(config: dict[str, Any], instance: str, seed: int, cutoff: float) -> dict[str, Any]:
    """Ends when the network is good enough, or has diverged. Who never ends is stopped at the cutoff, from outside."""
    rng = np.random.default_rng(seed)
    X, y = spirals(instance)
    network = Network(config, rng)
    for epoch in count(1):
        for rows in np.array_split(rng.permutation(POINTS), max(1, POINTS // config["batch-size"])):
            with np.errstate(all="ignore"):  # divergence is seen below
                network.step(X[rows], y[rows])
        if not all(np.isfinite(layer).all() for layer in network.layers):
            return {"status": "CRASHED"}
        if network.accuracy(X[POINTS:], y[POINTS:]) >= ACCURACY:
            return {"status": "SUCCESS", "answer": f"{epoch} epochs"}
    raise AssertionError("count never ends")
