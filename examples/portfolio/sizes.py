"""A small feature command: ``python sizes.py FILE.cnf`` prints sizes and clause lengths of a formula as JSON."""

import json
import sys


def main(path: str) -> None:
    lengths: dict[int, int] = {}
    variables = positive = literals = 0
    with open(path) as file:
        for line in file:
            if line[0] in "cp":
                variables = int(line.split()[2]) if line[0] == "p" else variables
                continue
            words = line.split()
            lengths[len(words) - 1] = lengths.get(len(words) - 1, 0) + 1
            literals += len(words) - 1
            positive += sum(word[0] != "-" for word in words) - 1
    clauses = sum(lengths.values())
    shares = {f"length_{n}": lengths.get(n, 0) / clauses for n in (2, 3)}
    ratio = {"clauses_per_variable": clauses / variables, "positive": positive / literals}
    print(json.dumps({"variables": variables, "clauses": clauses, "longest": max(lengths), **ratio, **shares}))


main(sys.argv[1])
