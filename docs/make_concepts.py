"""Draws the pictures of docs/concepts.md into docs/images: `python docs/make_concepts.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

IMAGES = Path(__file__).with_name("images")
DONE, CUT, NEVER = "tab:blue", "tab:orange", "0.85"


def save(figure: Any, name: str) -> None:
    figure.tight_layout()
    figure.savefig(IMAGES / name, dpi=90)
    plt.close(figure)


# --- the loop ---


def loop() -> None:
    """Who asks whom."""
    figure, axis = plt.subplots(figsize=(9, 2.6))
    axis.set(xlim=(0, 10), ylim=(0, 3))
    axis.axis("off")
    boxes = {"strategy\n(what next?)": 1.2, "engine\n(where?)": 4.4, "target\n(your solver)": 7.6}
    for text, x in boxes.items():
        axis.text(x, 1.5, text, ha="center", va="center", bbox={"boxstyle": "round,pad=0.6", "fc": "white", "ec": DONE})
    arrow = {"arrowstyle": "->", "color": "0.3", "lw": 1.5}
    for left, right, above, below in (
        (2.1, 3.6, "configuration,\ninstance, seed, cutoff", "status, time:\nexact or 'at least'"),
        (5.2, 6.6, "command line\nunder limits", "measured\nfrom outside"),
    ):
        axis.annotate("", (right, 1.7), (left, 1.7), arrowprops=arrow)
        axis.annotate("", (left, 1.3), (right, 1.3), arrowprops=arrow)
        axis.text((left + right) / 2, 1.95, above, ha="center", va="bottom", fontsize=8)
        axis.text((left + right) / 2, 1.05, below, ha="center", va="top", fontsize=8)
    axis.text(9.4, 1.5, "every run is kept\nin history.sqlite", ha="center", va="center", fontsize=8)
    save(figure, "loop.png")


# --- a race ---

TIMES = np.array([[3.0, 2.0, 10.0, 4.0], [2.0, 10.0, 4.0, 3.0], [3.0, 1.0, 5.0, 2.0], [9.0, 6.0, 7.0, 9.0]])
NAMES = ("incumbent", "challenger 1", "challenger 2", "challenger 3")


def used() -> list[list[tuple[float, bool]]]:
    """Seconds of every run, and whether it was cut at the incumbent's time so far less what its configuration has used."""
    rows = [[(time, False) for time in TIMES[0]]]
    for times in TIMES[1:]:
        row: list[tuple[float, bool]] = []
        for number, time in enumerate(times, 1):
            bound = TIMES[0, :number].sum() - sum(t for t, _ in row)
            row.append((min(time, bound), time > bound))
            if row[-1][1]:
                break
        rows.append(row)
    return rows


def race() -> None:
    """Three challengers against an incumbent on four instances, with capping."""
    figure, axis = plt.subplots(figsize=(9, 2.8))
    for y, (row, times) in enumerate(zip(used(), TIMES, strict=True)):
        start = 0.0
        for number, time in enumerate(times):
            seconds, cut = row[number] if number < len(row) else (0.0, True)
            axis.barh(y, seconds, left=start, color=CUT if cut else DONE, ec="white")
            axis.barh(y, time - seconds, left=start + seconds, color=NEVER, ec="white", hatch="///")
            axis.text(start + time / 2, y, "abcd"[number], ha="center", va="center", fontsize=8)
            start += time
    axis.set(yticks=range(len(NAMES)), yticklabels=NAMES, xlabel="seconds, instance after instance")
    axis.invert_yaxis()
    for color, label in ((DONE, "finished"), (CUT, "stopped: it has lost"), (NEVER, "never run")):
        axis.barh(0, 0, color=color, label=label)
    axis.legend(frameon=False, fontsize=8, loc="upper right")
    save(figure, "race.png")


# --- overtuning ---


def overtuning() -> None:
    """Best of more and more configurations, all equally good: chosen on 3 and on 30 instances, judged on many."""
    rng = np.random.default_rng(0)
    figure, axis = plt.subplots(figsize=(9, 2.8))
    tried = np.arange(1, 301)
    for instances, line in ((3, "-"), (30, "--")):
        seen = np.exp(rng.normal(0, 1, (200, 300, instances))).mean(axis=2)
        axis.plot(
            tried,
            np.minimum.accumulate(seen, axis=1).mean(axis=0),
            line,
            color=CUT,
            label=f"on its {instances} training instances",
        )
    axis.axhline(np.exp(0.5), color=DONE, label="on all others")
    axis.set(
        xlabel="configurations tried, all of them equally good", ylabel="mean time of the winner", xscale="log", ylim=(0, 2)
    )
    axis.legend(frameon=False, fontsize=8)
    save(figure, "overtuning.png")


if __name__ == "__main__":
    loop()
    race()
    overtuning()
