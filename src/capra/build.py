"""Build a portfolio: the loop of ``tune``, driven by a builder; then a selector or a schedule from what was measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from capra.errors import InputError, did_you_mean
from capra.features import described
from capra.folder import PRODUCT, STORE, stored_scenario
from capra.portfolio.builder import Builder
from capra.portfolio.conclude import concluded
from capra.portfolio.product import Portfolio
from capra.runs import Configuration, History
from capra.runs.store import Store
from capra.scenario import Budget, Scenario
from capra.strategies import BUILDERS
from capra.tune import Result, Tuning, resume, tune

__all__ = ["Built", "build", "resume_building", "summary_of"]


@dataclass(frozen=True, slots=True)
class Built:
    """What building found."""

    portfolio: Portfolio
    history: History
    store: Path | None
    file: Path | None
    """Where the portfolio was written."""
    spent: float
    trajectory: Sequence[tuple[float, list[Configuration]]]
    """(target time spent, members) whenever the portfolio changed."""


def build(
    scenario: Scenario,
    builder: str = "hydra",
    *,
    seed: int = 0,
    engine: str = "local",
    out: str | Path | None = None,
    watch: Callable[[Tuning], None] = lambda _: None,
    **options: Any,
) -> Built:
    """Build a portfolio for a scenario. ``options`` are those of ``tune``, of the builder, and of its ``inner`` strategy.

    ``out`` is a folder: it holds the store, which is resumed if it is there, the features if they had to be computed, and
    in the end ``portfolio.json``.
    """
    if builder not in BUILDERS:
        hint = did_you_mean(builder, BUILDERS) or "one of " + ", ".join(BUILDERS)
        raise InputError(f"unknown builder {builder!r}", hint=hint)
    folder = Path(out or "runs/latest") if out or engine != "simulated" else None
    scenario, costs = described(scenario, folder)

    def work(looked: Callable[[Tuning], None]) -> Result:
        return tune(scenario, builder, seed=seed, engine=engine, out=folder, watch=looked, **options)

    return _built(work, folder, costs, watch)


def resume_building(
    out: str | Path,
    watch: Callable[[Tuning], None] = lambda _: None,
    *,
    budget: Mapping[str, Any] | Budget | None = None,
    takeover: bool = False,
) -> Built:
    """Go on with the portfolio in a folder, as ``resume`` does with a tuning."""
    with Store.read(Path(out) / STORE) as store:
        scenario, costs = described(stored_scenario(store), Path(out))
    return _built(lambda looked: resume(out, scenario, looked, budget=budget, takeover=takeover), Path(out), costs, watch)


def _built(
    work: Callable[[Callable[[Tuning], None]], Result],
    folder: Path | None,
    costs: Mapping[str, float],
    watch: Callable[[Tuning], None],
) -> Built:
    last: list[Tuning] = []

    def looked(tuning: Tuning) -> None:
        last[:] = [tuning]
        watch(tuning)

    result = work(looked)
    builder = cast(Builder, last[0].strategy)
    portfolio = concluded(builder, feature_costs=costs)
    file = None if folder is None else folder / PRODUCT
    if file is not None:
        portfolio.save(file)
    return Built(portfolio, result.history, result.store, file, result.spent, builder.trajectory)


def summary_of(built: Built) -> dict[str, Any]:
    """What was built, as plain data."""
    portfolio, selection = built.portfolio, built.portfolio.selection
    return {
        "builder": portfolio.facts["builder"],
        "members": [dict(member) for member in portfolio.members],
        "selector": None if selection is None else selection.selector.name,
        "presolve": [] if selection is None else [list(slot) for slot in selection.presolve],
        "schedule": [[[c, None if math.isinf(slot) else slot] for c, slot in lane] for lane in portfolio.schedule],
        "spent": built.spent,
        "runs": len(built.history),
        "portfolio": None if built.file is None else str(built.file),
        "store": None if built.store is None else str(built.store),
    }
