"""Runs a Python target in a process of its own: ``python -m capra.targets.call FILE``.

FILE (in the run's private directory) says which function and what to call it with; the answer goes into ANSWER_FILE. The
clock starts when the function does: the interpreter's start and the imports are not its fault. The cutoff is kept by the
kernel's own timer, whose signal ends the process even inside compiled code; the supervisor outside is the backstop for
the whole tree.
"""

from __future__ import annotations

import importlib
import json
import os
import runpy
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

ANSWER_FILE = "capra-answer.json"


def main(path: Path) -> None:
    """Call the function that the file describes and write its answer beside it."""
    call = json.loads(path.read_text())
    sys.path[:0] = call["path"]
    answer_file = path.with_name(ANSWER_FILE)
    try:
        function = _find(call["module"], call["file"], call["name"])
        answer = _timed(function, call)
    except Exception:  # noqa: BLE001 (whatever the user's code raises is the answer)
        answer = {"error": traceback.format_exc(limit=-5)}
    part = answer_file.with_suffix(".part")
    part.write_text(json.dumps(answer))
    part.replace(answer_file)


def _find(module: str, file: str | None, name: str) -> Callable[..., Any]:
    """The function by its module, or by the script it was defined in (which must guard its own start)."""
    names: Any = runpy.run_path(file, run_name="__capra__") if file else vars(importlib.import_module(module))
    found = names[name.partition(".")[0]]
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    return found  # type: ignore[no-any-return]


def _timed(function: Callable[..., Any], call: dict[str, Any]) -> dict[str, Any]:
    timer = {"cpu": signal.ITIMER_PROF, "wall": signal.ITIMER_REAL}.get(call["unit"])
    if timer is not None and call["bound"] is not None:
        signal.setitimer(timer, call["bound"])
    wall, cpu = time.monotonic(), _cpu()
    value = function(call["config"], call["instance"], call["seed"], call["cutoff"])
    answer = {"cpu": _cpu() - cpu, "wall": time.monotonic() - wall}
    if timer is not None:
        signal.setitimer(timer, 0.0)
    return answer | {"value": _plain(value)}


def _cpu() -> float:
    """CPU seconds of this process and its finished children."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


def _plain(value: Any) -> Any:
    """Numbers of other libraries become Python's; what JSON cannot say becomes text and is refused later."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, str | bool | int | float) or value is None:
        return value
    return float(value) if hasattr(value, "__float__") else repr(value)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
