"""The page on reports: its example runs, and its table names the sections that there are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.docs.test_pages import ROOT, blocks

PAGE = "docs/report.md"


def test_the_example_writes_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    (code,) = blocks(PAGE, "python")
    exec(compile(code, PAGE, "exec"), names)  # noqa: S102 (our own page)
    text = Path("runs/example/report.html").read_text()
    said = re.findall(r"^\| ([A-Z][^|]*?) \|", (ROOT / PAGE).read_text(), re.MULTILINE)
    absent = {title for title in said if f'"title":"{title}"' not in text}
    assert absent == {"Portfolio", "What is promised", "What mattered"}  # not for a tuning of a Python function by racing
    assert len(said) - len(absent) == len(names["written"]["sections"])
