"""Who wins where: all strategies of the package on recorded SPEAR, on two synthetic landscapes, and on clasp.

``python -m benchmarks.strategies run`` makes the simulated tunings that are not in the results yet, strategies interleaved, seed by
seed (20 seeds, three budgets; ``--problems``, ``--strategies``, ``--seeds``, ``--minutes`` choose); ``… clasp`` makes the real
ones (5 seeds) and ``… judge`` measures their incumbents; ``… table`` prints medians, ranks and permutation tests and draws the
curves.
"""

from __future__ import annotations

import argparse
import time
from itertools import product

from benchmarks.strategies import table
from benchmarks.strategies.clasp import judge, tune_clasp
from benchmarks.strategies.problems import NAMES, problem
from benchmarks.strategies.rows import SIMULATED, Row, forget, key, rows, write_row
from benchmarks.strategies.settings import REAL, SETTINGS, VIRTUAL, is_planned
from capra.tune import Tuning, tune


def tuning(name: str, strategy: str, budget: float, seed: int) -> Row:
    """One simulated tuning, and the test cost of each of its incumbents."""
    made, began = problem(name), time.process_time()
    curve: list[tuple[float, dict[str, object]]] = []

    def watch(under_way: Tuning) -> None:
        incumbent = under_way.strategy.incumbent
        if incumbent is not None and (not curve or curve[-1][1] != dict(incumbent)):
            curve.append((under_way.history.spent, dict(incumbent)))

    options = {"overhead": "ignore", "engine": "simulated", "seed": seed, "watch": watch}
    options |= SETTINGS[strategy] | VIRTUAL.get(strategy, {})
    result = tune(made.scenario(seed, budget), **options)
    return {
        "problem": name,
        "strategy": strategy,
        "budget": budget,
        "seed": seed,
        "default": round(made.default_cost(seed), 4),
        "curve": [[round(spent, 2), round(made.test_cost(config), 4)] for spent, config in curve],
        "spent": round(result.spent, 1),
        "runs": len(result.history),
        "configurations": len(list(result.history.configurations)),
        "own": round(time.process_time() - began, 2),
    }


def wanted(problems: list[str], strategies: list[str], seeds: range) -> list[tuple[str, str, float, int]]:
    """A tuning whose plan does not depend on its budget is made once, for the largest one."""
    found = []
    for seed, name, strategy in product(seeds, problems, strategies):
        budgets = problem(name).budgets
        found += [(name, strategy, budget, seed) for budget in (budgets if is_planned(strategy) else budgets[-1:])]
    return found


def run(given: argparse.Namespace) -> None:
    forget(SIMULATED, given.again)
    until = time.monotonic() + 60.0 * given.minutes
    for name, strategy, budget, seed in wanted(given.problems, given.strategies, range(given.first, given.seeds)):
        if (name, strategy, budget, seed) in {key(row) for row in rows(SIMULATED)}:
            continue
        if time.monotonic() > until:
            return
        row = tuning(name, strategy, budget, seed)
        write_row(row)
        print(name, strategy, budget, seed, row["curve"][-1:], row["runs"], f"{row['own']} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    running, real, judging = (commands.add_parser(name) for name in ("run", "clasp", "judge"))
    running.add_argument("--problems", nargs="+", default=list(NAMES), choices=NAMES)
    real.add_argument("--budget", type=float, default=90.0, help="CPU seconds of a tuning, ours included")
    for making, call, strategies, seeds in ((running, run, tuple(SETTINGS), 20), (real, tune_clasp, REAL, 5)):
        making.add_argument("--strategies", nargs="+", default=list(strategies), choices=list(SETTINGS))
        making.add_argument("--seeds", type=int, default=seeds)
        making.add_argument("--first", type=int, default=0)
        making.add_argument("--minutes", type=float, default=1e9, help="start no tuning after so many")
        making.add_argument("--again", nargs="+", default=[], choices=list(SETTINGS), help="forget their rows first")
        making.set_defaults(call=call)
    judging.add_argument("--seeds", type=int, default=3, help="on each of the 20 test instances")
    judging.set_defaults(call=judge)
    commands.add_parser("table").set_defaults(call=lambda _: table.main())
    given = parser.parse_args()
    given.call(given)


if __name__ == "__main__":
    main()
