#!/usr/bin/env python3
"""Does MiniSat's model satisfy the formula? ``check.py INSTANCE OUTPUT``: exit code 0 is right, 1 is wrong.

The output is what MiniSat printed with /dev/stdout as its result file: among its remarks ``SAT`` and a line of literals, or
``UNSAT``, which is believed.
"""

import sys
from pathlib import Path


def clauses(path: str) -> list[list[int]]:
    words = [word for line in Path(path).read_text().splitlines() if line[:1] not in ("c", "p") for word in line.split()]
    found: list[list[int]] = [[]]
    for literal in map(int, words):
        if literal:
            found[-1].append(literal)
        else:
            found.append([])
    return found[:-1]


def main(instance: str, output: str) -> int:
    lines = Path(output).read_text().splitlines()
    if "SAT" not in lines:
        return 0
    model = {int(word) for word in lines[lines.index("SAT") + 1].split()}
    broken = [clause for clause in clauses(instance) if not model & set(clause)]
    if broken:
        print(f"the model does not satisfy {broken[0]}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
