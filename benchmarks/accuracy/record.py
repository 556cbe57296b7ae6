"""Learning curves recorded once: random configurations and the default on every data set.

A file holds the curves of one data set. Points lie at whole epochs, so a curve is the work of an epoch and one count of right
answers per epoch. Recording goes on where it stopped.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.accuracy.data import load
from benchmarks.accuracy.trainer import Recipe, train
from benchmarks.machine import RESULTS, kept_input
from capra.runs import Configuration
from capra.space import Integer, Real, Space
from capra.targets import Table

SPACE = Space(
    [
        Integer("batch_size", 16, 512, 32, log=True),
        Real("learning_rate", 1e-4, 1e-1, 1e-3, log=True),
        Real("momentum", 0.1, 0.99, 0.99),
        Real("weight_decay", 1e-5, 1e-1, 1e-3),
        Integer("layers", 1, 5, 2),
        Integer("units", 64, 1024, 128, log=True),
        Real("dropout", 0.0, 1.0, 0.5),
    ]
)
"""Appendix Table 2 of Eggensperger et al.: neither decay nor dropout on a log scale."""
SPEED = 4e7
"""Work in a nominal second: one core of ours does 270 to 660 times as much, so that 100 nominal seconds are a fraction of a real one."""
CUTOFF = 100.0
QUANTILE = 0.95
CONFIG_SEED, TRAINING_SEED = 0, 0
FOLDER = RESULTS / "accuracy"
SAVE_EVERY = 60.0
"""Seconds."""


@dataclass(frozen=True)
class Curves:
    """Learning curves of the first ``len(epoch)`` configurations: nominal seconds of an epoch, right answers after each."""

    epoch: np.ndarray
    length: np.ndarray
    right: np.ndarray
    rows: int
    """Of the validation set."""

    @classmethod
    def empty(cls, rows: int) -> Curves:
        return cls(np.empty(0), np.empty(0, np.int32), np.empty(0, np.uint16), rows)

    def __len__(self) -> int:
        return len(self.epoch)

    def with_curve(self, epoch: float, right: list[int]) -> Curves:
        return Curves(
            np.append(self.epoch, epoch),
            np.append(self.length, len(right)).astype(np.int32),
            np.append(self.right, right).astype(np.uint16),
            self.rows,
        )

    def curve(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        """Nominal seconds, and the best accuracy until then: it never falls."""
        start = int(self.length[:i].sum())
        right = self.right[start : start + self.length[i]]
        return self.epoch[i] * np.arange(1, len(right) + 1), np.maximum.accumulate(right) / self.rows

    def best(self) -> np.ndarray:
        """The best accuracy of each; 0 if no epoch was finished."""
        return np.array([max(self.curve(i)[1], default=0.0) for i in range(len(self))])

    def target(self) -> float:
        """The accuracy to reach: a quantile of what the random configurations (all but the first) reached."""
        return float(np.quantile(self.best()[1:], QUANTILE, method="lower"))

    def times(self, target: float) -> tuple[np.ndarray, np.ndarray]:
        """Nominal seconds until the target, and whether it was reached: the cutoff where it was not."""
        found = []
        for i in range(len(self)):
            seconds, accuracy = self.curve(i)
            reached = np.flatnonzero(accuracy >= target)
            found.append(float(seconds[reached[0]]) if len(reached) else np.inf)
        times = np.array(found)
        return np.minimum(times, CUTOFF), times <= CUTOFF

    def save(self, path: Path) -> None:
        """Whole or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(".tmp")
        with draft.open("wb") as file:
            np.savez_compressed(file, epoch=self.epoch, length=self.length, right=self.right, rows=self.rows)
        draft.replace(path)

    @classmethod
    def read(cls, path: Path) -> Curves:
        with np.load(path, allow_pickle=False) as data:
            return cls(data["epoch"], data["length"], data["right"], int(data["rows"]))


def configurations(count: int) -> list[Configuration]:
    """The default, then random ones: the first of many are the same as few."""
    return [
        SPACE.default,
        *(SPACE.decode(SPACE.sample(1, np.random.default_rng([CONFIG_SEED, i])))[0] for i in range(count)),
    ]


def curve_of(config: Configuration, name: str, seed: int) -> tuple[float, list[int]]:
    """Nominal seconds of an epoch, and right answers after each."""
    data = load(name)
    points = list(train(Recipe(**config), data, seed, CUTOFF * SPEED))
    epoch = points[0].work / SPEED if points else CUTOFF
    return epoch, [round(point.accuracy * len(data.y_valid)) for point in points]


def path_of(name: str) -> Path:
    return FOLDER / f"{name}.npz"


def recorded(name: str) -> Curves:
    path = kept_input(f"{FOLDER.name}/{name}.npz")
    return Curves.read(path) if path.exists() else Curves.empty(len(load(name).y_valid))


def record(name: str, count: int, deadline: float) -> Curves:
    """Train until ``count`` random configurations are recorded, or until the monotonic clock says ``deadline``."""
    curves, saved = recorded(name), time.monotonic()
    for config in configurations(count)[len(curves) :]:
        if time.monotonic() > deadline:
            break
        curves = curves.with_curve(*curve_of(config, name, TRAINING_SEED))
        if time.monotonic() > saved + SAVE_EVERY:
            curves.save(path_of(name))
            saved = time.monotonic()
    curves.save(path_of(name))
    return curves


def table(names: list[str]) -> Table:
    """Times to the target accuracy as a finite pool, the data sets being the instances; the default is the first row."""
    columns = []
    for name in names:
        curves = recorded(name)
        columns.append(curves.times(curves.target()))
    times, solved = (np.column_stack(parts) for parts in zip(*columns, strict=True))
    return Table(times, solved, configurations(len(times) - 1), names, CUTOFF, SPACE)
