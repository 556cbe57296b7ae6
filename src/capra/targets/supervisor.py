"""Runs one program under limits, measures it from outside, and leaves nothing of it behind.

Each run has a small native program of its own, ``capra-supervisor`` (sources in ``native/``): it starts the
target in a new session and a private directory, follows every descendant, daemons included, and answers with
raw facts. What the facts mean is decided elsewhere. The promises:

* the arguments arrive byte for byte, no shell is involved, and only the given environment is seen;
* when a run is over no process of it is alive, except those listed in ``Facts.unkillable``;
* the target ends when this process dies, however it dies;
* no output, however long, takes more memory than ``Limits.head + Limits.tail`` twice.

A run that may not be trusted to be over (the supervisor itself was killed) gives ``Facts.lost``.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import math
import os
import select
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from capra.errors import TargetError
from capra.targets.job import Captured, Facts, Job, Limits
from capra.targets.scratch import Scratch

__all__ = [
    "STRIKE",
    "Captured",
    "Facts",
    "Job",
    "Limits",
    "Supervised",
    "clean_environment",
    "delegated_cgroup",
    "run",
    "supervisor_path",
]

STRIKE = 1.0
"""Seconds between two blows at a supervisor that does not answer."""
_BLOWS = 3
"""Then it is left to itself: something in the kernel keeps it."""
_EXIT = 10.0
"""Seconds that a supervisor may take to say its last word, or to exit after it."""
_INHERITED = ("PATH",)
_FIXED = {"LANG": "C", "OMP_NUM_THREADS": "1"}


@cache
def supervisor_path() -> Path:
    """The native program; it is installed beside our compiled module."""
    spec = importlib.util.find_spec("capra._kernels")
    if spec is None or spec.origin is None or not Path(spec.origin).with_name("capra-supervisor").exists():
        raise TargetError("capra-supervisor is missing", hint="install capra again: it comes with the package")
    return Path(spec.origin).with_name("capra-supervisor")


def clean_environment(allow: Iterable[str] = (), base: Mapping[str, str] | None = None) -> dict[str, str]:
    """PATH, LANG=C, OMP_NUM_THREADS=1 and the allowed names that ``base`` (default: our own environment) has.

    HOME and TMPDIR are added when a run starts: its private directory, unless they are among the allowed.
    """
    base = os.environ if base is None else base
    wanted = (*_INHERITED, *allow)
    return {**_FIXED, **{name: base[name] for name in wanted if name in base}}


def delegated_cgroup() -> Path | None:
    """Our own version 2 control group if we may make children in it; never the root of the hierarchy."""
    with contextlib.suppress(OSError):
        lines = Path("/proc/self/cgroup").read_text().splitlines()
        mounts = Path("/proc/self/mounts").read_text().splitlines()
        own = next((line[4:] for line in lines if line.startswith("0::/") and line != "0::/"), None)
        root = next((line.split()[1] for line in mounts if line.split()[2] == "cgroup2"), None)
        if own and root:
            group = Path(root + own)
            if os.access(group, os.W_OK) and os.access(group / "cgroup.procs", os.W_OK):
                return group
    return None


class Supervised:
    """A run under way. Made by ``start``; to be closed, best as a context manager.

    ``fileno`` becomes readable when the run is over, so one thread can wait for hundreds. Commands may come
    from any thread and do nothing once the run is over. The private directory lives until ``close``.
    """

    def __init__(self, process: subprocess.Popen[bytes], scratch: Scratch, limits: Limits) -> None:
        self.directory = scratch.path
        self._process = process
        self._report: IO[bytes] = process.stdout  # type: ignore[assignment]  # it was asked for
        self._limits = limits
        self._started = time.monotonic()
        self._facts: Facts | None = None
        self._lock = threading.Lock()
        self._blows = 0
        self._discard = weakref.finalize(self, scratch.discard)

    @classmethod
    def start(cls, job: Job, *, _testing: Mapping[str, float] | None = None) -> Self:
        """Start the job. Raises TargetError if it cannot be passed on or no supervisor can be started."""
        helper = _helper(job.backend)
        scratch = Scratch(job.scratch)
        try:
            for name, content in job.files.items():
                (scratch.path / name).write_bytes(content)
            request = _encode(job, scratch.path, _testing or {})
            process = _start_helper(helper)
        except BaseException:
            scratch.discard()
            raise
        supervised = cls(process, scratch, job.limits)
        supervised._send(request)
        return supervised

    @property
    def pid(self) -> int:
        """Process id of the supervisor, not of the target."""
        return self._process.pid

    def fileno(self) -> int:
        """Readable when the run is over and until ``wait`` has returned its facts."""
        return self._report.fileno()

    def tighten(self, cutoff: float, wall: float | None = None) -> None:
        """Lower the leading bound (and the wall bound) of the run; 0 stops it now, with the grace period."""
        self._command("cutoff", cutoff, wall)

    def hold(self) -> None:
        """Stop the whole tree (SIGSTOP) and the clocks. It keeps its memory."""
        self._send(b"hold\n")

    def resume(self, cutoff: float, wall: float, cores: tuple[int, ...] = ()) -> None:
        """Go on, under these bounds, which may be higher than before; on other cores, if they are named."""
        self._command("resume", cutoff, wall, ",".join(map(str, cores)))

    def kill(self) -> None:
        """End everything at once, without a grace period."""
        self._send(b"kill\n")

    def wait(self, timeout: float | None = None) -> Facts | None:
        """The facts, or None if the run is neither over nor held at its bound within ``timeout`` seconds.

        That it is held is said once. For one thread at a time.
        """
        if self._facts is None and self._readable(timeout):
            report = os.read(self.fileno(), 65536)
            facts = _decode(report)
            if facts is not None and facts.waiting:
                return facts
            if rest := self._report.read():
                report += rest
                facts = _decode(report)
            self._hang_up()
            code = self._exit_code()
            self._facts = facts or self._lost(report, code)
        return self._facts

    def _exit_code(self) -> int:
        """Of a supervisor that has hung up and only has to exit: whoever stopped it at that moment does not stop us."""
        try:
            return self._process.wait(_EXIT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def strike(self) -> None:
        """End a supervisor that does not answer: first its worker, so that its guard can still clean up; then itself.

        A worker that is stopped, or stuck in the kernel, holds the pipe of its report although the guard is gone.
        """
        for pid in _children(self.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if self._blows:
            self._process.kill()
        self._blows += 1
        if self._blows > _BLOWS and self._facts is None:
            self._hang_up()
            self._facts = self._lost(b"", -signal.SIGKILL)

    def close(self) -> None:
        """Kill the run if it is not over and remove its directory."""
        self.kill()
        patience = self._limits.kill_timeout + _EXIT
        while (facts := self.wait(patience)) is None or facts.waiting:
            if facts is None:
                self.strike()
                patience = STRIKE
        self._discard()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _command(self, word: str, cutoff: float, wall: float | None, cores: str = "") -> None:
        numbers = [cutoff] if wall is None else [cutoff, wall]
        if not all(math.isfinite(number) for number in numbers):
            raise TargetError(f"a bound must be a finite number, not {numbers}")
        words = [word, *(repr(max(0.0, float(number))) for number in numbers), *([cores] if cores else [])]
        self._send(" ".join(words).encode() + b"\n")

    def _send(self, message: bytes) -> None:
        pipe = self._process.stdin
        with self._lock, contextlib.suppress(BrokenPipeError):
            view = memoryview(message)
            while pipe is not None and not pipe.closed and view:
                view = view[pipe.write(view) :]

    def _hang_up(self) -> None:
        with self._lock:
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    pipe.close()

    def _readable(self, timeout: float | None) -> bool:
        poll = select.poll()  # not select(): descriptors may be beyond 1024
        poll.register(self.fileno(), select.POLLIN)
        return bool(poll.poll(None if timeout is None else max(0.0, 1000.0 * timeout)))

    def _lost(self, report: bytes, code: int) -> Facts:
        said = report[:1000].decode("utf-8", "replace").strip()
        end = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        return Facts(
            cutoff=self._limits.leading,
            wall=time.monotonic() - self._started,
            lost=True,
            reason=f"the supervisor {end} and gave no report" + (f": {said}" if said else ""),
        )


def run(job: Job) -> Facts:
    """Run the job to its end."""
    with Supervised.start(job) as supervised:
        while (facts := supervised.wait()) is None:
            continue
    return facts


def _children(pid: int) -> list[int]:
    """Of a process that is ours, and so not reaped by anybody else."""
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _helper(backend: str) -> list[str]:
    """The command that supervises: our native program, or BenchExec behind the same protocol."""
    if backend == "process":
        return [os.fspath(supervisor_path())]
    if importlib.util.find_spec("benchexec") is None:
        raise TargetError("BenchExec is not installed", hint="pip install 'capra[benchexec]'")
    return [sys.executable, os.fspath(Path(__file__).with_name("benchexec_helper.py"))]


def _start_helper(helper: list[str]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            helper,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if len(helper) == 1 else subprocess.DEVNULL,
            bufsize=0,
            env={"PATH": os.defpath},
            cwd="/",
            start_new_session=True,  # Ctrl-C is for us: we tell it what to do
        )
    except OSError as error:
        raise TargetError(f"cannot start {helper[0]}: {error.strerror}") from error


def _encode(job: Job, directory: Path, testing: Mapping[str, float]) -> bytes:
    """The request: see native/request.hpp."""
    home = {"HOME": os.fspath(directory), "TMPDIR": os.fspath(directory)}
    given = clean_environment() if job.environment is None else job.environment
    fields = [(b"directory", os.fsencode(directory)), (b"remove", b"1"), (b"owner", b"%d" % os.getpid())]
    fields += [(b"arg", os.fsencode(argument)) for argument in job.argv]
    fields += [(b"env", os.fsencode(f"{name}={value}")) for name, value in {**home, **given}.items()]
    numbers = {name: getattr(job.limits, name) for name in Limits.__slots__}
    numbers |= {"wall": job.limits.wall_bound, **testing}
    fields += [(key.encode(), repr(float(value)).encode()) for key, value in numbers.items() if value is not None]
    if job.cores:
        fields.append((b"cores", ",".join(map(str, job.cores)).encode()))
    if job.hold:
        fields.append((b"hold", b"1"))
    if job.working is not None:
        fields.append((b"working", os.fsencode(job.working)))
    if job.cgroup is not None:
        fields.append((b"cgroup", os.fsencode(job.cgroup)))
    if not job.argv or not fields[3][1]:
        raise TargetError("there is no program to run: the argument list is empty")
    for key, value in fields:
        if b"\0" in value:
            raise TargetError(f"a NUL byte cannot be passed to a program: {key.decode()} {value!r}")
    payload = b"".join(b"%s=%s\0" % pair for pair in fields)
    return b"CAPRA1 %08d\n" % len(payload) + payload


def _decode(report: bytes) -> Facts | None:
    """The last facts of a report, which begins with a line for each time that the run was held; None if it is not whole."""
    line, newline, rest = report.partition(b"\n")
    if not newline or not line.startswith(b"{"):
        return None
    try:
        values = json.loads(line)
        return _decode(rest) if values.get("waiting") and rest else _facts(values, rest)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _facts(values: dict[str, Any], rest: bytes) -> Facts | None:
    if len(rest) != sum(values["stdout"][:2] + values["stderr"][:2]):
        return None
    outputs: dict[str, Any] = {}
    for name in ("stdout", "stderr"):
        head, tail, dropped = values.pop(name)
        outputs[name] = Captured(rest[:head], rest[head : head + tail], dropped)
        rest = rest[head + tail :]
    values.pop("ignored")
    interrupted = values.pop("interrupted")
    values["unkillable"] = tuple(values["unkillable"])
    reason = "the supervisor was told to stop by a signal" if interrupted else ""
    return Facts(**values, **outputs, lost=interrupted, reason=reason)
