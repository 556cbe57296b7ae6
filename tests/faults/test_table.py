"""The table of failure classes names tests that exist, and leaves no class out."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "reliability.md"
FILES = ("faults", "", "engines", "runs", "targets", "space")


def lines() -> list[list[str]]:
    table = PAGE.read_text().partition("## Every class of failure")[2].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table if line.startswith("| ")][1:]


def found(name: str) -> Path:
    places = [HERE.parent / folder / name for folder in FILES] if "/" not in name else [HERE.parent / name]
    return next(place for place in places if place.is_file())


def test_every_class_has_its_tests() -> None:
    rows = [line[0] for line in lines()]
    assert rows == [*map(str, range(1, 31)), "–"]


def test_the_tests_exist() -> None:
    for row, *_, tests in lines():
        named = re.findall(r"`([^`]+)`", tests)
        assert named, row
        file = ""
        for name in named:
            path, _, function = name.partition("::")
            file = path or file
            assert not function or f"def {function}(" in found(file).read_text(), name
