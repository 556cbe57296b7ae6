"""Where in the space the tuning has been: the configurations on a plane, and parameter by parameter."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from capra.report.html.blocks import Block, Section, axis, numbers, series, xy
from capra.report.html.columns import Floats
from capra.report.html.estimate import Estimate
from capra.report.html.parallel import parallel
from capra.report.html.view import View

__all__ = ["footprint", "plane", "principal"]


def footprint(view: View) -> Section | None:
    model = view.estimate
    if model is None or len(model.configs) < 3:
        return None
    good = _ranks(model.cost)
    lines = [parallel(view, model, good)] if len(view.space) > 1 else []  # one axis joins nothing
    return Section("space", "The space", [_map(view, model, good), *lines])


def _ranks(cost: Floats) -> Floats:
    """0 for the best, 1 for the worst."""
    ranks = np.empty(len(cost))
    ranks[np.argsort(cost, kind="stable")] = np.linspace(0.0, 1.0, len(cost))
    return ranks


def plane(codes: Floats, types: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Rows of codes (n, d) on their two principal axes (n, 2), and the share of the variance on each, (2,).

    Principal components of the encoded rows are classical multidimensional scaling of their Euclidean distances.
    """
    from capra.models.encoding import Encoder  # scipy takes its time to load

    return principal(Encoder.learnt(codes, types).encode(codes).astype(np.float64))


def principal(points: Floats) -> tuple[Floats, Floats]:
    """Points (n, d) on their two principal axes (n, 2), and the share of the variance on each, (2,); zeros where d < 2."""
    rows = points - points.mean(axis=0)
    sizes, axes = np.linalg.eigh(rows.T @ rows)
    first, directions = sizes[::-1][:2], axes[:, ::-1][:, :2]
    directions *= np.sign(directions[np.abs(directions).argmax(axis=0), range(directions.shape[1])])  # a sign that repeats
    at, shares = np.zeros((len(rows), 2)), np.zeros(2)
    at[:, : len(first)] = rows @ directions
    shares[: len(first)] = first / max(float(sizes.sum()), 1e-300)
    return at, shares


def _map(view: View, model: Estimate, good: Floats) -> Block:
    at, shares = plane(model.codes, view.space.types.astype(np.int64))
    place = {config: k for k, config in enumerate(model.configs)}
    path = [place[milestone.config] for milestone in view.trajectory if milestone.config in place]
    names = [f"incumbent {number}, {model.configs[k].id[:6]}" for number, k in enumerate(path, start=1)]
    drawn = [
        _points(view, model, at, good),
        series("path of the incumbents", "incumbent", "line", at[path, 0], at[path, 1], text=names, size=1.4),
    ]
    for name, config, look in (
        ("default", view.default, {"colour": "test", "shape": "diamond"}),
        ("incumbent", view.incumbent, {"colour": "incumbent", "shape": "star"}),
    ):
        if config in place:
            x, y = at[place[config]]
            drawn.append(series(name, "", "point", [x], [y], text=[f"{name} {config.id[:6]}"], size=7) | look)
    known = len(view.columns.configs.things)
    some = len(model.configs) < known
    note = f"Drawn: {len(place):,} of {known:,} configurations (all incumbents, others by chance)." if some else ""
    aid = "Near points are similar configurations; large ones were run often, and the line is the way of the incumbent."
    x_axis, y_axis = (axis(f"principal axis {k} ({100 * share:.0f} % of the variance)") for k, share in enumerate(shares, 1))
    return xy("footprint", "Footprint", aid, x_axis, y_axis, drawn, note=note, ramp=["expected fast", "slow"])


def _points(view: View, model: Estimate, at: Floats, good: Floats) -> Block:
    runs = [len(record.costs) + len(record.bounds) for record in map(view.history.record, model.configs)]
    more = {
        "text": [f"{config.id[:6]}, {number} pairs" for config, number in zip(model.configs, runs, strict=True)],
        "note": [f"expected time {10.0**cost:.3g}" for cost in model.cost],
        "value": numbers(good, 3),
        "size": numbers(np.clip(2.0 + 1.2 * np.log2(np.maximum(runs, 1)), 2.0, 9.0), 2),
    }
    return series("configurations", "default", "point", at[:, 0], at[:, 1], **more)
