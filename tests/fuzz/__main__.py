"""For longer: ``python -m tests.fuzz [--seconds 60] [READER ...]``. Needs atheris, which leads the damage by coverage.

Without names every reader has its turn. Each runs in a process of its own, which ends at the first input that is neither read
nor refused with an error of ours: its trace and the file that holds the input are printed.
"""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 4096
"""Bytes of an input; and seconds that one may take, megabytes of memory."""
SLOWEST = 10
MOST = 2048


def fuzz(name: str, seconds: int, corpus: Path) -> None:
    """In this process, which does not return."""
    import atheris

    with atheris.instrument_imports(include=["capra"]):
        from tests.fuzz.readers import EXAMPLES, attempt
    (corpus / "example").write_bytes(EXAMPLES[name]())
    limits = [f"-max_len={LONGEST}", f"-timeout={SLOWEST}", f"-rss_limit_mb={MOST}", f"-max_total_time={seconds}"]
    atheris.Setup(
        [sys.argv[0], *limits, f"-artifact_prefix={corpus.parent}/", str(corpus)], lambda data: attempt(name, data)
    )
    atheris.Fuzz()


def fuzz_apart(name: str, seconds: int) -> bool:
    """In a process of its own. Did it find nothing?"""
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "corpus"
        corpus.mkdir()
        command = [sys.executable, "-m", "tests.fuzz", "--seconds", str(seconds), "--corpus", str(corpus), name]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, errors="replace", check=False)
        tried = [line for line in done.stderr.splitlines() if line.startswith(("#", "Done"))]
        sys.stdout.write(f"{name:20} {tried[-1] if tried else 'did not begin'}\n")
        if done.returncode:
            sys.stdout.write(f"{done.stdout[-3000:]}{done.stderr[-3000:]}\n")
            for file in Path(folder).glob("*-*"):
                sys.stdout.write(f"{file.name}: {file.read_bytes()!r}\n")
        sys.stdout.flush()
    return done.returncode == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("readers", nargs="*", metavar="READER")
    parser.add_argument("--seconds", type=int, default=60, help="for each reader")
    parser.add_argument("--corpus", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if importlib.util.find_spec("atheris") is None:
        raise SystemExit("atheris is not installed: pip install atheris (there are wheels for Linux, Python 3.11 to 3.14)")
    if given.corpus is not None:
        fuzz(given.readers[0], given.seconds, given.corpus)
    from tests.fuzz.readers import EXAMPLES

    if unknown := set(given.readers) - EXAMPLES.keys():
        parser.error(f"no reader {', '.join(sorted(unknown))}; there are: {', '.join(EXAMPLES)}")
    failed = [name for name in given.readers or EXAMPLES if not fuzz_apart(name, given.seconds)]
    sys.exit(f"found something: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
