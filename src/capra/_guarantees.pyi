"""Compiled cores of the strategies with guarantees (strategies/native)."""

import numpy as np
from numpy.typing import NDArray

Step = tuple[int, int, float]

class Ledger:
    restart: float
    resumed: float
    fresh_restart: float
    fresh_resumed: float
    steps: int
    runs: int
    def __init__(self, times: NDArray[np.float64], values: NDArray[np.float64], place: NDArray[np.int64]) -> None: ...
    def look(self, i: int, j: int, cap: float, /) -> tuple[float, bool]: ...

class _Core:
    answer: int
    gap: float
    def wanted(self) -> Step | None: ...
    def take(self, value: float, done: bool, /) -> None: ...
    def ahead(self, count: int, /) -> list[Step]: ...
    def exclude(self, config: int, /) -> None: ...
    def simulate(self, ledger: Ledger, gap: float = 0.0, budget: float = ..., steps: int = ...) -> None: ...

class Procrastination(_Core):
    def __init__(
        self, configs: int, epsilon: float, zeta: float, kappa0: float, kappa_bar: float, factor: float = 2.0
    ) -> None: ...
    def queue(self, i: int, /) -> list[tuple[int, float]]: ...

class Confidence(_Core):
    steps: int
    def __init__(self, configs: int, kappa0: float, factor: float = 2.0) -> None: ...
    def bound(self, i: int, /) -> float: ...
    def begun(self, i: int, /) -> int: ...
    def is_out(self, i: int, /) -> bool: ...
    def known_below(self, i: int, /) -> float: ...
    def seen(self, i: int, /) -> tuple[list[float], list[int]]: ...

class LeapsAndBounds(_Core):
    theta: float
    def __init__(
        self, configs: int, epsilon: float, delta: float, zeta: float, kappa0: float, multiplier: float = 1.25
    ) -> None: ...

class CapsSettings:
    b: int
    def __init__(
        self,
        n: int,
        epsilon: float,
        delta: float,
        zeta: float,
        kappa0: float,
        runs: float,
        events: float,
        patience: float,
        /,
    ) -> None: ...

class CapsAndRuns(_Core):
    is_sure: bool
    least: float
    def __init__(self, settings: CapsSettings, /) -> None: ...

class Impatient(_Core):
    is_sure: bool
    least: float
    kept: int
    def __init__(self, sizes: list[int], settings: CapsSettings, /) -> None: ...

class Utilitarian(_Core):
    configs: int
    def bounds(self, i: int, /) -> tuple[float, float]: ...
    def sample(self, i: int, /) -> tuple[int, float, float]: ...

class Up(Utilitarian):
    alive: int
    def __init__(self, configs: int, delta: float, kappa0: float, worth: list[float], epsilon: float = 0.0) -> None: ...

class Oup(Utilitarian):
    def __init__(self, configs: int, delta: float, kappa0: float, worth: list[float], epsilon: float = 0.0) -> None: ...

class Coup(Utilitarian):
    phase: int
    promise: float
    def __init__(
        self,
        most: int,
        delta: float,
        kappa0: float,
        worth: list[float],
        pace: float = 5.0,
        phases: int = ...,
        given: int = 0,
        each: int = 1,
    ) -> None: ...
