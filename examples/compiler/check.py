#!/usr/bin/env python3
"""Did the program say what it should? ``check.py PROGRAM OUTPUT``: exit code 0 is right, 1 is wrong."""

import json
import sys
from pathlib import Path


def main(program: str, output: str) -> int:
    right = Path(program).read_text().splitlines()[0].removeprefix("// answer: ")
    said = json.loads(Path(output).read_text().splitlines()[-1]).get("answer")
    if said not in (None, right):
        print(f"the program says {said}, not {right}")
    return int(said not in (None, right))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
