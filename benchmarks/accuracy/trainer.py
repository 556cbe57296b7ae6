"""A small trainer of multilayer perceptrons, with a price for everything it does.

ReLU layers with dropout and a softmax, cross-entropy, stochastic gradient descent with momentum and weight decay. Time is
counted, not measured: multiply-adds, and what a step costs besides, at a nominal speed. The same seed gives the same learning
curve at the same nominal seconds on a busy machine as well.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.accuracy.data import Data

UPDATE = 60.0
"""Multiply-adds' worth of momentum, decay and step per parameter: six passes through memory."""
CALL = 1e6
"""Multiply-adds' worth of starting the work of one layer in one step, whatever its size."""


class Recipe(NamedTuple):
    """What is tuned: appendix Table 2 of Eggensperger et al."""

    batch_size: int = 32
    learning_rate: float = 1e-3
    momentum: float = 0.99
    weight_decay: float = 1e-3
    layers: int = 2
    units: int = 128
    dropout: float = 0.5


class Point(NamedTuple):
    """A moment of a training: the work done (multiply-adds) and the accuracy on the validation set."""

    work: float
    accuracy: float


class Perceptron:
    """Layers of ``sizes``; all parameters are views of one vector, so that a step of descent is a few passes over it."""

    def __init__(self, sizes: Sequence[int], rng: np.random.Generator, dtype: type = np.float32) -> None:
        shapes = list(itertools.pairwise(sizes))
        self.sizes = tuple(sizes)
        self.parameters = np.zeros(sum(n * m + m for n, m in shapes), dtype)
        self.weights, self.biases = self._views(self.parameters)
        for weight in self.weights:
            weight[:] = rng.standard_normal(weight.shape, np.float32) * np.sqrt(2.0 / len(weight))
        self._gradient = np.empty_like(self.parameters)
        self._weights_gradient, self._biases_gradient = self._views(self._gradient)

    def _views(self, vector: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
        weights, biases, start = [], [], 0
        for n, m in zip(self.sizes[:-1], self.sizes[1:], strict=True):
            weights.append(vector[start : start + n * m].reshape(n, m))
            biases.append(vector[start + n * m : start + n * m + m])
            start += n * m + m
        return weights, biases

    def masks(self, rows: int, dropout: float, rng: np.random.Generator) -> list[np.ndarray] | None:
        """Factors of the hidden units: 0 with probability ``dropout``, else what keeps the expectation."""
        if dropout <= 0.0:
            return None
        keep = 1.0 - dropout
        scale = self.parameters.dtype.type(1.0 / keep if keep > 0.0 else 0.0)
        return [(rng.random((rows, size), np.float32) < keep) * scale for size in self.sizes[1:-1]]

    def activations(self, X: np.ndarray, masks: list[np.ndarray] | None = None) -> list[np.ndarray]:
        """Outputs of all layers, the input first and the logits last."""
        layers = [X]
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            out = layers[-1] @ weight
            out += bias
            if i < len(self.weights) - 1:
                np.maximum(out, 0.0, out=out)
                if masks is not None:
                    out *= masks[i]
            layers.append(out)
        return layers

    def gradient(self, X: np.ndarray, y: np.ndarray, masks: list[np.ndarray] | None = None) -> tuple[float, np.ndarray]:
        """Mean cross-entropy of a batch, and its gradient in a vector that the next call writes over."""
        layers = self.activations(X, masks)
        delta, rows = layers[-1], np.arange(len(y))
        delta -= delta.max(axis=1, keepdims=True)
        of_truth = delta[rows, y].copy()
        np.exp(delta, out=delta)
        total = delta.sum(axis=1)
        loss = float(np.mean(np.log(total) - of_truth))
        delta /= total[:, None]
        delta[rows, y] -= 1.0
        delta /= len(y)
        for i in range(len(self.weights) - 1, -1, -1):
            np.matmul(layers[i].T, delta, out=self._weights_gradient[i])
            np.sum(delta, axis=0, out=self._biases_gradient[i])
            if i:
                delta = delta @ self.weights[i].T
                delta *= layers[i] > 0.0
                if masks is not None:
                    delta *= masks[i - 1]
        return loss, self._gradient

    def accuracy(self, X: np.ndarray, y: np.ndarray) -> float:
        return float(np.mean(self.activations(X)[-1].argmax(axis=1) == y))


class Descent:
    """Gradient descent with momentum; decay belongs to the gradient."""

    def __init__(self, network: Perceptron, recipe: Recipe) -> None:
        self._network, self._recipe = network, recipe
        self._velocity = np.zeros_like(network.parameters)
        self._scratch = np.empty_like(network.parameters)

    def step(self, gradient: np.ndarray) -> None:
        recipe, parameters = self._recipe, self._network.parameters
        self._velocity *= recipe.momentum
        self._velocity += gradient
        self._velocity += np.multiply(parameters, recipe.weight_decay, out=self._scratch)
        parameters -= np.multiply(self._velocity, recipe.learning_rate, out=self._scratch)


def work_of_step(sizes: Sequence[int], rows: int) -> float:
    """Forward, gradient of the weights, gradient of the inputs (not of the first layer's), update, and the calls."""
    products = [n * m for n, m in itertools.pairwise(sizes)]
    return rows * (3.0 * sum(products) - products[0]) + UPDATE * sum(products) + CALL * len(products)


def work_of_validation(sizes: Sequence[int], rows: int) -> float:
    products = [n * m for n, m in itertools.pairwise(sizes)]
    return float(rows * sum(products)) + CALL * len(products)


def train(recipe: Recipe, data: Data, seed: int, work: float) -> Iterator[Point]:
    """The learning curve, a point after each epoch, until the next epoch would end beyond ``work``, or it diverges."""
    rng = np.random.default_rng(seed)
    sizes = [data.X.shape[1], *[recipe.units] * recipe.layers, data.classes]
    network = Perceptron(sizes, rng)
    descent = Descent(network, recipe)
    starts = range(0, len(data.X), recipe.batch_size)
    epoch = sum(work_of_step(sizes, min(recipe.batch_size, len(data.X) - start)) for start in starts)
    epoch += work_of_validation(sizes, len(data.X_valid))
    spent = epoch
    while spent <= work:
        order = rng.permutation(len(data.X))
        for start in starts:
            rows = order[start : start + recipe.batch_size]
            with np.errstate(all="ignore"):  # divergence is seen in the loss
                loss, gradient = network.gradient(data.X[rows], data.y[rows], network.masks(len(rows), recipe.dropout, rng))
                descent.step(gradient)
            if not np.isfinite(loss):
                return
        with np.errstate(all="ignore"):
            yield Point(spent, network.accuracy(data.X_valid, data.y_valid))
        spent += epoch
