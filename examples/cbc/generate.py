"""Writes the instances: set covering problems with costs, as LP files.

python3 generate.py FOLDER [SETS [HOW-MANY]]
"""

import random
import sys
from pathlib import Path


def problem(sets: int, seed: int) -> str:
    """Choose the cheapest sets that together hold every element at least twice."""
    rng = random.Random(seed)  # noqa: S311
    costs = [rng.randint(20, 60) for _ in range(sets)]
    rows = [sorted(rng.sample(range(sets), 9)) for _ in range(sets)]
    goal = " + ".join(f"{cost} x{i}" for i, cost in enumerate(costs))
    lines = ["Minimize", *_wrapped(f"cost: {goal}"), "Subject To"]
    for number, row in enumerate(rows):
        lines += _wrapped(f"e{number}: " + " + ".join(f"x{i}" for i in row) + " >= 2")
    return "\n".join([*lines, "Binary", *_wrapped(" ".join(f"x{i}" for i in range(sets))), "End"]) + "\n"


def _wrapped(text: str, width: int = 100) -> list[str]:
    """LP readers do not like long lines."""
    lines = [" "]
    for word in text.split():
        if len(lines[-1]) + len(word) > width:
            lines.append(" ")
        lines[-1] += word + " "
    return lines


def main(folder: str, sets: str = "70", number: str = "5") -> None:
    Path(folder).mkdir(parents=True, exist_ok=True)
    for seed in range(1, int(number) + 1):
        (Path(folder) / f"cover-{sets}-{seed}.lp").write_text(problem(int(sets), seed))


if __name__ == "__main__":
    main(*sys.argv[1:])
