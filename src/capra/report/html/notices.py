"""What a reader should know before believing the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from capra.folder import CERTIFICATE
from capra.repeats import Repeats
from capra.report.html.blocks import Section, prose, table
from capra.report.html.view import View
from capra.report.words import count
from capra.runs import Status

__all__ = ["notices"]

FEW = 10
"""Pairs of an incumbent that say little."""
REASONS = 12
LONGEST = 300
"""Characters of a reason."""


def notices(view: View) -> Section:
    blocks = [prose(text, tone="warning") for text in _warnings(view)] or [prose("Nothing to warn of.", tone="good")]
    blocks += [prose(text) for text in _remarks(view)]
    reasons = Counter(
        (str(run.outcome.status).lower(), (run.outcome.reason or "")[:LONGEST])
        for run in view.history
        if run.outcome.status in (Status.CRASHED, Status.MEMOUT, Status.WRONG)
    )
    if reasons:
        rows = [[status, number, reason] for (status, reason), number in reasons.most_common(REASONS)]
        blocks.append(
            table("reasons", "Runs that broke down", "The most frequent reasons.", ["status", "runs", "reason"], rows)
        )
    return Section("notices", "Warnings", blocks)


def _warnings(view: View) -> Iterator[str]:
    yield from view.notes.get("warnings", [])
    for promise in view.decisions[CERTIFICATE][-1:]:
        yield from promise["warnings"]
    if view.builds:
        if view.measured is not None and view.measured.where != "test":
            yield f"Not evaluated: training runs flatter a portfolio. Run capra portfolio evaluate {view.run}"
    elif view.incumbent is not None and view.incumbent != view.default:
        if view.validation is None:
            yield f"Not validated: training costs are too good to be true on average. Run capra validate {view.run}"
        elif (left := _unvalidated(view)) > 0:
            yield f"The validation is unfinished: nothing is known yet of {count(left, 'test instance')}."
        pairs = len(view.history.record(view.incumbent).costs)
        if pairs < FEW and len(view.history) >= FEW:
            yield f"The incumbent was run on {count(pairs, 'pair')} only: a longer tuning may well prefer another one."
    wrong = view.history.statuses[Status.WRONG]
    if wrong:
        yield f"{count(wrong, 'answer')} refuted: these configurations can never be incumbent, and the target has a bug."
    if view.default is None and len(view.history):
        yield "The default configuration was never run: there is nothing to compare with."


def _unvalidated(view: View) -> int:
    """Test instances that the incumbent was not run on."""
    seen = (
        {name for name, _ in view.validation.record(view.incumbent).costs} if view.validation and view.incumbent else set()
    )
    return sum(instance["name"] not in seen for instance in view.scenario.get("test_instances") or [])


def _remarks(view: View) -> Iterator[str]:
    if (repeats := Repeats.of(view.history)).made:
        yield f"{str(repeats)[0].upper()}{str(repeats)[1:]}."
    if audits := view.decisions["audit"]:
        wrong = sum(audit["wrong"] for audit in audits)
        yield f"{count(len(audits), 'rejection')} checked again, {wrong} of them wrong."
    if view.under_way:
        yield f"{count(view.under_way, 'run')} under way or interrupted when this was made."
