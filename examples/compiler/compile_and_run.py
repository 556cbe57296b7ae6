#!/usr/bin/env python3
"""Compiles a program, runs it and says how long it ran: ``compile_and_run.py PROGRAM CUTOFF SEED FLAG...``.

Prints one line of JSON: the CPU seconds of the program alone, without those of the compiler, and what the program printed.
"""

import json
import resource
import signal
import subprocess
import sys
from typing import Any


def run(cutoff: float, seed: int) -> dict[str, Any]:
    """The seed moves the stack: where things lie in memory changes a program's time, and no place should be favoured."""

    def stop_in_time() -> None:
        signal.setitimer(signal.ITIMER_PROF, cutoff)  # CPU time; kept by exec, and deadly to who does not know it

    environment = {"PADDING": "x" * (seed % 4096)}
    before = cpu_of_children()
    done = subprocess.run(
        ["./program"], capture_output=True, text=True, env=environment, preexec_fn=stop_in_time, check=False
    )
    if done.returncode == -signal.SIGPROF:
        return {"status": "TIMEOUT", "time": cutoff}
    if done.returncode:
        return {"status": "CRASHED"}
    return {"status": "SUCCESS", "time": min(cpu_of_children() - before, cutoff), "answer": done.stdout.strip()}


def cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main(program: str, cutoff: str, seed: str, *flags: str) -> None:
    compiled = subprocess.run(["g++", *flags, program, "-o", "program"], check=False)  # noqa: S607
    print(json.dumps(run(float(cutoff), int(seed)) if compiled.returncode == 0 else {"status": "CRASHED"}))


if __name__ == "__main__":
    main(*sys.argv[1:])
