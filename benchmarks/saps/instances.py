"""Latin squares with holes, as formulas for SAPS."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

from capra.demo.quasigroup import latin_square, quasigroup_cnf

Clauses = list[list[int]]
ORDERS = range(10, 26)
HOLES = 0.52
"""Share of empty cells: fewer, and too few solutions are left for parameters to matter; many more, and all is easy."""


class Ascending(random.Random):
    """Chooses as if what it chooses from were in ascending order: the reference instances were drawn so."""

    def choice(self, seq: Sequence[Any]) -> Any:
        return super().choice(sorted(seq))


def quasigroup(order: int, holes: int, seed: int) -> Clauses:
    """The clauses of a Latin square with holes anywhere (not balanced): those of the reference runs, if of the same size."""
    rng = Ascending(f"qwh-{order}-{holes}-{seed}-False")
    square = latin_square(order, rng)
    cells = [(row, column) for row in range(order) for column in range(order)]
    rng.shuffle(cells)
    for row, column in cells[:holes]:
        square[row][column] = -1
    lines = quasigroup_cnf(square).splitlines()[1:]
    return [[int(literal) for literal in line.split()[:-1]] for line in lines]


def propagated(clauses: Clauses) -> Clauses:
    """What unit propagation leaves of a satisfiable formula, with its variables counted anew; may be nothing."""
    while units := {clause[0] for clause in clauses if len(clause) == 1}:
        open_clauses = (clause for clause in clauses if units.isdisjoint(clause))
        clauses = [[literal for literal in clause if -literal not in units] for clause in open_clauses]
    number = {v: i for i, v in enumerate(sorted({abs(literal) for clause in clauses for literal in clause}), start=1)}
    return [[number[abs(literal)] * (1 if literal > 0 else -1) for literal in clause] for clause in clauses]


def population_member(seed: int) -> tuple[int, Clauses]:
    """The order and the clauses of instance ``seed``, of whose cells the share ``HOLES`` is empty."""
    order = ORDERS[seed % len(ORDERS)]
    return order, propagated(quasigroup(order, round(HOLES * order**2), seed))


def population() -> Iterator[tuple[int, int, Clauses]]:
    """Seed, order and clauses of one instance after the other; those that propagation solves are left out."""
    for seed in count():
        order, clauses = population_member(seed)
        if clauses:
            yield seed, order, clauses
