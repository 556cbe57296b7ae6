"""Runs a Python target in a process of its own: ``python call.py FILE``.

FILE (in the run's private directory) says which function and what to call it with; the answer goes into ANSWER_FILE. The
clock starts when the function does: the interpreter's start and the imports are not its fault; what they took is left in
STARTED_FILE. The cutoff is kept by the kernel's own timer, whose signal ends the process even inside compiled code; the
supervisor outside is the backstop for the whole tree. Nothing of ours is imported here: that would be paid in every run.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import resource
import runpy
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

ANSWER_FILE = "capra-answer.json"
STARTED_FILE = "capra-started.json"


def main(path: Path) -> None:
    """Call the function that the file describes and write its answer beside it."""
    path = path.absolute()
    call = json.loads(path.read_text())
    sys.path[:0] = call["path"]
    try:
        function = find(call["module"], call["file"], call["name"])
        started = {"cpu": _cpu(), "wall": time.monotonic() - call["asked"], "bound": call["bound"]}
        _write(path.with_name(STARTED_FILE), json.dumps(started))
        answer = json.dumps(_timed(function, call))
    except Exception:  # noqa: BLE001 (whatever the user's code raises is the answer)
        answer = json.dumps({"error": traceback.format_exc(limit=-5)})
    _write(path.with_name(ANSWER_FILE), answer)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # it has answered: threads that it left behind are not waited for


def _write(path: Path, text: str) -> None:
    part = path.with_suffix(".part")
    part.write_text(text)
    part.replace(path)


def find(module: str, file: str | None, name: str) -> Callable[..., Any]:
    """The function by its module, or by the script it was defined in (which must guard its own start)."""
    names: Any = runpy.run_path(file, run_name="__capra__") if file else vars(importlib.import_module(module))
    head, *rest = name.split(".")
    if head not in names:
        raise AttributeError(f"{file or module} has no function {head!r}")
    found = names[head]
    for part in rest:
        found = getattr(found, part)
    return found  # type: ignore[no-any-return]


def _timed(function: Callable[..., Any], call: dict[str, Any]) -> dict[str, Any]:
    stop = _set_timer(call["unit"], call["bound"])
    wall, cpu = time.monotonic(), _cpu()
    try:
        value = function(call["config"], call["instance"], call["seed"], call["cutoff"])
        answer = {"cpu": _cpu() - cpu, "wall": time.monotonic() - wall}
    finally:
        stop()
    return answer | {"value": plain(value)}


def _set_timer(unit: str, bound: float | None) -> Callable[[], object]:
    """Let the kernel end this process at the bound: SIGPROF for CPU time, SIGALRM for wall time. Returns how to stop it."""
    if bound is None or unit not in ("cpu", "wall"):
        return lambda: None
    if unit == "wall":
        signal.setitimer(signal.ITIMER_REAL, bound)
        return lambda: signal.setitimer(signal.ITIMER_REAL, 0.0)
    try:
        return _cpu_timer(bound)
    except (AttributeError, OSError):
        signal.setitimer(signal.ITIMER_PROF, bound)
        return lambda: signal.setitimer(signal.ITIMER_PROF, 0.0)


def _cpu_timer(seconds: float) -> Callable[[], object]:
    """A POSIX timer on the process's CPU clock, which counts exactly; ITIMER_PROF counts ticks and may fire too early."""
    libc = ctypes.CDLL(None, use_errno=True)
    event = (ctypes.c_int * 16)()  # struct sigevent: the signal and SIGEV_SIGNAL (0) come after an 8-byte value
    event[2] = signal.SIGPROF
    timer = ctypes.c_void_p()
    if libc.timer_create(time.CLOCK_PROCESS_CPUTIME_ID, event, ctypes.byref(timer)) != 0:
        raise OSError(ctypes.get_errno(), "timer_create")

    def set_to(seconds: float) -> None:
        whole, part = divmod(seconds, 1.0)
        value = (ctypes.c_long * 4)(0, 0, int(whole), int(1e9 * part))
        if libc.timer_settime(timer, 0, value, None) != 0:
            raise OSError(ctypes.get_errno(), "timer_settime")

    set_to(max(seconds, 1e-9))
    return lambda: set_to(0.0)


def _cpu() -> float:
    """CPU seconds of this process and its finished children."""
    # Not time.process_time(): while a timer runs on that clock the kernel advances it in ticks.
    usages = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def plain(value: Any) -> Any:
    """Numbers of other libraries become Python's; what JSON cannot say becomes text and is refused later."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, str | bool | int | float) or value is None:
        return value
    return float(value) if hasattr(value, "__float__") else repr(value)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
