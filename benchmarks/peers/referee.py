"""Answers a peer's requests for runs, and keeps the accounts: target time, the peer's own CPU time, its incumbents.

The peer is a process of its own and says with every line how much CPU time it has used, so that neither answering nor
supervising is charged to it.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from capra.runs import Configuration, Outcome, RunRequest
from capra.space import Space
from capra.space.parameters import Integer, Parameter, Real

GRACE = 20.0
"""Seconds that a peer gets to say goodbye once it was told to stop."""
LOOK = 1.0
"""Seconds of silence after which we look how much CPU time it has used."""
START = 120.0
"""Seconds that it gets to load its libraries."""
SILENCE = 300.0
"""CPU seconds without a word after which a peer is taken to hang: a turn of SMAC3's takes seconds on these problems."""


@dataclass(frozen=True)
class Rules:
    """When it is over: seconds of target time, of target and own CPU time together, of the clock on the wall."""

    target: float
    total: float
    wall: float

    def later(self, factor: float) -> Rules:
        """With more target time."""
        return Rules(factor * self.target, factor * self.total, self.wall)


@dataclass
class Account:
    """What a peer has used and found."""

    runs: int = 0
    configurations: set[str] = field(default_factory=set)
    target: float = 0.0
    own: float = 0.0
    wall: float = 0.0
    end: str = "finished"
    incumbents: list[dict[str, Any]] = field(default_factory=list)
    spent: list[tuple[float, float]] = field(default_factory=list)
    """Target time and own CPU time after every run."""

    def row(self) -> dict[str, Any]:
        return {
            "runs": self.runs,
            "configurations": len(self.configurations),
            "target": round(self.target, 3),
            "own": round(self.own, 3),
            "wall": round(self.wall, 1),
            "end": self.end,
            "incumbents": self.incumbents,
        }


def cpu_seconds(pid: int) -> float:
    """CPU time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def configuration(space: Space, words: Sequence[str]) -> Configuration:
    """The configuration that ``name=value`` words describe."""
    pairs = (word.partition("=")[::2] for word in words)
    return space.configuration({name: _value(space[name], text) for name, text in pairs})


def _value(parameter: Parameter, text: str) -> Any:
    """R writes whole numbers as it likes: 1e+05."""
    if isinstance(parameter, Integer):
        return round(float(text))
    return float(text) if isinstance(parameter, Real) else text


class Referee:
    """One tuning by one peer: ``command`` is started with the port as its last argument."""

    def __init__(self, space: Space, run: Callable[[RunRequest], Outcome], rules: Rules) -> None:
        self.space = space
        self.run = run
        self.rules = rules
        self.account = Account()
        self._zero = self._hello = 0.0

    def judge(self, command: Sequence[str], **options: Any) -> Account:
        """Until the peer says goodbye, the budget is used up, or it says nothing any more."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            peer = subprocess.Popen([*command, str(port)], **options)
            try:
                self._converse(server, peer)
            finally:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    peer.wait(GRACE)
                peer.kill()
                peer.wait()
        if self.account.end == "finished" and peer.returncode:
            self.account.end = f"exit code {peer.returncode}"
        return self.account

    def _converse(self, server: socket.socket, peer: subprocess.Popen[bytes]) -> None:
        server.settimeout(START)
        connection, _ = server.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        began = time.monotonic()
        self._zero = cpu_seconds(peer.pid)
        with connection:
            for line in self._lines(connection, peer, began):
                answer = self._answer(line.split("\t"), began)
                if answer:
                    connection.sendall(answer)
        self.account.wall = time.monotonic() - began

    def _lines(self, connection: socket.socket, peer: subprocess.Popen[bytes], began: float) -> Iterator[str]:
        """What the peer says, until it hangs up; one that computes on in silence past the budget is ended."""
        read = b""
        while True:
            while b"\n" in read:
                line, _, read = read.partition(b"\n")
                yield line.decode()
            if select.select([connection], [], [], LOOK)[0]:
                if not (part := connection.recv(65536)):
                    return
                read += part
            elif self._hangs(own := cpu_seconds(peer.pid) - self._zero, began):
                self.account.own = own
                self.account.end = "silent"
                return

    def _hangs(self, own: float, began: float) -> bool:
        """Does it compute on past the budget, or as if it would never say a word again?"""
        return own - self.account.own > SILENCE or self._over(own - GRACE, began + GRACE) is not None

    def _over(self, own: float, began: float) -> str | None:
        """What is used up."""
        account, rules = self.account, self.rules
        over = {
            "target time": account.target >= rules.target,
            "budget": account.target + own >= rules.total,
            "wall time": time.monotonic() - began >= rules.wall,
        }
        return next((name for name, is_over in over.items() if is_over), None)

    def _answer(self, fields: list[str], began: float) -> bytes:
        kind, own, *rest = fields
        if kind == "HELLO":
            self._hello = float(own)
            return b""
        self.account.own = max(self.account.own, float(own) - self._hello)
        if kind == "BEST":
            self._note(rest, len(self.account.spent))
        elif kind == "AFTER":  # irace says in the end what was best after so many runs
            self._note(rest[1:], int(rest[0]))
        elif kind == "RUN":
            return self._supervise(rest, began)
        return b""

    def _note(self, words: Sequence[str], runs: int) -> None:
        target, own = self.account.spent[min(runs, len(self.account.spent)) - 1] if runs else (0.0, 0.0)
        own = max(own, self.account.own) if runs == len(self.account.spent) else own
        config = dict(configuration(self.space, words))
        self.account.incumbents.append({"target": target, "own": own, "runs": runs, "config": config})

    def _supervise(self, rest: list[str], began: float) -> bytes:
        account = self.account
        if (over := self._over(account.own, began)) is not None:
            account.end = over
            return b"STOP\t0\n"
        instance, seed, cutoff, *words = rest
        config = configuration(self.space, words)
        outcome = self.run(RunRequest(config, instance, int(seed), float(cutoff)))
        account.runs += 1
        account.configurations.add(config.id)
        account.target += outcome.time
        account.spent.append((account.target, account.own))
        return f"{outcome.status.name}\t{outcome.time!r}\n".encode()
