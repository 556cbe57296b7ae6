"""Did the tuning go on improving what it could not measure? Training against test cost of every incumbent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["overtuning_of"]

CLEAR = 1.02
"""A last incumbent that costs so many times as much as an earlier one on test instances was overtuned."""


def overtuning_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the rows of ``validate_run(…, trajectory=True)`` say: ``ratio`` is the last incumbent's test cost over the best
    test cost of all incumbents (1 = no overtuning), ``gap`` its test cost over its training cost."""
    incumbents = [row for row in rows if row["incumbent_since"] is not None] or list(rows[-1:])
    last, best = incumbents[-1], min(incumbents, key=lambda row: row["cost"])
    training = last["training_cost"]
    return {
        "last": last["name"],
        "best": best["name"],
        "ratio": last["cost"] / best["cost"] if best["cost"] > 0 else None,
        "gap": last["cost"] / training if training and training > 0 else None,
        "verdict": _verdict(last, best),
    }


def _verdict(last: Mapping[str, Any], best: Mapping[str, Any]) -> str:
    if last is best or last["cost"] <= CLEAR * best["cost"]:
        return "no overtuning: of all incumbents the last is the best on the test instances, or nearly"
    low, high = last["interval"][0], best["interval"][1]
    sure = "" if low > high else ", but the intervals overlap: it may be chance"
    return f"overtuned: {best['name']} costs {best['cost']:.4g} on the test instances, the last {last['cost']:.4g}{sure}"
