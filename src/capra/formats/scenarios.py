"""Any scenario file in: TOML, AClib/SMAC or irace. Reads options, without opening the files that they name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from capra.errors import InputError, ScenarioError
from capra.formats.text import numbered_lines, read_text

__all__ = ["SCENARIO_FORMATS", "ScenarioDraft", "read_options", "scenario_format", "write_options"]

_IRACE_KEY = re.compile(
    r"^\s*(?:parameterFile|targetRunner|trainInstancesDir|trainInstancesFile|maxExperiments|maxTime|boundMax)\s*(?:=|<-)",
    re.MULTILINE,
)


@dataclass
class ScenarioDraft:
    """A scenario as it was written: options by our names, each with its line; nothing opened, nothing resolved."""

    path: Path
    options: dict[str, Any] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    bases: tuple[Path, ...] = ()
    notes: list[str] = field(default_factory=list)
    """What was understood but has no counterpart here."""

    def place(self, error: ScenarioError) -> ScenarioError:
        """The same error, knowing file and line."""
        error.path = str(self.path)
        error.line = self.lines.get(error.key or "")
        return error


def scenario_format(path: str | Path, text: str | None = None) -> str:
    """toml by the suffix; otherwise irace if the text sets one of its keys, else aclib."""
    if Path(path).suffix.lower() == ".toml":
        return "toml"
    return "irace" if text is not None and _IRACE_KEY.search(text) else "aclib"


def read_options(path: str | Path) -> ScenarioDraft:
    """The options of a scenario file. FormatError or ScenarioError (with the line) for what cannot be read."""
    text = read_text(path)
    for _ in numbered_lines(text, path):  # refuses endless lines
        pass
    draft: ScenarioDraft = _modules()[scenario_format(path, text)].parse(text, Path(path))
    return draft


def write_options(options: Mapping[str, Any], kind: str) -> str:
    """A scenario file of the given kind. InputError names what that format cannot say."""
    text: str = _modules()[kind].write(options)
    return text


def _modules() -> dict[str, Any]:
    from capra.formats import aclib, irace_scenario, toml

    return {"toml": toml, "aclib": aclib, "irace": irace_scenario}


SCENARIO_FORMATS = ("toml", "aclib", "irace")


def refuse_rest(options: Mapping[str, Any], known: set[str], what: str) -> None:
    """InputError for the first option that a format cannot say."""
    if extra := sorted(set(options) - known):
        raise InputError(f"{what} cannot say {extra[0]!r}", hint="keep the scenario in TOML, or drop the option")
