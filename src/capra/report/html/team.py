"""A portfolio as its report sees it: the members, who chooses between them, and how long each took where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from capra.errors import CapraError
from capra.folder import PRODUCT
from capra.report.html.columns import Floats, Indices
from capra.runs import Configuration, History
from capra.runs.history import Pair
from capra.scenario import Scenario

if TYPE_CHECKING:  # the models that selectors are made of take their time to load
    from capra.evaluate import Evaluated
    from capra.portfolio.product import Portfolio
    from capra.portfolio.records import Records

__all__ = ["Measured", "Team", "measured", "team_of"]


@dataclass(frozen=True)
class Team:
    """The members, in the order in which they joined; the product once there is one that is not out of date."""

    members: tuple[Configuration, ...]
    since: tuple[float | None, ...]
    """What had been spent when each joined; None where that is not known."""
    product: Portfolio | None
    trouble: str = ""
    """Why the product cannot be read."""


@dataclass(frozen=True)
class Measured:
    """Runs of all members on the same pairs, of test instances where they were evaluated there."""

    where: str
    pairs: Sequence[Pair]
    records: Records
    features: bool
    """Are the features of these instances known?"""
    judged: Evaluated | None
    """The portfolio as a whole, on test instances."""

    @property
    def best(self) -> Floats:
        """(n,): the shortest time in which a member solves the pair; the cutoff where none does."""
        records = self.records
        return np.asarray(np.where(records.solved, records.times, records.cutoff).min(axis=1))

    @property
    def winner(self) -> Indices:
        """(n,): whose time that is; −1 where none solves it."""
        records = self.records
        first = np.where(records.solved, records.times, np.inf).argmin(axis=1)
        return np.asarray(np.where(records.solvable, first, -1))

    def cost(self, members: Sequence[int]) -> float:
        """Mean PAR10, at least, if some of the members were all there is and the best of them were run on each pair.

        A run that was stopped counts with its bound, which is all that is known of it.
        """
        from capra.portfolio.records import PENALTY

        records, nobody = self.records, PENALTY * self.records.cutoff
        best = np.where(records.solved, records.times, nobody).min(axis=1)
        known = records.costs[:, list(members)].min(axis=1, initial=nobody)
        return float(np.maximum(known, best).mean())

    def contribution(self, member: int) -> float:
        """What would be lost without a member, at least."""
        everybody = range(self.records.configurations)
        return self.cost([k for k in everybody if k != member]) - self.cost(everybody)


def team_of(folder: Path, joined: Sequence[Mapping[str, Any]]) -> Team | None:
    """Of the portfolio in a folder; ``joined`` are the stored decisions about its members, in order. None if there is none.

    A file from before the last decision is out of date: the building was resumed.
    """
    from capra.portfolio.product import read_portfolio

    product, trouble = None, ""
    if (folder / PRODUCT).is_file():
        try:
            product = read_portfolio(folder / PRODUCT)
        except CapraError as error:
            trouble = str(error)
    last: Mapping[str, Any] = joined[-1] if joined else {"members": [], "runs": 0}
    if product is not None and not _is_at_least(product.facts.get("runs"), last["runs"]):
        product = None
    members = product.members if product else tuple(map(Configuration, last["members"]))
    since = tuple(next((d["spent"] for d in joined if dict(member) in d["members"]), None) for member in members)
    return Team(members, since, product, trouble) if members or trouble else None


def _is_at_least(runs: Any, least: int) -> bool:
    return isinstance(runs, int) and runs >= least


def measured(
    team: Team, history: History, validation: History | None, scenario: Scenario | None, folder: Path
) -> Measured | None:
    """What the runs of the members say; None if there is no pair that all were run on."""
    from capra.evaluate import judged, recorded
    from capra.portfolio.product import Portfolio

    names = team.product.names if team.product else ()
    portfolio = team.product or Portfolio(team.members, history.kappa_max)
    rows, costs = _features(team.product, scenario, folder)
    for where, runs in (("test", validation), ("training", history)):
        try:
            pairs, records = recorded(portfolio, runs or History(history.objective, history.kappa_max), rows, costs)
        except CapraError:  # not all members were run there
            continue
        known = bool(names) and all(str(name) in rows for name, _ in pairs)
        whole = where == "test" and team.product is not None and (known or not team.product.needs_features)
        return Measured(where, pairs, records, known, judged(portfolio, pairs, records) if whole else None)
    return None


def _features(
    product: Portfolio | None, scenario: Scenario | None, folder: Path
) -> tuple[dict[str, Sequence[float]], dict[str, float]]:
    """Features by instance and what they took, as far as they are known: nothing is computed for a report."""
    from capra.features import COSTS, TABLE
    from capra.formats.instances import read_features

    rows: dict[str, Sequence[float]] = {}
    if product is None:
        return rows, {}
    if product.selection is not None:
        learnt, names = product.selection.selector.records.features, product.facts.get("instances")
        if isinstance(names, list) and len(names) == len(learnt):
            rows |= {str(name): row for name, row in zip(names, learnt, strict=True)}
    if scenario is not None and not scenario.features.command and scenario.features.names == product.names:
        rows |= scenario.features.rows
    try:
        table = read_features(folder / TABLE)
        costs = {name: row[0] for name, row in read_features(folder / COSTS).rows.items()}
    except (CapraError, OSError):  # they were not computed here
        return rows, {}
    return (rows | dict(table.rows) if table.names == product.names else rows), costs
