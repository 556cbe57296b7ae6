"""BenchExec in the place of our own supervisor: ``python benchexec_helper.py``, the same request in, the same report out.

For users who trust nothing but BenchExec's control groups (extra ``[benchexec]``; scenario ``backend = "benchexec"``). It
measures and limits CPU time, wall time and memory of the whole tree; a bound cannot be changed while a run is under way,
so of the commands only "stop now" is obeyed, and runs are not held. Needs what BenchExec needs: delegated control groups,
for memory limits above all. Starting it costs a Python interpreter per run.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import threading
import time
from pathlib import Path
from typing import Any, BinaryIO

LIMITS = {"cputime": "cpu", "cputime-soft": "cpu", "walltime": "wall", "memory": "memory", "killed": "command"}
AGAIN = 0.1
"""Seconds between two orders to stop."""
SHORTEST = 1e-6
"""A run that is stopped at once still has a positive cutoff."""


def read_request(stdin: BinaryIO) -> tuple[list[str], dict[str, str], dict[str, str]]:
    """Arguments, environment, and everything else by its key (see native/request.hpp)."""
    size = int(stdin.readline().split()[1])
    argv: list[str] = []
    environment: dict[str, str] = {}
    rest: dict[str, str] = {}
    for entry in stdin.read(size).split(b"\0")[:-1]:
        key, _, value = os.fsdecode(entry).partition("=")
        if key == "arg":
            argv.append(value)
        elif key == "env":
            name, _, text = value.partition("=")
            environment[name] = text
        else:
            rest[key] = value
    return argv, environment, rest


def obey(stdin: BinaryIO, executor: Any, ordered: threading.Event) -> None:
    """Stop the run on "kill", on a bound of 0, and when the owner is gone."""
    for line in iter(stdin.readline, b""):
        words = line.split()
        if words == [b"kill"] or (len(words) > 1 and words[0] == b"cutoff" and float(words[1]) == 0.0):
            break
    ordered.set()
    while True:  # BenchExec forgets an order that comes before the process is there; this process ends with the run
        executor.stop()
        time.sleep(AGAIN)


def measure(executor: Any, argv: list[str], environment: dict[str, str], rest: dict[str, str]) -> dict[str, Any]:
    """One run, as BenchExec reports it; its outputs are in two files of the private directory."""
    directory = Path(rest["directory"])
    number = {key: float(value) for key, value in rest.items() if key in ("cpu", "wall", "memory", "file_size")}
    result: dict[str, Any] = executor.execute_run(
        argv,
        str(directory / "capra-stdout"),
        error_filename=str(directory / "capra-stderr"),
        hardtimelimit=number.get("cpu"),
        walltimelimit=number.get("wall"),
        memlimit=int(number["memory"]) if "memory" in number else None,
        environments={"keepEnv": {}, "newEnv": environment},
        workingDir=rest.get("working", rest["directory"]),
        write_header=False,
    )
    return result


def report(result: dict[str, Any], rest: dict[str, str], ordered: bool) -> dict[str, Any]:
    """The facts in the supervisor's own words."""
    reason = result.get("terminationreason")
    limit = "command" if ordered and reason else LIMITS.get(reason or "", reason)
    bound = float(rest.get("cpu", rest["wall"]))
    used = float(result.get("cputime" if "cpu" in rest else "walltime", 0.0))
    ended = result.get("exitcode")
    return {
        "exit_code": getattr(ended, "value", None),
        "signal": getattr(ended, "signal", None),
        "start_error": "BenchExec could not start it" if reason == "failed" else None,
        "limit": limit,
        "stopped": reason is not None,
        "interrupted": False,
        "cutoff": max(SHORTEST, used) if limit == "command" else bound,
        "cpu": float(result.get("cputime", 0.0)),
        "wall": float(result.get("walltime", 0.0)),
        "held": 0.0,
        "memory": int(result.get("memory", 0)),
        "overshoot": max(0.0, used - bound) if limit in ("cpu", "wall") else 0.0,
        "processes": 0,
        "stragglers": 0,
        "unkillable": [],
        "ignored": 0,
        "pinned": False,
        "backend": "benchexec",
    }


def captured(path: Path, head: int, tail: int) -> tuple[bytes, bytes, int]:
    """The beginning and the end of an output file, and how much lies between them."""
    if not path.exists():
        return b"", b"", 0
    size = path.stat().st_size
    with path.open("rb") as file:
        first = file.read(min(size, head))
        file.seek(max(len(first), size - tail))
        last = file.read(tail)
    return first, last, size - len(first) - len(last)


def main() -> int:
    """One run; the exit code is the supervisor's: 0 with a report, 3 without."""
    from benchexec.runexecutor import RunExecutor

    stdin = sys.stdin.buffer
    argv, environment, rest = read_request(stdin)
    argv[0] = shutil.which(argv[0], path=environment.get("PATH")) or argv[0]
    executor, ordered = RunExecutor(use_namespaces=False), threading.Event()
    threading.Thread(target=obey, args=(stdin, executor, ordered), daemon=True).start()
    facts = report(measure(executor, argv, environment, rest), rest, ordered.is_set())
    pieces: list[bytes] = []
    for name in ("stdout", "stderr"):
        first, last, dropped = captured(
            Path(rest["directory"]) / f"capra-{name}", int(float(rest["head"])), int(float(rest["tail"]))
        )
        facts[name] = [len(first), len(last), dropped]
        pieces += [first, last]
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.buffer.write(json.dumps(facts).encode() + b"\n" + b"".join(pieces))
        sys.stdout.buffer.flush()
    return 0


if __name__ == "__main__":
    os._exit(main())  # the thread that listens for commands would keep us waiting
