"""The peer of benchmarks/network.py: the same network in PyTorch, eager. Needs torch and numpy, nothing of ours.

``python network_torch.py PROBLEM.npz`` prints one JSON object: CPU microseconds per training step (the paper's recipe, one
thread), and writes autograd's float64 gradients beside the problem.
"""

from __future__ import annotations

import itertools
import json
import math
import sys
import time
from pathlib import Path

import numpy as np
import torch

LEAST_SCALE = 0.01


def network(sizes: list[int]) -> torch.nn.Sequential:
    parts: list[torch.nn.Module] = []
    for inputs, out in itertools.pairwise(sizes):
        parts += [torch.nn.Linear(inputs, out), torch.nn.Tanh()]
    return torch.nn.Sequential(*parts[:-1])


def loss_of(outputs: torch.Tensor, y: torch.Tensor, censored: torch.Tensor, head: str) -> torch.Tensor:
    scale = torch.nn.functional.softplus(outputs[:, 1]) + LEAST_SCALE
    z = (y - outputs[:, 0]) / scale
    if head == "normal":
        density, survival = -0.5 * z * z - 0.5 * math.log(2.0 * math.pi), torch.special.log_ndtr(-z)
    elif head == "weibull":
        density, survival = z - torch.exp(z), -torch.exp(z)
    else:
        sigmoid = torch.nn.functional.logsigmoid
        density, survival = sigmoid(z) + sigmoid(-z), sigmoid(-z)
    return -torch.where(censored, survival, density - torch.log(scale)).mean()


def set_weights(net: torch.nn.Sequential, dense: np.ndarray) -> None:
    """Row after row, the bias last in each."""
    at = 0
    for layer in (part for part in net if isinstance(part, torch.nn.Linear)):
        rows = torch.from_numpy(dense[at : at + layer.out_features * (layer.in_features + 1)]).reshape(
            layer.out_features, -1
        )
        layer.weight.data, layer.bias.data = rows[:, :-1].clone(), rows[:, -1].clone()
        at += rows.numel()


def gradients(net: torch.nn.Sequential) -> np.ndarray:
    layers = [part for part in net if isinstance(part, torch.nn.Linear)]
    return np.concatenate([torch.cat([part.weight.grad, part.bias.grad[:, None]], 1).numpy().ravel() for part in layers])


def autograd(given: dict[str, np.ndarray], head: str) -> np.ndarray:
    net = network([int(size) for size in given["sizes"]]).double()
    set_weights(net, given["weights"].astype(np.float64))
    x, y = (torch.from_numpy(given[name].astype(np.float64)) for name in ("x", "y"))
    loss_of(net(x), y, torch.from_numpy(given["censored"]), head).backward()
    return gradients(net)


def microseconds_per_step(given: dict[str, np.ndarray], steps: int) -> float:
    """SGD with momentum, batch 16, one cycle, clipping: what the paper's code does in each step."""
    net = network([int(size) for size in given["sizes"]])
    set_weights(net, given["weights"])
    x, y, censored = (torch.from_numpy(given[name]) for name in ("x", "y", "censored"))
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-2, momentum=0.9, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-2, total_steps=steps + 1, cycle_momentum=False)
    order = torch.randint(len(x), (steps, 16))
    started = time.process_time()
    for index in order:
        optimizer.zero_grad()
        loss_of(net(x[index]), y[index], censored[index], "normal").backward()
        torch.nn.utils.clip_grad_value_(net.parameters(), 0.1)
        optimizer.step()
        schedule.step()
    return 1e6 * (time.process_time() - started) / steps


def main() -> None:
    torch.set_num_threads(1)
    path = Path(sys.argv[1])
    given = dict(np.load(path))
    np.savez(path.with_name("autograd.npz"), **{head: autograd(given, head) for head in ("normal", "weibull", "logistic")})
    microseconds_per_step(given, 100)  # warm up
    print(json.dumps({"torch": torch.__version__, "microseconds": microseconds_per_step(given, 1500)}))


if __name__ == "__main__":
    main()
