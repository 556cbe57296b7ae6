"""How often is a challenger of ``smac`` really better than the incumbent: the model's, and the random ones between them?

SPEAR's surrogate knows what every configuration costs on all training instances; the race sees a few runs of it. The initial
design counts as random.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from benchmarks.machine import machine, write_results
from benchmarks.peers.problems import Spear, told_scenario
from capra.runs import Configuration, Run
from capra.runs.store import Store
from capra.tune import Tuning, tune

LEVELS = {"above 40": 40.0, "8 to 40": 8.0, "below 8": 0.0}
"""Of the incumbent's true PAR10 when the challenger begins."""
BETTER = 0.95
"""A challenger is better that costs less than this share of it."""


@dataclass
class Tally:
    """Challengers of one kind."""

    challengers: int = 0
    better: int = 0
    twice: int = 0
    """Those that cost less than half."""
    seconds: float = 0.0


@dataclass
class Witness:
    """Sees every run of a tuning, and who was the incumbent before it."""

    runs: list[tuple[Run, Configuration]] = field(default_factory=list)
    incumbent: Configuration | None = None
    seen: int = 0

    def watch(self, tuning: Tuning) -> None:
        new = tuning.history.runs[self.seen :]
        if self.incumbent is not None:
            self.runs += [(run, self.incumbent) for run in new if run.asked_by.startswith("challenger")]
        self.incumbent, self.seen = tuning.strategy.incumbent, len(tuning.history)


def challengers(problem: str, seed: int) -> Iterator[tuple[str, str, bool, float, float]]:
    """(level, source, is it its first run, its cost as a share of the incumbent's, seconds) of each challenger's run."""
    spear, witness = Spear(problem, seed), Witness()
    with tempfile.TemporaryDirectory() as folder:
        scenario = told_scenario(spear.problem.describe(Path(folder)), spear.surrogate)
        result = tune(scenario, "smac", engine="simulated", seed=seed, watch=witness.watch, out=Path(folder) / "run")
        with Store.read(result.store) as store:
            suggested = {Configuration(config) for *_, fit in store.decisions("fit") for config in fit["configs"]}

    @cache
    def truth(config: Configuration) -> float:
        return spear.judged(config)["train"]

    begun: set[Configuration] = set()
    for run, incumbent in witness.runs:
        config = run.request.config
        level = next(name for name, least in LEVELS.items() if truth(incumbent) >= least)
        source = "model" if config in suggested else "random"
        yield level, source, config not in begun, truth(config) / truth(incumbent), run.outcome.time
        begun.add(config)


def study(problem: str, seeds: int) -> None:
    tallies = {(level, source): Tally() for level in LEVELS for source in ("model", "random")}
    for seed in range(seeds):
        for level, source, is_new, share, seconds in challengers(problem, seed):
            tally = tallies[level, source]
            tally.seconds += seconds
            if is_new:
                tally.challengers += 1
                tally.better += share < BETTER
                tally.twice += share < 0.5
    rows = [
        {"level": level, "source": source, **vars(tally)} for (level, source), tally in tallies.items() if tally.challengers
    ]
    write_results(
        "peers_proposals", {"machine": machine("capra", "numpy"), "problem": problem, "seeds": seeds, "rows": rows}
    )
    print(
        "| incumbent's PAR10 | challengers | number | better | twice as good | better ones in 1,000 s |\n" + "|---" * 6 + "|"
    )
    for row in rows:
        shares = [f"{row[key] / row['challengers']:.1%}" for key in ("better", "twice")]
        rate = 1000.0 * row["better"] / row["seconds"]
        print(f"| {row['level']} | {row['source']} | {row['challengers']} | {' | '.join(shares)} | {rate:.1f} |")
