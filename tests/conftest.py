"""Shared by all tests."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

# A red build is the change's fault, never the dice's or a busy machine's. HYPOTHESIS_PROFILE=explore: new examples every time.
PATIENT = {"deadline": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow]}
hypothesis.settings.register_profile("repeatable", derandomize=True, **PATIENT)
hypothesis.settings.register_profile("explore", **PATIENT)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture
def shared_data() -> Path:
    """The folder with real parameter and scenario files that stands beside the project; skips where it does not."""
    if not SHARED.is_dir():
        pytest.skip("no ../shared/data beside the project: real files of other tools cannot be checked here")
    return SHARED


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a small scenario's files: parameters, three training and two test instances, features."""
    (tmp_path / "parameters.pcs").write_text("alpha real [0, 1] [0.5]\nmode categorical {fast, safe} [fast]\n")
    for role, names in (("train", "abc"), ("test", "de")):
        (tmp_path / role).mkdir()
        for name in names:
            (tmp_path / role / f"{name}.cnf").write_text("p cnf 1 1\n1 0\n")
    rows = [
        f"{role}/{name}.cnf, {i}, {i * 2}"
        for role, names in (("train", "abc"), ("test", "de"))
        for i, name in enumerate(names)
    ]
    (tmp_path / "features.csv").write_text("instance, size, depth\n" + "\n".join(rows) + "\n")
    return tmp_path


# --- nothing may be left behind ---


@pytest.fixture(scope="session", autouse=True)
def _nothing_is_left(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """After all tests (of each worker, under xdist) no process and no temporary directory of ours is there any more."""
    base = tmp_path_factory.getbasetemp()
    scratch = tmp_path_factory.mktemp("tmpdir")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(scratch))
        patch.setattr(tempfile, "tempdir", None)
        yield
    end = time.monotonic() + 10.0  # an orphan may just be on its way out
    while (left := _leftovers(base)) and time.monotonic() < end:
        time.sleep(0.05)
    assert left == []


def _leftovers(base: Path) -> list[str]:
    """Private directories below the folder of this test session, its targets, and supervisors of ours or of nobody."""
    directories = [str(path) for depth in ("*", "*/*") for path in base.glob(f"{depth}/capra-run-*")]
    targets = [f"{pid}: a target" for pid in _processes() if os.fsencode(base) in _read(pid, "environ") and _is_target(pid)]
    supervisors = [f"{pid}: {_name(pid)}" for pid in _processes() if _name(pid) == "capra-superviso" and _is_ours(pid)]
    return directories + targets + supervisors


def _is_target(pid: int) -> bool:
    return any(entry.startswith(b"HOME=") and b"/capra-run-" in entry for entry in _read(pid, "environ").split(b"\0"))


def _is_ours(pid: int) -> bool:
    """Started by this session, or by somebody who is gone; other tunings on this machine are none of our business."""
    while _name(pid) == "capra-superviso":
        pid = _parent(pid)
    orphan = pid == 1
    while pid not in (0, 1, os.getpid()):
        pid = _parent(pid)
    return orphan or pid == os.getpid()


def _processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _read(pid: int, file: str) -> bytes:
    try:
        return Path("/proc", str(pid), file).read_bytes()
    except OSError:
        return b""


def _name(pid: int) -> str:
    """The first 15 characters, as the kernel keeps them; empty for those that have ended."""
    stat = _read(pid, "stat")
    return "" if stat.rpartition(b") ")[2][:1] in (b"", b"Z", b"X") else stat.partition(b"(")[2].rpartition(b")")[0].decode()


def _parent(pid: int) -> int:
    stat = _read(pid, "stat").rpartition(b") ")[2].split()
    return int(stat[1]) if len(stat) > 1 else 0
