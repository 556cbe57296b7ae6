"""The page on the classic configurators: its options are those of the code, and its example runs."""

from __future__ import annotations

import re
from importlib import import_module
from inspect import Parameter, signature
from typing import Any

import pytest
from tests.docs.test_pages import ROOT, blocks

PAGE = "docs/classics.md"


@pytest.mark.parametrize("name", ["ils", "gga", "irace"])
def test_the_options_of_the_page_are_those_of_the_strategy(name: str) -> None:
    text = (ROOT / PAGE).read_text().partition(f"\n## `{name}`")[2].partition("\n## ")[0]
    said = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", text, re.MULTILINE))
    make = getattr(import_module(f"capra.strategies.{name}"), name)
    options = {p.name: p.default for p in signature(make).parameters.values() if p.kind is Parameter.KEYWORD_ONLY}
    assert list(said) == list(options)
    for option, default in options.items():
        shown = f"`{default}`" if isinstance(default, str) else str(default).lower()
        assert said[option] == ("by capping" if default is None else shown), option


def test_the_example_finds_what_is_good_together(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    (code,) = blocks(PAGE, "python")
    exec(compile(code, PAGE, "exec"), names)  # noqa: S102 (our own page)
    assert len(capsys.readouterr().out.splitlines()) == 3
    for name, result in names["found"].items():
        assert result.incumbent["algorithm"] == "cdcl", name
        assert result.incumbent["decay"] > 0.9, name
        assert result.cost < 5.0, name
