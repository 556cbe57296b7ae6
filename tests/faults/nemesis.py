"""Does harm to a tuning for some time, then lets it end: ``python -m tests.faults.nemesis FOLDER local|dask SECONDS``.

Prints what it did as one line of JSON. It looks neither into the store nor at what the tuning does: that is for
``test_nemesis.py``, afterwards. The last thing it does is to list the processes that are left over.
"""

from __future__ import annotations

import ctypes
import json
import logging
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.faults.clock import DAY, FILE, turn
from tests.faults.damage import Damage
from tests.faults.real import DAMAGED, FULL, LOST, STOP

ROOT = Path(__file__).resolve().parents[2]
STORE = "history.sqlite"
SUBREAPER = 36
"""prctl(2): whoever loses its parent below us becomes our child, so that nobody can hide."""
FOREVER = 1e6
"""Seconds that a tuning has; we stop it earlier."""
MERCY = 0.8
PATIENCE = 300.0
"""Seconds in which what was orphaned must be gone, and a damaged store refused."""


class Nemesis:
    """Owns the coordinator, starts it again whenever it ended too early, and does it harm."""

    PACE = (0.2, 0.8)
    """Seconds between two blows."""

    def __init__(self, folder: Path, seconds: float, rng: random.Random) -> None:
        self.folder = folder
        self.said = folder.parent / "said"
        self.seconds = seconds
        self.rng = rng
        self.did: Counter[str] = Counter()
        self.ended: Counter[int] = Counter()
        """Exit codes of the coordinators."""
        self.ways: dict[str, Callable[[], bool]] = {
            "coordinator killed": self.kill_coordinator,
            "coordinator stopped": self.stop_coordinator,
            "supervisor killed": lambda: self.signal_supervisor(signal.SIGKILL),
            "supervisor stopped": lambda: self.signal_supervisor(signal.SIGSTOP, signal.SIGCONT),
            "page overwritten": self.overwrite_page,
        }
        if folder.is_mount():
            self.ways["disk filled"] = self.fill_disk
        if FILE in os.environ:
            self.ways["clock turned"] = self.turn_clock
        self._command = [sys.executable, "-m", "tests.faults.real", str(folder), str(FOREVER)]
        self.process = self.start()

    def start(self) -> subprocess.Popen[bytes]:
        with self.said.open("ab") as said, (self.folder.parent / "errors").open("ab") as errors:
            self._said_before = said.tell()
            return subprocess.Popen(self._command, cwd=ROOT, stdout=said, stderr=errors)

    def rage(self) -> None:
        """Every way once, then again in another order, and so on until the time is over."""
        end = time.monotonic() + self.seconds
        while time.monotonic() < end or not all(self.did[way] for way in self.ways):
            for way in self.rng.sample(list(self.ways), len(self.ways)):
                self.wait()
                self.did[way] += self.ways[way]()
        (self.folder.parent / STOP).touch()
        while self.look_after() != 0:
            time.sleep(0.1)

    def wait(self) -> None:
        """Before the next blow. A coordinator that is still starting is mostly, not always, left to finish a run first."""
        time.sleep(self.rng.uniform(*self.PACE))
        end = time.monotonic() + (PATIENCE if self.rng.random() < MERCY else 0.0)
        while self.look_after() is None and self.said.stat().st_size == self._said_before and time.monotonic() < end:
            time.sleep(0.05)

    def look_after(self) -> int | None:
        """What ended is started again; 0 if it came to its end."""
        self.tend()
        if (code := self.process.poll()) is None:
            return None
        self.count(code)
        if code != 0:
            self.process = self.start()
        return code

    def count(self, code: int) -> None:
        self.ended[code] += 1
        if code not in (0, FULL, LOST, -signal.SIGKILL):
            raise SystemExit(f"it failed by itself: exit code {code}")

    def tend(self) -> None:
        """Bury the orphans that were left to us."""
        for pid in children(os.getpid()) - self.known():
            os.waitpid(pid, os.WNOHANG)

    def known(self) -> set[int]:
        """Our own children."""
        return {self.process.pid}

    # --- blows; each says whether it hit somebody ---

    def kill_coordinator(self) -> bool:
        self.process.kill()
        self.count(self.process.wait())
        self.process = self.start()
        return True

    def stop_coordinator(self) -> bool:
        return stopped_for_a_while(self.process.pid, self.rng.uniform(0.1, 2.0))

    def supervisors(self) -> list[int]:
        """The coordinator's children."""
        return sorted(children(self.process.pid))

    def signal_supervisor(self, number: signal.Signals, then: signal.Signals | None = None) -> bool:
        victims = self.supervisors()
        if not victims:
            return False
        victim = self.rng.choice(victims)
        return stopped_for_a_while(victim, self.rng.uniform(0.05, 0.4)) if then is not None else struck(victim, number)

    def fill_disk(self) -> bool:
        ballast = self.folder / "ballast"
        try:
            with ballast.open("wb", buffering=0) as file:
                while True:
                    file.write(bytes(65536))
        except OSError:
            time.sleep(self.rng.uniform(0.1, 0.5))
        ballast.unlink()
        return True

    def turn_clock(self) -> bool:
        turn(Path(os.environ[FILE]), self.rng.randint(-DAY, DAY))
        return True

    def overwrite_page(self) -> bool:
        """While nobody runs. If it matters to anything in the file, then the next coordinator must refuse that file."""
        if not (self.folder / STORE).exists():
            return False
        self.process.kill()
        self.count(self.process.wait())
        damage = Damage(self.folder / STORE, self.rng, self.folder.parent)
        self.process = self.start()
        if not damage.matters:
            return False
        code = self.end_of_coordinator()
        if code != DAMAGED or not damage.untouched:
            raise SystemExit(f"a damaged store was used, or written to: exit code {code}")
        self.ended[code] += 1
        damage.repair()
        self.process = self.start()
        return True

    def end_of_coordinator(self) -> int:
        """Its exit code. Workers that were stopped go on meanwhile: it waits for them when it opens and closes a cluster."""
        end = time.monotonic() + PATIENCE
        while (code := self.process.poll()) is None:
            if time.monotonic() > end:
                struck(self.process.pid, signal.SIGUSR1)  # where is it?
                time.sleep(2.0)
                raise SystemExit(f"no answer to a damaged store in {PATIENCE:g} s")
            self.tend()
            time.sleep(0.05)
        return code

    # --- the end ---

    def end(self) -> list[str]:
        """What is left over of everything that was started, some time after the last coordinator."""
        self.process.kill()
        self.process.wait()
        end = time.monotonic() + PATIENCE
        while True:
            self.tend()
            left = descendants(os.getpid()) - self.known()
            if not left or time.monotonic() > end:
                return [name_of(pid) for pid in left]
            time.sleep(0.1)


# --- processes ---


def children(pid: int) -> set[int]:
    try:
        tasks = list(Path("/proc", str(pid), "task").iterdir())
        return {int(child) for task in tasks for child in (task / "children").read_text().split()}
    except OSError:
        return set()


def descendants(pid: int) -> set[int]:
    found = children(pid)
    return found.union(*(descendants(child) for child in found))


def name_of(pid: int) -> str:
    try:
        return f"{pid}: {Path('/proc', str(pid), 'cmdline').read_bytes().replace(bytes(1), b' ').decode(errors='replace')}"
    except OSError:
        return f"{pid}: just gone"


def struck(pid: int, number: signal.Signals) -> bool:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def stopped_for_a_while(pid: int, seconds: float) -> bool:
    if not struck(pid, signal.SIGSTOP):
        return False
    time.sleep(seconds)
    return struck(pid, signal.SIGCONT)


def with_cluster() -> type[Nemesis]:
    from tests.faults.cluster_nemesis import ClusterNemesis  # Dask takes seconds to import

    return ClusterNemesis


KINDS: dict[str, Callable[[], type[Nemesis]]] = {"local": lambda: Nemesis, "dask": with_cluster}


def main(folder: str, engine: str, seconds: str) -> None:
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    logging.disable()  # Dask has much to say about what we do here
    began = time.monotonic()
    nemesis = KINDS[engine]()(Path(folder), float(seconds), random.Random(seconds))
    try:
        nemesis.rage()
    finally:
        left = nemesis.end()
    report = {"minutes": round((time.monotonic() - began) / 60, 2), "did": nemesis.did, "ended": nemesis.ended, "left": left}
    sys.stdout.write(json.dumps(report) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
