"""How often does capping reject a configuration that was better after all? Audited racing on SPEAR-SWV, per slack.

``python -m benchmarks.audit``: a random tenth of the challengers that were rejected by a capped run is run out to κ_max on all
pairs that the incumbent had then; wrong = it was better on them. 100 simulated CPU hours each, because audits are dear. Seeds
that stand in benchmarks/results/audit.json are not run again.
"""

from __future__ import annotations

import argparse

from benchmarks.kept import Kept
from benchmarks.spear import Spear, load
from capra.strategies.race import Race
from capra.tune import Tuning, tune

SLACKS = (1.0, 1.1, 1.3, 1.5, 2.0)
SHARE = 0.1
HOURS = 100


def audited(spear: Spear, slack: float, seed: int) -> tuple[int, int]:
    """Rejections looked into, and those that were wrong."""
    counts = (0, 0)

    def watch(tuning: Tuning) -> None:
        nonlocal counts
        assert isinstance(tuning.strategy, Race)
        counts = tuning.strategy.audit.checked, tuning.strategy.audit.wrong

    scenario = spear.scenario(seed, {"cpu": f"{HOURS}h"})
    tune(scenario, "roar", engine="simulated", seed=seed, overhead="ignore", watch=watch, slack=slack, audit=SHARE)
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    seeds = parser.parse_args().seeds
    spear = load()
    kept = Kept("audit", {"hours": HOURS, "share": SHARE}, "capra")
    for slack in SLACKS:
        row = kept.row(slack=slack)
        for seed in range(len(row["found"]), seeds):
            row["found"].append(audited(spear, slack, seed))
            row["checked"], row["wrong"] = (sum(column) for column in zip(*row["found"], strict=True))
            kept.write()
        checked, wrong = row["checked"], row["wrong"]
        print(f"slack {slack}: {wrong} of {checked} audited rejections were wrong ({wrong / checked:.1%})", flush=True)


if __name__ == "__main__":
    main()
