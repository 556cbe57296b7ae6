"""The product: a portfolio as one portable file, ``portfolio.json``.

It holds the configurations, how to run the target, how to get features, and who chooses: a selector with the slots that come
before it, or a schedule. Plain JSON, checked when it is read; selectors are fitted again from their records.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from capra.errors import CapraError, FormatError, InputError, ModelError
from capra.formats.text import read_text
from capra.models.base import Floats
from capra.portfolio.lanes import Lanes
from capra.portfolio.schedule import Plan, choice
from capra.portfolio.scores import single_best
from capra.portfolio.selectors import Selection
from capra.runs import Configuration

__all__ = ["RUN_OPTIONS", "VERSION", "Portfolio", "read_portfolio"]

VERSION = 1
KIND = "capra-portfolio"
MOST_MEMBERS = 1000
RUN_OPTIONS = (
    *("target", "dialect", "style", "arguments", "directory", "environment", "unit", "objective", "cutoff", "memory"),
    *("backend", "wall_limit", "file_size", "output", "deterministic"),
)
"""Options of a scenario that say how the target is run."""


@dataclass(frozen=True)
class Portfolio:
    """Configurations, and who decides between them: a ``selection``, or a ``schedule`` of one lane per core.

    Every slot starts its configuration from the beginning.
    """

    members: tuple[Configuration, ...]
    cutoff: float
    selection: Selection | None = None
    schedule: Lanes = ()
    features: tuple[str, ...] = ()
    """The command that computes features, ("cnf",) for the built-in extractor, or nothing."""
    names: tuple[str, ...] = ()
    """Of the features, in the selector's order."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """How the target is run: the scenario's options; empty where it holds Python objects."""
    space: str = ""
    """The parameters, as ConfigSpace's JSON."""
    bases: tuple[str, ...] = ()
    """Where relative paths are looked up, after the file's own folder."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Who built it, from what."""

    @property
    def needs_features(self) -> bool:
        return self.selection is not None and self.selection.selector.needs_features

    def before(self) -> Plan:
        """The slots that are run before features are computed."""
        return self.selection.presolve if self.selection else ()

    def plan(self, features: Floats) -> Plan:
        """What to run after ``features``, (1, f), are known; the single best where they could not be computed."""
        if self.selection is None:
            return self.schedule[0]
        if self.needs_features and np.isnan(features).all():
            return choice(single_best(self.selection.selector.records))
        return self.selection.plans(features)[0]

    def to_dict(self) -> dict[str, Any]:
        lanes = [[[c, None if math.isinf(slot) else slot] for c, slot in lane] for lane in self.schedule]
        return {
            "format": KIND,
            "version": VERSION,
            "facts": dict(self.facts),
            "cutoff": self.cutoff,
            "configurations": [dict(config) for config in self.members],
            "selection": None if self.selection is None else self.selection.to_dict(),
            "schedule": lanes,
            "features": {"command": list(self.features), "names": list(self.names)},
            "run": dict(self.options),
            "space": json.loads(self.space) if self.space else None,
            "bases": list(self.bases),
        }

    def save(self, path: str | Path) -> None:
        """Write it whole or not at all."""
        part = Path(f"{path}.part")
        part.write_text(json.dumps(self.to_dict(), indent=1) + "\n")
        part.replace(path)


def read_portfolio(path: str | Path) -> Portfolio:
    """What ``save`` wrote; FormatError with what is wrong otherwise."""
    try:
        document = json.loads(read_text(path))
    except ValueError as error:
        raise FormatError(f"is not JSON: {error}", path=path) from None
    if not isinstance(document, dict) or document.get("format") != KIND:
        raise FormatError("is not a portfolio", path=path, hint="`capra portfolio build` writes one")
    if document.get("version") != VERSION:
        what = f"is a portfolio of version {document.get('version')!r}; this Capra reads version {VERSION}"
        raise FormatError(what, path=path, hint="build it again, or use the Capra that wrote it")
    try:
        return _portfolio(document)
    except (CapraError, AttributeError, KeyError, TypeError, ValueError) as error:
        words = error.message if isinstance(error, CapraError) else f"{type(error).__name__} {error}"
        raise FormatError(f"is damaged: {words}", path=path, hint="build it again") from None


def _portfolio(document: dict[str, Any]) -> Portfolio:
    members = tuple(Configuration(_table(values)) for values in document["configurations"])
    if not 1 <= len(members) <= MOST_MEMBERS:
        raise InputError(f"a portfolio has 1 to {MOST_MEMBERS} configurations, not {len(members)}")
    features, schedule, space = document["features"], document["schedule"], document["space"]
    found = Portfolio(
        members,
        _positive(document["cutoff"]),
        None if document["selection"] is None else Selection.from_dict(document["selection"]),
        tuple(tuple(_slot(slot, len(members)) for slot in lane) for lane in schedule),
        tuple(map(_text, features["command"])),
        tuple(map(_text, features["names"])),
        {name: value for name, value in _table(document["run"]).items() if name in RUN_OPTIONS},
        "" if space is None else json.dumps(space),
        tuple(map(_text, document["bases"])),
        _table(document["facts"]),
    )
    _check(found)
    return found


def _check(portfolio: Portfolio) -> None:
    selection = portfolio.selection
    if selection is None and not any(portfolio.schedule):
        raise InputError("it has neither a selection nor a schedule")
    if selection is not None:
        records = selection.selector.records
        if records.configurations != len(portfolio.members) or records.features.shape[1] != len(portfolio.names):
            raise ModelError("the selector knows other configurations or features than the portfolio has")


def _slot(value: Any, members: int) -> tuple[int, float]:
    c, slot = value
    if isinstance(c, bool) or not isinstance(c, int) or not 0 <= c < members:
        raise InputError(f"a slot is for configuration {c!r}, which is not there")
    return c, math.inf if slot is None else _positive(slot)


def _positive(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 < value < math.inf:
        raise InputError(f"{value!r} is no positive time")
    return float(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise InputError(f"{value!r} is no text")
    return value


def _table(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"expected a table, not {type(value).__name__}")
    return value
