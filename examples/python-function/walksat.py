"""WalkSAT as a Python target: how many flips until a random 3-SAT formula is satisfied?"""

import random
from typing import Any

VARIABLES, CLAUSES = 80, 330


def formula(name: str) -> tuple[list[list[int]], list[int]]:
    """The clauses of the instance ``planted-N`` and a model of them: always satisfiable."""
    rng = random.Random(name)  # noqa: S311
    model = [rng.choice((-1, 1)) * v for v in range(1, VARIABLES + 1)]
    clauses = []
    while len(clauses) < CLAUSES:
        clause = [rng.choice((-1, 1)) * v for v in rng.sample(range(1, VARIABLES + 1), 3)]
        if set(clause) & set(model):
            clauses.append(clause)
    return clauses, model


def broken_by(variable: int, true: list[bool], clauses: list[list[int]], of: list[list[int]]) -> int:
    """How many clauses hold only because of this variable."""
    literal = variable if true[variable] else -variable
    return sum(sum(true[abs(x)] == (x > 0) for x in clauses[c]) == 1 for c in of[variable] if literal in clauses[c])


def solve(config: dict[str, Any], instance: str, seed: int, cutoff: float) -> dict[str, Any]:
    """Flips until all clauses hold; ``cutoff`` is the most that we may make."""
    clauses, _ = formula(instance)
    of: list[list[int]] = [[] for _ in range(VARIABLES + 1)]
    for number, clause in enumerate(clauses):
        for literal in clause:
            of[abs(literal)].append(number)
    rng = random.Random(seed)  # noqa: S311
    true = [rng.random() < 0.5 for _ in range(VARIABLES + 1)]
    for flips in range(int(cutoff) + 1):
        broken = [c for c in clauses if not any(true[abs(x)] == (x > 0) for x in c)]
        if not broken:
            return {"status": "SUCCESS", "time": flips, "answer": "SAT"}
        if flips and flips % config["restart"] == 0:
            true = [rng.random() < 0.5 for _ in range(VARIABLES + 1)]
            continue
        variables = [abs(x) for x in rng.choice(broken)]
        costs = [broken_by(v, true, clauses, of) for v in variables]
        greedy = min(costs) == 0 or rng.random() >= config["noise"]
        chosen = variables[costs.index(min(costs))] if greedy else rng.choice(variables)
        true[chosen] = not true[chosen]
    return {"status": "TIMEOUT"}
