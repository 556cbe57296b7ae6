"""What a peer knows of the referee: one line asks for a run, one line answers.

Only the standard library: this file is read by Python environments that have no Capra. Fields of a line are separated by
tabs: RUN, own CPU seconds, instance, seed, cutoff, name=value …; the answer is status, time. A BEST line names the incumbent
from now on.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping
from typing import Any


class Stop(BaseException):
    """The budget is used up. No Exception: tools take those for crashes of the target."""


class Referee:
    """The connection to the referee; our CPU time counts from here."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._answers = self._socket.makefile("r", encoding="utf-8")
        self._best: dict[str, Any] | None = None
        self._say("HELLO")

    def run(self, config: Mapping[str, Any], instance: str, seed: int, cutoff: float) -> tuple[str, float]:
        """Status (SUCCESS, CAPPED, TIMEOUT, CRASHED) and time; Stop when nothing is left."""
        self._say("RUN", instance, str(seed), repr(float(cutoff)), *_words(config))
        status, seconds = self._answers.readline().split("\t")
        if status == "STOP":
            raise Stop
        return status, float(seconds)

    def best(self, config: Mapping[str, Any]) -> None:
        """The incumbent, if it is another than before."""
        if self._best != dict(config):
            self._best = dict(config)
            self._say("BEST", *_words(config))

    def bye(self) -> None:
        self._say("BYE")
        self._socket.close()

    def _say(self, kind: str, *fields: str) -> None:
        line = "\t".join((kind, f"{time.process_time():.6f}", *fields))
        self._socket.sendall(line.encode() + b"\n")


def _words(config: Mapping[str, Any]) -> list[str]:
    return [f"{name}={value}" for name, value in config.items() if value is not None]
