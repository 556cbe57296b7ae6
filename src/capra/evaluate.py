"""A portfolio on test instances: beside the single best and the virtual best of its members."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from capra.errors import InputError
from capra.features import described
from capra.folder import PRODUCT, STORE, stored_scenario
from capra.models.base import Floats
from capra.portfolio.cells import Cells
from capra.portfolio.lanes import finish_times
from capra.portfolio.nearest import SingleBest
from capra.portfolio.product import Portfolio, read_portfolio
from capra.portfolio.records import PENALTY, Records
from capra.portfolio.scores import Score, score, virtual_best
from capra.runs import History
from capra.runs.history import Pair
from capra.runs.store import Store
from capra.scenario import Scenario
from capra.tune import Tuning
from capra.validate import measured

__all__ = ["Evaluated", "evaluate", "evaluate_folder", "judged", "portfolio_costs", "recorded"]

_INTERVALS = 71
"""Stream of random numbers."""


@dataclass(frozen=True, slots=True)
class Evaluated:
    """PAR10 on test instances; intervals are 95 %, from instances drawn anew."""

    instances: int
    seeds: int
    single: Score
    """The member that was best in training, for every instance."""
    virtual: Score
    """An oracle that always takes the best member, without features."""
    portfolio: Score
    solved: int
    """Runs that the portfolio would have finished with an answer."""
    feature_cost: float
    """Mean seconds for features; 0 where none are computed."""
    members: Sequence[float]
    """PAR10 of each member by itself."""

    def to_dict(self) -> dict[str, Any]:
        named = {"single_best": self.single, "virtual_best": self.virtual, "portfolio": self.portfolio}
        parts = {name: {"par10": part.par10, "interval": list(part.interval)} for name, part in named.items()}
        interval = self.portfolio.npar10_interval
        return parts | {
            "closed_gap": self.portfolio.closed_gap,
            "closed_gap_interval": None if interval is None else [1.0 - interval[1], 1.0 - interval[0]],
            "instances": self.instances,
            "seeds": self.seeds,
            "solved": self.solved,
            "feature_cost": self.feature_cost,
            "members": list(self.members),
        }


def evaluate_folder(
    run: str | Path, *, seeds: int = 1, workers: int = 1, watch: Callable[[Tuning], None] = lambda _: None
) -> Evaluated:
    """The portfolio of a folder that ``build`` has filled, on its scenario's test instances; runs are kept there."""
    folder = Path(run)
    if not (folder / PRODUCT).is_file() or not (folder / STORE).is_file():
        raise InputError(f"{run} holds no portfolio", hint="give the folder that was given to `capra portfolio build --out`")
    with Store.read(folder / STORE) as store:
        scenario = stored_scenario(store)
    return evaluate(read_portfolio(folder / PRODUCT), scenario, seeds=seeds, workers=workers, out=folder, watch=watch)


def evaluate(
    portfolio: Portfolio,
    scenario: Scenario,
    *,
    seeds: int = 1,
    workers: int = 1,
    engine: str = "local",
    out: str | Path | None = None,
    watch: Callable[[Tuning], None] = lambda _: None,
) -> Evaluated:
    """Runs every member on every test instance with fresh seeds, and asks what the portfolio would have done with these.

    Features that are computed cost what that takes (they are kept in ``out``); those that stand in a table cost nothing.
    """
    names = [instance.name for instance in scenario.test_instances]
    if not names:
        raise InputError("the scenario has no test instances", hint="set test_instances or split")
    scenario, costs = described(scenario, None if out is None else Path(out))
    history = measured(scenario, portfolio.members, names, seeds, workers=workers, engine=engine, out=out, watch=watch)
    return judged(portfolio, *recorded(portfolio, history, scenario.features.rows, costs))


def recorded(
    portfolio: Portfolio, history: History, features: Mapping[str, Sequence[float]], costs: Mapping[str, float]
) -> tuple[list[Pair], Records]:
    """Runs of the members on the pairs that all of them were run on, with the features of each and what these took."""
    cells = Cells(portfolio.cutoff)
    for run in history:
        cells.add(run)
    pairs = list(dict.fromkeys((run.request.instance, run.request.seed) for run in history))
    pairs = [pair for pair in pairs if all(cells.get(member, pair) is not None for member in portfolio.members)]
    if not pairs:
        raise InputError("there is no instance on which all members were run", hint="capra portfolio evaluate RUN")
    rows = [features.get(str(name), (np.nan,) * len(portfolio.names)) for name, _ in pairs]
    found = cells.records(portfolio.members, pairs, np.array(rows, dtype=np.float64).reshape(len(pairs), -1))
    paid = np.array([costs.get(str(name), 0.0) for name, _ in pairs])
    return pairs, Records(found.features, found.times, found.cutoffs, found.solved, found.cutoff, paid, found.presolved)


def judged(portfolio: Portfolio, pairs: Sequence[Pair], records: Records) -> Evaluated:
    """What the portfolio would have done on these pairs."""
    costs, virtual = portfolio_costs(portfolio, records), virtual_best(records)
    single = records.costs[:, _single(portfolio, records)]
    one, best, ours = (score(part, single, virtual, np.random.default_rng(_INTERVALS)) for part in (single, virtual, costs))
    instances = len({name for name, _ in pairs})
    return Evaluated(
        instances,
        len(records) // instances,
        one,
        best,
        ours,
        int((costs <= records.cutoff).sum()),
        float(records.feature_cost.mean()) if portfolio.needs_features else 0.0,
        records.costs.mean(axis=0).tolist(),
    )


def _single(portfolio: Portfolio, records: Records) -> int:
    """The best in training; a schedule has no training records, and its best member is that of the test instances."""
    if portfolio.selection is None:
        return int(np.argmin(records.costs.mean(axis=0)))
    return SingleBest().fit(portfolio.selection.selector.records).best


def portfolio_costs(portfolio: Portfolio, records: Records) -> Floats:
    """PAR10 of the portfolio on every row, as it would be run: presolving, features, choice or schedule."""
    if portfolio.selection is not None:
        return portfolio.selection.evaluate(records)
    finish = finish_times(np.where(records.solved, records.times, np.inf), portfolio.schedule)
    return np.where(finish <= records.cutoff, finish, PENALTY * records.cutoff)
