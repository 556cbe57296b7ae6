"""clasp as a program: ``python -I clasp.py FILE.cnf [options]``.

The clingo wheel carries the solver inside its extension module. Calling that directly spares importing the Python package,
which would take longer than a well-tuned solver needs for the whole run.
"""

from __future__ import annotations

import ctypes
import sys
from importlib.machinery import PathFinder
from pathlib import Path


def main() -> int:
    """Run clasp with our arguments; its exit code is 10, 20 or 30 where it found an answer."""
    package = PathFinder.find_spec("clingo", sys.path)
    if package is None or not package.submodule_search_locations:
        sys.stderr.write("the package clingo is missing: pip install clingo\n")
        return 1
    (library,) = Path(package.submodule_search_locations[0]).glob("_clingo*.so")
    words = [b"clasp", b"--mode=clasp", *(argument.encode() for argument in sys.argv[1:])]
    argv = (ctypes.c_char_p * (len(words) + 1))(*words, None)
    return int(ctypes.CDLL(str(library)).clingo_main_(len(words), argv))


if __name__ == "__main__":
    sys.exit(main())
