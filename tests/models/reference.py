"""The network in float64 numpy, written for clarity: the oracle of the kernel."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.special import expit, log_expit, log_ndtr

LEAST_SCALE = 0.01


def layers_of(sizes: list[int], weights: np.ndarray) -> list[np.ndarray]:
    """(out, in + 1) matrices, the bias last in each row."""
    ends = np.cumsum([(inputs + 1) * out for inputs, out in pairwise(sizes)])
    return [part.reshape(out, -1) for part, out in zip(np.split(weights, ends[:-1]), sizes[1:], strict=True)]


def outputs(sizes: list[int], weights: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Location and raw scale, (n, 2). Takes complex weights, for derivatives by complex steps."""
    a = x
    *hidden, last = layers_of(sizes, weights)
    for layer in hidden:
        a = np.tanh(a @ layer[:, :-1].T + layer[:, -1])
    return a @ last[:, :-1].T + last[:, -1]


def losses(head: str, z: np.ndarray, censored: np.ndarray) -> np.ndarray:
    """−log of density or survival function of the standard distribution."""
    if head == "normal":
        density, survival = -0.5 * z**2 - 0.5 * np.log(2.0 * np.pi), log_ndtr(-z)
    elif head == "weibull":
        density, survival = z - np.exp(z), -np.exp(z)
    else:
        density, survival = log_expit(z) + log_expit(-z), log_expit(-z)
    return -np.where(censored, survival, density)


def loss(sizes: list[int], weights: np.ndarray, x: np.ndarray, y: np.ndarray, censored: np.ndarray, head: str) -> float:
    """Mean of eq. 4."""
    location, raw = outputs(sizes, weights, x).T
    scale = np.logaddexp(0.0, raw) + LEAST_SCALE
    z = (y - location) / scale
    return float(np.mean(losses(head, z, censored) + np.where(censored, 0.0, np.log(scale))))


def slopes(head: str, z: np.ndarray, censored: np.ndarray) -> np.ndarray:
    """Derivative of ``losses`` in z."""
    if head == "normal":
        return np.where(censored, np.exp(-0.5 * z**2 - 0.5 * np.log(2.0 * np.pi) - log_ndtr(-z)), z)
    if head == "weibull":
        return np.exp(z) - np.where(censored, 0.0, 1.0)
    return np.where(censored, expit(z), 2.0 * expit(z) - 1.0)


def gradient(
    sizes: list[int], weights: np.ndarray, x: np.ndarray, y: np.ndarray, censored: np.ndarray, head: str
) -> np.ndarray:
    """Of ``loss`` in the weights, by hand; checked against finite differences."""
    layers = layers_of(sizes, weights)
    activations = [x]
    for layer in layers[:-1]:
        activations.append(np.tanh(activations[-1] @ layer[:, :-1].T + layer[:, -1]))
    location, raw = (activations[-1] @ layers[-1][:, :-1].T + layers[-1][:, -1]).T
    scale = np.logaddexp(0.0, raw) + LEAST_SCALE
    z = (y - location) / scale
    k = slopes(head, z, censored)
    delta = np.stack([-k / scale, (~censored - k * z) / scale * expit(raw)], axis=1) / len(y)
    parts = []
    for layer, a in zip(layers[::-1], activations[::-1], strict=True):
        parts.append(np.column_stack([delta.T @ a, delta.sum(axis=0)]).ravel())
        delta = (delta @ layer[:, :-1]) * (1.0 - a**2)
    return np.concatenate(parts[::-1])
