"""The features of CNF formulas by brute force: sets, dictionaries, propagation by looking at every clause again and again.

Limits on visits are not known here, so formulas must be small.
"""

from __future__ import annotations

import math
from collections import Counter

DIVES, TRIES, FLIPS, DEPTHS = 10, 3, 20_000, (1, 4, 16, 64, 256)
_MASK = (1 << 64) - 1


def _mix(x: int) -> int:
    x = (x + 0x9E3779B97F4A7C15) & _MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)


class Dice:
    def __init__(self, seed: int, stream: int) -> None:
        self.state = _mix(seed) ^ _mix(~stream & _MASK)

    def next(self) -> int:
        out = _mix(self.state)
        self.state = (self.state + 0x9E3779B97F4A7C15) & _MASK
        return out

    def coin(self) -> bool:
        return bool(self.next() >> 63)

    def below(self, n: int) -> int:
        return ((self.next() >> 32) * n) >> 32


def normal(clauses: list[list[int]]) -> list[list[int]]:
    """Each literal once, no tautologies, variables 1, 2, … without gaps."""
    kept = [list(dict.fromkeys(clause)) for clause in clauses if not any(-literal in clause for literal in clause)]
    number = {v: i for i, v in enumerate(sorted({abs(literal) for clause in kept for literal in clause}), start=1)}
    return [[number[x] if x > 0 else -number[-x] for x in clause] for clause in kept]


def summary(name: str, values: list[float], keys: list[int] | None = None) -> dict[str, float]:
    if not values:
        return dict.fromkeys((f"{name}_{part}" for part in ("mean", "cv", "min", "max", "entropy")), 0.0)
    mean = math.fsum(values) / len(values)
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))
    shares = [count / len(values) for count in Counter(keys or values).values()]
    return {
        f"{name}_mean": mean,
        f"{name}_cv": spread / mean if mean else 0.0,
        f"{name}_min": min(values),
        f"{name}_max": max(values),
        f"{name}_entropy": -math.fsum(p * math.log(p) for p in shares),
    }


def shares(name: str, values: list[float]) -> dict[str, float]:
    return summary(name, values, [int(100.0 * value) for value in values])


def ratio(one: float, other: float) -> float:
    return one / other if other else 0.0


def balance(literals: list[int]) -> float:
    return 2.0 * abs(0.5 - sum(literal > 0 for literal in literals) / len(literals)) if literals else 0.0


def counted(declared: int, clauses: list[list[int]]) -> dict[str, float]:
    n, m = len({abs(x) for clause in clauses for x in clause}), len(clauses)
    literals = [x for clause in clauses for x in clause]
    of = {v: [clause for clause in clauses if v in clause or -v in clause] for v in range(1, n + 1)}
    signs = {v: [x for x in literals if abs(x) == v] for v in of}
    horn = [clause for clause in clauses if sum(x > 0 for x in clause) <= 1]
    near = [{abs(x) for clause in of[v] for x in clause} - {v} for v in of]
    return {
        "variables": n,
        "clauses": m,
        "literals": len(literals),
        "log_variables": math.log10(n or 1),
        "log_clauses": math.log10(m or 1),
        "clauses_per_variable": ratio(m, n),
        "variables_per_clause": ratio(n, m),
        "unused_variables": 1.0 - n / declared if declared else 0.0,
        **summary("clause_length", [len(clause) for clause in clauses]),
        "unit_clauses": ratio(sum(len(clause) == 1 for clause in clauses), m),
        "binary_clauses": ratio(sum(len(clause) == 2 for clause in clauses), m),
        "ternary_clauses": ratio(sum(len(clause) == 3 for clause in clauses), m),
        "horn_clauses": ratio(len(horn), m),
        "dual_horn_clauses": ratio(sum(sum(x < 0 for x in clause) <= 1 for clause in clauses), m),
        "positive_literals": ratio(sum(x > 0 for x in literals), len(literals)),
        **shares("clause_balance", [balance(clause) for clause in clauses]),
        **summary("variable_degree", [len(of[v]) for v in of]),
        **shares("variable_balance", [balance(signs[v]) for v in of]),
        **shares("variable_horn", [sum(clause in horn for clause in of[v]) / len(of[v]) for v in of]),
        **summary("graph_degree", [len(others) for others in near]),
    }


def closed(clauses: list[list[int]], true: set[int]) -> set[int] | None:
    """All that follows by unit propagation; None if that is a contradiction."""
    true = set(true)
    while True:
        units = set()
        for clause in clauses:
            if any(x in true for x in clause):
                continue
            free = [x for x in clause if -x not in true]
            if not free:
                return None
            if len(free) == 1:
                units.add(free[0])
        if not units:
            return true
        true |= units
        if any(-x in true for x in units):
            return None


def dives(clauses: list[list[int]], root: set[int], n: int, seed: int) -> dict[str, float]:
    dice = Dice(seed, 2)
    pool = [v for v in range(1, n + 1) if v not in root and -v not in root]
    depths, conflicts, propagated = [], 0, dict.fromkeys(DEPTHS, 0)
    for _ in range(DIVES if pool else 0):
        true, depth, after = set(root), 0, [0]
        for at in range(len(pool)):
            other = at + dice.below(len(pool) - at)
            pool[at], pool[other] = pool[other], pool[at]
            if pool[at] in true or -pool[at] in true:
                continue
            depth += 1
            found = closed(clauses, true | {pool[at] if dice.coin() else -pool[at]})
            if found is None:
                conflicts += 1
                break
            true = found
            after.append(len(true) - len(root) - depth)
        depths.append(depth)
        for d in DEPTHS:
            propagated[d] += after[min(d, len(after) - 1)]
    return {
        **summary("dive_depth", depths),
        "dive_conflicts": conflicts / DIVES,
        **{f"propagated_{d}": ratio(propagated[d] / DIVES, len(pool)) for d in DEPTHS},
    }


def walk(clauses: list[list[int]], n: int, seed: int) -> dict[str, float]:
    dice, m = Dice(seed, 3), len(clauses)
    firsts, means, bests, flips_at, solved = [], [], [], [], 0

    def broken_by(clause: list[int], true: set[int]) -> bool:
        return not any(x in true for x in clause)

    def breaks(literal: int, true: set[int]) -> int:
        return sum(-literal in clause and sum(x in true for x in clause) == 1 for clause in clauses)

    for _ in range(TRIES if m else 0):
        true = {v if dice.coin() else -v for v in range(1, n + 1)}
        broken = [i for i, clause in enumerate(clauses) if broken_by(clause, true)]
        counts, best, best_at = [len(broken)], len(broken), 0
        while broken and len(counts) <= FLIPS:
            clause = clauses[broken[dice.below(len(broken))]]
            costs = [breaks(x, true) for x in clause]
            pick = costs.index(min(costs))
            if min(costs) > 0 and dice.coin():
                pick = dice.below(len(clause))
            literal = clause[pick]
            mended = [i for i in range(m) if literal in clauses[i] and broken_by(clauses[i], true)]
            true = (true - {-literal}) | {literal}
            for i in mended:  # the last takes the place of the one that goes
                broken[broken.index(i)] = broken[-1]
                broken.pop()
            broken += [i for i in range(m) if -literal in clauses[i] and broken_by(clauses[i], true)]
            counts.append(len(broken))
            if len(broken) < best:
                best, best_at = len(broken), len(counts) - 1
        firsts.append(counts[0] / m)
        means.append(sum(counts) / len(counts) / m)
        bests.append(best / m)
        flips_at.append(best_at / FLIPS)
        solved += not broken
    best_summary = summary("walk_best", bests)
    return {
        "walk_first_mean": summary("", firsts)["_mean"],
        "walk_mean": summary("", means)["_mean"],
        "walk_best_mean": best_summary["walk_best_mean"],
        "walk_best_cv": best_summary["walk_best_cv"],
        "walk_best_flip": summary("", flips_at)["_mean"],
        "walk_solved": solved / TRIES,
    }


def seed_of(clauses: list[list[int]]) -> int:
    value = 0xCBF29CE484222325
    for clause in clauses:
        for literal in (*clause, 0):
            value = ((value ^ (literal & _MASK)) * 0x100000001B3) & _MASK
    return value


def features(declared: int, clauses: list[list[int]]) -> dict[str, float]:
    clauses = normal(clauses)
    found = counted(declared, clauses)
    root = closed(clauses, set())
    n, seed = int(found["variables"]), seed_of(clauses)
    found |= {"refuted": float(root is None), "fixed_variables": ratio(len(root or ()), n)}
    probed = clauses if root is not None else []
    found |= dives(probed, root or set(), n if root is not None else 0, seed)
    return found | walk(probed, n, seed)
