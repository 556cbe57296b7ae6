"""For longer: ``python -m tests.fuzz READER [-max_total_time=600]``. Needs atheris, which leads the damage by coverage."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.fuzz.readers import EXAMPLES, attempt


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1] not in EXAMPLES:
        raise SystemExit(f"one of: {', '.join(EXAMPLES)}")
    try:
        import atheris
    except ImportError:
        raise SystemExit("pip install atheris") from None
    name = sys.argv[1]
    with tempfile.TemporaryDirectory() as corpus:
        (Path(corpus) / "example").write_bytes(EXAMPLES[name]())
        atheris.instrument_all()
        atheris.Setup([sys.argv[0], corpus, *sys.argv[2:]], lambda data: attempt(name, data))
        atheris.Fuzz()


if __name__ == "__main__":
    main()
