"""Quasigroup-with-holes instances: complete a Latin square of which some cells were emptied.

Always satisfiable, heavy-tailed for complete solvers, and as hard as one likes by order and number of holes (Achlioptas,
Gomes, Kautz & Selman 2000). Balanced holes (the same number in every row and column) are the hardest.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import combinations

__all__ = ["latin_square", "quasigroup_cnf", "with_holes"]

Square = list[list[int]]


def latin_square(order: int, rng: random.Random) -> Square:
    """A nearly uniform random Latin square: order³ moves of Jacobson and Matthews' random walk (1996).

    The square is its incidence cube (row, column, symbol); ``lines`` lists the ones on every axis-parallel line. A move adds
    one at a chosen cell and mends the lines through it, which may leave a single cell at −1; the walk goes on from there.
    """
    cells = [(r, c, (r + c) % order) for r in range(order) for c in range(order)]
    lines: list[list[list[list[int]]]] = [[[[] for _ in range(order)] for _ in range(order)] for _ in range(3)]
    for cell in cells:
        _add(lines, cell)
    hole: tuple[int, int, int] | None = None
    moves = 0
    while moves < order**3 or hole is not None:
        moves += 1
        x, y, z = hole or _empty_cell(order, lines, rng)
        x1, y1, z1 = rng.choice(lines[0][y][z]), rng.choice(lines[1][x][z]), rng.choice(lines[2][x][y])
        if hole is None:
            _add(lines, (x, y, z))
        for cell in ((x, y, z1), (x, y1, z), (x1, y, z)):
            _remove(lines, cell)
        for cell in ((x, y1, z1), (x1, y, z1), (x1, y1, z)):
            _add(lines, cell)
        hole = None
        if z1 in lines[2][x1][y1]:
            _remove(lines, (x1, y1, z1))
        else:
            hole = (x1, y1, z1)
    return [[lines[2][r][c][0] for c in range(order)] for r in range(order)]


def _empty_cell(order: int, lines: list[list[list[list[int]]]], rng: random.Random) -> tuple[int, int, int]:
    while True:
        x, y, z = (rng.randrange(order) for _ in range(3))
        if z not in lines[2][x][y]:
            return x, y, z


def _add(lines: list[list[list[list[int]]]], cell: tuple[int, int, int]) -> None:
    x, y, z = cell
    lines[0][y][z].append(x)
    lines[1][x][z].append(y)
    lines[2][x][y].append(z)


def _remove(lines: list[list[list[list[int]]]], cell: tuple[int, int, int]) -> None:
    x, y, z = cell
    lines[0][y][z].remove(x)
    lines[1][x][z].remove(y)
    lines[2][x][y].remove(z)


def with_holes(order: int, holes: int, seed: int) -> Square:
    """A Latin square with ``holes`` cells emptied (−1), balanced over rows and columns; the same for the same seed."""
    rng = random.Random(f"quasigroup {order} {holes} {seed}")  # noqa: S311
    square, classes = latin_square(order, rng), latin_square(order, rng)
    full, rest = divmod(holes, order)
    # The cells that hold one symbol of a second square are one per row and column.
    chosen = [(r, c) for r in range(order) for c in range(order) if classes[r][c] < full]
    last = [(r, c) for r in range(order) for c in range(order) if classes[r][c] == full]
    for r, c in chosen + rng.sample(last, rest):
        square[r][c] = -1
    return square


def quasigroup_cnf(square: Square) -> str:
    """DIMACS text that asks for a completion: every hole one symbol, every symbol once in each row and column."""
    order = len(square)
    in_row = [set(row) for row in square]
    in_column = [{row[c] for row in square} for c in range(order)]
    free = [
        (r, c, s)
        for r in range(order)
        for c in range(order)
        if square[r][c] < 0
        for s in range(order)
        if s not in in_row[r] and s not in in_column[c]
    ]
    clauses = list(_clauses(free))
    lines = [f"p cnf {len(free)} {len(clauses)}", *(" ".join(map(str, (*clause, 0))) for clause in clauses)]
    return "\n".join(lines) + "\n"


def _clauses(free: list[tuple[int, int, int]]) -> Iterator[tuple[int, ...]]:
    """Exactly one variable of each (row, column), (row, symbol) and (column, symbol) that is still open."""
    groups: dict[tuple[str, int, int], list[int]] = {}
    for variable, (r, c, s) in enumerate(free, start=1):
        for key in (("cell", r, c), ("row", r, s), ("column", c, s)):
            groups.setdefault(key, []).append(variable)
    for group in groups.values():
        yield tuple(group)
        yield from ((-a, -b) for a, b in combinations(group, 2))
