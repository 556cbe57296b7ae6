"""Private directories: nothing is left, also of a Capra that was killed, and nothing in use is removed."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from capra.targets import scratch
from capra.targets.scratch import PREFIX, Scratch, sweep

HOLD = "import sys; from pathlib import Path; from capra.targets.scratch import Scratch; print(Scratch(Path(sys.argv[1])).path); input()"


def test_what_a_killed_process_left_is_swept(tmp_path: Path) -> None:
    ours = Scratch(tmp_path)
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    theirs = Path(child.stdout.readline().strip())
    (theirs / "locked" / "deep").mkdir(parents=True)
    (theirs / "locked").chmod(0o500)
    sweep(tmp_path)
    assert theirs.exists(), "it is in use"
    child.kill()
    child.communicate()
    sweep(tmp_path)
    assert not theirs.exists()
    assert ours.path.exists(), "so is this one"
    ours.discard()
    assert list(tmp_path.iterdir()) == []


def test_nothing_else_is_swept(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (tmp_path / f"{PREFIX}link").symlink_to(precious)
    (tmp_path / f"{PREFIX}file").touch()
    (tmp_path / "capra-run-of-somebody").mkdir()
    before = sorted(tmp_path.iterdir())
    sweep(tmp_path)
    assert sorted(tmp_path.iterdir()) == before
    shutil.rmtree(tmp_path)


def test_a_directory_that_is_swept_before_it_is_held_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    make = scratch.tempfile.mkdtemp

    def snatched(**options: object) -> str:
        made.append(make(**options))
        if len(made) == 1:
            monkeypatch.setattr(scratch.fcntl, "flock", lambda *_: Path(made[0]).rmdir() if len(made) == 1 else None)
        return made[-1]

    monkeypatch.setattr(scratch.tempfile, "mkdtemp", snatched)
    held = Scratch(tmp_path)
    assert [str(held.path)] == made[1:]
    held.discard()
    assert list(tmp_path.iterdir()) == []


def test_one_that_was_swept_before_it_was_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another Capra begins between the making of the directory and the lock on it."""
    make, swept = tempfile.mkdtemp, []

    def mkdtemp(*args: str, **named: str) -> str:
        place = make(*args, **named)
        if not swept:
            swept.append(place)
            sweep(tmp_path)
        return place

    monkeypatch.setattr(tempfile, "mkdtemp", mkdtemp)
    ours = Scratch(tmp_path)
    assert swept != [str(ours.path)]
    assert list(tmp_path.iterdir()) == [ours.path]
    ours.discard()
