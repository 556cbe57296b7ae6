"""What a strategy with guarantees promised, and when: its certificates over the budget."""

from __future__ import annotations

from typing import Any

from capra.folder import CERTIFICATE
from capra.report.html.blocks import Block, Section, axis, series, table, xy
from capra.report.html.view import View
from capra.report.words import unit_in_words

__all__ = ["promises"]

NAMES = {"epsilon": "ε", "delta": "δ", "zeta": "ζ", "gamma": "γ"}
COLOURS = {"epsilon": "one", "delta": "two", "zeta": "three", "gamma": "four"}


def promises(view: View) -> Section | None:
    """Decisions of the store: the first promise, each that was a tenth tighter in something, and the last one."""
    made = view.decisions[CERTIFICATE]
    holding = [one for one in made if one["parameters"]]
    if not made:
        return None
    blocks = [_plot(view, holding)] if holding else []
    return Section("promises", "What is promised", [*blocks, _history(view, made)])


def _plot(view: View, made: list[Any]) -> Block:
    drawn = []
    for name in dict.fromkeys(name for one in made for name in one["parameters"]):
        steps = [(one["spent"], one["parameters"][name], one) for one in made if name in one["parameters"]]
        x, y, what = (list(part) for part in zip(*steps, strict=True))
        told = {"text": [f"answer {one['answer'][:6]}" if one["answer"] else "no answer" for one in what]}
        told["note"] = [one["says"] for one in what]
        title, hue, now = NAMES.get(name, name), COLOURS.get(name, "five"), max(x[-1], view.spent["cpu"])
        drawn.append(series(title, hue, "step", [*x, now], [*y, y[-1]], text=[*told["text"], "now"]))
        drawn.append(series(title, hue, "point", x, y, **told))
    log = all(value > 0 for one in made for value in one["parameters"].values())
    aid = (
        "How tightly the answer is guaranteed after how much of the budget: lower is tighter; point at a step for its words."
    )
    x_axis = axis(f"budget spent ({unit_in_words(view.unit)})", switch=True)
    return xy(
        "promises", "Promises over the budget", aid, x_axis, axis("parameter of the promise", log=log, switch=log), drawn
    )


def _history(view: View, made: list[Any]) -> Block:
    """The last one first."""
    names = list(dict.fromkeys(name for one in made for name in one["parameters"]))
    rows = [
        [_short(one["spent"]), one["evaluations"], (one["answer"] or "–")[:6]]
        + [_short(one["parameters"].get(name)) for name in names]
        + [one["says"]]
        for one in reversed(made)
    ]
    columns = [
        f"spent ({unit_in_words(view.unit)})",
        "runs",
        "answer",
        *(NAMES.get(name, name) for name in names),
        "promise",
    ]
    aid = "Kept whenever a promise became a tenth tighter, and at the end; the last one is on top."
    return table("certificates", "Certificates", aid, columns, rows, rows_shown=5)


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")
