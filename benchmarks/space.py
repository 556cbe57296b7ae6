"""Sampling, encoding and neighbours beside ConfigSpace: ``python -m benchmarks.space``.

(a) 10,000 samples of lingeling.pcs (322 parameters) and their encoding to one array. Goal: less than twice the time
    ConfigSpace takes for its samples alone.
(b) All one-exchange neighbours, four per number, of 20 configurations of clasp-3.1.4.pcs (98 parameters, 63
    conditions). Goal: ten times as many per second as ConfigSpace's generator.

CPU time of this process, the best of a few interleaved rounds. Results go to benchmarks/results/space.json.
"""

from __future__ import annotations

import io
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import machine, shared_or_exit, write_results
from capra.space import Space
from capra.space.files import read_space

SAMPLES = 10_000
CONFIGURATIONS = 20
PER_NUMBER = 4


def their_space(path: Path) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # both files are old PCS; ConfigSpace's reader is deprecated
        from ConfigSpace.read_and_write import pcs

        return pcs.read(io.StringIO(path.read_text()))


def cpu_seconds(action: Callable[[], object]) -> float:
    started = time.process_time()
    action()
    return time.process_time() - started


def sampling(folder: Path) -> dict[str, float]:
    """CPU seconds. ConfigSpace takes long enough for one round to be steady."""
    space, peer = read_space(folder / "lingeling.pcs"), their_space(folder / "lingeling.pcs")
    peer.seed(0)

    def objects() -> None:
        configurations = space.decode(space.sample(SAMPLES, np.random.default_rng(0)))
        assert space.encode(configurations).shape == (SAMPLES, len(space))

    rounds = [(cpu_seconds(lambda: space.sample(SAMPLES, np.random.default_rng(0))), cpu_seconds(objects)) for _ in range(3)]
    array, through_objects = (min(column) for column in zip(*rounds, strict=True))
    theirs = cpu_seconds(lambda: peer.sample_configuration(SAMPLES))
    return {"array": array, "objects": through_objects, "configspace": theirs}


def neighbours(folder: Path) -> dict[str, float]:
    """Neighbours per CPU second, of the same configurations."""
    from ConfigSpace import Configuration

    space, peer = read_space(folder / "clasp-3.1.4.pcs"), their_space(folder / "clasp-3.1.4.pcs")
    rows = space.sample(CONFIGURATIONS, np.random.default_rng(0))
    same = [Configuration(peer, values=dict(configuration)) for configuration in space.decode(rows)]
    rates = [(_our_rate(space, rows), _their_rate(same)) for _ in range(10)]
    ours, theirs = (max(column) for column in zip(*rates, strict=True))
    return {"ours": ours, "configspace": theirs}


def _our_rate(space: Space, rows: np.ndarray) -> float:
    repetitions = 20
    started = time.process_time()
    found = sum(len(space.neighbours(rows, np.random.default_rng(seed), count=PER_NUMBER)[0]) for seed in range(repetitions))
    return found / (time.process_time() - started)


def _their_rate(configurations: list[Any]) -> float:
    from ConfigSpace.util import get_one_exchange_neighbourhood

    started = time.process_time()
    found = sum(
        sum(1 for _ in get_one_exchange_neighbourhood(configuration, seed, num_neighbors=PER_NUMBER))
        for seed, configuration in enumerate(configurations)
    )
    return found / (time.process_time() - started)


def show(title: str, unit: str, rows: list[tuple[str, float, float, str]]) -> None:
    print(f"{title}\n{'':34}{unit:>16}{'ratio':>10}   goal")
    for name, value, ratio, goal in rows:
        print(f"  {name:32}{value:16,.2f}{ratio:10.3f}   {goal}")
    print()


def main() -> None:
    folder = shared_or_exit("aclib")
    sampled, near = sampling(folder), neighbours(folder)
    reference = sampled["configspace"]
    show(
        f"{SAMPLES:,} samples of lingeling.pcs and their codes; ratio to ConfigSpace's samples alone",
        "CPU s",
        [
            ("Capra, one array", sampled["array"], sampled["array"] / reference, "< 2"),
            ("Capra, as objects, then encoded", sampled["objects"], sampled["objects"] / reference, "< 2"),
            ("ConfigSpace, samples only", reference, 1.0, ""),
        ],
    )
    show(
        f"one-exchange neighbours of {CONFIGURATIONS} configurations of clasp-3.1.4.pcs, {PER_NUMBER} per number",
        "per CPU s",
        [
            ("Capra", near["ours"], near["ours"] / near["configspace"], ">= 10"),
            ("ConfigSpace", near["configspace"], 1.0, ""),
        ],
    )
    found = {"sampling_cpu_seconds": sampled, "neighbours_per_cpu_second": near}
    write_results("space", {"machine": machine("numpy", "ConfigSpace"), **found})


if __name__ == "__main__":
    main()
