"""The page on analysis: its example runs and shows what it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.docs.test_pages import ROOT, blocks
from typer.main import get_command

from capra.cli import app

PAGE = "docs/analysis.md"


def test_the_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for code in blocks(PAGE, "python"):
        exec(compile(code, PAGE, "exec"), names)  # noqa: S102 (our own page)
    assert names["result"].incumbent["restarts"] == "on"
    assert names["importance"].parameters()[0].name in ("restarts", "base")
    assert names["path"].finished
    assert names["path"].steps[1].label == "restarts"
    assert {step.label for step in names["predicted"].steps} == {step.label for step in names["path"].steps}
    assert names["figure"].axes
    assert "around the incumbent:" in capsys.readouterr().out


def test_the_commands_of_the_page_are_there() -> None:
    text = (ROOT / PAGE).read_text()
    commands = get_command(app).commands  # type: ignore[attr-defined]
    for name in ("importance", "ablation", "compare", "overtuning", "export"):
        assert f"capra {name}" in text
        assert name in commands
