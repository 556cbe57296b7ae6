"""Did the tuning go on improving what it could not measure? Training against test cost of every incumbent."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["overtuning_of"]

CLEAR = 0.02
"""A last incumbent whose test cost is worse than an earlier one's by more than this share of it was overtuned."""


def overtuning_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the rows of ``validate_run(…, trajectory=True)`` say: ``ratio`` is the last incumbent's test cost over the best
    test cost of all incumbents (1 = no overtuning), ``gap`` its test cost over its training cost."""
    incumbents = [row for row in rows if row["incumbent_since"] is not None] or list(rows[-1:])
    last, best = incumbents[-1], min(incumbents, key=_cost)
    return {
        "last": last["name"],
        "best": best["name"],
        "ratio": _ratio(last["cost"], best["cost"]),
        "gap": _ratio(last["cost"], last["training_cost"]),
        "verdict": _verdict(last, best),
    }


def _cost(row: Mapping[str, Any]) -> float:
    """A row without one has runs without a result, which cost more than anything."""
    return math.inf if row["cost"] is None else float(row["cost"])


def _ratio(one: float | None, other: float | None) -> float | None:
    return one / other if one is not None and other is not None and other > 0 else None


def _verdict(last: Mapping[str, Any], best: Mapping[str, Any]) -> str:
    cost, least = _cost(last), _cost(best)
    if math.isinf(least):
        return "nothing can be said: every incumbent has runs without a result on the test instances"
    if last is best or cost <= least + CLEAR * abs(least):
        return "no overtuning: of all incumbents the last is the best on the test instances, or nearly"
    low, high = last["interval"][0], best["interval"][1]
    overlap = low is not None and high is not None and low <= high
    sure = ", but the intervals overlap: it may be chance" if overlap else ""
    return f"overtuned: {best['name']} costs {least:.4g} on the test instances, the last {cost:.4g}{sure}"
