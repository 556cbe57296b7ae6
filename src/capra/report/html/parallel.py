"""Configurations parameter by parameter: which values the good ones have."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from capra.report.html.blocks import Block, numbers
from capra.report.html.columns import Floats, Indices
from capra.report.html.estimate import Estimate
from capra.report.html.view import View
from capra.space import Categorical, Ordinal, Parameter

__all__ = ["parallel"]

LINES = 300
"""Configurations that are drawn, at most."""
AXES = 12
"""Parameters, at most."""
TICKS = 12
"""Values of a parameter that are named, at most."""
AID = "A line is a configuration, coloured by how fast it should be; drag along an axis, or press 1–4 on it, to filter."


def parallel(view: View, model: Estimate, good: Floats) -> Block:
    """Parallel coordinates: the parameters that tell good from bad, one line per configuration."""
    roles = {view.default: "default", view.incumbent: "incumbent"}
    lines = _lines(good, [k for k, config in enumerate(model.configs) if config in roles])
    marked = [roles.get(model.configs[k], "") for k in lines]
    names = [model.configs[k].id[:6] for k in lines]
    columns = _telling(model.codes, view.space.types, good)[:AXES]
    parameters = list(view.space.parameters.values())
    notes = []
    if len(columns) < len(parameters):
        notes.append(f"The {len(columns)} of {len(parameters)} parameters in which the best tenth differs most.")
    if len(lines) < len(model.configs):
        notes.append(f"Drawn: {len(lines):,} configurations, one half the best, the others evenly.")
    return {
        "kind": "parallel",
        "key": "parallel",
        "title": "Parallel coordinates",
        "aid": AID,
        "note": " ".join(notes),
        "axes": [_axis(parameters[j], model.codes[lines, j]) for j in columns],
        "labels": [f"{role} {name}".strip() for role, name in zip(marked, names, strict=True)],
        "value": numbers(good[lines], 3),
        "cost": numbers(10.0 ** model.cost[lines], 3),
        "marked": marked,
        "ramp": ["expected fast", "slow"],
    }


def _lines(good: Floats, always: list[int]) -> Indices:
    """The best ones, and others evenly over the rest."""
    order = np.argsort(good, kind="stable")
    best, rest = order[: LINES // 2], order[LINES // 2 :]
    others = rest[:: max(1, -(-len(rest) // (LINES // 2)))]
    return np.array(list(dict.fromkeys([*best.tolist(), *others.tolist(), *always])), dtype=np.int64)


def _telling(codes: Floats, types: NDArray[np.intp], good: Floats) -> list[int]:
    """Columns in the order of how much the best tenth differs from the others (total variation over eight bins)."""
    best = good <= max(0.1, 2.5 / len(good))
    score = []
    for j in range(codes.shape[1]):
        bins = codes[:, j] if types[j] else np.floor(codes[:, j] * 8)
        place = np.unique(np.nan_to_num(bins, nan=-1.0), return_inverse=True)[1]
        ours, others = (np.bincount(place[mask], minlength=place.max() + 1) / max(mask.sum(), 1) for mask in (best, ~best))
        score.append(float(np.abs(ours - others).sum()))
    return sorted(range(len(score)), key=lambda j: -score[j])


def _places(parameter: Parameter, codes: Floats) -> Floats:
    """Codes as places between 0 and 1."""
    return (codes + 0.5) / parameter.categories if parameter.categories else codes


def _axis(parameter: Parameter, codes: Floats) -> dict[str, Any]:
    """An axis with its ticks, the places of the lines on it, and the values there; None where it is inactive."""
    active = ~np.isnan(codes)
    values: list[Any] = [None] * len(codes)
    for k, value in zip(np.flatnonzero(active).tolist(), parameter.decode(codes[active]), strict=True):
        values[k] = value
    return {
        "name": parameter.name,
        "ticks": _ticks(parameter),
        "values": numbers(_places(parameter, codes), 3),
        "shown": values,
    }


def _ticks(parameter: Parameter) -> list[tuple[float, str]]:
    if isinstance(parameter, Categorical | Ordinal):
        choices = [((k + 0.5) / len(parameter.choices), str(choice)) for k, choice in enumerate(parameter.choices)]
        return choices[:: -(-len(choices) // TICKS)]
    at = np.linspace(0.0, 1.0, 3)
    shown = [f"{value:.3g}" if isinstance(value, float) else str(value) for value in parameter.decode(at)]
    return list(zip(at.tolist(), shown, strict=True))
