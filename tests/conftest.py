"""Shared by all tests."""

from __future__ import annotations

from pathlib import Path

import pytest

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
