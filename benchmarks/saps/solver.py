"""SAPS from Python: ``saps.cpp``, compiled with the C++ compiler when it is first needed and kept in a cache folder."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.ctypeslib import ndpointer

from capra.space import Real, Space

SOURCE = Path(__file__).with_name("saps.cpp")
FLAGS = ("-std=c++17", "-O2", "-shared", "-fPIC")
Clauses = Sequence[Sequence[int]]


def saps_space() -> Space:
    """Eggensperger et al. 2021, appendix, Table 1."""
    return Space(
        [
            Real("alpha", 1.0, 1.4, 1.3, log=True),
            Real("rho", 0.0, 1.0, 0.8),
            Real("ps", 0.0, 0.2, 0.05),
            Real("wp", 0.0, 0.06, 0.01),
        ]
    )


def compiler() -> str | None:
    return shutil.which(os.environ.get("CXX", "c++"))


def built() -> Path:
    """The compiled library; its name depends on the source, so that an old one is never taken for it."""
    program = compiler()
    if program is None:
        raise SystemExit("no C++ compiler: install one, or name it in CXX")
    mark = hashlib.sha256(SOURCE.read_bytes() + " ".join((program, *FLAGS)).encode()).hexdigest()[:16]
    folder = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "capra"
    library = folder / f"saps-{mark}.so"
    if not library.exists():
        folder.mkdir(parents=True, exist_ok=True)
        fresh = library.with_suffix(f".{os.getpid()}")
        subprocess.run([program, *FLAGS, str(SOURCE), "-o", str(fresh)], check=True)
        fresh.rename(library)
    return library


@cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(str(built()))
    ints, longs = ndpointer(np.int32, flags="C"), ndpointer(np.int64, flags="C")
    seeds, flags = ndpointer(np.uint64, flags="C"), ndpointer(np.int8, flags="C")
    library.saps_formula.restype = ctypes.c_void_p
    library.saps_formula.argtypes = [ctypes.c_int, ctypes.c_int, ints, ints]
    library.saps_free.argtypes = [ctypes.c_void_p]
    library.saps_run.restype = None
    numbers = [ctypes.c_double] * 4
    library.saps_run.argtypes = [ctypes.c_void_p, *numbers, seeds, ctypes.c_int, ctypes.c_int64, longs, flags, flags]
    return library


class Parameters(NamedTuple):
    """SAPS's own names; the values are its default."""

    alpha: float = 1.3
    rho: float = 0.8
    ps: float = 0.05
    wp: float = 0.01


class Runs(NamedTuple):
    """One entry per seed: steps made, whether they led to a solution, and the last assignment (runs × variables)."""

    steps: np.ndarray
    solved: np.ndarray
    models: np.ndarray


class Saps:
    """SAPS on one formula; literals are signed numbers from 1, as in DIMACS."""

    def __init__(self, clauses: Clauses) -> None:
        if not clauses or not all(clauses):
            raise ValueError("a formula has clauses, and a clause has literals")
        literals = np.array([literal for clause in clauses for literal in clause], dtype=np.int32)
        starts = np.cumsum([0, *map(len, clauses)], dtype=np.int32)
        self.clauses = clauses
        self.variables = int(np.abs(literals).max())
        self._library = _library()
        self._formula = self._library.saps_formula(self.variables, len(clauses), starts, literals)

    def __del__(self) -> None:
        if hasattr(self, "_formula"):
            self._library.saps_free(self._formula)

    def run(self, parameters: Parameters, seeds: Sequence[int] | np.ndarray, cutoff: int) -> Runs:
        """A run for each seed, each of at most ``cutoff`` steps."""
        chosen = np.asarray(seeds, dtype=np.uint64)
        steps, solved = np.empty(len(chosen), dtype=np.int64), np.empty(len(chosen), dtype=np.int8)
        models = np.empty((len(chosen), self.variables), dtype=np.int8)
        self._library.saps_run(self._formula, *parameters, chosen, len(chosen), int(cutoff), steps, solved, models)
        return Runs(steps, solved.astype(bool), models.astype(bool))
