"""What the console says where its output is a file."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from capra.report.console import LiveConsole
from capra.strategies.race_table import HEAD
from capra.tune import Tuning, resume
from tests.test_tune import small, tune


def test_incumbents_of_an_earlier_session_are_no_news(tmp_path: Path) -> None:
    screen = io.StringIO()

    def stop_late(tuning: Tuning) -> None:
        if len(tuning.trajectory) > 1:
            tuning.stop()

    scenario = small(runs=300)
    before = tune(scenario, out=tmp_path, watch=stop_late).trajectory
    with LiveConsole(Console(file=screen, width=200)) as console:
        after = resume(tmp_path, scenario, watch=console.watch).trajectory
    assert len(before) >= 2
    assert len(after) > len(before)
    assert [line.split()[3].rstrip(",") for line in screen.getvalue().splitlines() if "new incumbent" in line] == [
        milestone.config.id[:6] for milestone in after[len(before) :]
    ]


def test_the_race_table_is_printed_where_nobody_watches() -> None:
    """All lines, each once; those of an earlier session are no news."""
    screen, told = io.StringIO(), list[str]()

    def watch(tuning: Tuning) -> None:
        console.watch(tuning)
        told[:] = tuning.strategy.lines

    with LiveConsole(Console(file=screen, width=80)) as console:
        tune(small(runs=120), strategy="irace", watch=watch)
    assert HEAD in told
    assert [line for line in screen.getvalue().splitlines() if line[:1] in "#+|"] == told
